"""Judges who scored tasks several times: one voice, how steady it is, and how many samples are enough."""

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike.api.judges.samples import ScoreBallots, find_steadiness_of_scores
from allalike.errors import UnsupportedError

SPREADS = (0.5, 1.0, 2.0)


def draw(seed: int, *, samples: int = 4, tasks: int = 100) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw scores of three judges whose samples vary by so much, beside an error of their own."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(5, 3, tasks)
    parts = []
    for judge, spread in enumerate(SPREADS):
        voice = truth + rng.normal(0, 0.5, tasks)
        said = voice[:, None] + rng.normal(0, spread, (tasks, samples))
        place = [(f"t{task}", sample) for task in range(tasks) for sample in range(samples)]
        parts.append(pd.DataFrame(place, columns=["task", "epoch"]).assign(worker=f"j{judge}", label=said.ravel()))
    return pd.concat(parts, ignore_index=True), truth


def make_ballots(scores: np.ndarray) -> ScoreBallots:
    """Let one judge score each row as often as there are columns."""
    said = allalike.read([(s, t, float(x)) for (t, s), x in np.ndenumerate(scores)], domain="real")
    return ScoreBallots(said, said.workers.take(np.array([0])), np.zeros(scores.size, np.intp))


def test_steadiness_is_that_of_a_published_example() -> None:
    """Shrout and Fleiss (1979), table 2: ICC(1,1) is 0.17; limits as the package psych of R has them."""
    scores = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    found = [float(each[0]) for each in find_steadiness_of_scores(make_ballots(scores))[:3]]
    assert found == pytest.approx([0.17, -0.13, 0.72], abs=0.005)


def test_limits_of_steadiness_hold_in_about_95_of_100_draws() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(200):
        scores = rng.normal(0, 2, 40)[:, None] + rng.normal(0, 1, (40, 3))
        low, high = (float(each[0]) for each in find_steadiness_of_scores(make_ballots(scores))[1:3])
        held += low < 0.8 < high
    assert 183 <= held <= 198


def test_samples_of_scores_are_one_voice_and_the_table_says_what_fewer_would_cost() -> None:
    rows, truth = draw(0)
    gold = {f"t{task}": value for task, value in enumerate(truth)}
    panel = allalike.jury(rows, domain="real", sample="epoch", gold=gold)
    assert panel.judges["answers"].tolist() == [100] * 3
    assert panel.judges["sample_sd"].tolist() == pytest.approx(SPREADS, rel=0.15)
    voices = allalike.jury(rows.groupby(["worker", "task"], as_index=False)["label"].mean(), domain="real", gold=gold)
    assert panel.truth["label"].tolist() == pytest.approx(voices.truth["label"].tolist())
    told = panel.samples.set_index("samples")["rmse"]
    assert told.is_monotonic_decreasing
    once = allalike.jury(rows[rows["epoch"] == 0].drop(columns="epoch"), domain="real", gold=gold)
    assert told[1] == pytest.approx(once.summary["panel"]["error"], rel=0.25)
    assert panel.summary["panel"]["samples"]["least_steady"]["judge"] == "j2"


def test_steady_judges_need_one_sample_and_levels_are_refused_with_a_way() -> None:
    rows, _ = draw(1, samples=2)
    rows["label"] = rows.groupby(["worker", "task"])["label"].transform("first")
    told = allalike.jury(rows, domain="real", sample="epoch").summary["panel"]["samples"]
    assert (told["enough"], told["steadiness"]) == (1, 1.0)
    with pytest.raises(UnsupportedError, match="domain='real' takes the mean"):
        allalike.jury(rows.assign(label=rows["label"].round().clip(1, 5)), domain="ordinal", sample="epoch")
