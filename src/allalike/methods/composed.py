"""Composed labels: how any method weighs records field by field, and votes on things."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from allalike._core.blocks.block import Array, Block, Floats, known_sums
from allalike._core.blocks.problems import Problems
from allalike._core.system.progress import report
from allalike.errors import GoldError, UnsupportedError
from allalike.methods.base import Decide, DecisionRule, Informed, Method, Rounds, Skill, Weighing, without_gold
from allalike.methods.proximity import Peers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from allalike._core.blocks.block import Ties
    from allalike.domains import Encoding, Kernels
    from allalike.domains.capabilities import Fields, Votes
    from allalike.engines import Run


# Fields that are weighed apart: the whole method runs for each field of the labels, as if it were the label.
#
# A source may be good at prices and bad at names. Then it has a weight for each field, found from the answers to this
# field alone, by those who filled it:
#
#     w_if = the weight that the method gives to worker i among the answers to field f,    w_i = mean over f of w_if,
#
# and each field is decided by its own weights. The disparity is that of whole labels, and a worker's fault is her mean
# distance to the truths that were found. Her fault in a field is the method's, in the units of that field.
#
# It fails where fields have few answers and tell the same of workers: one weight then knows more. On the four times of
# 100 flights iP-TD finds 0.76 of the cells field by field, and 0.91 with one weight.


class _Field(NamedTuple):
    """What was found of one field: its number, who filled it, the weighing of these, and how it is decided."""

    number: int
    there: Array
    found: Weighing
    decide: Decide

    def spread(self, values: Floats, others: Any) -> Floats:
        """Return numbers of those who filled the field as numbers of all workers."""
        spread = np.empty((len(self.there), *values.shape[1:]))
        spread[...] = others
        spread[self.there] = values
        return spread

    @property
    def parameters(self) -> list[Floats]:
        """What it takes to decide the field; who did not fill it has those of another, with which kernels can deal."""
        return [self.spread(each, each[0]) for each in self.found.arguments]

    @property
    def fault(self) -> Floats:
        """Each worker's fault, as a table of workers shows it."""
        found, faults = self.found, self.found.insight.faults
        if found.skill.error_rate is not None:
            return self.spread(found.fault, np.nan)
        return self.spread(found.fault if faults is None else faults.best(found.fault), np.nan)


def weigh_fields(run: Run, fields: Fields[Encoding], weigh: Callable[[Run], Weighing]) -> Weighing:
    """Weigh the workers of a run in each field alone.

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "a"}), ("bob", 1, {"x": "a", "y": "b"}), ("eve", 1, {"x": "b", "y": "b"})]
    >>> domain = allalike.Record("x:categorical, y:categorical", weights="field")
    >>> found = allalike.discover(rows, domain=domain, method="P-TD").workers
    >>> found[["worker", "weight", "weight.x", "weight.y"]]
      worker  weight  weight.x  weight.y
    0    ada    0.25       0.5       0.0
    1    bob    0.50       0.5       0.5
    2    eve    0.25       0.0       0.5
    """
    if run.history is not None:
        raise UnsupportedError(
            "A history says how good workers are on the whole, but weights='field' weighs them in each field alone."
            " Leave one of them out."
        )
    given = run.sum(fields.count)["answers"]
    weighed = {
        name: _weigh_field(run, fields, number, given[:, number], weigh)
        for number, (name, encoding) in enumerate(fields.encodings)
        if encoding is not None
    }
    rounds = [field.found.rounds for field in weighed.values()]
    parameters = {name: field.parameters for name, field in weighed.items()}
    weights = {f"weight.{name}": field.spread(field.found.weight, 0.0) for name, field in weighed.items()}
    weight = np.mean(list(weights.values()), axis=0)
    own = [(field.number, field.decide, len(parameters[name])) for name, field in weighed.items()]
    decide = partial(_decide, fields=fields, own=own)
    flat = tuple(values for told in parameters.values() for values in told)
    return Weighing(
        disparity=Peers(run).unweighted.mean,
        fault=_find_faults(run, decide, weight, *flat),
        weight=weight,
        rounds=Rounds(max(one.iterations for one in rounds), all(one.converged for one in rounds)),
        decision=DecisionRule(
            decide, flat, choices=_list_choices({name: field.found.decision.choices for name, field in weighed.items()})
        ),
        skill=Skill(columns={**weights, **{f"fault.{name}": field.fault for name, field in weighed.items()}}),
        notes={"fields": {name: dict(field.found.notes) for name, field in weighed.items()}},
    )


def _weigh_field(
    run: Run, fields: Fields[Encoding], number: int, given: Floats, weigh: Callable[[Run], Weighing]
) -> _Field:
    """Weigh those who filled a field, by the answers to it."""
    report("fields", number, len(fields.encodings))
    alone = take_field(run, fields, number, given)
    try:
        found = weigh(alone)
    except GoldError as error:
        raise GoldError(f"The field {fields.encodings[number][0]!r}: {error.args[0]}") from None
    decide = found.decision.decide or partial(alone.choose_quorum(found.weight)[0].aggregate, ties=run.ties)
    return _Field(number, given > 0, found, decide)


def take_field(run: Run, fields: Fields[Encoding], number: int, given: Floats) -> Run:
    """Return a run over the answers to one field, given how many each worker gave; tasks without any are dropped.

    >>> import allalike
    >>> rows = [("ada", 1, {"x": "a", "y": "b"}), ("bob", 1, {"x": "a"}), ("bob", 2, {"x": "c"})]
    >>> run = allalike.Memory().load(allalike.read(rows, domain="record(fields='x:categorical, y:categorical')"))
    >>> fields = run.encoding.fields
    >>> alone = take_field(run, fields, 0, run.sum(fields.count)["answers"][:, 0])
    >>> alone.domain.name, alone.n_tasks, alone.answer_counts
    ('categorical', 2, array([1, 2]))
    """
    encoding, there = fields.encodings[number][1], given > 0
    assert encoding is not None
    example = next(block.label for block in run.gather(partial(fields.pick, field=number)) if len(block.label))
    place = np.where(there, np.cumsum(there) - 1, -1)
    crowds = np.rint(run.problems.add(there)).astype(np.int64)
    taken = run.map(partial(fields.take, field=number, place=place, example=example))
    counts = taken.total(_count)
    return replace(
        taken,
        encoding=encoding,
        workers=run.workers.take(np.flatnonzero(there)),
        worker_task=None if run.worker_task is None else run.worker_task.take(np.flatnonzero(there)),
        problems=Problems(crowds[crowds > 0]),
        answer_counts=np.rint(given[there]).astype(np.int64),
        n_tasks=int(counts["tasks"]),
        n_gold=int(counts["gold"]),
    )


def _count(block: Block) -> dict[str, Array]:
    live = np.ones(block.n_tasks, np.bool_) if block.live is None else block.live
    return {"tasks": np.array(live.sum()), "gold": np.array(live[block.gold_task].sum())}


def _list_choices(choices: dict[str, Any]) -> dict[str, Any]:
    return {"choices": {name: dict(told) for name, told in choices.items()}} if any(choices.values()) else {}


def _decide(
    block: Block,
    weights: Floats,
    faults: Floats,
    *more: Floats,
    fields: Fields[Encoding],
    own: Sequence[tuple[int, Decide, int]],
) -> dict[str, Array]:
    """Decide each field by its own parameters; weights and faults of whole labels are not asked."""
    ways, first = {}, 0
    for number, decide, count in own:
        ways[number] = decide, more[first : first + count]
        first += count
    return fields.join(block, lambda number, part: ways[number][0](part, *ways[number][1]))


def _find_faults(run: Run, decide: Decide, weight: Floats, *parameters: Floats) -> Floats:
    """Measure how far each worker is from the truths on average, where that is known."""
    sums = run.sum(partial(_losses, decide=decide, kernels=run.kernels), weight, weight, *parameters)
    known = sums["answers"] > 0
    return np.asarray(np.where(known, sums["distance"], np.nan) / np.where(known, sums["answers"], 1.0))


def _losses(block: Block, *params: Floats, decide: Decide, kernels: Kernels) -> dict[str, Floats]:
    return known_sums(block, kernels.distance_to(block, decide(block, *params)["label"]))


# Methods for classes on labels that come down to votes on classes, such as lists of objects.
#
# The method sees the votes as if they were all there is (`allalike.domains.capabilities.Votes`), and knows nothing of
# objects. What it decides on each vote is put together where the answers are. The disparity is that of the labels.


def serves(method: Method, labels: Encoding) -> bool:
    """Return whether a method can deal with such labels, or with the votes that they come down to.

    >>> import allalike
    >>> boxes = allalike.read([("ada", 1, [[0, 0, 2, 2]])], domain="boxes").encoding
    >>> allalike.DS().serves(boxes), serves(allalike.DS(), boxes)
    (False, True)
    """
    if labels.fields is not None and labels.fields.alone:
        return all(each is None or serves(method, each) for _, each in labels.fields.encodings)
    votes = None if labels.things is None else labels.things.votes
    return method.serves(labels) or (votes is not None and method.serves(votes.encoding))


def weigh(method: Method, run: Run) -> Weighing:
    """Weigh the workers of a run by their answers, or else by the votes that these come down to."""
    fields, things = run.encoding.fields, run.encoding.things
    if fields is not None and fields.alone:
        return weigh_fields(run, fields, partial(weigh, method))
    votes = None if things is None else things.votes
    if votes is None or method.serves(run.encoding):
        return method.weigh(run)
    cast = run.map(votes.cast)
    counts = np.rint(cast.sum(_count_votes)["votes"]).astype(np.int64)
    cast = replace(cast, encoding=votes.encoding, answer_counts=counts)
    weighing = method.weigh(cast)
    decide = partial(_votes_decide, own=weighing.decide_on(cast), votes=votes, ties=run.ties)
    return replace(
        weighing,
        disparity=Peers(run).unweighted.mean,
        decision=replace(weighing.decision, decide=decide, probabilities=None),
        skill=replace(weighing.skill, confusion=None),
        notes={**weighing.notes, "votes": "on groups of objects"},
    )


def weigh_blindly(method: Method, run: Run, weighing: Weighing) -> Weighing:
    """Weigh as if no truth were known, beside a weighing that used them."""
    fields = run.encoding.fields
    if not (fields is not None and fields.alone) and isinstance(method, Informed):
        return method.weigh_blindly(run, weighing)
    return weigh(without_gold(method), run)


def _count_votes(block: Block) -> dict[str, Floats]:
    return {"votes": block.per_worker(np.ones(len(block.label)))}


def _votes_decide(
    block: Block, weights: Floats, faults: Floats, *more: Floats, own: Decide, votes: Votes[Encoding], ties: Ties
) -> dict[str, Array]:
    return votes.count(block, weights, own(votes.cast(block), weights, faults, *more), ties)
