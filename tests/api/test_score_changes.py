"""What changed since an earlier panel of scores, and the rate of scores that are good enough."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind, wilcoxon

import allalike
from allalike.api.judges.changes import Said, adjust
from allalike.api.judges.drift import compare_scores
from allalike.errors import InputError, OptionError, UnsupportedError

TASKS = 150
TRUTH = np.random.default_rng(5).normal(3, 1.5, 2 * TASKS)


def draw(seed: int, *, first: int = 0, lenient: float = 0.0, levels: bool = False) -> pd.DataFrame:
    """Draw scores of four judges with offsets of their own; the second may have become more lenient."""
    rng = np.random.default_rng(seed)
    tasks = np.arange(first, first + TASKS)
    parts = []
    for judge, (offset, spread) in enumerate(((0.0, 0.4), (0.5 + lenient, 0.5), (-0.4, 0.6), (0.1, 0.7))):
        scores = TRUTH[tasks] + offset + rng.normal(0, spread, TASKS)
        scores = np.clip(scores.round(), 1, 5).astype(int) if levels else scores.round(2)
        parts.append(pd.DataFrame({"worker": f"j{judge}", "task": [f"t{task}" for task in tasks], "label": scores}))
    return pd.concat(parts, ignore_index=True)


@pytest.mark.parametrize(("first", "levels"), [(0, False), (TASKS, True)])
def test_who_became_lenient_is_found_among_scores_and_nobody_if_nobody_did(
    tmp_path: Path, first: int, levels: bool
) -> None:
    how: dict[str, Any] = {"domain": "ordinal(levels=[1, 2, 3, 4, 5])" if levels else "real"}
    allalike.jury(draw(0, levels=levels), **how).save(tmp_path / "out")
    same = allalike.jury(draw(1, first=first, levels=levels), since=tmp_path / "out", **how)
    assert same.summary["panel"]["drift"]["drifted"] == []
    panel = allalike.jury(draw(2, first=first, lenient=1.0, levels=levels), since=tmp_path / "out", **how)
    assert panel.summary["panel"]["drift"]["drifted"] == ["j1"]
    change: Any = panel.drift.set_index(["judge", "what"]).loc[("j1", "scores")]
    assert change["low"] < (0.8 if levels else 1.0) < change["high"]


def test_tests_of_scores_are_those_of_others_who_wrote_them() -> None:
    rng = np.random.default_rng(1)
    then, now = rng.normal(size=(2, 60, 3))
    now[:, 0] += 0.3
    numbers = np.concatenate([then.ravel(), now.ravel()])
    codes = np.arange(len(numbers)).reshape(2, 60, 3)
    names = [str(place) for place in range(60)]
    said = Said(list("abc"), names, names, codes[0], codes[1], np.full(60, -1), np.full(60, "", object))
    found = {(each.judge, each.what): each for each in compare_scores(said, numbers)}
    expected = wilcoxon(now[:, 0] - then[:, 0], method="approx").pvalue
    assert found[0, "scores"].probability == pytest.approx(expected, rel=1e-6)
    apart = np.full((60, 3), -1)
    other = Said(
        list("abc"),
        names * 2,
        names,
        np.vstack([codes[0], apart]),
        np.vstack([apart, codes[1]]),
        np.full(120, -1),
        np.full(120, "", object),
    )
    found = {(each.judge, each.what): each for each in compare_scores(other, numbers)}
    above: Any = [table[:, 0] - np.median(table[:, 1:], axis=1) for table in (then, now)]
    assert found[0, "scores"].probability == pytest.approx(ttest_ind(*above, equal_var=False).pvalue)


def test_redraws_of_the_same_scores_raise_an_alarm_hardly_ever() -> None:
    alarms = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.normal(size=80)[:, None]
        then, now = (truth + rng.standard_t(3, size=(80, 4)) for _ in range(2))
        numbers = np.concatenate([then.ravel(), now.ravel()])
        codes = np.arange(len(numbers)).reshape(2, 80, 4)
        names = [str(place) for place in range(80)]
        said = Said(list("abcd"), names, names, codes[0], codes[1], np.full(80, -1), np.full(80, "", object))
        alarms += bool((adjust(np.array([each.probability for each in compare_scores(said, numbers)])) < 0.01).any())
    assert alarms <= 3


def test_the_rate_of_scores_within_a_bound_is_corrected_by_known_truths() -> None:
    rows = draw(3)
    gold = {f"t{task}": float(TRUTH[task]) for task in range(60)}
    rate = allalike.jury(rows, domain="real", gold=gold, good=">=3").summary["panel"]["rate"]
    assert rate["good"] == [">=3"]
    assert rate["low"] < float((TRUTH[:TASKS] >= 3).mean()) < rate["high"]
    levels = draw(3, levels=True)
    told = [
        allalike.jury(levels, domain="ordinal", good=good).summary["panel"]["rate"]["apparent"]
        for good in (">=4", [4, 5], ["4", ">4"])
    ]
    assert told[0] == told[1] == told[2]


def test_scores_are_compared_with_scores_as_they_were_given(tmp_path: Path) -> None:
    allalike.jury(draw(0), domain="real").save(tmp_path / "out")
    kept = pd.read_csv(tmp_path / "out" / "verdicts.csv", dtype={"task": str})
    merged = kept.merge(draw(0), left_on=["judge", "task"], right_on=["worker", "task"])
    assert (merged["label_x"] == merged["label_y"]).all()  # though offsets were taken away
    with pytest.raises(InputError, match="are real, and these are ordinal"):
        allalike.jury(draw(1, levels=True), domain="ordinal", since=tmp_path / "out")
    with pytest.raises(UnsupportedError, match="leave out bias"):
        allalike.jury(draw(1), domain="real(bias=True)", since=tmp_path / "out")
    with pytest.raises(OptionError, match="Write a bound, such as '>=4'"):
        allalike.jury(draw(1), domain="real", good="high")
    with pytest.raises(UnsupportedError, match="good is for verdicts that are classes, numbers or levels"):
        allalike.jury([("a", 1, "x>y"), ("b", 1, "y>x"), ("c", 1, "x>y")], domain="ranking", good="x>y")
