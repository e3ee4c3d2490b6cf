"""Messages about a result, as functions of its summary, for the command line, the report and notebooks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from allalike._core.text_format import count
from allalike.answers.answers import format_columns, format_excluded
from allalike.errors import DataNote
from allalike.result.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from allalike.checks import Issue
    from allalike.result.summary import (
        AlternativeModel,
        ConfidenceSummary,
        Correlation,
        FlaggedWorkers,
        LabelKind,
        ModelSummary,
        UninformativeWorkers,
    )

_N_NAMED = 5


@dataclass(frozen=True)
class Message:
    """Sentence, with the option, value and names with which an interface formats it."""

    sentence: str
    option: str = ""
    value: Any = ""
    names: Sequence[Any] = ()


def name_some(ids: Sequence[Any], number: int, most: int = _N_NAMED) -> str:
    """List the first names and the number of the others; a single further name is listed as well.

    >>> name_some(["ada", "bob"], 2, 1), name_some(list("abcdefg"), 9)
    ('ada, bob', 'a, b, c, d, e and 4 more')
    """
    more = f" and {number - most:,} more" if number > most + 1 else ""
    return ", ".join(map(str, ids[:most] if more else ids)) + more


def percent(probability: float) -> str:
    """Format an estimated probability as a percentage, at most "over 99 %".

    >>> percent(0.934), percent(0.9999)
    ('93 %', 'over 99 %')
    """
    return "over 99 %" if probability > 0.99 else f"{100 * probability:.0f} %"


def share(part: int, whole: int) -> str:
    """Format a share as a percentage."""
    return f"{100 * part / whole:.1f} %"


def two_digits(number: float) -> str:
    """Format a number with two significant digits, and large numbers without an exponent.

    >>> two_digits(0.0353), two_digits(2.96), two_digits(99.7), two_digits(1786.0), two_digits(1.2e6)
    ('0.035', '3', '100', '1,800', '1,200,000')
    """
    short = float(f"{number:.2g}")
    return f"{short:,.0f}" if abs(short) >= 10 else f"{short:g}"


def percent_of(rate: float) -> str:
    """Format a rate as a percentage with two digits; nothing if it is unknown.

    >>> percent_of(0.1339), percent_of(0.0512), percent_of(1.0), percent_of(float("nan"))
    ('13 %', '5.1 %', '100 %', '')
    """
    return "" if rate != rate else f"{two_digits(100 * rate)} %"


# Answers: inferred options, excluded rows and data warnings.


_OWN_SENTENCES = ("columns", "layout", "domain", "engine", "missing")  # options with sentences of their own
_VOTE = "Use domain='categorical' for a majority vote."
_LABELS = {
    "real": f"numbers, so means are estimated. {_VOTE}",
    "date": f"dates, so means are estimated. {_VOTE}",
    "ordinal": f"levels of a scale, because answers to a task are close. {_VOTE}",
    "ordinal(": f"levels of a scale in words. {_VOTE}",
    "set(": "sets of items. Use domain='categorical' to vote on whole sets.",
    "ranking(": "rankings of items, best first. Use domain='categorical' to vote on whole labels.",
    "probability": "probabilities.",
    "bitmap": "masks.",
    **{name: f"{name}s." for name in ("set", "ranking", "text", "record", "vector", "interval", "place")},
}  # by inferred label type; with a bracket if it was inferred with options


def describe_input(summary: Summary) -> list[Message]:
    """Describe inferred options and excluded rows.

    >>> from allalike.result.summary import Summary
    >>> found = {"answers": 2, "workers": 1, "tasks": 2, "domain": {"name": "real"}, "guessed": {"encoding": "cp1252"}}
    >>> describe_input(Summary.from_dict(found))[0]
    Message(sentence='Detected: encoding cp1252.', option='encoding', value='cp1252', names=())
    """
    return [*_recognised(summary), *_describe_estimate(summary.domain), *_left_out(summary)]


def describe_warnings(summary: Summary) -> list[Message]:
    """Return the data warnings except those about numbers, which `describe_input` covers."""
    from allalike.checks import NUMBERS

    return [Message(text) for text in summary.warnings if not text.startswith(NUMBERS)]


def list_all_notes(summary: Summary) -> list[Message]:
    """Return the messages about inferred options and excluded rows, and the data warnings."""
    return [*describe_input(summary), *map(Message, summary.messages), *describe_warnings(summary)]


def list_notes(summary: Summary) -> list[Message]:
    """Return the messages about excluded rows, the messages of a reader, and the data warnings."""
    return [*_left_out(summary), *map(Message, (*summary.messages, *summary.warnings))]


def _recognised(summary: Summary) -> Iterator[Message]:
    from allalike.readers.tools import TOOLS

    guessed = summary.guessed
    if columns := guessed.get("columns"):
        yield Message(f"Detected: {format_columns(columns)}.", "columns", columns)
    for option, value in guessed.items():
        if option not in _OWN_SENTENCES:
            texts = {
                "tool": f"an export of {TOOLS[value].title if value in TOOLS else value}",
                "wide": f"a matrix, one row per {str(value).removesuffix('s')}",
                "duplicates": "several rows are one answer",
            }
            text = texts.get(option, f"{option.replace('_', ' ')} {value}")
            yield Message(f"Detected: {text}.", option, value)
    if layout := guessed.get("layout"):
        guess = Message(f"Detected: masks lie as {layout}.", "layout", layout)
        yield guess if "/" in layout else Message(f"Read: the masks listed in {layout}.")
    if name := guessed.get("domain"):
        yield _name_kind(name, summary.domain.numbers)
    if engine := guessed.get("engine"):
        yield Message(
            "Note: the files are larger than half of the free memory, so the answers are kept on disk"
            f" (engine='{engine}'; engine='memory' overrides)."
        )


def _name_kind(name: str, numbers: str) -> Message:
    """Describe the inferred label type, and the consequence for numbers."""
    if name == "categorical" and numbers:
        more = " Use domain='ordinal' if they are ratings." if numbers == "in a row" else ""
        return Message(
            f"Detected: the labels are classes, although they are numbers. Use domain='real' to estimate means.{more}"
        )
    kind, bracket, _ = name.partition("(")
    text = f"Detected: the labels are {_LABELS.get(kind + bracket) or _LABELS.get(kind) or f'{name}.'}"
    return Message(text) if name in ("real", "date", "ordinal") else Message(text, "domain", name)


def _describe_estimate(domain: LabelKind) -> Iterator[Message]:
    """Describe the chosen quorum and the estimator of ratings, with the option that changes them."""
    if domain.quorum_curve is not None and isinstance(domain.quorum, float):
        radius = f"radius={domain.radius:g}, " if domain.radius else ""
        fixed = f"domain='{domain.name}({radius}quorum=0.5)'"
        yield Message(f"quorum: {domain.quorum:.2f} (chosen; fixed with {fixed}).")
    if domain.name == "ordinal" and domain.target:
        here, other, name = "one correct level, the weighted median", "the mean of opinions", "mean"
        if domain.target == "mean":
            here, other, name = "the level nearest to the mean of opinions", "one correct level", "level"
        given = domain.levels_from == "given"
        how = f"add target={name} to its options" if given else f"domain='ordinal(target={name})'"
        yield Message(f"Each label is {here}; for {other}: {how}.")


def _left_out(summary: Summary) -> Iterator[Message]:
    if summary.missing_dropped:
        yield Message(format_excluded("missing_dropped", summary.missing_dropped), "missing", "drop")
    if summary.abstained_dropped:
        yield Message(format_excluded("abstained_dropped", summary.abstained_dropped), "abstain_label")
    if unparsed := summary.unparsed:
        part = f"{count(unparsed.labels, 'label')} ({share(unparsed.labels, unparsed.of)})"
        yield Message(f"Excluded {part} without a recognisable answer, such as {unparsed.example!r}.")
    for name in ("duplicates_added", "duplicates_removed"):
        if number := getattr(summary, name):
            yield Message(f"{format_excluded(name, number).removesuffix('.')} (option duplicates=).")


def note(summary: Mapping[str, Any], issues: Iterable[Issue], *, stacklevel: int) -> None:
    """Emit a `DataNote` per message about excluded rows and data, except for severe issues."""
    warned = {issue.text for issue in issues if issue.severe}
    for remark in list_notes(Summary.from_dict(summary)):
        if remark.sentence not in warned:
            warnings.warn(DataNote(remark.sentence), stacklevel=stacklevel + 1)


# Labels: counts, estimation, confidence, and error on gold labels.


CONFIDENCE_SOURCES = {
    "gold": "measured on gold labels",
    "model": "estimated from the model and the votes",
    "halves": "estimated from two halves of the workers",
    "pairs": "estimated from pairs of answers",
    "answers": "estimated from held-out answers",
}
_VOTES, _MIDDLES = ("plurality", "majority"), ("mean", "median", "geometric median", "medoid")


def list_facts(summary: Summary) -> list[str]:
    """Return short phrases about the counts, the label type and the method."""
    classes, method = summary.domain.classes, summary.method.name
    return [
        count(summary.answers, "answer"),
        count(summary.workers, "worker"),
        count(summary.tasks, "task"),
        f"{summary.domain.name} labels" + (f" of {count(classes, 'class')}" if classes else ""),
        *([f"method {method}"] if method else []),
    ]


def format_counts(answers: int, workers: int, tasks: int) -> str:
    """Format the numbers of answers, workers and tasks.

    >>> format_counts(4000, 12, 1)
    '4,000 answers by 12 workers on 1 task'
    """
    return f"{count(answers, 'answer')} by {count(workers, 'worker')} on {count(tasks, 'task')}"


def format_effective_answers(summary: Summary) -> str:
    """Describe the effective number of answers per task, if it is known."""
    number = summary.confidence.effective_answers_per_task if summary.confidence else None
    return f"worth about {number:.2g} independent answers" if number else ""


def name_unweighted(domain: LabelKind) -> str:
    """Name the unweighted aggregation: majority vote for classes, unweighted mean or median for numbers."""
    if domain.rule in _VOTES:
        return "majority vote"
    return f"unweighted {domain.rule if domain.rule in _MIDDLES else 'answer'}"


def format_label_changes(summary: Summary, *, recurring: bool) -> list[str]:
    """Describe the labels changed by weights, and frequent ties; numbers are not counted, because most of them change.

    >>> from allalike.result.summary import Summary
    >>> found = {"answers": 4, "workers": 2, "tasks": 2, "domain": {"name": "categorical", "rule": "plurality"}}
    >>> format_label_changes(Summary.from_dict({**found, "changed": 1, "tied": 1}), recurring=True)
    ['1 of 2 labels differs from the majority vote.', 'Ties were broken at random in 1 task.']
    """
    texts = []
    if summary.changed and recurring:
        differ = "differs" if summary.changed == 1 else "differ"
        unweighted = name_unweighted(summary.domain)
        texts.append(f"{summary.changed:,} of {count(summary.tasks, 'label')} {differ} from the {unweighted}.")
    if summary.tied > summary.tasks / 10:
        how = "by the order of labels" if summary.ties == "first" else "at random"
        texts.append(f"Ties were broken {how} in {count(summary.tied, 'task')}.")
    return texts


def format_ties(summary: Summary) -> str:
    """Format the number of broken ties, if there are any."""
    return f"; a tie was broken in {count(summary.tied, 'task')}" if summary.tied else ""


def describe_label_confidence(summary: Summary, unweighted: float | None = None) -> Iterator[Message]:
    """Describe the expected shares of correct labels, with and without weights, and labels left empty."""
    if sure := summary.confidence:
        yield Message(_format_confidence(sure, unweighted if summary.changed else None, known=summary.gold is not None))
    if summary.abstained is not None:
        part = share(summary.abstained, summary.tasks)
        yield Message(
            f"{count(summary.abstained, 'label')} ({part}) with a confidence below {summary.min_confidence:g}"
            f" {'is' if summary.abstained == 1 else 'are'} left empty.",
            "min_confidence",
        )


def _format_confidence(sure: ConfidenceSummary, unweighted: float | None, *, known: bool) -> str:
    if sure.answers_per_task == 1 and sure.estimated_from != "gold":
        return "The share of correct labels is unknown: no task has two answers. Gold labels measure it (gold=)."
    expected = sure.mean if sure.share_right is None else sure.share_right
    right, vote, interval = percent(expected), "", ""
    about = f"About {right}" if right[0].isdigit() else right.capitalize()
    if unweighted is not None and (other := percent(max(unweighted + expected - sure.mean, 0.0))) != right:
        vote = f", and {other} of the majority vote"
    if sure.share_right_low is not None and sure.share_right_high is not None and sure.share_right_low <= 0.99:
        source = ", from gold labels" if known else " in past crowds"
        low, high = (f"{100 * each:.0f}" for each in (sure.share_right_low, sure.share_right_high))
        interval = f" ({low} to {high} %{source})"
    return f"{about} of the labels should be correct{interval}{vote}."


def describe_gold_error(summary: Summary) -> Iterator[Message]:
    """Describe the error on gold labels, and the correlation between disparities and workers' errors."""
    gold = summary.gold
    if gold is None or gold.error is None:
        return
    write = percent_of if summary.domain.distance == "hamming" else two_digits
    yield Message(
        f"Error on the gold labels of {count(gold.tasks, 'task')}: {write(gold.error)}; with the"
        f" {name_unweighted(summary.domain)} {write(gold.unweighted_error or 0.0)}."
    )
    if gold.disparity_error_correlation:
        yield Message(format_correlation(gold.disparity_error_correlation))


def format_correlation(found: Correlation) -> str:
    """Describe the correlation between disparities and workers' errors."""
    return (
        f"Disparities predict the errors of workers with a rank correlation of {found.rank_correlation:.2f}"
        f" ({found.ci_low:.2f} to {found.ci_high:.2f}; {found.workers:,} workers)."
    )


def describe_model(summary: Summary) -> list[Message]:
    """Describe the chosen model, and an alternative solution if there is one."""
    if summary.model is None:
        return []
    text, second = _name_model(summary, summary.model), summary.model.alternative
    more = [f"{format_alternative_model(second)} (gold=)."] if second is not None else []
    return [Message(sentence) for sentence in ([f"{text}."] if text else []) + more]


def _name_model(summary: Summary, model: ModelSummary) -> str:
    unweighted = name_unweighted(summary.domain)
    if model.workers == "equal":
        return f"{unweighted.capitalize()}: the workers are equally good"
    if model.fields is not None:
        return "Workers are weighted in each field; their weight is the mean over the fields"
    if model.chosen in ("everyone the same", "majority vote"):
        return f"{unweighted.capitalize()}: {model.why}"
    if model.chosen == "knows or guesses":
        return "Workers are weighted by how often they know the answer"
    if model.f_ratio is None:
        return ""
    if not model.start:
        return f"Workers are weighted; they are worth {summary.effective_workers:,.1f} equal workers"
    return "Workers are weighted: a split-half test supports the weights"


def format_alternative_model(second: AlternativeModel) -> str:
    """Describe the fit of an alternative solution, and the number of labels that it would change."""
    return (
        f"An alternative solution fits about as well and changes the labels of {count(second.tasks, 'task')}"
        f" ({100 * second.share:.0f} %). Only gold labels can decide between them"
    )


# Changes after an update: changed labels, workers who improved or got worse, new copy groups.


def describe_changes(summary: Summary) -> Iterator[Message]:
    """Describe the changes after answers were added.

    >>> from allalike.result.summary import Summary
    >>> found = {"answers": 9, "workers": 3, "tasks": 4, "domain": {"name": "categorical"}}
    >>> more = {"answers": 2, "n_changed": 1, "of": 3, "changed": [{"task": 1, "before": "x", "now": "y"}], "tested": 1}
    >>> worse = {"worker": "ada", "what": "worse", "before": 0.1, "now": 0.4, "answers_before": 20, "answers_now": 10,
    ...          "ci_low": 0.1, "ci_high": 0.5, "p_value": 0.002}
    >>> for remark in describe_changes(Summary.from_dict({**found, "changes": {**more, "workers": [worse]}})):
    ...     print(remark.sentence)
    2 answers added.
    1 of 3 labels (33.3 %) changed: task 1 from x to y.
    ada got worse: mean error 0.4 above that of others, before 0.1 (difference 0.1 to 0.5, p = 0.002).
    """
    changes = summary.changes
    if changes is None:
        return
    aside = f", {count(changes.duplicates_removed, 'repeated answer')} removed" if changes.duplicates_removed else ""
    yield Message(f"{count(changes.answers, 'answer')} added{aside}.")
    if changes.labels:
        yield Message(f"New labels: {name_some(changes.labels, len(changes.labels))}.")
    if changes.n_changed is None:
        yield Message("Changed labels are not listed: labels of this type all shift slightly with new answers.")
    else:
        tasks = [f"task {each.task} from {each.before} to {each.now}" for each in changes.changed[:_N_NAMED]]
        listed = f": {name_some(tasks, changes.n_changed, _N_NAMED)}" if tasks else ""
        part = f" ({share(changes.n_changed, changes.of)})" if changes.n_changed else ""
        yield Message(f"{changes.n_changed:,} of {count(changes.of, 'label')}{part} changed{listed}.")
    for each in changes.workers[:_N_NAMED]:
        side = "above" if each.now > 0 else "below"
        yield Message(
            f"{each.worker} got {each.what}: mean error {abs(each.now):.2g} {side} that of others, before"
            f" {each.before:.2g} (difference {each.ci_low:.2g} to {each.ci_high:.2g}, p = {each.p_value:.2g}).",
            names=[each.worker],
        )
    if changes.tested and not changes.workers:
        yield Message(f"No significant change among {count(changes.tested, 'worker')} with 10 old and 10 new answers.")
    for members in changes.copies[:_N_NAMED]:
        yield Message(f"New copy group: {name_some(members, len(members))}.", names=members)


# Crowd: copy groups, uninformative workers, workers who are worse than others, and workers with few answers.


_N_SHOWN = 3  # groups, and workers who are worse


def describe_screening(summary: Summary, *, flagged: bool = True) -> Iterator[Message]:
    """Describe uninformative workers, workers who are worse than the crowd, and copy groups, with the evidence."""
    trust = summary.screening
    if trust is None:
        return
    if parts := trust.components:
        yield Message(
            f"The workers fall into {parts.number:,} components without common tasks, the largest with"
            f" {count(parts.largest, 'worker')}. Workers of different components cannot be compared."
        )
    if trust.uninformative.workers and flagged:
        yield _describe_uninformative(trust.uninformative)
    if trust.flagged and flagged:
        yield _describe_flagged(trust.flagged)
    copies = [group for group in trust.groups if group.kind == "copies"]
    if copies:
        number = trust.n_groups["copies"]
        listed = "; ".join(name_some(group.members, group.size) for group in copies[:_N_SHOWN])
        more = f" and {number - _N_SHOWN:,} more" if number > _N_SHOWN else ""
        yield Message(
            f"{count(number, 'copy group')}, counted once: {listed}{more} (screening=False counts all).",
            names=[name for group in copies[:_N_SHOWN] for name in group.members],
        )


def _describe_uninformative(found: UninformativeWorkers) -> Message:
    names = [each.worker for each in found.named]
    are = "is" if found.workers == 1 else "are"
    return Message(
        f"{name_some(names, found.workers)} {are} uninformative: the answers"
        f" ({100 * found.share_of_answers:.0f} %) do not depend on the tasks. They are included, because they are few.",
        names=names,
    )


def _describe_flagged(flagged: FlaggedWorkers) -> Message:
    write = percent_of if flagged.unit == "error_rate" else two_digits
    errors = []
    for each in flagged.named:
        error = f"{write(each.relative_error or 0.0)} more than others on the same tasks"
        if each.ci_low is not None and each.ci_high is not None:
            error = f"{write(each.ci_low)} to {write(each.ci_high)}"
        errors.append(f"{each.worker} ({error})")
    unit = {"error_rate": "error rate", "rmse": "RMSE"}.get(flagged.unit, "error")
    return Message(
        f"{name_some(errors, flagged.workers, _N_SHOWN)} {'has' if flagged.workers == 1 else 'have'} a significantly"
        f" larger {unit} than the crowd ({write(flagged.crowd)}).",
        names=[each.worker for each in flagged.named],
    )


def format_evidence(common: int, rare: int) -> str:
    """Describe the evidence for copying."""
    return f"{count(common, 'common task')}, same rare answer in {rare:,}"


def format_few(few: int, workers: int) -> str:
    """Describe the number of workers with few answers."""
    have = "has" if few == 1 else "have"
    return (
        f"{few:,} of {workers:,} workers ({share(few, workers)}) {have} fewer than 5 answers to tasks shared with"
        " others"
    )
