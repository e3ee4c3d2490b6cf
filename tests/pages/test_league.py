"""The league table: errors are those of discover and of crowd-kit, ranks are places, and the page shows them."""

from __future__ import annotations

import json
import math
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import METHODS
from allalike.answers import Answers
from allalike.datasets import DATASETS, SOURCES, source_of
from crowd_data import load

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
import league
import limited
from league_figures import Data, Figure, League, ranks
from league_page import renew_tables, write_page
from league_reading import read_figures
from league_rivals import frame_of, rivals_of
from running import limited_calls

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "evidence" / "LEAGUE.md"


@pytest.fixture
def here(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))


def made(rows: list[tuple[Any, Any, Any]], gold: dict[Any, Any], domain: Any) -> Answers:
    return allalike.readers.read_gold(gold, allalike.read(rows, domain=domain))


def a_league(errors: dict[str, dict[str, float | None]], domain: str = "categorical") -> League:
    shape = {"domain": domain, "classes": 2, "workers": 9, "tasks": 8, "answers": 72, "gold": 8, "alike": 0.5}
    figures = [
        Figure(data=data, method=method, error=error, seconds=0.25, failure="" if error is not None else "too | slow")
        for data, row in errors.items()
        for method, error in row.items()
    ]
    described = [Data(name=data, **shape) for data in errors]  # type: ignore[arg-type]
    return League(data=described, figures=figures, again={"x/*": "x again"}, missing=["GG"], limit=9.0, seeds=5)


def test_a_rank_is_one_more_than_the_better_ones_and_half_of_the_equal_ones() -> None:
    errors = np.random.default_rng(0).integers(0, 6, (50, 9)) / 7
    for row in errors:
        expected = [1 + (row < one).sum() + ((row == one).sum() - 1) / 2 for one in row]
        assert ranks(row.tolist()).tolist() == expected
        assert ranks((row * (1 + 1e-13)).tolist()).tolist() == expected
    assert ranks([300.0, 300.0 + 1e-8, 300.0 + 1e-6]).tolist() == [1.5, 1.5, 3.0]


def test_mean_ranks_are_of_those_with_a_figure_everywhere_and_without_the_oracle() -> None:
    played = a_league(
        {
            "a": {"OA": 0.0, "UA": 0.3, "P-TD": 0.2, "DS": 0.2, "MAS": None, "Wawa": 0.1},
            "b": {"OA": 0.0, "UA": 0.1, "P-TD": 0.2, "DS": 0.3, "MAS": 0.0, "Wawa": 0.3},
        }
    )
    assert played.mean_ranks(played.data, theirs=False) == {"P-TD": 1.75, "UA": 2.0, "DS": 2.25}
    assert played.mean_ranks(played.data, theirs=True) == {"P-TD": 2.25, "Wawa": 2.25, "UA": 2.5, "DS": 3.0}
    assert [played.best(one) for one in played.data] == [{"Wawa"}, {"MAS"}]
    assert played.seconds(played.data, "UA") == 0.5


def test_the_page_marks_the_best_and_says_who_failed() -> None:
    page = write_page(a_league({"a": {"OA": 0.0, "UA": 0.25, "P-TD": 0.125, "iP-TD": 0.125, "DS": None, "Wawa": 0.5}}))
    assert "| a | 75.0 | **87.5** | **87.5** | † |" in page.replace("| a | 100.0 ", "| a ", 1)
    assert "| a | 50.0 |" in page
    assert "| DS | a | too / slow |" in page
    assert "| Wawa | crowd-kit |  | 4.00 | 0 | 0.25 |" in page
    assert "no public copy is known: GG" in page


def test_a_table_can_be_made_again_by_itself() -> None:
    page = write_page(a_league({"a": {"UA": 0.25, "DS": None}}))
    again = renew_tables(page, a_league({"a": {"UA": 0.125, "DS": 0.25}}))
    assert "| a | **87.5** | 75.0 |" in again
    assert "| DS | a | too / slow |" in page
    assert "| DS | a |" not in again
    assert "Of this table alone: measured on" in again
    assert [line for line in again.splitlines() if line.startswith("#")] == [
        line for line in page.splitlines() if line.startswith("#")
    ]


def test_the_reading_names_where_the_default_and_proximity_win_and_lose() -> None:
    said = read_figures(
        a_league(
            {
                "won": {"auto": 0.125, "OA": 0.0, "UA": 0.5, "iP-TD": 0.125, "DS": 0.125, "EBCC": 0.25},
                "lost": {"auto": 0.5, "OA": 0.0, "UA": 0.125, "iP-TD": 0.5, "DS": 0.25, "EBCC": 0.25},
                "close": {"auto": 0.125, "OA": 0.0, "UA": 0.25, "iP-TD": 0.25, "DS": 0.25, "EBCC": None},
                "same": {"auto": 0.25, "OA": 0.0, "UA": 0.25, "iP-TD": 0.25, "DS": 0.25, "EBCC": 0.25},
            }
        )
    )
    assert "auto, the method that `discover` takes unless told otherwise, has a smaller error than UA" in said
    assert "on 2 of 4 data sets, the same on 1, and a larger one on 1 (lost)" in said
    assert "iP-TD, the paper's, has a smaller error than UA, which weighs all workers alike, on 1 of 4" in said
    assert "auto 75.0, UA 71.9, iP-TD 71.9, DS 78.1, OA 100.0, EBCC 75.0 on the 3 where it was done (auto 70.8" in said
    assert "plain vote, by two points and two tasks or more: won (UA 50.0, auto 87.5, iP-TD 87.5)." in said
    assert "plain vote, by two points and two tasks or more: lost (UA 87.5, auto 50.0, iP-TD 50.0, OA 100.0)." in said
    assert (
        "DS is right most often on these 4 data sets (78.1). Beside it, auto has a smaller error than DS on 1 of"
        in said
    )
    assert "Clearly behind on lost (DS 75.0, auto 50.0)" in said
    assert "Where iP-TD loses to DS, by two points and two tasks or more: lost (DS 75.0, iP-TD 50.0)" in said
    assert "equally good on 1 data sets (same)" in said


def test_the_reading_says_what_looking_for_copies_changes() -> None:
    said = read_figures(
        a_league(
            {
                "a": {"auto": 0.25, "auto --plain": 0.5, "UA": 0.25},
                "b": {"auto": 0.25, "auto --plain": 0.125, "UA": 0.25},
            }
        )
    )
    assert "better on a (auto --plain 50.0, auto 75.0)" in said
    assert "worse on" not in said
    assert "On none of these sets is it worse than a plain vote" in said


def test_the_page_shows_how_sure_methods_are_and_averages() -> None:
    sure = {"a": {"auto": 0.1, "DS": 0.3, "UA": 0.2}, "b": {"auto": 0.2, "DS": 0.3, "UA": 0.1}, "c": {"auto": 0.9}}
    shown = a_league({name: {"auto": 0.0, "DS": 0.0, "UA": 0.0} for name in sure})
    figures = [replace(figure, calibration=sure[figure.data].get(figure.method)) for figure in shown.figures]
    page = write_page(replace(shown, figures=figures))
    assert "| a | 8 | **0.100** | 0.300 | 0.200 |" in page
    assert "| mean |  | 0.150 | 0.300 | 0.150 |" in page
    assert "Of these 2 data sets, smallest is auto on 1, DS on 0, vote share on 1." in page


def test_confidences_that_are_as_often_right_are_calibrated() -> None:
    rows = [(worker, task, "yes" if worker < 4 else "no") for worker in range(5) for task in range(10)]
    truths = {task: "yes" if task < 8 else "no" for task in range(10)}
    outcome = league.play_ours(METHODS["UA"](), made(rows, truths, "categorical"), math.inf)
    assert outcome.error == pytest.approx(0.2)
    assert outcome.calibration == pytest.approx(0.0, abs=1e-12)
    few = made(rows, {0: "no", 1: "yes"}, "categorical")
    assert league.play_ours(METHODS["UA"](), few, math.inf).calibration == pytest.approx(0.3)
    numbers = made([(0, 0, 1.5), (1, 0, 2.0)], {0: 2.0}, "real")
    assert league.play_ours(METHODS["UA"](), numbers, math.inf).calibration is None


@pytest.mark.parametrize(
    ("domain", "error", "shown"), [("real", 2.25, "1.50"), ("real", 90000.0, "300"), ("text", 0.1236, "0.124")]
)
def test_numbers_are_shown_as_root_mean_squares_with_three_digits(domain: str, error: float, shown: str) -> None:
    assert a_league({"a": {}}, domain).data[0].score(error) == shown


def test_every_source_is_in_the_league_and_what_is_left_out_is_in_the_catalogue() -> None:
    chosen, absent = league.choose()
    several = Counter(source_of(name).name for name in chosen + absent)
    assert {
        source: count for source, count in several.items() if count > 1
    } == {  # who adds one must see that it is new
        "predict_mandal2020": 4,  # four crowds
        "triangles_hart2018": 5,  # five experiments
        "dots_puzz_preflib": 8,
        "meir_aaai23": 2,
        "crowdwsa2019": 3,
        "boxes_cytology_eiph": 2,  # two rounds
        "spans_ner_conll_crowd": 2,  # two crowds
    }
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
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {method: league.play_theirs(solve, data.answers)[0] for method, solve in _quick(data.answers).items()}
        frame = frame_of(data.answers)
        skills = Wawa().fit(frame).skills_
        truths = {"MajorityVote": MajorityVote().fit_predict(frame), "Wawa": MajorityVote().fit_predict(frame, skills)}
    gold = pd.Series([data.gold[task] for task in data.answers.tasks.tolist()])
    assert found == {method: pytest.approx((truth != gold).mean()) for method, truth in truths.items()}


def _quick(answers: Answers) -> dict[str, Any]:
    return {method: solve for method, solve in rivals_of(answers).items() if method in ("MajorityVote", "Wawa")}


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


def test_rankings_are_compared_pair_by_pair_and_found_again() -> None:
    said = {"ada": "abc", "bob": "abc", "eve": "bac", "joe": "acb"}
    rows = [(worker, task, list(order)) for worker, order in said.items() for task in (1, 2)]
    answers = made(rows, {1: ["a", "b", "c"], 2: ["c", "b", "a"]}, "ranking")
    frame = frame_of(answers)
    assert len(frame) == 4 * 2 * 3
    wins = frame[frame["task"] == 0]["label"].map(lambda item: item[1]).value_counts()
    assert wins.to_dict() == {"a": 7, "b": 4, "c": 1}
    for method in ("BradleyTerry", "NoisyBradleyTerry", "choix", "evalica"):
        assert league.play_theirs(rivals_of(answers)[method], answers)[0] == 0.5


def test_strengths_of_others_know_ties_and_gaps() -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "b=c"), ("eve", 1, "a>c"), ("joe", 1, "c>d"), ("kim", 1, "b>d")]
    answers = made([*rows, ("kim", 1, "d>a"), ("ada", 1, "b>c")], {1: ["a", "b", "c", "d"]}, "ranking")
    assert set(rivals_of(answers)) == {"choix", "evalica"}
    for solve in rivals_of(answers).values():
        assert league.play_theirs(solve, answers)[0] == 0.0


def test_texts_are_voted_word_by_word() -> None:
    rows = [("ada", 1, "the cat sat down"), ("bob", 1, "the cat sat up"), ("eve", 1, "a cat sat down")]
    answers = made(rows, {1: "the cat sat down"}, "text")
    assert league.play_theirs(rivals_of(answers)["ROVER"], answers)[0] == 0.0


@pytest.mark.parametrize(
    ("playing", "failure"),
    [
        (limited_calls.for_ever, "not done after 1 s"),
        pytest.param(limited_calls.asleep, "not done after 2 s", marks=pytest.mark.long),
        pytest.param(limited_calls.wrongly, "ValueError: bad labels", marks=pytest.mark.long),
        (limited_calls.fatally, "RuntimeError: its process ended with code 3"),
    ],
)
def test_who_is_too_slow_or_fails_is_shown_with_the_reason_and_the_next_one_plays(
    playing: Callable[[], Any], failure: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limited, "_PATIENCE", 2 if playing is limited_calls.asleep else 1000)
    with limited.Limited() as process:
        failed = league.measure("a", "UA", playing, process, limit=1)
        assert (failed.error, failed.failure) == (None, failure)
        assert league.measure("a", "UA", limited_calls.play, process).error == 3


def test_what_a_function_had_in_memory_when_it_failed_is_given_back() -> None:
    with limited.Limited() as process:
        with pytest.raises(MemoryError):
            process.call(limited_calls.fail_with_much, seconds=60)
        assert process.call(limited_calls.count_kept, seconds=60) == 0


def test_time_that_others_took_does_not_count() -> None:
    with limited.Limited() as process:
        process.call(limited_calls.use_the_processor, 1.2, seconds=60)
        assert process.call(os.getpid, seconds=1) != os.getpid()


@pytest.mark.long
def test_figures_that_are_known_are_not_measured_again(here: None, tmp_path: Path) -> None:
    known = Figure(data="Chinese", method="auto", error=0.5, seconds=7.0)
    kept = tmp_path / "figures.jsonl"
    league._keep(kept, known)
    assert json.loads(kept.read_text())["seconds"] == 7.0
    with limited.Limited() as process:
        described, found = league.play("Chinese", league._read(kept), process)
        assert (described.workers, described.answers) == (50, 1200)
        assert next(found) == known
        measured = next(found)
    assert measured.method == "auto --plain"
    assert measured.seconds is not None
    assert 0 < measured.seconds != known.seconds


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
    ours = rows_of(PAGE.read_text(encoding="utf-8"), name)[0]
    answers = load(name).answers
    described = league.describe(name, answers)
    for method in ("UA", "OA", "P-TD", "P-TD-AK", "iP-TD", "D-TD", "CRH", "CATD", "EXP", "TOP2"):
        assert ours[method].strip("*") == described.score(league.play_ours(METHODS[method](), answers, math.inf)[0])


def test_bold_on_the_page_is_the_best_of_ours_and_theirs(here: None) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for name in league.choose()[0]:
        *scores, shape = [row for row in rows_of(page, name) if "vote share" not in row]
        cells = {
            m: cell for row in scores for m, cell in row.items() if m not in ("data", "OA") and cell not in ("", "†")
        }
        best = [float(cell.strip("*")) for cell in cells.values() if cell.startswith("**")]
        values = [float(cell.strip("*")) for cell in cells.values()]
        assert best
        assert set(best) == {max(values) if shape["labels"] == "categorical" else min(values)}
        assert not re.search(r"nan|inf", " ".join(cells.values()))
