"""Pages of measurements: figures are those of discover, crowd-kit and scipy, and the pages show them."""

import warnings
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import allalike
from allalike.answers import Answers
from allalike.datasets import DATASETS, SOURCES, source_of
from allalike.readers import read_gold
from crowd_data import load
from gold_crowds import AGAIN, blind, choose_data_sets, find_crowds
from leaderboard import measure, read_table, score_method, score_rival
from leaderboard_page import PAGE, write_page
from limited import Limited
from rivals import frame_of, rivals_of
from scores import compare_pairs, find_calibration, share_ties

pytestmark = pytest.mark.slow


@pytest.fixture
def here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))


def made(rows: list[tuple[Any, Any, Any]], gold: dict[Any, Any], domain: Any) -> Answers:
    return allalike.readers.read_gold(gold, allalike.read(rows, domain=domain))


def test_every_source_is_scored_and_what_is_excluded_is_in_the_catalogue() -> None:
    chosen, absent = choose_data_sets()
    assert {source_of(name).name for name in chosen + absent} == set(SOURCES)
    for pattern in AGAIN:
        excluded = [name for name in DATASETS if fnmatch(name, pattern)]
        assert excluded
        assert not {*excluded} & {*chosen, *absent}


def test_our_error_is_that_of_discover(here: None) -> None:
    for name in ("English", "snow_wordsim"):
        answers = load(name).answers
        expected = allalike.discover(answers, method="iP-TD").summary["gold"]["error"]
        assert score_method("iP-TD", answers)["error"] == pytest.approx(expected, rel=1e-12)


def test_the_error_of_others_is_that_of_their_labels(here: None) -> None:
    from crowdkit.aggregation import MajorityVote, Wawa

    data = load("snow_wsd")
    rivals = rivals_of(data.answers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: score_rival(rivals[name], data.answers)["error"] for name in ("MajorityVote", "Wawa")}
        frame = frame_of(data.answers)
        skills = Wawa().fit(frame).skills_
        labels = {"MajorityVote": MajorityVote().fit_predict(frame), "Wawa": MajorityVote().fit_predict(frame, skills)}
    gold = pd.Series([data.gold[task] for task in data.answers.tasks.tolist()])
    assert found == {method: pytest.approx((label != gold).mean()) for method, label in labels.items()}


def test_the_majority_of_masks_of_crowd_kit_is_ours_whatever_value_is_on() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((4, 6, 7)) < 0.4
    drawn = truth ^ (rng.random((5, 4, 6, 7)) < 0.2)
    rows = [(worker, task, drawn[worker, task].astype(int)) for worker in range(5) for task in range(4)]
    for on in (None, 0, 1):
        answers = made(rows, {task: truth[task].astype(int) for task in range(4)}, allalike.Bitmap(on=on))
        theirs = score_rival(rivals_of(answers)["SegmentationMajorityVote"], answers)["error"]
        assert theirs == pytest.approx(score_method("UA", answers)["error"], abs=1e-12)
        assert 0 < theirs < 1


@pytest.mark.parametrize("name", ["Chinese", "snow_wordsim"])
def test_the_table_shows_what_methods_find_now(here: None, name: str) -> None:
    answers = load(name).answers
    stored = {method: row for (crowd, method), row in read_table().items() if crowd == name}
    for method in {"UA", "P-TD", "iP-TD", "DS", "P-TD-AK"} & {*stored}:
        measured = score_method(method, answers)["error"]
        assert float(stored[method]["error"]) == pytest.approx(measured, rel=6e-3)  # three digits were printed once


def test_a_crowd_is_a_csv_file_and_a_method_is_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_CROWDS", str(tmp_path))
    monkeypatch.setenv("ALLALIKE_DATA", str(tmp_path / "none"))
    lines = [f"w{worker},t{task},{label},{task % 2}" for worker, label in enumerate("001") for task in range(4)]
    (tmp_path / "mine.csv").write_text("\n".join(["worker,task,label,gold", *lines]), encoding="utf-8")
    [crowd] = find_crowds(["people"], ["mine"])
    with Limited() as process:
        rows = list(measure(crowd, {"UA", "builtins:dict"}.__contains__, "", process))
        [failed] = measure(crowd, bool, "builtins:dict", process)
    assert [(row["method"], row["error"]) for row in rows] == [("UA", 0.5)]
    assert "failure" in failed


def test_the_page_is_made_of_the_table_beside_it() -> None:
    expected = write_page(list(read_table().values()))
    assert PAGE.read_text(encoding="utf-8") == expected, "python benchmarks/leaderboard_page.py writes it again"


def made_classes(rows: list[tuple[Any, Any, Any]], gold: dict[Any, Any]) -> Answers:
    return read_gold(gold, allalike.read(rows, domain="categorical"))


@pytest.mark.parametrize(("better", "worse"), [(0, 0), (1, 0), (3, 3), (9, 1), (40, 70), (1000, 900)])
def test_pairs_are_compared_as_scipy_does(better: int, worse: int) -> None:
    expected = stats.binomtest(better, better + worse).pvalue if better + worse else 1.0
    assert compare_pairs(better, worse) == pytest.approx(expected, rel=1e-9)
    assert compare_pairs(worse, better) == compare_pairs(better, worse)


def test_calibration_is_the_mean_gap_between_confidence_and_hits_in_ten_bins() -> None:
    rng = np.random.default_rng(0)
    sure = rng.random(500)
    right = rng.random(500) < sure**2
    by_bin = [(sure >= low) & (sure < low + 0.1) for low in np.arange(10) / 10]
    gaps = [abs(sure[one].mean() - right[one].mean()) * one.sum() for one in by_bin]
    assert find_calibration(sure, right) == pytest.approx(sum(gaps) / 500)
    assert find_calibration(np.full(4, 1.0), np.ones(4, bool)) == 0.0
    holes = np.append(sure, np.nan)
    assert find_calibration(holes, np.append(right, True)) == pytest.approx(find_calibration(sure, right))


def test_a_vote_shares_its_ties_as_draws_do_on_average() -> None:
    rng = np.random.default_rng(2)
    rows = [(worker, task, int(rng.integers(3))) for worker in range(4) for task in range(60)]
    answers = made_classes(rows, {task: task % 3 for task in range(0, 60, 2)} | {58: 7})  # nobody ever said 7
    drawn = [allalike.discover(blind(answers), method="UA", seed=seed).truth["label"] for seed in range(40)]
    gold = np.array([task % 3 for task in range(0, 58, 2)])
    shares = [np.sum(labels.to_numpy()[0:58:2] == gold) / 30 for labels in drawn]
    assert share_ties(answers) == pytest.approx(np.mean(shares), abs=0.03)
    assert np.std(shares) > 0
