"""Key figures, agreement, settings, citation and questions of a report as texts."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.text_format import count, cut, show_number
from allalike.reliability.coefficients import COEFFICIENTS, name_alpha
from allalike.report.report_data import brief
from allalike.result.messages import CONFIDENCE_SOURCES, format_effective_answers, format_ties, name_unweighted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allalike._core.blocks.block import Array, Block
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.citations import Citation
    from allalike.reliability.agreement import Agreement
    from allalike.report.report_data import Material
    from allalike.result.summary import ConfidenceSummary, Summary

_ELSEWHERE = ("answers", "workers", "tasks", "versions", "screening", "files", "panel")  # shown in other sections
_NAMING = ("leaders", "its_leaders")  # names of workers, which the page could not hide in this list
_MAX_SETTINGS, _MAX_VALUE = 60, 200
_MAX_PAIRS = 4_000_000  # pairs of answers to the same task that are compared
_MAX_NAME, _MAX_LABEL = 120, 60

Figure = dict[str, str]


def list_figures(material: Material) -> list[Figure]:
    """Return the key figures of a result, each with a name and a note."""
    summary = material.summary
    figures = [*_list_confidence(summary.confidence), *_list_alpha(material.agreement), *_list_gold_error(summary)]
    if material.run.domain.recurring:
        changed = f"of {summary.tasks:,}, against the {name_unweighted(summary.domain)}{format_ties(summary)}"
        figures.append(_figure(f"{summary.changed:,}", "labels changed by weights", changed))
    answers = show_number(summary.answers / max(summary.tasks, 1))
    return [*figures, _figure(answers, "answers per task", format_effective_answers(summary))]


def _figure(value: str, name: str, note: str) -> Figure:
    return {"value": value, "name": name, "note": note}


def _list_confidence(known: ConfidenceSummary | None) -> Iterator[Figure]:
    if known is None or not math.isfinite(known.mean):
        return
    correct = known.mean if known.share_right is None else known.share_right
    note = f"{CONFIDENCE_SOURCES[known.estimated_from]}; misses errors that most workers share"
    if known.share_right_low is not None and known.share_right_high is not None and known.share_right_low <= 0.99:
        ends = f"{100 * known.share_right_low:.0f} to {100 * known.share_right_high:.0f} %"
        measured = known.estimated_from == "gold"
        note = f"95 % interval {ends}, from gold labels" if measured else f"{ends} in past crowds"
    yield _figure(f"{100 * correct:.3g} %", "labels expected to be correct", note)


def _list_alpha(agreement: Agreement | None) -> Iterator[Figure]:
    if agreement is not None and math.isfinite(agreement.alpha):
        known = math.isfinite(agreement.ci_low)
        interval = f"{agreement.ci_low:.2f} to {agreement.ci_high:.2f}" if known else "interval unknown"
        name = name_alpha(agreement.run.domain.name, agreement.run.domain.distance)
        yield _figure(f"{agreement.alpha:.2f}", name, f"{interval}; 1 is perfect, 0 is chance")


def _list_gold_error(summary: Summary) -> Iterator[Figure]:
    gold = summary.gold
    if gold is not None and gold.error is not None and math.isfinite(gold.error):
        note = f"of {count(gold.tasks, 'task')}; unweighted {gold.unweighted_error:.3g}"
        yield _figure(f"{gold.error:.3g}", "error on gold labels", note)


def describe_agreement(material: Material) -> dict[str, Any] | None:
    """Return the coefficients of agreement that are defined, with their meaning, or None."""
    agreement, summary = material.agreement, material.summary
    if agreement is None:
        return None
    own = name_alpha(summary.domain.name, str(summary.domain.distance))
    limits = {own: (agreement.ci_low, agreement.ci_high), "ordinal alpha": agreement.ordinal[1:]}
    rows = []
    for name, value in agreement.coefficients(pairs=summary.answers**2 <= _MAX_PAIRS * summary.tasks).items():
        if value is not None and math.isfinite(value):
            low, high = limits.get(name, (math.nan, math.nan))
            shown = f"{100 * value:.1f} %" if name == "percent agreement" else f"{value:.3f}"
            between = f"{low:.3f} to {high:.3f}" if math.isfinite(low) else ""
            rows.append({"name": name, "value": shown, "limits": between, "meaning": COEFFICIENTS[name][1]})
    return {"rows": rows, "sampled_tasks": agreement.sampled_tasks} if rows else None


def list_settings(material: Material) -> list[tuple[str, str]]:
    """Return the settings, inferences and findings of the summary, as names and texts.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")], method="P-TD")
    >>> list_settings(result._material())[3:5]
    [('domain: classes', '2'), ('domain: classes from', 'data')]
    """
    settings = {name: value for name, value in material.facts.items() if name not in _ELSEWHERE}
    return list(_list_nested(settings))[:_MAX_SETTINGS]


def _list_nested(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        path = f"{above}{str(name).replace('_', ' ')}"
        if isinstance(value, dict):
            yield from _list_nested(value, f"{path}: ")
        elif name not in _NAMING:
            yield path, cut(_write(value), _MAX_VALUE)


def _write(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return str(brief(value, 6))
    return ", ".join(map(_write, value)) if isinstance(value, list | tuple) else str(value)


def cite(material: Material) -> list[str]:
    """Return a paragraph for a paper about the method and the chosen model, and its references.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
    >>> text, *references = cite(allalike.discover(rows, method="UA")._material())
    >>> "(Condorcet, 1785)" in text, "Meir" in text, len(references)
    (True, False, 1)
    """
    summary, agreement = material.summary, material.agreement
    alpha = ""
    if agreement is not None and math.isfinite(agreement.alpha):
        known = math.isfinite(agreement.ci_low)
        interval = f" (95 % confidence interval {agreement.ci_low:.2f} to {agreement.ci_high:.2f})" if known else ""
        alpha = f" Krippendorff's alpha was {agreement.alpha:.2f}{interval}."
    model, papers = _describe_model(summary)
    cited = f" ({'; '.join(paper.short for paper in papers)})" if papers else ""
    text = (
        f"We collected {count(summary.answers, 'answer')} by {count(summary.workers, 'worker')} on"
        f" {count(summary.tasks, 'task')}.{alpha} We estimated one label per task with allalike"
        f" {summary.versions['allalike']} ({summary.domain.name} labels, distance {summary.domain.distance}, rule"
        f" {summary.domain.rule}), {model}{cited}."
    )
    return [" ".join([text, *_list_evidence(summary)]), *(paper.full for paper in papers)]


def _describe_model(summary: Summary) -> tuple[str, tuple[Citation, ...]]:
    """Return the name of the model of the labels, and its papers."""
    from allalike.methods import METHODS
    from allalike.methods.citations import CITATIONS, MODELS

    name, model, unweighted = summary.method.name, summary.model, name_unweighted(summary.domain)
    if name == "UA" or (model and model.chosen == "everyone the same"):
        papers = CITATIONS["UA"] if unweighted == "majority vote" else ()
        return f"method {name}: {unweighted}", papers
    if name in METHODS and name != "auto":
        return f"method {name}: {METHODS[name].summary}", CITATIONS[name]
    if model and model.fields:
        chosen = dict.fromkeys(each.get("chosen") or each.get("start") or "" for each in model.fields.values())
        models = [MODELS.get(each, ("equal weights", ())) for each in chosen]
        papers = tuple(dict.fromkeys(paper for _, cited in models for paper in cited))
        return f"method auto, which chose for each field {' or '.join(each for each, _ in models)}", papers
    key = (model and (model.chosen or model.start)) or ""
    chosen_model, papers = MODELS.get(key, ("", CITATIONS.get(name, ())))
    return f"method {name}{chosen_model and f', which chose {chosen_model}'}", papers


def _list_evidence(summary: Summary) -> Iterator[str]:
    """Yield sentences about gold labels, screening, and labels that differ from the unweighted ones."""
    screening = summary.screening
    if summary.gold and summary.gold.tasks and summary.method.options.get("use_gold"):
        gold = count(summary.gold.tasks, "gold label")
        yield f"{gold} informed the model and replaced the estimates of their tasks."
    if screening and (copies := screening.n_groups.get("copies", 0)):
        yield f"{count(copies, 'group')} of workers who copied counted as one worker each."
    if summary.method.name != "UA":
        unweighted = name_unweighted(summary.domain)
        yield f"{count(summary.changed, 'label')} differed from the {unweighted}{format_ties(summary)}."
    if summary.abstained:
        below = f"with a confidence below {summary.min_confidence:g} stayed empty."
        yield f"{count(summary.abstained, 'label')} {below}"


def say_left_out(material: Material, workers: dict[str, Any], tasks: dict[str, Any], sampled: int) -> dict[str, str]:
    """Return notes about rows that tables and details omit; none if they are complete."""
    n_tasks, left = material.summary.tasks, {}
    n_workers, n_shown = len(workers["answers"]), len(tasks["id"])
    if n_workers < workers["total"]:
        left["workers"] = (
            f"{n_workers:,} of {workers['total']:,} workers are shown: those with a note, and those with most"
            " answers. The table of workers contains all."
        )
    if n_shown < n_tasks:
        left["tasks"] = (
            f"{n_shown:,} of {n_tasks:,} tasks are shown: those with the least certain labels, those changed by"
            " weights, and those with many answers and no clear label. The table of labels contains all."
        )
    if sampled < n_tasks:
        left["details"] = (
            f"Disagreements and confusions are from a sample of {sampled:,} of {n_tasks:,} tasks"
            f" ({workers['looked_at']:,} answers)."
        )
    return left


# Questions of a survey, scale by scale.


def list_scales(scales: Mapping[str, Agreement]) -> list[dict[str, Any]]:
    """Return each scale with its questions and its alpha; single questions, which have no alpha, come first.

    Each question has its number of answers, the share of equal pairs of answers, and the most frequent answer with its
    share. Questions whose answers cannot be counted, such as drawings, are omitted.
    """
    listed: list[dict[str, Any]] = []
    for name, each in scales.items():
        alpha = f"{each.alpha:.2f}" if each.run.n_tasks > 1 and np.isfinite(each.alpha) else ""
        listed.append({"name": cut(name, _MAX_NAME), "alpha": alpha, "questions": _list_questions(each.run)})
    return sorted((scale for scale in listed if scale["questions"]), key=lambda scale: len(scale["questions"]) > 1)


def _list_questions(run: Run) -> list[dict[str, str]]:
    piece = run.find(partial(_count_answers, kernels=run.kernels)).joined()
    rows = np.flatnonzero(piece.found["answers"])
    labels = run.encoding.decode(piece.found["label"][rows]).tolist()
    numbers = (piece.found[name][rows].tolist() for name in ("answers", "equal", "share"))
    return [
        {
            "name": cut(str(task), _MAX_NAME),
            "answers": f"{answers:,}",
            "equal": f"{100 * equal:.0f} %" if answers > 1 else "",
            "most": cut(str(label), _MAX_LABEL),
            "share": f"{100 * share:.0f} %",
        }
        for task, label, answers, equal, share in zip(piece.tasks.take(rows).tolist(), labels, *numbers, strict=True)
    ]


def _count_answers(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    """Count the answers to each task and find the most frequent one; 0 if labels are not plain values."""
    codes = kernels.restore_answers(block, np.arange(len(block.label)))
    plain = codes.ndim == 1 and codes.dtype.kind in "biuf"
    if not plain:
        codes = np.zeros(len(codes), np.intp)
    kinds, kind = np.unique(codes, return_inverse=True)
    counts = sum_by(block.task * len(kinds) + kind, np.ones(len(codes)), block.n_tasks * len(kinds))
    counts = counts.reshape(block.n_tasks, len(kinds))
    return {
        "label": kinds[counts.argmax(axis=1)],
        "answers": block.sizes if plain else np.zeros_like(block.sizes),
        "equal": (counts * (counts - 1)).sum(axis=1) / (block.sizes * np.maximum(block.sizes - 1, 1)),
        "share": counts.max(axis=1) / block.sizes,
    }
