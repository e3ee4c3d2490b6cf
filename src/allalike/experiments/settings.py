"""Setting: what is drawn from what, how often, and which methods see it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from allalike._core.blocks.ties import Ties
from allalike._core.options import Options, check_number, whole
from allalike._core.registry import find, make
from allalike.api.results.deciding import find_truths
from allalike.datasets import DATASETS, load
from allalike.domains.contract import with_rule
from allalike.engines import Memory, make_ready
from allalike.errors import UnknownNameError
from allalike.experiments.samples import Sampler
from allalike.methods import METHODS, UA
from allalike.methods.base import without_gold
from allalike.methods.composed.votes import weigh
from allalike.readers import read_gold
from allalike.simulation import as_model, simulate

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.answers import Answers
    from allalike.rules import Rule

__all__ = ["CHUNK", "Setting", "solve"]

CHUNK = 100  # repetitions that are drawn and solved together, and kept together
_POOL_SIZE = 2000  # workers of a generated crowd, and tasks where it has more than one


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
        Whether every hundred repetitions have a generated crowd of their own. Problems of the same population differ:
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
    sample = sampler.draw(workers=setting.workers, tasks=setting.tasks, problems=CHUNK, rng=rng, first=chunk * CHUNK)
    run = make_ready(Memory().load(sample.answers, Ties(setting.seed)))
    errors = {}
    for name in setting.methods if methods is None else methods:
        weighing = weigh(without_gold(make(name, METHODS, "method")), run)
        errors[name] = sample.mean(find_truths(run, weighing).joined().found["gold"])
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
