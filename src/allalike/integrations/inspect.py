"""Inspect scorer that weights a panel of graders by estimated accuracy.

Inspect (`inspect_ai`, an optional dependency) loads the following by entry points: the scorer ``allalike/panel``, the
metric ``allalike/weighed`` and the reducer ``allalike/vote``.

A scorer sees only one sample, which is not sufficient to estimate weights. Therefore the scorer takes a majority vote
and saves all verdicts in the log. The metric sees all samples at the end, weights the graders and decides all samples
again. `allalike.jury` reads the same verdicts from the log, and evaluates the panel.
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from statistics import fmean
from typing import TYPE_CHECKING, Any

from inspect_ai.scorer import (
    SampleScore,  # at run time, because Inspect evaluates the annotations of a metric
    Score,
    accuracy,
    metric,
    model_graded_qa,
    score_reducer,
    scorer,
    stderr,
    value_to_float,
)

from allalike.discover import discover
from allalike.errors import AllalikeError, DataWarning

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from inspect_ai.model import Model
    from inspect_ai.scorer import Metric, Scorer, ScoreReducer

    Row = tuple[str, str, Any]

__all__ = ["panel", "vote", "weighed"]

_PANEL = "panel"  # key of the votes in the metadata


def _vote(judges: Sequence[str] | None = None) -> ScoreReducer:
    """Return a reducer that takes the majority vote (the first judge breaks ties), and keeps all verdicts.

    Panels, such as those of several epochs, are reduced to the mean of their values.
    """

    def reduce(scores: list[Score]) -> Score:
        panels = [score.metadata[_PANEL] for score in scores if _PANEL in (score.metadata or {})]
        if panels:
            numbers = [value_to_float()(score.value) for score in scores if not _is_missing(score.value)]
            value: Any = fmean(numbers) if numbers else math.nan
            return Score(value=value, metadata={_PANEL: {"samples": panels}})
        votes = [None if _is_missing(score.value) else score.value for score in scores]
        given = [each for each in votes if each is not None]
        kept = {"votes": votes, "size": len(votes), **({"judges": list(judges)} if judges else {})}
        value = Counter(given).most_common(1)[0][0] if given else math.nan
        return Score(value=value, answer=scores[0].answer, metadata={_PANEL: kept})

    return reduce


def _is_missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _weighed() -> Metric:
    """Return a metric with the mean of the weighted verdicts, and the weight of each grader, from all samples.

    If weights cannot be estimated, it warns, and returns the mean of the majority votes.
    """

    def measure(scores: list[SampleScore]) -> Any:
        if not scores:  # Inspect calls it before the first sample to list the values
            return {"weighed": math.nan}
        rows = list(_list_rows(scores))
        try:
            if len({judge for judge, _, _ in rows}) > 1:
                return _weigh(rows)
            why = "no score has votes by several graders."
        except AllalikeError as error:
            why = str(error)
        warnings.warn(f"The panel is not weighted: {why}", DataWarning, stacklevel=2)
        return {"weighed": _mean(score.score.value for score in scores)}

    return measure


def _list_rows(scores: Iterable[SampleScore]) -> Iterable[Row]:
    """List judge, task and verdict; each epoch of a sample is a separate task."""
    for place, score in enumerate(scores):
        panel = (score.score.metadata or {}).get(_PANEL) or {}
        for epoch, each in enumerate(panel.get("samples", [panel]), start=1):
            votes = each.get("votes", [])
            judges = each.get("judges") or [f"judge {number}" for number in range(1, len(votes) + 1)]
            for judge, said in zip(judges, votes, strict=True):
                if said is not None:
                    yield judge, f"{place} {epoch}", said


def _weigh(rows: list[Row]) -> dict[str, float]:
    numbers = {said for _, _, said in rows if not isinstance(said, str)}
    domain = "real" if len(numbers) > 2 else "categorical"
    with warnings.catch_warnings():  # about few samples during a run
        warnings.simplefilter("ignore", DataWarning)
        result = discover(rows, domain=domain)
    weights = zip(result.workers["worker"], result.workers["weight"], strict=True)
    return {"weighed": _mean(result.truth["label"]), **{f"weight {judge}": float(each) for judge, each in weights}}


def _mean(values: Iterable[Any]) -> float:
    return fmean(value_to_float()(value) for value in values)


def _panel(model: list[str | Model] | None = None, **grading: Any) -> Scorer:
    """Return a scorer that grades answers by several models, weighted by all samples."""
    names = None if model is None else _make_unique([str(each) for each in model])
    judges: Any = model
    return model_graded_qa(model=judges, reducer=vote(names), **grading)


def _make_unique(names: Sequence[str]) -> list[str]:
    """Number additional graders with the same model, such as one at another temperature.

    >>> _make_unique(["a/b", "c/d", "a/b"])
    ['a/b', 'c/d', 'a/b #2']
    """
    seen: Counter[str] = Counter()
    unique = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name} #{seen[name]}")
    return unique


for _made, _name in ((_vote, "vote"), (_weighed, "weighed"), (_panel, "panel")):
    _made.__name__ = _name

vote = score_reducer(_vote)
weighed = metric(_weighed)
panel = scorer(metrics=[weighed(), accuracy(), stderr()])(_panel)
