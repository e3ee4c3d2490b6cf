"""Pages of measurements: figures are those of discover, crowd-kit and scipy, and the pages show them."""

import math
import warnings
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import allalike
import league
from allalike import METHODS
from allalike.answers import Answers
from allalike.datasets import DATASETS, SOURCES, source_of
from allalike.readers import read_gold
from crowd_data import load
from league_rivals import frame_of, rivals_of
from unseen_crowds import blind
from unseen_figures import read_figures
from unseen_page import FIGURES, write_page
from unseen_page import PAGE as UNSEEN
from unseen_scores import compare_pairs, find_calibration, hold_limits, share_ties

pytestmark = pytest.mark.slow

LEAGUE = Path(__file__).parents[2] / "docs" / "evidence" / "LEAGUE.md"


@pytest.fixture
def here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))


def made(rows: list[tuple[Any, Any, Any]], gold: dict[Any, Any], domain: Any) -> Answers:
    return allalike.readers.read_gold(gold, allalike.read(rows, domain=domain))


def test_every_source_is_in_the_league_and_what_is_left_out_is_in_the_catalogue() -> None:
    chosen, absent = league.choose()
    assert {source_of(name).name for name in chosen + absent} == set(SOURCES)
    for pattern in league.AGAIN:
        left_out = [name for name in DATASETS if fnmatch(name, pattern)]
        assert left_out
        assert not {*left_out} & {*chosen, *absent}


def test_our_error_is_the_average_of_discover_over_the_draws(here: None) -> None:
    data = load("English")
    error, seconds, _ = league.play_ours(METHODS["UA"](), data.answers, limit=math.inf)
    seeds = range(league.SEEDS)
    each = [allalike.discover(data.answers, method="UA", seed=seed).summary["gold"]["error"] for seed in seeds]
    assert len(set(each)) > 1
    assert error == pytest.approx(np.mean(each), rel=1e-12)
    assert seconds > 0


def test_their_error_is_that_of_their_truths(here: None) -> None:
    from crowdkit.aggregation import MajorityVote, Wawa

    data = load("snow_wsd")
    rivals = rivals_of(data.answers)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: league.play_theirs(rivals[name], data.answers)[0] for name in ("MajorityVote", "Wawa")}
        frame = frame_of(data.answers)
        skills = Wawa().fit(frame).skills_
        truths = {"MajorityVote": MajorityVote().fit_predict(frame), "Wawa": MajorityVote().fit_predict(frame, skills)}
    gold = pd.Series([data.gold[task] for task in data.answers.tasks.tolist()])
    assert found == {method: pytest.approx((truth != gold).mean()) for method, truth in truths.items()}


def test_their_majority_of_masks_is_ours_whatever_value_is_on() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random((4, 6, 7)) < 0.4
    drawn = truth ^ (rng.random((5, 4, 6, 7)) < 0.2)
    rows = [(worker, task, drawn[worker, task].astype(int)) for worker in range(5) for task in range(4)]
    for on in (None, 0, 1):
        answers = made(rows, {task: truth[task].astype(int) for task in range(4)}, allalike.Bitmap(on=on))
        theirs = league.play_theirs(rivals_of(answers)["SegmentationMajorityVote"], answers)[0]
        assert theirs == pytest.approx(league.play_ours(METHODS["UA"](), answers, math.inf)[0], abs=1e-12)
        assert 0 < theirs < 1


def rows_of(page: str, name: str) -> list[dict[str, str]]:
    """Return the rows of a data set in all tables of the page, by the heads of their columns."""
    found, head = [], [""]
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("| data |"):
            head = cells
        elif line.startswith(f"| {name} |"):
            found.append(dict(zip(head, cells, strict=True)))
    return found


@pytest.mark.parametrize("name", ["Chinese", "snow_wordsim"])
def test_the_page_shows_what_methods_find_now(here: None, name: str) -> None:
    ours = rows_of(LEAGUE.read_text(encoding="utf-8"), name)[0]
    answers = load(name).answers
    described = league.describe(name, answers)
    for method in ("UA", "OA", "P-TD", "P-TD-AK", "iP-TD", "D-TD", "CRH", "CATD", "EXP", "TOP2"):
        assert ours[method].strip("*") == described.score(league.play_ours(METHODS[method](), answers, math.inf)[0])


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


def test_limits_may_hold_unless_those_of_clopper_and_pearson_are_elsewhere() -> None:
    rng = np.random.default_rng(1)
    answers = rng.integers(20, 200, 60)
    wrong = rng.binomial(answers, rng.random(60))
    low = rng.random(60) * 0.7
    high = low + rng.random(60) * 0.3
    within, allowed, above = hold_limits(low, high, wrong.astype(float), answers.astype(float))
    exact = [
        stats.binomtest(x, n).proportion_ci(method="exact")
        for x, n in zip(wrong.tolist(), answers.tolist(), strict=True)
    ]
    apart = np.array([[one.low > top, one.high < bottom] for one, top, bottom in zip(exact, high, low, strict=True)])
    np.testing.assert_array_equal(above, apart[:, 0])
    np.testing.assert_array_equal(allowed, ~apart.any(axis=1))
    np.testing.assert_array_equal(within, (wrong / answers >= low) & (wrong / answers <= high))
    assert not (within & ~allowed).any()
    assert 0 < above.sum() < 60


def test_a_vote_shares_its_ties_as_draws_do_on_average() -> None:
    rng = np.random.default_rng(2)
    rows = [(worker, task, int(rng.integers(3))) for worker in range(4) for task in range(60)]
    answers = made_classes(rows, {task: task % 3 for task in range(0, 60, 2)} | {58: 7})  # nobody ever said 7
    drawn = [allalike.discover(blind(answers), method="UA", seed=seed).truth["label"] for seed in range(40)]
    gold = np.array([task % 3 for task in range(0, 58, 2)])
    shares = [np.sum(labels.to_numpy()[0:58:2] == gold) / 30 for labels in drawn]
    assert share_ties(answers) == pytest.approx(np.mean(shares), abs=0.03)
    assert np.std(shares) > 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a small crowd of each family."""
    monkeypatch.setenv("ALLALIKE_CROWDS", str(tmp_path))
    monkeypatch.setenv("ALLALIKE_DATA", str(tmp_path / "none"))
    rng = np.random.default_rng(4)
    for name in ("mmlu_x", "wrench_x", "mvh_x"):
        gold = rng.integers(0, 3, 40)
        worker, task = np.divmod(np.arange(6 * 40), 40)
        label = np.where(rng.random(240) < 0.7, gold[task], rng.integers(0, 3, 240))
        gold[::4] = -1
        np.savez(tmp_path / f"{name}.npz", W=worker, T=task, L=label, g=gold, k=3)
    return tmp_path


def test_the_page_is_made_of_the_figures_beside_it() -> None:
    assert write_page(read_figures(FIGURES)) == UNSEEN.read_text(encoding="utf-8"), (
        "benchmarks/unseen_page.py makes it again"
    )
