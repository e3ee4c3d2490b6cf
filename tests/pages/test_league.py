"""The league table: errors are those of discover and of crowd-kit, ranks are places, and the page shows them."""

from __future__ import annotations

import math
import sys
import warnings
from collections import Counter
from collections.abc import Callable
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
