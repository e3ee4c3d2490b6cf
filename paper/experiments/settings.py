"""Setting: what is drawn from what, how often, and which methods see it.

Samples are small crowds, drawn from a large one whose truths are known.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.blocks.block import Ties
from allalike._core.columns.values import Values, arrow_of
from allalike._core.options import Options, check_number, whole
from allalike._core.registry import find, make
from allalike.answers import Answers
from allalike.datasets import DATASETS
from allalike.domains.contract import with_rule
from allalike.engines import Memory, make_ready
from allalike.errors import GoldError, OptionError, UnknownNameError
from allalike.methods import METHODS, UA
from allalike.methods.base import without_gold
from allalike.methods.composed import weigh
from allalike.readers import read_gold
from allalike.result.summaries import find_truths
from allalike.simulation import as_model, simulate
from crowd_data import load

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike.rules import Rule

__all__ = ["CHUNK", "Sampler", "Setting", "solve"]

CHUNK = 100  # repetitions that are drawn and solved together, and kept together
_POOL_SIZE = 2000  # workers of a generated crowd, and tasks where it has more than one
_MAX_DRAWN_NUMBERS = 1 << 22  # random numbers

Numbers = npt.NDArray[np.int64]


class Sampler:
    """A crowd from which workers and tasks are drawn, without repetition and in a random order.

    First the tasks are drawn, among those whose truth is known; then the workers, among those who answered at least one
    of these tasks. Answers that are missing stay missing, and a task that none of the workers answered is left out of
    its problem.

    >>> import allalike
    >>> crowd = allalike.simulate("binary SYN.N", workers=20, tasks=30)
    >>> from allalike.readers import read_gold
    >>> sampler = Sampler(read_gold(crowd.truth, crowd.answers))
    >>> samples = sampler.draw(workers=5, tasks=4, samples=3, rng=np.random.default_rng(0))
    >>> [(sample.n_answers, len(sample.workers), len(sample.tasks)) for sample in samples]
    [(20, 5, 4), (20, 5, 4), (20, 5, 4)]
    """

    def __init__(self, answers: Answers) -> None:
        if not len(answers.gold_task):
            raise GoldError("Experiments need tasks whose truth is known. Give gold.")
        self.answers = answers
        task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
        place = np.full(len(answers.tasks), -1)
        place[answers.gold_task] = np.arange(len(answers.gold_task))
        known = place[task] >= 0
        self._row = np.full((len(answers.workers), len(answers.gold_task)), -1, np.int32)
        self._row[answers.worker[known], place[task[known]]] = np.flatnonzero(known)
        self._complete = bool((self._row >= 0).all())

    def draw(
        self, *, workers: int, tasks: int, samples: int, rng: np.random.Generator, first: int = 0
    ) -> list[Answers]:
        """Draw some samples; ``first`` is the number of the first, from which its tasks have their names."""
        n_workers, n_tasks = self._row.shape
        for name, asked, there in (("workers", workers, n_workers), ("tasks with gold", tasks, n_tasks)):
            if asked > there:
                raise OptionError(f"{asked} {name} cannot be drawn: there are {there}.")
        chosen_tasks = _subsets(n_tasks, tasks, samples, rng)
        able = None
        if not self._complete:
            able = np.stack([(self._row[:, some] >= 0).any(axis=1) for some in chosen_tasks])
            if (able.sum(axis=1) < workers).any():
                raise OptionError(f"{workers} workers cannot be drawn: some {tasks} tasks were answered by fewer.")
        chosen_workers = _subsets(n_workers, workers, samples, rng, able)
        pairs = zip(chosen_workers, chosen_tasks, strict=True)
        return [self._sample(number, *pair, first=first) for number, pair in enumerate(pairs)]

    def _sample(self, number: int, workers: Numbers, tasks: Numbers, first: int) -> Answers:
        row = self._row[np.ix_(workers, tasks)].T
        there = row >= 0
        sizes = there.sum(axis=1)
        asked = np.flatnonzero(sizes)
        return Answers(
            workers=Values(arrow_of(number * len(workers) + np.arange(len(workers)))),
            tasks=Values(arrow_of((first + number) * len(tasks) + asked)),
            encoding=self.answers.encoding,
            starts=np.concatenate([[0], np.cumsum(sizes[asked])]),
            worker=np.broadcast_to(np.arange(len(workers), dtype=np.int32), row.shape)[there],
            label=self.answers.label[row[there]],
            gold_task=np.arange(len(asked)),
            gold_label=self.answers.gold_label[tasks[asked]],
        )


def _subsets(n: int, size: int, samples: int, rng: np.random.Generator, able: Array | None = None) -> Numbers:
    """Draw a subset of so many numbers for each sample, in a random order.

    The order must not tell anything: data are often listed with the most frequent answers first, and some methods break
    ties by taking the first worker.
    """
    parts = []
    step = max(1, _MAX_DRAWN_NUMBERS // n)
    for begin in range(0, samples, step):
        keys = rng.random((min(step, samples - begin), n))
        if able is not None:
            keys[~able[begin : begin + step]] = np.inf
        chosen = np.argpartition(keys, size - 1, axis=1)[:, :size]
        order = np.argsort(np.take_along_axis(keys, chosen, axis=1), axis=1)
        parts.append(np.take_along_axis(chosen, order, axis=1))
    return np.concatenate(parts)


@dataclass(frozen=True, kw_only=True)
class Setting(Options):
    """What an experiment repeats.

    Parameters
    ----------
    source
        Whom to draw from: a name from `allalike.MODELS`, with options in brackets if need be, or from
        `allalike.datasets.DATASETS`.
    workers, tasks
        How many are drawn in each repetition.
    methods
        Names of methods, with options in brackets if need be; UA is always among them. OA is the realised one.
    rule
        How a task's labels become one: a name, or a `Rule` of one's own; as in the domain of the source unless given.
    pool
        How many workers a generated crowd has, and how many tasks unless its model has one.
    seed
        Which draws to take.
    fresh
        Whether every hundred repetitions have a generated crowd of their own. Crowds of the same population differ:
        with 2,000 workers, RI still differs by some points from one crowd to another.

    >>> setting = Setting(source="binary SYN.HS", workers=10, tasks=15, methods=("P-TD",), pool=300)
    >>> {name: errors.mean().round(3).item() for name, errors in solve(setting, chunk=0).items()}
    {'UA': 0.323, 'P-TD': 0.317}
    """

    source: str
    workers: int
    tasks: int
    methods: tuple[str, ...]
    rule: str | Rule = ""
    pool: int = whole(_POOL_SIZE, least=1)
    seed: int = whole(0, least=0)
    fresh: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("workers", "tasks"):
            check_number(getattr(self, name), name, least=1, whole=True)
        if UA.name not in self.methods:
            object.__setattr__(self, "methods", (UA.name, *self.methods))
        for method in self.methods:
            make(method, METHODS, "method")

    @property
    def key(self) -> str:
        """A short name for all that the samples depend on; the methods do not matter."""
        from allalike import __version__

        parts = [__version__, self.source, str(self.rule), self.workers, self.tasks, self.pool, self.seed, CHUNK]
        parts += ["fresh"] if self.fresh else []
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def solve(setting: Setting, chunk: int, methods: tuple[str, ...] | None = None) -> dict[str, Floats]:
    """Solve a chunk of repetitions with every method, and return the error of each repetition."""
    crowd = setting.seed + chunk if setting.fresh else setting.seed
    sampler = _sampler(setting.source, setting.pool, setting.rule, crowd)
    rng = np.random.default_rng([setting.seed, chunk])
    samples = sampler.draw(workers=setting.workers, tasks=setting.tasks, samples=CHUNK, rng=rng, first=chunk * CHUNK)
    chosen = {name: without_gold(make(name, METHODS, "method")) for name in methods or setting.methods}
    errors = {name: np.empty(CHUNK) for name in chosen}
    for number, sample in enumerate(samples):
        run = make_ready(Memory().load(sample, Ties(setting.seed)))
        for name, method in chosen.items():
            found = find_truths(run, weigh(method, run)).joined().found
            errors[name][number] = found["gold"].mean()
    return errors


@lru_cache(maxsize=2)
def _sampler(source: str, pool: int, rule: str | Rule, seed: int) -> Sampler:
    answers = _open(source, pool, seed)
    if rule:
        answers = replace(answers, encoding=with_rule(answers.encoding, rule))
    return Sampler(answers)


def _open(source: str, pool: int, seed: int) -> Answers:
    """Return the answers of a generated crowd or of a data set, with gold."""
    try:
        model = as_model(source)
    except UnknownNameError:
        return load(find(source, {name: name for name in DATASETS}, "crowd or data set")).answers
    crowd = simulate(model, workers=pool, tasks=None if model.usual_tasks == 1 else pool, seed=seed)
    return read_gold(crowd.truth, crowd.answers)
