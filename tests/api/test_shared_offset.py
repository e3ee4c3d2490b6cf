"""What all judges share, which only known truths show: found, taken away if that helps, and told."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike.api.judges.shared_offset import _learn
from allalike.telling.panel import remark_panel

Numbers = npt.NDArray[np.float64]


def draw(seed: int, tasks: int = 150) -> tuple[Numbers, Numbers]:
    rng = np.random.default_rng([seed, tasks])
    truth = rng.normal(5, 2, tasks)
    return truth, truth[:, None] + rng.normal(size=(tasks, 5)) * 0.8


def judge(said: Numbers, truth: Numbers, known: int = 60, **how: Any) -> allalike.Panel:
    rows = [(f"j{judge}", int(task), float(said[task, judge])) for task, judge in np.ndindex(said.shape)]
    return allalike.jury(rows, gold=dict(enumerate(truth[:known].tolist())), **{"domain": "real", **how})


def miss(panel: allalike.Panel, truth: Numbers, known: int = 60) -> float:
    return float(np.sqrt(np.mean((panel.truth["label"].to_numpy() - truth)[known:] ** 2)))


def test_what_all_judges_share_is_taken_away_by_known_truths_and_said(engine: str) -> None:
    truth, said = draw(0)
    panel = judge(said + 1.5, truth, engine=engine)
    found = panel.summary["panel"]["shared_offset"]
    assert found["low"] < 1.5 < found["high"]
    assert found["after"] < 0.45 < 1.4 < found["before"]
    assert miss(panel, truth) == pytest.approx(miss(judge(said, truth), truth), abs=0.03)
    assert panel.summary["gold"]["error"] == pytest.approx(found["before"] ** 2, rel=0.05)  # before it was taken away
    assert any("above 60 known truths" in remark.sentence for remark in remark_panel(panel.summary))


def test_an_offset_is_seldom_found_where_there_is_none_and_then_small() -> None:
    fold = np.arange(40, dtype=np.uint64) % np.uint64(5)
    rng, found = np.random.default_rng(3), []
    for _ in range(300):
        truth = rng.normal(size=40)
        found.append(_learn(truth + rng.normal(size=40) / 3, truth, fold, 2))
    assert np.mean([each is not None for each in found]) < 0.25
    lost = [0.0 if each is None else each.intercept**2 + (each.slope - 1) ** 2 for each in found]
    assert np.mean(lost) < 0.1 / 9  # beside a squared error of 1/9


def test_a_scale_that_all_stretch_takes_a_line() -> None:
    truth, said = draw(1)
    panel = judge(5 + 2 * (said - 5), truth)
    assert panel.summary["panel"]["shared_offset"]["slope"] == pytest.approx(0.5, abs=0.03)
    assert miss(panel, truth) < 0.45


def test_of_absolute_distances_it_is_the_median() -> None:
    truth, said = draw(3)
    panel = judge(said - 2, truth, domain=allalike.Real(distance="absolute"))
    assert panel.summary["panel"]["shared_offset"]["offset"] == pytest.approx(-2, abs=0.3)
    assert miss(panel, truth) < 0.6
