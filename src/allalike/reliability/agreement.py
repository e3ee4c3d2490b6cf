"""Agreement coefficients of a crowd: Krippendorff's alpha, kappas and percent agreement.

Agreement is computed in memory. With more than 400,000 answers, a sample of whole tasks with about that many answers is
used. It is selected by a hash of the task ids, so it is the same on every engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from allalike._core.blocks.block import Block, Floats, sum_by
from allalike._core.lazy_imports import pd
from allalike.engines import Run
from allalike.engines.memory import MemoryRun
from allalike.engines.sample import sample_tasks
from allalike.frames import Frame, FrameMixin, make_frame
from allalike.methods.composed import take_field
from allalike.reliability.alpha import Alpha, compute_alpha, pick_pairable
from allalike.reliability.coefficients import name_alpha
from allalike.reliability.kappas import Cohen, compute_cohen, compute_fleiss, compute_gwet, weigh_levels

MAX_ANSWERS = 400_000
MAX_MATRIX_WORKERS = 500
_MAX_NAMED = 20  # workers listed in a summary
_MIN_INTERVAL_TASKS = 20  # intervals covered alpha in 86 % of simulated crowds with 12 tasks, 67 % with 5
_MAX_QUESTIONS = 500  # in a survey


@dataclass(frozen=True, repr=False)
class Agreement(FrameMixin[Frame]):
    """Agreement coefficients of the workers: None if undefined for the label type, NaN if unknown.

    Parameters
    ----------
    run
        The answers.
    sample
        The answers that agreement is computed from: all, or a sample of whole tasks.
    found
        Krippendorff's alpha and its components.
    percent
        Share of pairs of equal answers to a task, averaged over tasks; for classes.
    fleiss, ac1
        Fleiss' kappa and Gwet's AC1; for classes.

    >>> import allalike
    >>> answers = {"ada": "xxyyxyxx", "bob": "xxyyxyxy", "eve": "xyyyxyyx"}
    >>> rows = [(worker, task, label) for worker, labels in answers.items() for task, label in enumerate(labels)]
    >>> agreement = allalike.discover(rows).agreement
    >>> agreement
    Krippendorff's alpha 0.521 (-0.022 to 0.839), percent agreement 75.0 %, Fleiss' kappa 0.500, Gwet's AC1 0.500
    >>> agreement.workers.round(2)
      worker  answers  alpha_without  effect
    0    ada        8           0.29    0.24
    1    bob        8           0.53   -0.01
    2    eve        8           0.76   -0.24
    """

    run: Run
    sample: MemoryRun
    found: Alpha
    percent: float | None = None
    fleiss: float | None = None
    ac1: float | None = None

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha: 1 minus the ratio of observed to expected disagreement."""
        return self.found.value

    @property
    def ci_low(self) -> float:
        """The lower bound of the 95 % confidence interval of alpha, over a population of tasks."""
        return self.found.low

    @property
    def ci_high(self) -> float:
        """The upper bound of the 95 % confidence interval of alpha."""
        return self.found.high

    @property
    def observed(self) -> float:
        """The mean distance between answers to the same task."""
        return self.found.observed

    @property
    def expected(self) -> float:
        """The mean distance between answers to any two tasks."""
        return self.found.expected

    @property
    def expected_from(self) -> str:
        """The source of the expected disagreement: label totals, all pairs, or a sample of pairs."""
        return self.found.source

    @property
    def sampled_tasks(self) -> int | None:
        """The number of tasks in the sample; None if all answers were used."""
        return None if self.sample.n_tasks == self.run.n_tasks else self.sample.n_tasks

    @property
    def cohen(self) -> float | None:
        """Cohen's kappa of two workers, or its mean over all pairs; for classes and up to 500 workers."""
        return None if self.cohen_pairs is None else self.cohen_pairs.kappa

    @cached_property
    def cohen_pairs(self) -> Cohen | None:
        """The mean of Cohen's kappa over worker pairs, and the number of pairs."""
        if self.percent is None or len(self.run.workers) > MAX_MATRIX_WORKERS:
            return None
        return compute_cohen(self.sample)

    @cached_property
    def _level_counts(self) -> dict[str, Floats] | None:
        """The number of answers per level; None for other label types."""
        encoding = self.run.encoding
        return _count_labels(self.sample) if encoding.n_classes is not None and not encoding.nominal else None

    @cached_property
    def ordinal(self) -> tuple[float, float, float]:
        """Krippendorff's ordinal alpha and its 95 % confidence interval, for levels; NaN for other label types.

        Level c has position n_1 + ... + n_(c-1) + n_c / 2, where n_c is its number of answers. So the distance between
        two levels depends on the number of answers between them (Content Analysis, chapter 12).

        >>> import allalike
        >>> answers = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
        >>> rows = [(worker, task, x) for worker, levels in answers.items() for task, x in enumerate(levels)]
        >>> [round(number, 3) for number in allalike.agreement(rows, domain="ordinal").ordinal]
        [0.542, -0.109, 0.936]
        """
        if self._level_counts is None:
            return np.nan, np.nan, np.nan
        paired = self._level_counts["paired"]
        alpha = compute_alpha(_place_levels(self.sample, np.cumsum(paired) - paired / 2))
        return alpha.value, alpha.low, alpha.high

    def coefficients(self, *, pairs: bool = True) -> dict[str, float | None]:
        """Return all coefficients by their textbook names; None if undefined, NaN if unknown.

        ``allalike list coefficients`` describes each.

        Parameters
        ----------
        pairs
            Whether to compare pairs of workers, for Cohen's kappa.

        >>> import allalike
        >>> rows = [("ada", 1, 1), ("bob", 1, 2), ("ada", 2, 3), ("bob", 2, 3), ("ada", 3, 5), ("bob", 3, 4)]
        >>> for name, value in allalike.agreement(rows, domain="ordinal").coefficients().items():
        ...     print(f"{name:35}{value:.3f}")
        ordinal alpha                      0.902
        linear alpha                       0.615
        interval alpha                     0.833
        percent agreement                  0.333
        Cohen's weighted kappa (linear)    0.571
        Gwet's AC2 (linear)                0.600
        Cohen's weighted kappa (quadratic) 0.800
        Gwet's AC2 (quadratic)             0.846
        """
        values: dict[str, float | None] = {}
        if self._level_counts is not None:
            values["ordinal alpha"] = self.ordinal[0]
        values[name_alpha(self.run.domain.name, self.run.domain.distance)] = self.alpha
        if self._level_counts is not None:
            self._add_level_coefficients(values, self._level_counts["share"] / self.sample.n_tasks, pairs=pairs)
        elif self.percent is not None:
            values |= {"percent agreement": self.percent, "Fleiss' kappa": self.fleiss}
            if pairs:
                values["Cohen's kappa"] = self.cohen
            values["Gwet's AC1"] = self.ac1
        return values

    def _add_level_coefficients(self, values: dict[str, float | None], shares: Floats, *, pairs: bool) -> None:
        levels, k = self.run.encoding.vocabulary, len(shares)
        if all(isinstance(level, int | float) for level in levels):
            values["interval alpha"] = compute_alpha(_place_levels(self.sample, np.array(levels, np.float64))).value
        values["percent agreement"] = _compute_agreement(self.sample, "hamming")
        for power, name, distance in ((1, "linear", "linear"), (2, "quadratic", "squared")):
            weights = weigh_levels(k, power)
            if pairs and len(self.run.workers) <= MAX_MATRIX_WORKERS:
                kappa = compute_cohen(self.sample, weights)
                values[f"Cohen's weighted kappa ({name})"] = None if kappa is None else kappa.kappa
            agreement = _compute_agreement(self.sample, distance)
            values[f"Gwet's AC2 ({name})"] = compute_gwet(agreement, shares, k, float(weights.sum()))

    @cached_property
    def workers(self) -> Frame:
        """One row per worker: worker, answers, alpha_without (alpha without their answers), effect (on alpha)."""
        without = self.found.without
        numbers = {"answers": self.run.answer_counts, "alpha_without": without, "effect": self.alpha - without}
        return self._to_frame({"worker": self.run.workers, **numbers})

    @cached_property
    def matrix(self) -> Frame | None:
        """Mean distance between every two workers on their common tasks; None for more than 500 workers.

        >>> import allalike
        >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "y"), ("eve", 3, "y")]
        >>> allalike.discover(rows).agreement.matrix
             ada  bob  eve
        ada  0.0  0.5  NaN
        bob  0.5  0.0  NaN
        eve  NaN  NaN  0.0
        """
        if len(self.run.workers) > MAX_MATRIX_WORKERS:
            return None
        sums = self.sample.pairs(self.sample.kernels.pair_sums)
        distance, common = (np.asarray(sums[name], np.float64) for name in ("distance", "common"))
        mean = np.where(common > 0, distance, np.nan) / np.maximum(common, 1.0)
        np.fill_diagonal(mean, 0.0)
        ids = self.run.workers.tolist()
        return self._to_frame(pd.DataFrame(mean, ids, ids), "worker")

    def summary(self) -> dict[str, Any]:
        """Return all numbers and the workers with the largest effects as JSON values; None if unknown.

        >>> import allalike
        >>> found = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")]).agreement
        >>> found.summary()["alpha"], found.summary()["percent"], found.summary()["paired_answers"]
        (0.0, 0.5, 4)
        """
        alpha, cohen = self.found, self.cohen_pairs
        numbers = {
            "alpha": alpha.value,
            "ci_low": alpha.low,
            "ci_high": alpha.high,
            "observed": alpha.observed,
            "expected": alpha.expected,
            "expected_error": alpha.error,
            "percent": self.percent,
            "fleiss": self.fleiss,
            "ac1": self.ac1,
            "cohen": self.cohen,
        }
        return {
            "answers": int(self.run.answer_counts.sum()),
            "workers": len(self.run.workers),
            "tasks": self.run.n_tasks,
            **({} if self.sampled_tasks is None else {"sampled_tasks": self.sampled_tasks}),
            "domain": self.run.encoding.describe(),
            **{name: _known(value) for name, value in numbers.items()},
            "expected_from": alpha.source,
            "cohen_pairs": None if cohen is None else cohen.pairs,
            "coefficients": {name: _known(value) for name, value in self.coefficients().items()},
            "ordinal_limits": [_known(limit) for limit in self.ordinal[1:]],
            "paired_answers": alpha.answers,
            "paired_tasks": alpha.tasks,
            "effects": self._list_effects(),
        }

    def _list_effects(self) -> list[dict[str, Any]]:
        effect = self.alpha - self.found.without
        order = np.argsort(-np.abs(np.nan_to_num(effect)), kind="stable")[:_MAX_NAMED].tolist()
        numbers = {"alpha_without": self.found.without, "effect": effect}
        return [{"worker": self.run.workers[i], **{n: _known(x[i]) for n, x in numbers.items()}} for i in order]

    def __repr__(self) -> str:
        alphas = {name_alpha(self.run.domain.name, self.run.domain.distance): (self.alpha, self.ci_low, self.ci_high)}
        if not math.isnan(self.ordinal[0]):
            alphas = {"ordinal alpha": self.ordinal, **alphas}
        parts = []
        for name, (value, low, high) in alphas.items():
            interval = "" if math.isnan(low) else f" ({_format(low)} to {_format(high)})"
            parts.append(f"{name} {_format(value)}{interval}")
        parts += [] if self.percent is None else [f"percent agreement {100 * self.percent:.1f} %"]
        kappas = {"Fleiss' kappa": self.fleiss, "Gwet's AC1": self.ac1}
        parts += [f"{name} {_format(kappa)}" for name, kappa in kappas.items() if kappa is not None]
        parts += [] if self.sampled_tasks is None else [f"from a sample of {self.sampled_tasks:,} tasks"]
        return ", ".join(parts)


def measure_agreement(run: Run) -> Agreement:
    """Measure agreement among the workers of a run, on all answers or on a sample of whole tasks.

    >>> import allalike
    >>> rows = [("ada", 1, 1.0), ("bob", 1, 1.0), ("ada", 2, 3.0), ("bob", 2, 3.0)]
    >>> measure_agreement(allalike.Memory().load(allalike.read(rows, domain="real")))
    Krippendorff's alpha 1.000
    """
    if isinstance(run, MemoryRun) and run.answer_counts.sum() <= MAX_ANSWERS:
        sample = run
    else:
        sample = sample_tasks(run, MAX_ANSWERS, with_gold=False).map(run.encoding.prepare)
    n_classes = run.encoding.n_classes
    if n_classes is None or not run.encoding.nominal:
        return Agreement(run, sample, compute_alpha(sample))
    counts = _count_labels(sample)
    alpha = compute_alpha(sample, counts["paired"])
    percent, shares = 1 - alpha.distance, counts["share"] / sample.n_tasks
    return Agreement(
        run, sample, alpha, percent, compute_fleiss(percent, shares), compute_gwet(percent, shares, n_classes)
    )


def _count_labels(run: MemoryRun) -> dict[str, Floats]:
    """Return, per class, the number of pairable answers and the sum of its shares over all tasks."""
    label = np.concatenate([block.label for block in run.blocks])
    size = np.concatenate([block.to_answers(block.sizes) for block in run.blocks]).astype(np.float64)
    values = {"paired": np.where(size > 1, 1.0, 0.0), "share": 1 / size}
    return {name: sum_by(label, value, run.encoding.n_labels) for name, value in values.items()}


def _place_levels(run: MemoryRun, places: Floats) -> MemoryRun:
    """Return a run in which levels are replaced by their positions on a line."""
    from allalike.domains.real import Real, RealEncoding

    encoding = RealEncoding(domain=Real())

    def place(block: Block) -> Block:
        return encoding.prepare(replace(block, label=places[block.label]))

    return replace(run.map(place), encoding=encoding)


def _compute_agreement(run: MemoryRun, distance: str) -> float:
    """Return 1 minus the mean over tasks of the mean distance between two answers, for another distance."""
    kernels = replace(run.encoding, domain=replace(run.domain, distance=distance)).kernels
    means = pick_pairable(run.blocks, kernels).mean
    return 1 - float(means.mean()) if len(means) else np.nan


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _format(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.3f}"


_NUMBERS = ("answers", "workers", "tasks", "alpha", "ci_low", "ci_high", "percent", "fleiss", "ac1")


@dataclass(frozen=True, repr=False)
class Agreements(Mapping[tuple[str, ...], "Agreement"]):
    """Agreement in each group of answers, by the values that define the group.

    Parameters
    ----------
    by
        The columns whose values define the groups.
    groups
        The agreement in each group.

    >>> import allalike
    >>> answers = {"ada": "xxyyx", "bob": "xxyyx", "eve": "xyyyx", "zoe": "yxyxx"}
    >>> rows = [(who, task, label, who < "c") for who, labels in answers.items() for task, label in enumerate(labels)]
    >>> table = dict(zip(("worker", "task", "label", "early"), zip(*rows)))
    >>> allalike.agreement(table, by="early").table[["early", "workers", "domain", "alpha"]].round(3)
       early  workers       domain  alpha
    0  False        2  categorical  -0.08
    1   True        2  categorical   1.00
    """

    by: tuple[str, ...]
    groups: Mapping[tuple[str, ...], Agreement]

    def __getitem__(self, values: tuple[str, ...] | str) -> Agreement:
        """Return the agreement of the group with these values, or with this single value."""
        return self.groups[(values,) if isinstance(values, str) else values]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def summary(self) -> dict[str, Any]:
        """Return all numbers of each group as JSON values.

        Coefficients are None for fewer than two tasks with several answers, and confidence intervals for fewer than 20.

        >>> Agreements(("sex",), {}).summary()
        {'by': ['sex'], 'groups': []}
        """
        groups = [
            {"group": dict(zip(self.by, values, strict=True)), **_of_tasks(each.summary())}
            for values, each in self.groups.items()
        ]
        return {"by": list(self.by), "groups": groups}

    @cached_property
    def table(self) -> Any:
        """One row per group: its values, numbers of answers, workers and tasks, label type, and coefficients."""
        rows = [
            {**group["group"], "domain": group["domain"]["name"], **{name: group[name] for name in _NUMBERS}}
            for group in self.summary()["groups"]
        ]
        names = [*self.by, *_NUMBERS[:3], "domain", *_NUMBERS[3:]]
        table = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(_NUMBERS[3:], float))
        return make_frame(table, next((found.run.frame for found in self.groups.values()), "pandas"))

    def __repr__(self) -> str:
        return "\n".join(f"{', '.join(values) or '(none)'}: {found!r}" for values, found in self.groups.items())


def _of_tasks(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without the numbers that would need more tasks."""
    unknown = ["alpha", "fleiss", "ac1", "cohen"] if summary["paired_tasks"] < 2 else []
    unknown += ["ci_low", "ci_high"] if summary["paired_tasks"] < _MIN_INTERVAL_TASKS else []
    return {**summary, **dict.fromkeys(unknown)}


def measure_scales(run: Run) -> dict[str, Agreement]:
    """Measure agreement on each scale of a survey; return nothing for other answers.

    >>> import allalike
    >>> scales = {"Which?": "letter", "Which one?": "letter", "Did you?": "used"}
    >>> answers = {"ada": ["a", "b", "yes"], "bob": ["a", "b", "no"]}
    >>> rows = [(who, task, {scales[task]: x}) for who, labels in answers.items() for task, x in zip(scales, labels)]
    >>> answers = allalike.read(rows, domain=allalike.Record("letter:categorical, used:categorical", one=True))
    >>> {name: found.percent for name, found in measure_scales(allalike.Memory().load(answers)).items()}
    {'letter': 1.0, 'used': 0.0}
    """
    record, fields = run.domain.record, run.encoding.fields
    if record is None or fields is None or not record.one or run.n_tasks > _MAX_QUESTIONS:
        return {}
    given = run.sum(fields.count)["answers"]
    return {
        name: measure_agreement(take_field(run, fields, number, given[:, number]))
        for number, (name, encoding) in enumerate(fields.encodings)
        if encoding is not None
    }
