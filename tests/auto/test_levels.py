"""Confidences and error rates of ordinal levels."""

import numpy as np
import pandas as pd
import pytest

import allalike

Rows = list[tuple[str, str, int]]


def rate(seed: int, levels: int = 5, workers: int = 20, tasks: int = 300, answers: int = 5) -> tuple[Rows, pd.Series]:
    """Simulate ratings of workers whose Gaussian errors, rounded to levels, have deviations from 0.4 to 1.3."""
    rng = np.random.default_rng(seed)
    deviation, truth = rng.uniform(0.4, 1.3, workers), rng.integers(1, levels + 1, tasks)
    who = rng.permuted(np.tile(np.arange(workers), (tasks, 1)), axis=1)[:, :answers]
    said = np.clip(np.rint(truth[:, None] + deviation[who] * rng.normal(size=who.shape)), 1, levels).astype(int)
    rows = [(f"w{w:02}", f"t{t:03}", int(said[t, place])) for (t, place), w in np.ndenumerate(who)]
    return rows, pd.Series(truth, [f"t{t:03}" for t in range(tasks)])


@pytest.mark.parametrize(("levels", "answers"), [(5, 5), (7, 5), (3, 3), (5, 10)])
def test_confidence_and_error_rates_fit_simulated_ratings(levels: int, answers: int) -> None:
    rows, truth = rate(1, levels, answers=answers)
    result = allalike.discover(rows, domain="ordinal")
    table = result.truth.set_index("task")
    right = (table["label"] == truth[table.index]).to_numpy()
    confidence = table["confidence"].to_numpy()
    assert abs(confidence.mean() - right.mean()) < 0.2
    surer = confidence > np.median(confidence)
    assert right[surer].mean() > right[~surer].mean() + 0.05
    wrong = pd.DataFrame(rows, columns=["worker", "task", "label"]).assign(
        truth=lambda each: truth[each["task"]].values
    )
    errors = (wrong["label"] != wrong["truth"]).groupby(wrong["worker"]).mean()
    rates = result.workers.set_index("worker")["error_rate"]
    assert abs(rates.mean() - errors.mean()) < 0.15
    assert np.corrcoef(rates[errors.index], errors)[0, 1] > 0.6
    assert result.summary["confidence"]["mean"] == pytest.approx(confidence.mean(), abs=1e-5)


def test_a_level_that_few_chose_may_be_the_likeliest_one() -> None:
    rows, _ = rate(3)
    rows += [("w00", "odd", 2), ("w01", "odd", 2), ("w09", "odd", 3), ("w07", "odd", 4), ("w16", "odd", 4)]
    odd = allalike.discover(rows, domain="ordinal").truth.set_index("task").loc["odd"]
    assert odd["label"] == 3
    assert odd["confidence"] > 0.4


def test_few_answers_equal_answers_and_many_levels_are_no_problem() -> None:
    for labels in ([1, 1], [1, 2], [1, 5, 5], [2, 2, 2, 2]):
        rows = [(f"w{w}", f"t{t}", label) for t in range(2) for w, label in enumerate(labels)]
        domain = allalike.Ordinal(levels=[1, 2, 3, 4, 5])
        confidence = allalike.discover(rows, domain=domain).truth["confidence"]
        assert confidence.between(0, 1).all()
    rows, _ = rate(4, levels=40)
    assert "confidence" not in allalike.discover(rows, domain="ordinal").truth


OPINIONS = [(f"w{w}", f"t{t}", level) for t in range(6) for w, level in enumerate([5, 5, 1 + t % 2])]


@pytest.mark.parametrize(("target", "label"), [("level", [5] * 6), ("mean", [4] * 6)])
def test_the_target_of_ratings_is_a_level_or_a_mean(target: str, label: list[int]) -> None:
    result = allalike.discover(OPINIONS, domain=f"ordinal(target={target})")
    assert result.truth["label"].tolist() == label
    assert result.summary["domain"]["target"] == target
    assert f"target={'mean' if target == 'level' else 'level'}" in " ".join(result.notes)


def test_panels_take_means_of_opinions_unless_asked_for_a_level() -> None:
    mean, level = (allalike.jury(OPINIONS, domain=name).truth for name in ("ordinal", "ordinal(target=level)"))
    assert mean["label"].tolist() == [4] * 6
    assert level["label"].tolist() == [5] * 6
    assert allalike.discover(OPINIONS, domain="ordinal").truth["label"].tolist() == [5] * 6


@pytest.mark.parametrize("target", ["level", "mean"])
def test_gold_labels_correct_levels_that_most_workers_shift(target: str) -> None:
    rows, truth = rate(6, levels=7, workers=6, answers=6)
    shifted = [(worker, task, min(label + 1, 7)) for worker, task, label in rows]
    gold = truth.iloc[:60].to_dict()
    domain = f"ordinal(levels={[*range(1, 8)]}, target={target})"
    blind, calibrated = (
        allalike.discover(shifted, domain=domain, gold=known, gold_map=known and "same").truth.set_index("task")[
            "label"
        ]
        for known in (None, gold)
    )
    rest = truth.index[60:]
    assert (blind[rest] - truth[rest]).abs().mean() > 1.7 * (calibrated[rest] - truth[rest]).abs().mean()
