"""Apply any method to records field by field, to lists of objects vote by vote, and to each task separately."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, known_sums
from allalike._core.columns.values import Values
from allalike._core.system.progress import report
from allalike.answers import Answers
from allalike.answers.gold import History
from allalike.errors import GoldError, UnsupportedError
from allalike.methods.base import Method, ScreeningMethod, without_gold
from allalike.methods.fit import Decide, Fit, Uncertainty
from allalike.methods.proximity import Peers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Ties
    from allalike.domains import Encoding, Kernels
    from allalike.domains.objects.votes import ObjectVotes
    from allalike.domains.records.record import RecordEncoding
    from allalike.engines import Run
    from allalike.engines.memory import MemoryRun


# Separate weights per field: the method runs on each field of a record as if the field were the label. A source may be
# good at prices and bad at names, and needs different weights for them: w_if = weight of worker i among the answers to
# field f, and w_i = mean over f of w_if. The disparity belongs to whole labels, and a worker's error is the mean
# distance to the estimated labels. The error in a field is that of the method, in the unit of the field. With few
# answers per field, a single weight is better.


class _Field(NamedTuple):
    """The fit of one field: number, mask of its workers, fit and kernel."""

    number: int
    there: Array
    fit: Fit
    decide: Decide

    def spread(self, values: Floats, others: Any) -> Floats:
        """Return values for all workers; workers without answers to the field get ``others``."""
        spread = np.empty((len(self.there), *values.shape[1:]))
        spread[...] = others
        spread[self.there] = values
        return spread

    @property
    def parameters(self) -> list[Floats]:
        """Parameters of the kernel; workers without answers to the field have arbitrary parameters."""
        return [self.spread(each, each[0]) for each in self.fit.arguments]

    @property
    def fault(self) -> Floats:
        """Error of each worker, as in the table of workers."""
        known = self.fit.uncertainty if self.fit.error_rate is None else None
        return self.spread(self.fit.fault if known is None else known.best(self.fit.fault), np.nan)


def weigh_fields(run: Run, fields: RecordEncoding, weigh: Callable[[Run], Fit]) -> Fit:
    """Fit each field of a record separately.

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "a"}), ("bob", 1, {"x": "a", "y": "b"}), ("eve", 1, {"x": "b", "y": "b"})]
    >>> domain = allalike.Record("x:categorical, y:categorical", weights="field")
    >>> workers = allalike.discover(rows, domain=domain, method="P-TD").workers
    >>> workers[["worker", "weight", "weight.x", "weight.y"]]
      worker  weight  weight.x  weight.y
    0    ada    0.25       0.5       0.0
    1    bob    0.50       0.5       0.5
    2    eve    0.25       0.0       0.5
    """
    if run.history is not None:
        raise UnsupportedError(
            "A history contains one error per worker, but weights='field' needs one per field. Omit history or"
            " weights='field'."
        )
    counts = run.sum(fields.count)["answers"]
    named = {name: number for number, (name, encoding) in enumerate(fields.encodings) if encoding is not None}
    weighed = {
        name: _weigh_field(run, fields, number, counts[:, number], weigh)
        for name, number in named.items()
        if counts[:, number].any()  # a run on one task may lack a field
    }
    parameters = {name: field.parameters for name, field in weighed.items()}
    weights = {f"weight.{name}": field.spread(field.fit.weight, 0.0) for name, field in weighed.items()}
    weight = np.mean(list(weights.values()), axis=0)
    empty = [name for name in named if name not in weighed]
    weights |= {f"weight.{name}": np.zeros(len(weight)) for name in empty}
    faults = {f"mean_error.{name}": field.fault for name, field in weighed.items()}
    faults |= {f"mean_error.{name}": np.full(len(weight), np.nan) for name in empty}
    own = [(field.number, field.decide, len(parameters[name])) for name, field in weighed.items()]
    decide = partial(_decide, fields=fields, own=own)
    choices = {name: dict(field.fit.choices) for name, field in weighed.items()}
    flat = tuple(values for each in parameters.values() for values in each)
    return Fit(
        disparity=Peers(run).unweighted.mean,
        fault=_find_faults(run, decide, weight, *flat),
        weight=weight,
        iterations=max(field.fit.iterations for field in weighed.values()),
        converged=all(field.fit.converged for field in weighed.values()),
        decide=decide,
        parameters=flat,
        choices={"choices": choices} if any(choices.values()) else {},
        columns={**weights, **faults},
        notes={"fields": {name: dict(field.fit.notes) for name, field in weighed.items()}},
    )


def _weigh_field(run: Run, fields: RecordEncoding, number: int, counts: Floats, weigh: Callable[[Run], Fit]) -> _Field:
    """Fit the answers to one field."""
    report("fields", number, len(fields.encodings))
    alone = take_field(run, fields, number, counts)
    try:
        fit = weigh(alone)
    except GoldError as error:
        raise GoldError(f"Field {fields.encodings[number][0]!r}: {error.args[0]}") from None
    decide = fit.decide or partial(alone.choose_quorum(fit.weight)[0].aggregate, ties=run.ties)
    return _Field(number, counts > 0, fit, decide)


def take_field(run: Run, fields: RecordEncoding, number: int, counts: Floats) -> Run:
    """Return a run in memory over the answers to one field; ``counts`` contains each worker's number of answers.

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "b"}), ("bob", 1, {"x": "a"}), ("bob", 2, {"x": "c"})]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="record(fields='x:categorical, y:categorical')"))
    >>> fields = run.encoding.fields
    >>> alone = take_field(run, fields, 0, run.sum(fields.count)["answers"][:, 0])
    >>> alone.domain.name, alone.n_tasks, alone.answer_counts
    ('categorical', 2, array([1, 2]))
    """
    from allalike.domains.records.kernels import pick_field, salted
    from allalike.engines.memory import Memory

    (name, encoding), there = fields.encodings[number], counts > 0
    assert encoding is not None
    place = (np.cumsum(there) - 1).astype(np.int32)
    blocks, tasks, workers, n_tasks = [], [], [], 0
    for shard in run.each_shard():
        before = 0
        for block in shard.blocks:
            part, _, kept = pick_field(block, number, name)
            blocks.append(replace(part, gold_task=part.gold_task + n_tasks))
            tasks.append(shard.tasks.take(before + kept))
            workers.append(place[block.workers][part.worker])
            before, n_tasks = before + block.n_tasks, n_tasks + part.n_tasks
    alone = Answers(
        workers=run.workers.take(np.flatnonzero(there)),
        tasks=Values.join(tasks),
        encoding=encoding,
        starts=np.cumsum([0, *chain.from_iterable(part.sizes for part in blocks)]),
        worker=np.concatenate(workers),
        label=np.concatenate([part.label for part in blocks]),
        gold_task=np.concatenate([part.gold_task for part in blocks]),
        gold_label=np.concatenate([part.gold_label for part in blocks]),
        notes=dict(run.notes),
    )
    loaded = Memory(block_answers=run.block_answers, threads=run.threads).load(alone, run.ties)
    return loaded.map(lambda block: replace(block, task_hash=salted(block.task_hash, name)))


def _decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    *more: Floats,
    fields: RecordEncoding,
    own: Sequence[tuple[int, Decide, int]],
) -> dict[str, Array]:
    """Decide each field with its own parameters; weights and errors of whole labels are not used."""
    kernels, first = {}, 0
    for number, decide, count in own:
        kernels[number] = decide, more[first : first + count]
        first += count
    return fields.join(block, lambda number, part: kernels[number][0](part, *kernels[number][1]))


def _find_faults(run: Run, decide: Decide, weight: Floats, *parameters: Floats) -> Floats:
    """Compute each worker's mean distance to the estimated labels, or NaN if it is unknown."""
    sums = run.sum(partial(_losses, decide=decide, kernels=run.kernels), weight, weight, *parameters)
    known = sums["answers"] > 0
    return np.asarray(np.where(known, sums["distance"], np.nan) / np.where(known, sums["answers"], 1.0))


def _losses(block: Block, *params: Floats, decide: Decide, kernels: Kernels) -> dict[str, Floats]:
    return known_sums(block, kernels.distance_to(block, decide(block, *params)["label"]))


# Methods for classes, applied to labels that consist of votes, such as lists of objects. The method sees only the votes
# (`allalike.domains.objects.votes`), and its decisions on votes are combined into labels. Disparities belong to labels.


def serves(method: Method, labels: Encoding) -> bool:
    """Return whether a method accepts these labels, or the votes that they consist of.

    >>> import allalike
    >>> boxes = allalike.read([("ada", 1, [[0, 0, 2, 2]])], domain="boxes").encoding
    >>> allalike.DS().serves(boxes), serves(allalike.DS(), boxes)
    (False, True)
    """
    if labels.fields is not None and labels.fields.alone:
        return all(each is None or serves(method, each) for _, each in labels.fields.encodings)
    votes = None if labels.things is None else labels.things.votes
    return method.serves(labels) or (votes is not None and method.serves(votes.encoding))


def weigh(method: Method, run: Run) -> Fit:
    """Fit a run on its answers if the method accepts them, and otherwise on the votes that they consist of."""
    if run.worker_task is not None:
        return fit_each_task(method, run)
    fields, things = run.encoding.fields, run.encoding.things
    if fields is not None and fields.alone:
        return weigh_fields(run, fields, partial(weigh, method))
    votes = None if things is None else things.votes
    if votes is None or method.serves(run.encoding):
        return method.fit(run)
    cast = run.map(votes.cast)
    counts = np.rint(cast.sum(_count_votes)["votes"]).astype(np.int64)
    cast = replace(cast, encoding=votes.encoding, answer_counts=counts)
    weighing = method.fit(cast)
    decide = partial(_votes_decide, own=weighing.decide_on(cast), votes=votes, ties=run.ties)
    return replace(
        weighing,
        disparity=Peers(run).unweighted.mean,
        decide=decide,
        probabilities=None,
        confusion=None,
        notes={**weighing.notes, "votes": "on groups of objects"},
    )


def fit_without_gold(method: Method, run: Run) -> Fit:
    """Fit without gold labels."""
    fields = run.encoding.fields
    if run.worker_task is None and not (fields is not None and fields.alone) and isinstance(method, ScreeningMethod):
        return method.fit_without_gold(run)
    return weigh(without_gold(method), run)


def _count_votes(block: Block) -> dict[str, Floats]:
    return {"votes": block.per_worker(np.ones(len(block.label)))}


def _votes_decide(
    block: Block, weights: Floats, faults: Floats, *more: Floats, own: Decide, votes: ObjectVotes, ties: Ties
) -> dict[str, Array]:
    return votes.count(block, weights, own(votes.cast(block), weights, faults, *more), ties)


# Separate tasks: the method runs on the answers to each task.


def fit_each_task(method: Method, run: Run) -> Fit:
    """Fit the answers to each task separately; each answer has its own worker.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x")]
    >>> allalike.discover(allalike.read(rows).per_task(), method="P-TD").workers["weight"].tolist()
    [0.5, 0.5, 0.0, 0.5, 0.5]
    """
    workers: list[Array] = []
    fits: dict[int, Fit] = {}
    for number, (worker, alone) in enumerate(_list_tasks(run)):
        report("tasks", number, run.n_tasks)
        workers.append(worker)
        fits[int(alone.shards[0].task_hash[0])] = weigh(method, alone)
    place = np.argsort(np.concatenate(workers))

    def join(parts: list[Any]) -> Any:
        return None if any(part is None for part in parts) else np.concatenate(parts)[place]

    every = list(fits.values())
    uncertainty = [fit.uncertainty for fit in every if fit.uncertainty is not None]
    errors = ("shared", "error", "low", "high", "shrunk", "few")
    return Fit(
        disparity=join([fit.disparity for fit in every]),
        fault=join([fit.fault for fit in every]),
        weight=join([fit.weight for fit in every]),
        iterations=max(fit.iterations for fit in every),
        converged=all(fit.converged for fit in every),
        error_rate=join([fit.error_rate for fit in every]),
        columns={name: join([fit.columns.get(name) for fit in every]) for name in every[0].columns},
        decide=partial(_decide_each, fits=fits, encoding=run.encoding, ties=run.ties)
        if any(fit.decide is not None for fit in every)
        else None,
        uncertainty=None
        if len(uncertainty) < len(every)
        else Uncertainty(
            unit=uncertainty[0].unit,
            confidence=None if uncertainty[0].confidence is None else {},
            **{name: join([getattr(known, name) for known in uncertainty]) for name in errors},
        ),
    )


def _list_tasks(run: Run) -> Iterator[tuple[Array, MemoryRun]]:
    """Yield the workers of each task, and a run on its answers."""
    from allalike.engines.memory import Memory

    for shard in run.each_shard():
        before = 0
        for block in shard.blocks:
            worker = block.worker if isinstance(block.workers, slice) else block.workers[block.worker]
            label = run.kernels.restore_answers(block, np.arange(len(block.label)))
            gold = run.kernels.restore_gold(block)
            for task, (first, size) in enumerate(zip(block.starts, block.sizes, strict=True)):
                rows, known = slice(first, first + size), block.gold_task == task
                alone = Answers(
                    workers=run.workers.take(worker[rows]),
                    tasks=shard.tasks.take(np.array([before + task])),
                    encoding=run.encoding,
                    starts=np.array([0, size]),
                    worker=np.arange(size, dtype=np.int32),
                    label=label[rows],
                    gold_task=np.zeros(int(known.sum()), np.int64),
                    gold_label=gold[known],
                )
                past = run.history
                history = None if past is None else History(past.answers[worker[rows]], past.fault[worker[rows]])
                yield worker[rows], replace(Memory().load(alone, run.ties), history=history)
            before += block.n_tasks


def _decide_each(
    block: Block, weights: Floats, faults: Floats, *, fits: Mapping[int, Fit], encoding: Encoding, ties: Ties
) -> dict[str, Array]:
    """Decide each task with its own fit."""
    parts = []
    label = encoding.kernels.restore_answers(block, np.arange(len(block.label)))
    for task, key in enumerate(block.task_hash.tolist()):
        rows = np.arange(block.starts[task], block.starts[task] + block.sizes[task])
        alone = replace(
            block.pick(np.array([task]), rows), label=label[rows], worker=np.arange(len(rows)), n_workers=len(rows)
        )
        fit = fits[key]
        decide = fit.decide or partial(encoding.kernels.aggregate, ties=ties)
        parts.append(decide(encoding.prepare(alone), *fit.arguments))
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
