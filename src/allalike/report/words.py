"""Words: what a page says of a result in sentences, figures and lists."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.blocks.block import sum_by
from allalike._core.words import count, cut, show_number
from allalike.reliability.coefficients import COEFFICIENTS, name_alpha
from allalike.report.material import brief
from allalike.result.messages import TOLD_BY, name_unweighted, say_ties, say_voices

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from allalike._core.blocks.block import Array, Block
    from allalike.domains import Kernels
    from allalike.engines import Run
    from allalike.methods.citations import Citation
    from allalike.report.material import Agreed, Material
    from allalike.result.summary import ErrorOnGold, HowSure, Summary

_ELSEWHERE = (
    "answers",
    "workers",
    "tasks",
    "versions",
    "screening",
    "files",
    "panel",
)  # what the page says in another place
_NAMING = ("leaders", "its_leaders")  # names of workers, which a page can hide only where it knows them
_EQUAL = "equal weights"  # of a field, for which auto found nothing better
_MAX_SETTINGS, _MAX_VALUE = 60, 200
_MAX_PAIRS = 4_000_000  # of answers to a task, from which on it takes too long to look at each, about


def list_figures(material: Material) -> list[dict[str, str]]:
    """Return the few numbers that sum a result up, each with a name and a note."""
    summary = material.summary
    found = [
        _figure_of_confidence(summary.confidence),
        _figure_of_alpha(material.agreement),
        _figure_of_gold(summary.gold),
        {
            "value": f"{summary.changed:,}",
            "name": "labels changed by weights",
            "note": f"of {summary.tasks:,}, against the {name_unweighted(summary.domain)}{say_ties(summary)}",
        },
        {
            "value": show_number(summary.answers / max(summary.tasks, 1)),
            "name": "answers per task",
            "note": say_voices(summary),
        },
    ]
    return [figure for figure in found if figure]


def _figure_of_confidence(found: HowSure | None) -> dict[str, str] | None:
    if found is None or not math.isfinite(found.mean):
        return None
    right = found.mean if found.share_right is None else found.share_right
    note = f"{TOLD_BY[found.estimated_from]}; errors that most workers share do not show"
    if found.share_right_low is not None and found.share_right_high is not None:
        ends = f"{100 * found.share_right_low:.0f} to {100 * found.share_right_high:.0f} %"
        measured = found.estimated_from == "gold"
        note = f"95 % interval {ends}, from gold labels" if measured else f"{ends} in past crowds"
    return {"value": f"{100 * right:.3g} %", "name": "labels expected to be correct", "note": note}


def _figure_of_alpha(agreement: Agreed | None) -> dict[str, str] | None:
    if agreement is None or not math.isfinite(agreement.alpha):
        return None
    limits = (
        f"{agreement.ci_low:.2f} to {agreement.ci_high:.2f}" if math.isfinite(agreement.ci_low) else "limits not known"
    )
    return {
        "value": f"{agreement.alpha:.2f}",
        "name": name_alpha(agreement.run.domain.name, agreement.run.domain.distance),
        "note": f"{limits}; 1 is perfect, 0 is chance",
    }


def _figure_of_gold(gold: ErrorOnGold | None) -> dict[str, str] | None:
    if gold is None or gold.error is None or not math.isfinite(gold.error):
        return None
    return {
        "value": f"{gold.error:.3g}",
        "name": "error on gold labels",
        "note": f"of {count(gold.tasks, 'task')}; unweighted {gold.unweighted_error:.3g}",
    }


def describe_agreement(material: Material) -> dict[str, Any] | None:
    """Return the coefficients of agreement with what they mean, those that are defined; None if none is known."""
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
    """Return what was set, guessed and found out, as names and texts.

    >>> import allalike
    >>> result = allalike.discover([("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")], method="P-TD")
    >>> list_settings(result._material())[3:5]
    [('domain: classes', '2'), ('domain: classes from', 'data')]
    """
    settings = {name: value for name, value in material.facts.items() if name not in _ELSEWHERE}
    return list(_flat(settings))[:_MAX_SETTINGS]


def _flat(settings: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if name in _NAMING:
            continue
        path = f"{above}{str(name).replace('_', ' ')}"
        if isinstance(value, dict):
            yield from _flat(value, f"{path}: ")
        else:
            yield path, cut(_shown(value), _MAX_VALUE)


def _shown(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    if isinstance(value, float):
        return str(brief(value, 6))
    return ", ".join(map(_shown, value)) if isinstance(value, list | tuple) else str(value)


def cite(material: Material) -> list[str]:
    """Return a paragraph for a paper about the method and model that were used, and the references that it cites.

    >>> import allalike
    >>> rows = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
    >>> text, *references = cite(allalike.discover(rows, method="UA")._material())
    >>> "(Condorcet, 1785)" in text, "Meir" in text, len(references)
    (True, False, 1)
    """
    summary, agreement = material.summary, material.agreement
    agreed = ""
    if agreement is not None and math.isfinite(agreement.alpha):
        known = math.isfinite(agreement.ci_low)
        interval = f" (95 % confidence interval {agreement.ci_low:.2f} to {agreement.ci_high:.2f})" if known else ""
        agreed = f" Krippendorff's alpha was {agreement.alpha:.2f}{interval}."
    model, papers = _describe_model(summary)
    cited = f" ({'; '.join(paper.short for paper in papers)})" if papers else ""
    text = (
        f"We collected {count(summary.answers, 'answer')} by {count(summary.workers, 'worker')} on"
        f" {count(summary.tasks, 'task')}.{agreed} We estimated one label per task with allalike"
        f" {summary.versions['allalike']} ({summary.domain.name} labels, distance {summary.domain.distance}, rule"
        f" {summary.domain.rule}), {model}{cited}.{_say_evidence(summary)}{_say_differences(summary)}"
    )
    return [text, *(paper.full for paper in papers)]


def _describe_model(summary: Summary) -> tuple[str, tuple[Citation, ...]]:
    """Return the model that gave the labels, in words, and its papers."""
    from allalike.methods import METHODS
    from allalike.methods.citations import CITATIONS, MODELS

    name, reading, unweighted = summary.method.name, summary.model, name_unweighted(summary.domain)
    if name == "UA" or (reading and reading.chosen == "everyone the same"):
        papers = CITATIONS["UA"] if unweighted == "majority vote" else ()
        return f"method {name}: {unweighted}", papers
    if name in METHODS and name != "auto":
        return f"method {name}: {METHODS[name].summary}", CITATIONS[name]
    if reading and reading.fields:
        return _describe_fields(reading.fields)
    model, papers = MODELS.get((reading and (reading.chosen or reading.start)) or "", ("", CITATIONS.get(name, ())))
    return f"method {name}{model and f', which chose {model}'}", papers


def _describe_fields(fields: Mapping[str, Any]) -> tuple[str, tuple[Citation, ...]]:
    """Return the models that auto chose for the fields of records, and their papers."""
    from allalike.methods.citations import MODELS

    chosen = dict.fromkeys(each.get("chosen") or each.get("start") or "" for each in fields.values())
    models = [MODELS.get(each, (_EQUAL, ())) for each in chosen]
    papers = tuple(dict.fromkeys(paper for _, cited in models for paper in cited))
    return f"method auto, which chose for each field {' or '.join(model for model, _ in models)}", papers


def _say_evidence(summary: Summary) -> str:
    """Say what the model used beside the answers of single workers: gold labels, copy groups, uninformative workers."""
    trust = summary.screening
    gold = summary.gold.tasks if summary.gold and summary.method.options.get("use_gold") else 0
    copies = trust.n_groups.get("copies", 0) if trust else 0
    silent = trust.uninformative.workers if trust and trust.uninformative.silenced else 0
    said = [
        f"{count(gold, 'gold label')} informed the model and replaced the estimates of their tasks." if gold else "",
        f"{count(copies, 'group')} of workers who copied counted as one worker each." if copies else "",
        f"{count(silent, 'worker')} whose answers did not depend on the tasks did not count." if silent else "",
    ]
    return "".join(f" {each}" for each in said if each)


def _say_differences(summary: Summary) -> str:
    said = f" {count(summary.changed, 'label')} differed from the {name_unweighted(summary.domain)}{say_ties(summary)}."
    left = f" {count(summary.abstained or 0, 'label')} with a confidence below {summary.min_confidence:g} stayed empty."
    return (said if summary.method.name != "UA" else "") + (left if summary.abstained else "")


def say_left_out(material: Material, workers: dict[str, Any], tasks: dict[str, Any], sampled: int) -> dict[str, str]:
    """Say of the tables and of details what they leave out; nothing where they are whole."""
    summary, left = material.summary, {}
    n_workers, n_tasks = len(workers["answers"]), len(tasks["id"])
    if n_workers < workers["total"]:
        left["workers"] = (
            f"{n_workers:,} of {workers['total']:,} workers are shown: those with a remark, and those who gave most"
            " answers. The table workers has them all."
        )
    if n_tasks < summary.tasks:
        left["tasks"] = (
            f"{n_tasks:,} of {summary.tasks:,} tasks are shown: those whose truth is least sure, those that weights"
            " changed, and those that many answered and nobody settled. The table truth has them all."
        )
    if sampled < summary.tasks:
        left["details"] = (
            f"Disagreements and confusions are those of a sample of {sampled:,} of {summary.tasks:,} tasks"
            f" ({workers['looked_at']:,} answers)."
        )
    return left


# Questions: what people answered to each question of a survey, scale by scale.


_MAX_NAME, _MAX_LABEL = 120, 60


def list_scales(scales: Mapping[str, Agreed]) -> list[dict[str, Any]]:
    """Return each scale with its questions and its alpha; those with one question, which has no alpha, come first.

    Of each question there are its number of answers, the share of equal pairs of them, and the most frequent answer
    with its share. Questions whose answers cannot be counted, such as drawings, are left out.

    >>> import allalike
    >>> rows = [(who, "Did you?", {"used": said}) for who, said in zip("abcd", ["yes", "yes", "no", "yes"])]
    >>> result = allalike.discover(rows, domain=allalike.Record("used:categorical", one=True))
    >>> list_scales(result._material().scales)[0]["questions"]
    [{'name': 'Did you?', 'answers': '4', 'equal': '50 %', 'most': 'yes', 'share': '75 %'}]
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
    told = ([cut(str(task), _MAX_NAME) for task in piece.tasks.take(rows).tolist()], labels)
    numbers = (piece.found[name][rows].tolist() for name in ("answers", "equal", "share"))
    return [
        {
            "name": name,
            "answers": f"{answers:,}",
            "equal": f"{100 * equal:.0f} %" if answers > 1 else "",
            "most": cut(str(label), _MAX_LABEL),
            "share": f"{100 * share:.0f} %",
        }
        for name, label, answers, equal, share in zip(*told, *numbers, strict=True)
    ]


def _count_answers(block: Block, *, kernels: Kernels) -> dict[str, Array]:
    """Count the answers to each task, and those that are the most frequent one; a task that does not count has none."""
    codes = kernels.restore_answers(block, np.arange(len(block.label)))
    live = np.ones(block.n_tasks, np.bool_) if block.live is None else block.live
    if codes.ndim > 1 or codes.dtype.kind not in "biuf":
        live = np.zeros_like(live)
        kinds, kind = codes[:1], np.zeros(len(codes), np.intp)
    else:
        kinds, kind = np.unique(codes, return_inverse=True)
    counts = sum_by(block.task * len(kinds) + kind, np.ones(len(codes)), block.n_tasks * len(kinds))
    counts = counts.reshape(block.n_tasks, len(kinds))
    pairs = block.sizes * np.maximum(block.sizes - 1, 1)
    return {
        "label": kinds[counts.argmax(axis=1)],
        "answers": np.where(live, block.sizes, 0),
        "equal": (counts * (counts - 1)).sum(axis=1) / pairs,
        "share": counts.max(axis=1) / block.sizes,
    }
