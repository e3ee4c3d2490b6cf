"""Panel summary: what a panel of judges says of itself, with a type for each thing that is told."""

from typing import Any

from allalike.telling.summary import Section


class RateLimits(Section):
    """A share, or a difference of two, with limits of 95 %."""

    estimate: float | None
    low: float | None
    high: float | None


class SureLevel(Section):
    """A level of confidence: which share of the tasks reaches it, and how often these are right."""

    level: float
    share: float
    expected: float | None
    accuracy: float | None


class CalibrationError(Section):
    """How far probabilities are from how often verdicts are right, as found, and mended by known truths."""

    own: float | None
    mended: float | None


class Bond(Section):
    """Two judges who are wrong together: how often, and how often it is expected; of scores, how errors correlate."""

    judge: str
    other: str
    low: float | None
    high: float | None
    probability: float | None
    together: int | None = None
    expected: float | None = None
    correlation: float | None = None


class BondCounts(Section):
    """How many pairs of judges were looked at, and are wrong together, on how many tasks."""

    looked_at: int
    found: int
    tasks: int
    named: tuple[Bond, ...]
    groups: tuple[tuple[Any, ...], ...]


class SmallestPanel(Section):
    """The smallest panel that keeps nearly all."""

    size: int
    members: tuple[Any, ...]
    keep: float


class Costs(Section):
    """What verdicts cost, of all judges and of the smallest panel."""

    panel: float
    smallest: float
    panel_per_correct: float | None = None
    smallest_per_correct: float | None = None


class JudgeScale(Section):
    """By how much a judge is above the others."""

    judge: Any
    offset: float
    low: float
    high: float


class ScalesUsed(Section):
    """Who clearly uses the scale in another way than the others, and what of it was taken away."""

    corrected: tuple[str, ...]
    can_correct: bool
    offsets: tuple[JudgeScale, ...]


class OffsetOfAll(Section):
    """By how much all judges were above known truths, with limits of 95 %, and how far these were before and after."""

    known: int
    offset: float
    low: float
    high: float
    slope: float
    before: float
    after: float


class JudgeDecides(Section):
    """How many tasks a judge decides, and how often she is right there, if truths are known."""

    judge: Any
    decides: int
    right: float | None


class PivotalTasks(Section):
    """How many tasks one judge decides, of how many, and who does."""

    tasks: int
    of: int
    share: float | None
    judges: tuple[JudgeDecides, ...]


class VoiceCounts(Section):
    """How many independent voices all judges are worth by known truths, and who errs most and least on its own."""

    all: float | None
    most: Any = None
    least: Any = None


class CeilingOfTruths(Section):
    """How many truths are known, and how many of these no judge gave."""

    known: int
    missed: int | None


class WantedPanel(Section):
    """The smallest panel that errs no more than is wanted; nobody, and the error of the best, if there is none."""

    max_error: float
    reached: bool
    members: tuple[Any, ...]
    error: float | None


class PickedTruths(Section):
    """Which share of the tasks with known truths, and of the others, is called good."""

    known: float | None
    others: float | None
    beyond_chance: bool


class Asking(Section):
    """How many further truths to find out, and which part of the width of the limits stays then, and at the least."""

    truths: int
    called_good: int
    called_other: int
    width: float | None
    least_width: float | None


class GroupRate(Section):
    """The rate of a group of tasks; told by known truths of its own, or of all tasks."""

    group: str
    tasks: int
    known: int
    apparent: float | None
    rate: float | None
    low: float | None
    high: float | None
    told_by: str


class GroupRates(Section):
    """The rates of groups of tasks: by which column, how many there are, and the first of them."""

    by: str
    number: int
    named: tuple[GroupRate, ...]
    misfits: tuple[str, ...] = ()


class PanelRate(Section):
    """The share of tasks that are good, with limits of 95 %; and the share that the panel calls so."""

    good: tuple[Any, ...]
    tasks: int
    known: int
    apparent: float
    estimate: float | None
    low: float | None
    high: float | None
    sensitivity: float | None
    specificity: float | None
    drawn: str
    double_sampling: RateLimits
    rogan_gladen: RateLimits
    picked: PickedTruths
    ask: Asking
    misfit: bool = False
    inferred: bool = False
    groups: GroupRates | None = None


class JudgeChange(Section):
    """What a judge does more or less often than before, or how she scores, with limits of 95 % for the change."""

    judge: str
    group: str
    tasks: str
    what: str
    before: float | None
    now: float | None
    low: float | None
    high: float | None
    n_before: int
    n_now: int
    probability: float
    found: bool


class RateChange(Section):
    """The rate before and now, or of which labels the earlier one is if not of the same."""

    before: RateLimits | None = None
    now: RateLimits | None = None
    difference: RateLimits | None = None
    effect: float | None = None
    other_good: tuple[Any, ...] | None = None


class DriftSince(Section):
    """What changed since an earlier panel."""

    since: str
    judges: int
    shared_tasks: int
    tests: int
    found: int
    drifted: tuple[str, ...]
    named: tuple[JudgeChange, ...]
    new_judges: tuple[str, ...]
    gone_judges: tuple[str, ...]
    rate: RateChange | None = None


class OutcomeCounts(Section):
    """On how many tasks the verdict is a class or score, a tie, inconclusive or unreadable, and why inconclusive."""

    classes: int
    ties: int
    inconclusive: int
    unreadable: int
    undecided: int
    scores: int = 0
    voiceless: tuple[Any, ...] = ()
    tie: Any = None
    quorum: float | None = None
    below_quorum: int | None = None


class JudgeUnread(Section):
    """How many verdicts of a judge could not be read, of how many."""

    judge: str
    unreadable: int
    asked: int
    share: float


class UnreadCounts(Section):
    """How many verdicts could not be read, of how many judges, and on how many tasks none could be."""

    verdicts: int
    judges: int
    tasks: int
    named: tuple[JudgeUnread, ...]


class JudgePosition(Section):
    """The position bias of a judge, with limits of 95 %."""

    judge: Any
    bias: float
    low: float
    high: float


class OrderCounts(Section):
    """How often judges say the same in both orders of a pair, and who follows the position."""

    about: str
    first_order: str
    pairs: int
    same: int
    one_order: int
    known: bool
    follow: int
    named: tuple[JudgePosition, ...]


class JudgeSteadiness(Section):
    """How probably two samples of a judge are the same, with limits of 95 %."""

    judge: Any
    steadiness: float | None
    low: float | None
    high: float | None


class SampleCounts(Section):
    """How steady judges are, by a probability or, for numbers, a correlation; and how many samples are enough."""

    most: int
    steadiness: float | None
    least_steady: JudgeSteadiness
    enough: int
    keep: float
    right_from: str
    panel: dict[str, float | None]
    unit: str = "probability"


class PanelSummary(Section):
    """What is known of a panel beside its verdicts; some of it only if it was asked for."""

    pairs: BondCounts
    smallest: SmallestPanel
    accuracy_from: str | None = None
    accuracy: float | None = None
    worth_from: str | None = None
    worth: float | None = None
    error_unit: str | None = None
    error: float | None = None
    guess_error: float | None = None
    scale_use: ScalesUsed | None = None
    shared_offset: OffsetOfAll | None = None
    pivotal: PivotalTasks | None = None
    voices: VoiceCounts | None = None
    ceiling: CeilingOfTruths | None = None
    wanted: WantedPanel | None = None
    calibration_error: CalibrationError | None = None
    coverage: tuple[SureLevel, ...] | None = None
    cost: Costs | None = None
    rate: PanelRate | None = None
    drift: DriftSince | None = None
    outcomes: OutcomeCounts | None = None
    unreadable: UnreadCounts | None = None
    orders: OrderCounts | None = None
    samples: SampleCounts | None = None
