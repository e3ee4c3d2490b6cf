"""Agreement: how much workers agree, in the numbers that people know."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.late import pd
from allalike.api.agreement.alpha import Alpha, find_mean_distances, measure_alpha
from allalike.api.agreement.coefficients import (
    Cohen,
    find_agreed,
    measure_cohen,
    measure_fleiss,
    measure_gwet,
    place_levels,
    weigh_agreement,
)
from allalike.api.agreement.label_pairs import count_labels
from allalike.api.frames import Frame, Framed, dress
from allalike.methods.composed import take_field
from allalike.telling.remark import name_alpha

if TYPE_CHECKING:
    from allalike._core.blocks.block import Floats
    from allalike.engines import Run

MAX_MATRIX_WORKERS = 500
_MAX_NAMED = 20  # workers that a summary names


@dataclass(frozen=True, repr=False)
class Agreement(Framed[Frame]):
    """How much the workers agree; what is not defined is None, and what cannot be known is NaN.

    Parameters
    ----------
    run
        The answers, where they are.
    found
        Krippendorff's alpha, and what it is made of.
    percent
        The share of equal pairs among the answers to a task, on average over tasks; of classes.
    fleiss, ac1
        Fleiss' kappa and Gwet's AC1; of classes.

    >>> import allalike
    >>> said = {"ada": "xxyyxyxx", "bob": "xxyyxyxy", "eve": "xyyyxyyx"}
    >>> rows = [(worker, task, label) for worker, labels in said.items() for task, label in enumerate(labels)]
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
    found: Alpha
    percent: float | None = None
    fleiss: float | None = None
    ac1: float | None = None

    @property
    def alpha(self) -> float:
        """Krippendorff's alpha: 1 minus observed by expected distance."""
        return self.found.value

    @property
    def low(self) -> float:
        """The lower limit of alpha, of 95 %, if other tasks of the same kind were asked."""
        return self.found.low

    @property
    def high(self) -> float:
        """The upper limit of alpha, of 95 %."""
        return self.found.high

    @property
    def observed(self) -> float:
        """The mean distance of answers to the same task."""
        return self.found.observed

    @property
    def expected(self) -> float:
        """The mean distance of answers to any tasks."""
        return self.found.expected

    @property
    def expected_from(self) -> str:
        """What the expected distance is known from: label totals, all pairs, or a sample of so many pairs."""
        return self.found.source

    @property
    def cohen(self) -> float | None:
        """Cohen's kappa of two workers, or its mean over all pairs; of classes, and up to 500 workers."""
        return None if self.cohen_pairs is None else self.cohen_pairs.kappa

    @cached_property
    def cohen_pairs(self) -> Cohen | None:
        """The mean of Cohen's kappa, and over how many pairs of workers."""
        counts = self.percent is not None and len(self.run.workers) <= MAX_MATRIX_WORKERS
        return measure_cohen(self.run) if counts else None

    @cached_property
    def _counts(self) -> dict[str, Floats] | None:
        """How often each level was chosen; None for other labels."""
        encoding = self.run.encoding
        levels = encoding.n_classes is not None and not encoding.nominal
        return self.run.total(partial(count_labels, n_labels=encoding.n_labels)) if levels else None

    @cached_property
    def ordinal(self) -> tuple[float, float, float]:
        """Krippendorff's ordinal alpha, of levels, and its limits of 95 %; NaN for other labels.

        >>> import allalike
        >>> said = {"ada": [1, 2, 3, 3, 2, 1], "bob": [1, 2, 3, 3, 2, 2], "eve": [2, 3, 3, 3, 2, 3]}
        >>> rows = [(worker, task, x) for worker, levels in said.items() for task, x in enumerate(levels)]
        >>> [round(number, 3) for number in allalike.agreement(rows, domain="ordinal").ordinal]
        [0.542, -0.109, 0.936]
        """
        if self._counts is None:
            return np.nan, np.nan, np.nan
        paired = self._counts["paired"]
        found = measure_alpha(place_levels(self.run, np.cumsum(paired) - paired / 2))
        return found.value, found.low, found.high

    def coefficients(self, *, pairs: bool = True) -> dict[str, float | None]:
        """Return all coefficients by their textbook names; what is not defined is None, unknown is NaN.

        `allalike.telling.remark` says what each is, as ``allalike agreement --list`` does.

        Parameters
        ----------
        pairs
            Whether to look at each pair of workers, for Cohen's kappa.

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
        main: dict[str, float | None] = {name_alpha(self.run.domain.name, self.run.domain.distance): self.alpha}
        if self._counts is not None:
            shares = self._counts["share"] / self.run.n_tasks
            return {"ordinal alpha": self.ordinal[0], **main, **self._of_levels(shares, pairs=pairs)}
        if self.percent is None:
            return main
        cohen = {"Cohen's kappa": self.cohen} if pairs else {}
        return {
            **main,
            "percent agreement": self.percent,
            "Fleiss' kappa": self.fleiss,
            **cohen,
            "Gwet's AC1": self.ac1,
        }

    def _of_levels(self, shares: Floats, *, pairs: bool) -> dict[str, float | None]:
        levels, k = self.run.encoding.vocabulary, len(shares)
        found: dict[str, float | None] = {}
        if all(isinstance(level, int | float) for level in levels):
            found["interval alpha"] = measure_alpha(place_levels(self.run, np.array(levels, np.float64))).value
        found["percent agreement"] = find_agreed(self.run, "hamming")
        for power, name, distance in ((1, "linear", "linear"), (2, "quadratic", "squared")):
            weights = weigh_agreement(k, power)
            if pairs and len(self.run.workers) <= MAX_MATRIX_WORKERS:
                kappa = measure_cohen(self.run, weights)
                found[f"Cohen's weighted kappa ({name})"] = None if kappa is None else kappa.kappa
            agreed = find_agreed(self.run, distance)
            found[f"Gwet's AC2 ({name})"] = measure_gwet(agreed, shares, k, float(weights.sum()))
        return found

    @cached_property
    def workers(self) -> Frame:
        """One row per worker: worker, answers, alpha_without (as if she had not answered), effect (what she adds)."""
        without = self.found.without
        numbers = {"answers": self.run.answer_counts, "alpha_without": without, "effect": self.alpha - without}
        return self._dress({"worker": self.run.workers, **numbers})

    @cached_property
    def matrix(self) -> Frame | None:
        """Each worker against each: the mean distance on their common tasks; None for more than 500 workers.

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
        ids = self.run.workers.tolist()
        return self._dress(pd.DataFrame(find_mean_distances(self.run), ids, ids), "worker")

    def summary(self) -> dict[str, Any]:
        """Return all numbers, and the workers with the largest effects, as what JSON can hold; unknown is None.

        >>> import allalike
        >>> found = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x")]).agreement
        >>> found.summary()["alpha"], found.summary()["percent"], found.summary()["paired_answers"]
        (0.0, 0.5, 4)
        """
        found, cohen = self.found, self.cohen_pairs
        numbers = {
            "alpha": found.value,
            "low": found.low,
            "high": found.high,
            "observed": found.observed,
            "expected": found.expected,
            "expected_error": found.error,
            "percent": self.percent,
            "fleiss": self.fleiss,
            "ac1": self.ac1,
            "cohen": self.cohen,
        }
        return {
            "answers": int(self.run.answer_counts.sum()),
            "workers": len(self.run.workers),
            "tasks": self.run.n_tasks,
            "domain": self.run.encoding.describe(),
            **{name: _known(value) for name, value in numbers.items()},
            "expected_from": found.source,
            "cohen_pairs": None if cohen is None else cohen.pairs,
            "coefficients": {name: _known(value) for name, value in self.coefficients().items()},
            "ordinal_limits": [_known(limit) for limit in self.ordinal[1:]],
            "paired_answers": found.answers,
            "paired_tasks": found.tasks,
            "effects": self._effects(),
        }

    def _effects(self) -> list[dict[str, Any]]:
        without = self.found.without
        effect = self.alpha - without
        order = np.argsort(-np.abs(np.nan_to_num(effect)), kind="stable")[:_MAX_NAMED]
        return [
            {"worker": self.run.workers[int(i)], "alpha_without": _known(without[i]), "effect": _known(effect[i])}
            for i in order
        ]

    def __repr__(self) -> str:
        own = name_alpha(self.run.domain.name, self.run.domain.distance), self.alpha, self.low, self.high
        alphas = [own] if math.isnan(self.ordinal[0]) else [("ordinal alpha", *self.ordinal), own]
        parts = [_with_limits(*each) for each in alphas]
        if self.percent is not None:
            parts.append(f"percent agreement {100 * self.percent:.1f} %")
        named = {"Fleiss' kappa": self.fleiss, "Gwet's AC1": self.ac1}
        return ", ".join([*parts, *(f"{name} {_short(value)}" for name, value in named.items() if value is not None)])


def measure_agreement(run: Run) -> Agreement:
    """Measure how much the workers of a run agree.

    >>> import allalike
    >>> rows = [("ada", 1, 1.0), ("bob", 1, 1.0), ("ada", 2, 3.0), ("bob", 2, 3.0)]
    >>> measure_agreement(allalike.Memory().load(allalike.read(rows, domain="real")))
    Krippendorff's alpha 1.000
    """
    n_classes = run.encoding.n_classes
    if n_classes is None or not run.encoding.nominal:
        return Agreement(run, measure_alpha(run))
    counts = run.total(partial(count_labels, n_labels=run.encoding.n_labels))
    found = measure_alpha(run, counts["paired"])
    percent, shares = 1 - found.distance, counts["share"] / run.n_tasks
    return Agreement(run, found, percent, measure_fleiss(percent, shares), measure_gwet(percent, shares, n_classes))


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _with_limits(name: str, value: float, low: float, high: float) -> str:
    limits = "" if math.isnan(low) else f" ({_short(low)} to {_short(high)})"
    return f"{name} {_short(value)}{limits}"


def _short(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{value:.3f}"


# Agreements: how much workers agree in each group of answers, such as blocks of questions or groups of workers.


_MIN_LIMITED = 20  # tasks; limits held in 86 % of drawn crowds with 12 tasks, and in 67 % of those with 5
_NUMBERS = ("answers", "workers", "tasks", "alpha", "low", "high", "percent", "fleiss", "ac1")


@dataclass(frozen=True, repr=False)
class Agreements(Mapping[tuple[str, ...], "Agreement"]):
    """How much the workers agree in each group of answers, by the values that a group has in common.

    Parameters
    ----------
    by
        The columns whose values make the groups.
    groups
        The agreement in each group.

    >>> import allalike
    >>> said = {"ada": "xxyyx", "bob": "xxyyx", "eve": "xyyyx", "zoe": "yxyxx"}
    >>> rows = [(who, task, label, who < "c") for who, labels in said.items() for task, label in enumerate(labels)]
    >>> table = dict(zip(("worker", "task", "label", "early"), zip(*rows)))
    >>> allalike.agreement(table, by="early").table[["early", "workers", "domain", "alpha"]].round(3)
       early  workers       domain  alpha
    0  False        2  categorical  -0.08
    1   True        2  categorical   1.00
    """

    by: tuple[str, ...]
    groups: Mapping[tuple[str, ...], Agreement]

    def __getitem__(self, values: tuple[str, ...] | str) -> Agreement:
        """Return the agreement of the group with these values, or with this one."""
        return self.groups[(values,) if isinstance(values, str) else values]

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return iter(self.groups)

    def __len__(self) -> int:
        return len(self.groups)

    def summary(self) -> dict[str, Any]:
        """Return all numbers of each group as what JSON can hold.

        Where there is one task only, nothing is known of agreement beyond chance, and with a few nothing of limits.

        >>> Agreements(("sex",), {}).summary()
        {'by': ['sex'], 'groups': []}
        """
        groups = [
            {"group": dict(zip(self.by, values, strict=True)), **_of_tasks(found.summary())}
            for values, found in self.groups.items()
        ]
        return {"by": list(self.by), "groups": groups}

    @cached_property
    def table(self) -> Any:
        """One row per group: its values, how many answers, workers and tasks, the domain, alpha and all else."""
        rows = [
            {**group["group"], "domain": group["domain"]["name"], **{name: group[name] for name in _NUMBERS}}
            for group in self.summary()["groups"]
        ]
        names = [*self.by, *_NUMBERS[:3], "domain", *_NUMBERS[3:]]
        table = pd.DataFrame(rows, columns=names).astype(dict.fromkeys(_NUMBERS[3:], float))
        return dress(table, next((found.run.frame for found in self.groups.values()), "pandas"))

    def __repr__(self) -> str:
        return "\n".join(f"{', '.join(values) or '(none)'}: {found!r}" for values, found in self.groups.items())


def _of_tasks(summary: dict[str, Any]) -> dict[str, Any]:
    """Return a summary without what needs more tasks than there are."""
    unknown = ["alpha", "fleiss", "ac1", "cohen"] if summary["paired_tasks"] < 2 else []
    unknown += ["low", "high"] if summary["paired_tasks"] < _MIN_LIMITED else []
    return {**summary, **dict.fromkeys(unknown)}


# Agreement scale by scale: surveys ask questions of several scales, whose answers have no distance to each other.


_MAX_QUESTIONS = 500  # a survey has no more


def measure_scales(run: Run) -> dict[str, Agreement]:
    """Measure how much the workers agree on each scale of a survey; nothing of other answers.

    >>> import allalike
    >>> scales = {"Which?": "letter", "Which one?": "letter", "Did you?": "used"}
    >>> said = {"ada": ["a", "b", "yes"], "bob": ["a", "b", "no"]}
    >>> rows = [(who, task, {scales[task]: x}) for who, labels in said.items() for task, x in zip(scales, labels)]
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
