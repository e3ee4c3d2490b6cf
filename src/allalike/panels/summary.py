"""Summary of a panel: one struct per fact, for JSON, schema and messages."""

from __future__ import annotations

import math
from typing import Any

import msgspec

MAX_NAMED = 20  # judges, pairs, changes or groups in a summary
_DIGITS = 6
Number = float | None  # None if it is unknown


class PanelFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Related facts; defaults of None are omitted from the JSON."""


class ConfidenceInterval(PanelFacts, frozen=True):
    """An estimate with its 95 % confidence interval."""

    estimate: Number
    ci_low: Number
    ci_high: Number

    @property
    def width(self) -> float:
        """Width of the interval; infinite if it is unknown."""
        return math.inf if self.ci_low is None or self.ci_high is None else self.ci_high - self.ci_low


class JudgeInterval(PanelFacts, frozen=True):
    """Offset, position bias or steadiness (self-consistency) of a judge, with its 95 % confidence interval."""

    judge: Any
    ci_low: Number
    ci_high: Number
    offset: Number = None
    bias: Number = None
    steadiness: Number = None


class Coverage(PanelFacts, frozen=True):
    """A confidence level: share of tasks that reach it, expected accuracy and measured accuracy."""

    level: float
    share: float
    expected: Number
    accuracy: Number


class CalibrationError(PanelFacts, frozen=True):
    """Expected calibration error of confidences, before and after calibration by gold labels."""

    own: Number
    calibrated: Number


class CorrelatedPair(PanelFacts, frozen=True):
    """Two judges with correlated errors: shared and expected number of wrong labels, or correlation of scores."""

    judge: str
    other: str
    ci_low: Number
    ci_high: Number
    p_value: Number
    same_wrong: int | None = None
    expected: Number = None
    correlation: Number = None


class PairCounts(PanelFacts, frozen=True):
    """Number of compared pairs, of pairs with correlated errors, and of tasks."""

    compared: int
    found: int
    tasks: int
    named: tuple[CorrelatedPair, ...]
    groups: tuple[tuple[Any, ...], ...]


class SmallestPanel(PanelFacts, frozen=True):
    """Smallest panel that retains a share of the whole panel's worth, and the 95 % interval of its loss."""

    size: int
    members: tuple[Any, ...]
    retain: float
    retained: float
    lost: tuple[Number, ...]
    worth: float
    error: Number


class Costs(PanelFacts, frozen=True):
    """Cost of the verdicts of all judges and of the smallest panel; per correct verdict for classes."""

    panel: float
    smallest: float
    panel_per_correct: Number = None
    smallest_per_correct: Number = None


class GoldCorrection(PanelFacts, frozen=True):
    """Correction of numbers by gold labels: their number, and the RMSE on held-out gold labels before and after."""

    known: int
    before: float
    after: float


class Ceiling(PanelFacts, frozen=True):
    """Number of gold labels, and of gold labels that no judge gave."""

    known: int
    missed: int | None


class PanelOption(PanelFacts, frozen=True):
    """A panel, sub-panel or judge: members and cross-validated error."""

    name: str
    members: tuple[Any, ...]
    error: Number


class Recommendation(PanelFacts, frozen=True):
    """Choice by gold labels between the whole panel, a smaller one and one judge, with its reason."""

    chosen: str
    reason: str
    options: tuple[PanelOption, ...]


class ModelTest(PanelFacts, frozen=True):
    """Winning rate and average advantage probability of a model against humans; it passes if the rate is >= 0.5."""

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
    """Rate of a group of tasks, estimated from its own gold labels or from all gold labels."""

    group: str
    tasks: int
    known: int
    apparent: Number
    rate: Number
    ci_low: Number
    ci_high: Number
    estimated_from: str


class Rate(ConfidenceInterval, frozen=True):
    """Share of positive tasks with its 95 % confidence interval, and share that the panel calls positive."""

    positive: tuple[Any, ...]
    tasks: int
    known: int
    apparent: float
    sensitivity: Number
    specificity: Number
    drawn: str
    misfit: bool
    prediction_powered: ConfidenceInterval | None = None
    inferred: bool = False
    by: str | None = None
    groups: tuple[GroupRate, ...] | None = None


class MeanScore(ConfidenceInterval, frozen=True):
    """Mean of all labels by PPI++ with its 95 % confidence interval, and the means of verdicts and of gold labels."""

    known: int
    apparent: float
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
    """Earlier and current rate, or the labels of the earlier rate if they differ."""

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
    """Number of tasks by outcome: class, score, tie, inconclusive or unreadable."""

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
    """Number and share of unreadable verdicts by a judge."""

    judge: str
    unreadable: int
    asked: int
    share: float


class UnreadableCounts(PanelFacts, frozen=True):
    """Number of unreadable verdicts, of their judges, and of tasks without a readable verdict."""

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
    """Steadiness of the judges (probability for classes, correlation for scores), and sufficient number of samples."""

    most: int
    steadiness: Number
    least_steady: JudgeInterval
    enough: int
    retain: float


class PanelSummary(PanelFacts, frozen=True):
    """Facts about a panel; those with a default are optional.

    The worth is the accuracy for classes, and a skill score relative to a guess for scores.
    """

    outcomes: OutcomeCounts
    unreadable: UnreadableCounts
    pairs: PairCounts
    smallest: SmallestPanel
    effective_judges: Number
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
    """Return the summary with numbers rounded to six digits; None if unknown."""
    return msgspec.convert(to_json(facts), PanelSummary)


def to_json(facts: Any) -> Any:
    """Return facts as JSON types."""
    return _round(msgspec.to_builtins(facts, enc_hook=lambda each: each.item()))


def _round(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}") if math.isfinite(value) else None
    if isinstance(value, dict):
        return {name: _round(each) for name, each in value.items()}
    return [_round(each) for each in value] if isinstance(value, list | tuple) else value
