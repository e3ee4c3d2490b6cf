"""Crowds that the default was not made on: scores are those of scipy, and the page shows what was measured."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import allalike
from allalike import METHODS
from allalike.answers import Answers
from allalike.readers import read_gold

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import limited
import unseen
from unseen_choices import VARIANTS, Trial, changed, choose_by_others, write_choices
from unseen_crowds import FAMILIES, blind, find_crowds
from unseen_figures import Figure, Figures, read_figures, write_figures
from unseen_page import FIGURES, PAGE, Made, write_page
from unseen_scores import compare_pairs, count_voices, find_calibration, hold_limits, share_ties
from unseen_table import write_table

SHAPE = {"tasks": 100, "workers": 9, "answers": 900, "classes": 2, "gold": 100}
MADE = Made("the default", ("league", "parts"), 7)


def figure(crowd: str, method: str, right: float | None, **more: Any) -> Figure:
    given: dict[str, Any] = {**SHAPE, "family": "panels", "correlation": 0.25, "version": "1.0", **more}
    return Figure(crowd=crowd, method=method, right=right, **given)


def made(rows: list[tuple[Any, Any, Any]], gold: dict[Any, Any]) -> Answers:
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


def test_voices_are_all_workers_or_one() -> None:
    assert (count_voices(7, 0.0), count_voices(7, 1.0), count_voices(1, 0.3)) == (7.0, 1.0, 1.0)


def test_a_vote_shares_its_ties_as_draws_do_on_average() -> None:
    rng = np.random.default_rng(2)
    rows = [(worker, task, int(rng.integers(3))) for worker in range(4) for task in range(60)]
    answers = made(rows, {task: task % 3 for task in range(0, 60, 2)} | {58: 7})  # nobody ever said 7
    drawn = [allalike.discover(blind(answers), method="UA", seed=seed).truth["label"] for seed in range(40)]
    gold = np.array([task % 3 for task in range(0, 58, 2)])
    shares = [np.sum(labels.to_numpy()[0:58:2] == gold) / 30 for labels in drawn]
    assert share_ties(answers) == pytest.approx(np.mean(shares), abs=0.03)
    assert np.std(shares) > 0


def spoilt(n: int = 12, m: int = 300) -> Answers:
    """Draw a crowd in which most workers guess, and a vote errs often."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, m)
    right = rng.random((n, m)) < np.where(np.arange(n) < 3, 0.95, 0.5)[:, None]
    said = np.where(right, truth, 1 - truth)
    rows = [(f"w{i}", j, int(said[i, j])) for i in range(n) for j in range(m)]
    return made(rows, dict(enumerate(truth.tolist())))


def test_what_is_judged_is_what_discover_says_without_truths() -> None:
    answers = spoilt()
    found = unseen.play(METHODS["DS"](), answers)
    blindly = allalike.discover(blind(answers), method="DS").truth
    gold = np.array(answers.encoding.decode(answers.gold_label).tolist())
    right, vote = (blindly[name].to_numpy() == gold for name in ("label", "unweighted"))
    assert found["right"] == right.mean() > vote.mean()
    assert (found["better"], found["worse"]) == ((right & ~vote).sum(), (vote & ~right).sum())
    assert found["calibration"] == pytest.approx(find_calibration(blindly["confidence"].to_numpy(), right))
    assert "judged" not in found  # only auto has limits
    assert unseen.play(METHODS["UA"](), answers)["right"] == share_ties(answers)


def test_limits_are_judged_by_errors_on_known_truths() -> None:
    answers = spoilt()
    wrong, given = unseen.count_errors(answers)
    assert given.tolist() == [300] * 12
    error = dict(zip(answers.workers.tolist(), wrong / given, strict=True))
    assert max(error[name] for name in ("w0", "w1", "w2")) < 0.2 < min(error[f"w{i}"] for i in range(3, 12))
    table = allalike.discover(blind(answers)).workers.set_index("worker").loc[answers.workers.tolist()]
    inside = (table["low"] <= wrong / given) & (wrong / given <= table["high"])
    found = unseen.play(METHODS["auto"](), answers)
    assert (found["judged"], found["within"]) == (12, inside.sum())
    few = replace(answers, gold_task=answers.gold_task[:19], gold_label=answers.gold_label[:19])
    assert unseen.play(METHODS["auto"](), few)["judged"] == 0


def test_methods_are_chosen_by_name_with_their_options() -> None:
    every = unseen.choose_methods("")
    assert {"auto", "auto --plain", "UA", "GLAD", "MACE"} <= set(every)
    assert "OA" not in every
    assert list(unseen.choose_methods("auto --plain, DS(smoothing=0, tol=0.1)")) == [
        "auto --plain",
        "DS(smoothing=0, tol=0.1)",
    ]


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


@pytest.mark.usefixtures("folder")
def test_crowds_are_found_by_family_and_name() -> None:
    assert {crowd.name: crowd.family for crowd in find_crowds(["panels", "weak", "people"])} == {
        "mmlu_x": "panels",
        "wrench_x": "weak",
        "mvh_x": "people",
    }
    assert [crowd.name for crowd in find_crowds(["weak", "people"], ["m*"])] == ["mvh_x"]
    answers = find_crowds(["weak"])[0].read()
    assert (answers.n_answers, len(answers.gold_task), len(answers.workers)) == (240, 30, 6)


def test_sets_of_the_catalogue_are_of_the_league_or_parts_of_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))
    monkeypatch.setenv("ALLALIKE_CROWDS", str(data / "none"))
    found = {crowd.name: crowd for crowd in find_crowds()}
    families = {name: crowd.family for name, crowd in found.items()}
    assert families["snow_rte"] == "league"
    assert families["llmbar_llm_judges/Natural"] == "parts"
    assert "BUILD" not in families
    assert found["IT"].read().domain.name == "categorical"


@pytest.mark.usefixtures("folder")
def test_who_takes_too_long_has_no_figure_and_the_next_one_has(monkeypatch: pytest.MonkeyPatch) -> None:
    crowd = find_crowds(["people"])[0]
    calls = {"UA": METHODS["UA"](), "DS": METHODS["DS"](), "GTM": METHODS["GTM"]()}

    def call(self: limited.Limited, playing: Any, *, seconds: float) -> Any:
        if playing.args[0].name == "UA":
            raise TimeoutError(f"not done after {seconds:.0f} s")
        return playing()

    monkeypatch.setattr(limited.Limited, "call", call)
    slow, done = unseen.measure(crowd, calls, limited.Limited(), version="1", limit=3)  # GTM is for numbers
    assert (slow.right, slow.failure) == (None, "not done after 3 s")
    assert (done.method, done.gold, done.classes) == ("DS", 30, 3)
    assert done.right is not None
    assert done.right > 0.6


def played() -> Figures:
    return Figures(
        [
            figure("a", "UA", 0.5),
            figure("a", "auto", 0.8, better=40, worse=10, calibration=0.1, judged=10, within=5, allowed=7, above=3),
            figure("a", "DS", None, failure="not done | after 60 s"),
            figure("b", "UA", 0.9, family="weak", correlation=None),
            figure("b", "auto", 0.7, family="weak", better=1, worse=21, calibration=0.3, correlation=None),
            figure("b", "DS", 0.89, family="weak", better=1, worse=2, calibration=0.2, correlation=None),
            figure("c", "UA", 0.9, family="weak"),
            figure("c", "auto", 0.88, family="weak", better=1, worse=3),
            figure("d", "UA", 0.6, family="league"),
            figure("d", "auto", 0.9, family="league", better=30),
        ]
    )


def test_means_are_over_crowds_and_over_families() -> None:
    figures = played()
    crowds = figures.crowds("panels", "weak", "people")
    assert [one.crowd for one in crowds] == ["a", "b", "c"]
    assert figures.right("auto", crowds) == pytest.approx((0.8 + 0.7 + 0.88) / 3)
    assert figures.by_family("auto", "panels", "weak", "people") == pytest.approx((0.8 + 0.79) / 2)
    assert figures.gain("DS", crowds) == pytest.approx(-0.01)
    assert figures.by_family("DS", "panels", "weak") is None
    assert [one.crowd for one in figures.clearly("auto", crowds, 1)] == ["a"]
    assert [one.crowd for one in figures.clearly("auto", crowds, -1)] == ["b"]
    assert [one.crowd for one in figures.far_below("auto", crowds)] == ["b", "c"]
    assert figures.by_name["a", "auto"].voices == 3.0


def test_figures_are_read_as_they_were_written_and_newer_ones_take_their_places(tmp_path: Path) -> None:
    figures = played()
    write_figures(tmp_path / "f.csv", figures)
    assert read_figures(tmp_path / "f.csv").every == figures.every
    assert not read_figures(tmp_path / "none.csv").every
    newer = figures.merged([figure("b", "auto", 0.95, family="weak"), figure("a", "LA", 0.6)])
    assert newer.by_name["b", "auto"].right == 0.95
    assert [one.method for one in newer.every if one.crowd == "a"] == ["UA", "auto", "DS", "LA"]
    assert len(newer.every) == len(figures.every) + 1


def test_the_page_tells_left_out_from_chosen_on_and_names_losses() -> None:
    page = write_page(played(), MADE)
    left, seen = page.index("## Left out"), page.index("## Chosen on")
    assert "| the default | league, parts | panels, weak, people | 7 |" in page
    assert left < page.index("| a | panels | 50.0 | 80.0+ | † |") < seen < page.index("| d | league | 60.0 | 90.0+ |")
    assert (
        "auto is clearly above the vote on 1 of 3 crowds (a 50.0 to 80.0), and clearly below on 1 (b 90.0 to 70.0)."
        in page
    )
    assert "By more than 1.5 points below, but not clearly: c 90.0 to 88.0." in page
    assert "| DS | 2 |" not in page
    assert "| DS | a | not done / after 60 s |" in page
    assert "| panels | 10 | 50 | 70 | 30 |" in page
    assert "| a | 9 | 9.0 | 0.25 | 3.0 |" in page


def test_the_table_for_the_terminal_has_every_crowd_and_the_same_counts() -> None:
    lines = {line[:18].strip(): line[18:].split() for line in write_table(played()).splitlines()}
    assert lines["a"] == ["100", "50.0", "80.0+", "none"]
    assert lines["panels"] == ["50.0", "80.0"]
    assert lines["clearly below"] == ["0", "1", "0"]
    assert lines["below by 1.5"] == ["0", "2", "0"]
    assert lines["limits hold, %"] == ["50/70"]


def test_the_page_is_made_of_the_figures_beside_it() -> None:
    assert write_page(read_figures(FIGURES)) == PAGE.read_text(encoding="utf-8"), (
        "benchmarks/unseen_page.py makes it again"
    )


def test_every_method_for_classes_was_measured_on_every_family() -> None:
    figures = read_figures(FIGURES)
    for family in FAMILIES:
        assert figures.crowds(family)
        measured = {one.method for one in figures.every if one.family == family}
        assert measured == set(unseen.choose_methods("")) - {"GTM", "KDE"} - ({"IBP", "EVD"} - measured)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--families", "panles"], "no family is called panles. Known are panels, weak, people, league, parts"),
        (["--methods", "DSS", "--families", "weak"], "No method is called 'DSS'. Did you mean 'DS'?"),
        (["--crowds", "nothing", "--families", "weak"], "no such crowd is here"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_not_there_is_said(
    words: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setattr(sys, "argv", ["unseen.py", *words])
    with pytest.raises(SystemExit, match="2"):
        unseen.main()
    assert said in capsys.readouterr().err


def test_a_family_is_judged_by_what_the_others_would_have_chosen() -> None:
    right = {"as it is": {"x": 0.6, "y": 0.7, "z": 0.9}, "other": {"x": 0.8, "y": 0.6, "z": 0.9}}
    trials = [Trial(name, f, f, share, 0.5) for name, by_family in right.items() for f, share in by_family.items()]
    found = {one.family: (one.variant, round(one.left_out), round(one.chosen_on)) for one in choose_by_others(trials)}
    assert found == {"x": ("as it is", 60, 60), "y": ("other", 60, 70), "z": ("other", 90, 90)}
    assert "| mean of families |  | 50.0 | 70.0 | 73.3 |" in write_choices(trials)


def test_constants_are_what_they_were_after_a_trial() -> None:
    before = {place: getattr(*place) for values in VARIANTS.values() for place in values}
    for values in VARIANTS.values():
        with changed(values):
            assert all(getattr(*place) == value for place, value in values.items())
    assert {place: getattr(*place) for place in before} == before
