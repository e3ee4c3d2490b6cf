"""Summary of a panel: one struct per fact, from which its JSON, the schema and the messages come."""

from __future__ import annotations

import math
from typing import Any

import msgspec

MAX_NAMED = 20  # judges, pairs, changes or groups that a summary names
_DIGITS = 6
Number = float | None  # None if it is unknown


class PanelFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Facts that belong together; those that are None by default are left out of the JSON."""


class ConfidenceInterval(PanelFacts, frozen=True):
    """An estimate with its 95 % confidence interval."""

    estimate: Number
    ci_low: Number
    ci_high: Number

    @property
    def width(self) -> float:
        """The width of the interval; infinite if it is unknown."""
        return math.inf if self.ci_low is None or self.ci_high is None else self.ci_high - self.ci_low


class JudgeInterval(PanelFacts, frozen=True):
    """The offset, the position bias or the steadiness of a judge, with its 95 % confidence interval."""

    judge: Any
    ci_low: Number
    ci_high: Number
    offset: Number = None
    bias: Number = None
    steadiness: Number = None


class Coverage(PanelFacts, frozen=True):
    """A confidence level: the share of tasks that reach it, and their expected and measured accuracy."""

    level: float
    share: float
    expected: Number
    accuracy: Number


class CalibrationError(PanelFacts, frozen=True):
    """Expected calibration error of the confidences, as estimated and as calibrated by gold labels."""

    own: Number
    calibrated: Number


class CorrelatedPair(PanelFacts, frozen=True):
    """Two judges with correlated errors: shared wrong labels and the expected number, or for scores a correlation."""

    judge: str
    other: str
    ci_low: Number
    ci_high: Number
    p_value: Number
    same_wrong: int | None = None
    expected: Number = None
    correlation: Number = None


class PairCounts(PanelFacts, frozen=True):
    """Number of pairs that were compared, of those with correlated errors, and of tasks."""

    compared: int
    found: int
    tasks: int
    named: tuple[CorrelatedPair, ...]
    groups: tuple[tuple[Any, ...], ...]


class SmallestPanel(PanelFacts, frozen=True):
    """The smallest panel that retains a share of the worth of the whole one, and the 95 % interval of its loss."""

    size: int
    members: tuple[Any, ...]
    retain: float
    retained: float
    lost: tuple[Number, ...]
    agreement: Number
    worth: float
    error: Number


class Costs(PanelFacts, frozen=True):
    """Cost of the verdicts of all judges and of the smallest panel; per correct verdict for classes."""

    panel: float
    smallest: float
    panel_per_correct: Number = None
    smallest_per_correct: Number = None


class GoldCorrection(PanelFacts, frozen=True):
    """Correction of numbers by gold labels: how many, and the RMSE on held-out gold labels before and after it."""

    known: int
    before: float
    after: float


class EffectiveJudges(PanelFacts, frozen=True):
    """Effective number of judges by gold labels, and the judges who add most and least to it."""

    all: Number
    most: Any = None
    least: Any = None


class Ceiling(PanelFacts, frozen=True):
    """Number of gold labels, and of those that no judge gave."""

    known: int
    missed: int | None


class PanelOption(PanelFacts, frozen=True):
    """A way to decide: its judges, its error and its loss of worth against the whole panel, by cross-validation."""

    name: str
    members: tuple[Any, ...]
    error: Number
    lost: Number
    standard_error: Number


class Recommendation(PanelFacts, frozen=True):
    """Choice between the whole panel, a smaller one and one judge by gold labels, and its reason."""

    chosen: str
    reason: str
    options: tuple[PanelOption, ...]


class ModelTest(PanelFacts, frozen=True):
    """Winning rate and average advantage probability of a model against humans; it passes from a rate of 0.5 on."""

    model: str
    winning_rate: float
    advantage_probability: float
    passes: bool


class AnnotatorTest(PanelFacts, frozen=True):
    """Alternative annotator test of each model, the best first."""

    humans: int
    epsilon: float
    models: tuple[ModelTest, ...]


class GroupRate(msgspec.Struct, frozen=True):
    """Rate of a group of tasks, by gold labels of its own or of all tasks."""

    group: str
    tasks: int
    known: int
    apparent: Number
    rate: Number
    ci_low: Number
    ci_high: Number
    estimated_from: str


class Rate(ConfidenceInterval, frozen=True):
    """Share of positive tasks, with its 95 % confidence interval, and the share that the panel calls positive."""

    positive: tuple[Any, ...]
    tasks: int
    known: int
    apparent: float
    sensitivity: Number
    specificity: Number
    drawn: str
    double_sampling: ConfidenceInterval
    rogan_gladen: ConfidenceInterval
    misfit: bool
    prediction_powered: ConfidenceInterval | None = None
    inferred: bool = False
    by: str | None = None
    groups: tuple[GroupRate, ...] | None = None


class MeanScore(ConfidenceInterval, frozen=True):
    """Mean of all labels by PPI++ with its 95 % confidence interval, and the means of verdicts and of gold labels."""

    known: int
    apparent: float
    power: float
    gold_only: ConfidenceInterval


class JudgeChange(PanelFacts, frozen=True):
    """Change of a judge since an earlier panel, with the 95 % confidence interval of the change."""

    judge: str
    what: str
    tasks: str
    before: Number
    now: Number
    ci_low: Number
    ci_high: Number
    n_before: int
    n_now: int
    p_value: float


class RateChange(PanelFacts, frozen=True):
    """Earlier and present rate, or the labels of the earlier one if they are others."""

    before: ConfidenceInterval | None = None
    now: ConfidenceInterval | None = None
    difference: ConfidenceInterval | None = None
    other_positive: tuple[Any, ...] | None = None


class Drift(PanelFacts, frozen=True):
    """Changes since an earlier panel."""

    baseline: str
    judges: int
    shared_tasks: int
    tests: int
    drifted: tuple[str, ...]
    named: tuple[JudgeChange, ...]
    new_judges: tuple[str, ...]
    gone_judges: tuple[str, ...]
    rate: RateChange | None = None


class OutcomeCounts(PanelFacts, frozen=True):
    """Number of tasks with a class or score, a tie, no conclusion, or without a readable verdict."""

    classes: int
    ties: int
    inconclusive: int
    unreadable: int
    scores: int
    undecided: int
    undecided_judges: tuple[Any, ...] = ()
    tie: Any = None
    quorum: Number = None
    below_quorum: int | None = None


class UnreadableJudge(PanelFacts, frozen=True):
    """Number and share of the verdicts of a judge that cannot be read."""

    judge: str
    unreadable: int
    asked: int
    share: float


class UnreadableCounts(PanelFacts, frozen=True):
    """Number of verdicts that cannot be read, of their judges, and of tasks without any that can."""

    verdicts: int
    judges: int
    tasks: int
    named: tuple[UnreadableJudge, ...]


class OrderCounts(PanelFacts, frozen=True):
    """Number of pairs with the same verdict in both orders, and judges with a position bias, the strongest first."""

    verdicts_name: str
    first_order: str
    pairs: int
    same: int
    one_order: int
    known: bool
    biased: tuple[JudgeInterval, ...]


class SampleCounts(PanelFacts, frozen=True):
    """Steadiness of the judges, a probability or for scores a correlation, and the number of samples that suffices."""

    most: int
    steadiness: Number
    least_steady: JudgeInterval
    enough: int
    retain: float
    panel: dict[str, Number]


class PanelSummary(PanelFacts, frozen=True):
    """Facts about a panel beside its verdicts; some only on request.

    The worth of a verdict on classes is its accuracy, that of a score is relative to a guess.
    """

    outcomes: OutcomeCounts
    unreadable: UnreadableCounts
    pairs: PairCounts
    smallest: SmallestPanel
    effective_judges: EffectiveJudges
    ceiling: Ceiling
    worth_from: str
    worth: float
    error_unit: str
    error: Number
    guess_error: Number = None
    calibration_error: CalibrationError | None = None
    coverage: tuple[Coverage, ...] | None = None
    offsets: tuple[JudgeInterval, ...] | None = None
    gold_correction: GoldCorrection | None = None
    recommendation: Recommendation | None = None
    annotators: AnnotatorTest | None = None
    cost: Costs | None = None
    rate: Rate | None = None
    mean: MeanScore | None = None
    drift: Drift | None = None
    orders: OrderCounts | None = None
    samples: SampleCounts | None = None

    @property
    def by_gold(self) -> bool:
        """Whether there are enough gold labels to measure the panel."""
        return self.worth_from == "gold"

    @property
    def is_scored(self) -> bool:
        """Whether verdicts are scores: labels with distances other than classes."""
        return self.error_unit != "error_rate"


def make_summary(facts: dict[str, Any]) -> PanelSummary:
    """Return the summary with six digits of each number, and None for an unknown one."""
    return msgspec.convert(to_json(facts), PanelSummary)


def to_json(facts: Any) -> Any:
    """Return facts as JSON can hold them."""
    return _round(msgspec.to_builtins(facts, enc_hook=lambda each: each.item()))


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _round(each) for name, each in value.items()}
    return [_round(each) for each in value] if isinstance(value, list | tuple) else value
