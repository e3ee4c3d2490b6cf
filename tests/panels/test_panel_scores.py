"""A panel of scores: how judges use the scale, whose errors correlate, who is needed, and who decides."""

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

import allalike
from allalike._core.columns.hashes import mix
from allalike.errors import DataNote
from allalike.panels.correlated_errors import compare_squares, count_effective_judges, find_offsets, number_task_parts
from allalike.panels.repeats import find_steadiness_of_scores
from allalike.panels.rows import RepeatedVerdicts
from running.program import call

Scores = npt.NDArray[np.float64]
SPREADS = (0.5, 1.0, 2.0)


def draw(seed: int, *, judges: int, tasks: int, noise: Any = 1.0) -> tuple[Scores, Scores]:
    """Draw truths, and a row of scores for each task."""
    rng = np.random.default_rng([seed, judges, tasks])
    truth = rng.normal(5, 2, tasks)
    return truth[:, None] + rng.normal(size=(tasks, judges)) * noise, truth


def rows_of(said: Any) -> list[tuple[str, int, Any]]:
    return [(f"j{judge}", int(task), float(said[task, judge])) for task, judge in np.ndindex(said.shape[:2])]


def hashes(tasks: int) -> npt.NDArray[np.uint64]:
    return mix(np.arange(tasks, dtype=np.uint64))


def test_offsets_are_those_of_least_squares_with_a_parameter_for_each_task() -> None:
    said, _ = draw(0, judges=4, tasks=30)
    said[np.random.default_rng(1).random(said.shape) < 0.3] = np.nan
    task, judge = np.nonzero(~np.isnan(said))
    design = np.concatenate([np.eye(30)[task], np.eye(4)[judge]], axis=1)
    fitted = np.linalg.lstsq(design, said[task, judge], rcond=None)[0][30:]
    assert find_offsets(said, np.arange(30) % 20)["offset"].to_numpy() == pytest.approx(fitted - fitted.mean())


@pytest.mark.parametrize("domain", ["real", "ordinal"])
def test_verdicts_of_scores_are_scores_inconclusive_or_unreadable(domain: str, tmp_path: Path) -> None:
    said, _ = draw(4, judges=4, tasks=30, noise=0.7)
    rows: list[tuple[str, int, Any]] = [(judge, task, round(x)) for judge, task, x in rows_of(said)]
    rows = [(judge, task, None if (judge, task) == ("j1", 3) or task == 7 else x) for judge, task, x in rows]
    with pytest.warns(DataNote, match="5 rows without a label"):
        panel = allalike.jury(rows, domain=domain, quorum=4)
    told = {3: "inconclusive", 7: "unreadable"}
    assert panel.truth["verdict"].tolist() == [told.get(task, "score") for task in range(30)]
    assert panel.truth.index[panel.truth["label"].isna()].tolist() == [3, 7]
    assert panel.truth["task"].dtype.kind == "i"
    assert panel.summary["panel"]["outcomes"]["scores"] == 28
    assert panel.judges["unreadable"].tolist() == [1, 2, 1, 1]
    panel.save(tmp_path / "out", format="parquet")
    assert pd.read_parquet(tmp_path / "out" / "truth.parquet")["task"].tolist() == [*range(30)]


def test_what_is_expected_of_a_pair_is_fitted_to_all_others() -> None:
    said, _ = draw(5, judges=5, tasks=60, noise=[0.5, 1.0, 1.5, 1.0, 2.0])
    found = compare_squares(said[:, :, None], number_task_parts(hashes(60)))
    pairs = list(combinations(range(5), 2))
    apart = np.array([np.var(said[:, i] - said[:, k], ddof=1) for i, k in pairs])
    assert found.distance.to_numpy() == pytest.approx(apart)
    for place, (i, k) in enumerate(pairs):
        others = [each for each in range(10) if each != place]
        design = np.array([np.eye(5)[a] + np.eye(5)[b] for a, b in pairs])
        fault = np.linalg.lstsq(design[others], apart[others], rcond=None)[0]
        assert found.expected[place] == pytest.approx(fault[i] + fault[k])
        assert found.correlation[place] == pytest.approx(
            (fault[i] + fault[k] - apart[place]) / 2 / np.sqrt(fault[i] * fault[k])
        )


def test_errors_that_correlate_are_found_and_others_are_not() -> None:
    said, truth = draw(6, judges=6, tasks=300)
    assert not allalike.jury(rows_of(said), domain="real").pairs["shared_errors"].any()
    said[:, 1] = truth + 0.7 * (said[:, 0] - truth) + 0.7 * (said[:, 1] - truth)
    panel = allalike.jury(rows_of(said), domain="real")
    first = panel.pairs.iloc[0]
    assert panel.summary["panel"]["pairs"]["groups"] == [["j0", "j1"]]
    assert first["ci_low"] < 0.7 < first["ci_high"]


def test_errors_that_all_share_make_no_bond() -> None:
    said, _ = draw(7, judges=5, tasks=200)
    shared = np.random.default_rng(0).normal(size=(200, 1))
    one, other = (allalike.jury(rows_of(each), domain="real").pairs for each in (said, said + 3 * shared))
    assert one["correlation"].to_numpy() == pytest.approx(other["correlation"].to_numpy(), abs=1e-6)


def test_the_error_of_smaller_panels_is_that_to_known_truths() -> None:
    said, truth = draw(8, judges=3, tasks=80)
    panel = allalike.jury(rows_of(said), domain="real", gold=dict(enumerate(truth.tolist())), retain=1.0)
    alone = np.sqrt(np.mean((said - truth[:, None]) ** 2, axis=0))
    assert panel.judges["known_rmse"].to_numpy() == pytest.approx(alone)
    assert panel.sizes["rmse"].iloc[0] >= alone.min() - 1e-9
    assert panel.sizes["rmse"].iloc[2] == pytest.approx(np.sqrt(panel.summary["gold"]["error"]), rel=0.05)
    assert panel.summary["panel"]["worth_from"] == "gold"


def test_without_truths_the_expected_error_is_rather_too_large_than_too_small() -> None:
    ratio = []
    for seed in range(6):
        said, truth = draw(seed, judges=5, tasks=200, noise=[0.5, 1.0, 1.0, 1.0, 2.0])
        panel = allalike.jury(rows_of(said), domain="real", retain=0.95)
        members = [int(each[1:]) for each in panel.smallest]
        weight = panel.judges["weight"].to_numpy()[members]
        error = np.sqrt(np.mean((said[:, members] @ (weight / weight.sum()) - truth) ** 2))
        ratio.append(panel.summary["panel"]["smallest"]["error"] / error)
    assert 0.95 < np.mean(ratio) < 1.3


@pytest.mark.parametrize("domain", ["ranking", "set", "text", "circular", "vector(distance=euclidean)"])
def test_whatever_has_a_distance_has_all_tables(domain: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    make: dict[str, Any] = {
        "ranking": lambda t: ">".join(np.array(list("abcd"))[np.argsort(np.arange(4) + rng.normal(size=4))]),
        "set": lambda t: {each for each in "pqr" if rng.random() < 0.5} | {f"s{t}"},
        "text": lambda t: f"number {t} is {'on' if rng.random() < 0.8 else 'off'}",
        "circular": lambda t: float((10 * t + rng.normal()) % 360),
        "vector(distance=euclidean)": lambda t: (t + rng.normal(size=2)).tolist(),
    }
    rows = [(judge, task, make[domain](task)) for judge in "abcd" for task in range(24)]
    panel = allalike.jury(rows, domain=domain, prices=dict.fromkeys("abcd", 1.0))
    names = {path.name for path in panel.save(tmp_path / "out")}
    assert {"truth.csv", "judges.csv", "sizes.csv", "summary.json"} <= names
    assert panel.coverage.empty
    assert panel.sizes["cost"].tolist() == [24.0, 48.0, 72.0, 96.0]


@pytest.mark.parametrize(
    "crowd", ["1 2 3", "12345 12345 12345", "1..5 .23. 12.5", "5555 5555 5555", "12345", "123.. ...45", "1212 1122"]
)
@pytest.mark.parametrize("domain", ["real", "ordinal", "categorical"])
@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_odd_panels_have_all_their_tables(crowd: str, domain: str, tmp_path: Path) -> None:
    rows = [(judge, t, int(x)) for judge, said in enumerate(crowd.split()) for t, x in enumerate(said) if x != "."]
    panel = allalike.jury(rows, domain=domain, min_confidence=0.9 if domain == "categorical" else None)
    names = {path.name for path in panel.save(tmp_path / "out")}
    assert {"truth.csv", "judges.csv", "sizes.csv", "summary.json"} <= names
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["panel"]["smallest"]["size"] >= 1
    assert len(panel.judges) == len(crowd.split())
    assert "Panel of" in repr(panel)
    if domain == "categorical":
        assert (panel.truth["label"].isna() == (panel.truth["confidence"] < 0.9)).all()


def test_a_truth_that_nobody_gave_is_the_ceiling() -> None:
    rows = [(judge, task, "xy"[(task + (judge == "c" and task % 3 == 0)) % 2]) for judge in "abc" for task in range(60)]
    truth = {task: "z" if task < 6 else "xy"[task % 2] for task in range(60)}
    assert allalike.jury(rows, gold=truth).summary["panel"]["ceiling"] == {"known": 60, "missed": 6}
    said, true = draw(13, judges=3, tasks=60)
    outside = ((true < said.min(axis=1)) | (true > said.max(axis=1))).sum()
    panel = allalike.jury(rows_of(said), domain="real", gold=dict(enumerate(true.tolist())))
    assert panel.summary["panel"]["ceiling"] == {"known": 60, "missed": outside}
    assert allalike.jury(rows).summary["panel"]["ceiling"] == {"known": 0, "missed": None}


def test_a_copy_adds_no_voice() -> None:
    said, truth = draw(14, judges=4, tasks=400)
    said = np.column_stack([said, said[:, 0]])
    panel = allalike.jury(rows_of(said), domain="real", gold=dict(enumerate(truth.tolist())))
    adds = panel.judges["added_effective_judges"].to_numpy()
    errors = said - truth[:, None]
    rho = np.clip(errors.T @ errors / 400, None, None)
    rho /= np.sqrt(np.outer(np.diag(rho), np.diag(rho)))
    assert panel.summary["panel"]["effective_judges"] == pytest.approx(count_effective_judges(rho), rel=0.02)
    assert adds[0] < 0.2 < 0.6 < adds[1:4].min()


def test_the_program_tells_of_scores_on_one_screen(tmp_path: Path) -> None:
    rows = rows_of(draw(16, judges=5, tasks=60)[0] + [0.0, 0.0, 0.0, 0.0, 3.0])
    pd.DataFrame(rows, columns=["worker", "task", "label"]).to_csv(tmp_path / "a.csv", index=False)
    done = call("jury", "a.csv", "-o", "out", folder=tmp_path)
    text = " ".join(done.stdout.split())
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) <= 45
    assert "j4 scores 2." in text


def draw_samples(seed: int, *, samples: int = 4, tasks: int = 100) -> tuple[pd.DataFrame, Scores]:
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


def make_ballots(scores: Scores) -> RepeatedVerdicts:
    """Let one judge score each row as often as there are columns."""
    said = allalike.read([(s, t, float(x)) for (t, s), x in np.ndenumerate(scores)], domain="real")
    task = np.repeat(np.arange(said.n_tasks), np.diff(said.starts))
    rows = pd.DataFrame({"task": task, "judge": 0, "order": 0, "label": said.label})
    return RepeatedVerdicts(rows, said.tasks, said.workers.take(np.array([0])), said.encoding)


def test_steadiness_is_that_of_a_published_example() -> None:
    """Shrout and Fleiss (1979), table 2: ICC(1,1) is 0.17; limits as the package psych of R has them."""
    scores = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    found = (
        find_steadiness_of_scores(make_ballots(scores))[["steadiness", "steadiness_ci_low", "steadiness_ci_high"]]
        .to_numpy()[0]
        .tolist()
    )
    assert found == pytest.approx([0.17, -0.13, 0.72], abs=0.005)


def test_limits_of_steadiness_hold_in_about_95_of_100_draws() -> None:
    rng, held = np.random.default_rng(3), 0
    for _ in range(200):
        scores = rng.normal(0, 2, 40)[:, None] + rng.normal(0, 1, (40, 3))
        low, high = find_steadiness_of_scores(make_ballots(scores))[
            ["steadiness_ci_low", "steadiness_ci_high"]
        ].to_numpy()[0]
        held += low < 0.8 < high
    assert 183 <= held <= 198


def test_samples_of_scores_are_one_voice_and_the_table_says_what_fewer_would_cost() -> None:
    rows, truth = draw_samples(0)
    gold = {f"t{task}": value for task, value in enumerate(truth)}
    panel = allalike.jury(rows, domain="real", sample="epoch", gold=gold)
    assert panel.judges["answers"].tolist() == [100] * 3
    assert panel.judges["sample_sd"].tolist() == pytest.approx(SPREADS, rel=0.15)
    voices = allalike.jury(rows.groupby(["worker", "task"], as_index=False)["label"].mean(), domain="real", gold=gold)
    assert panel.truth["label"].tolist() == pytest.approx(voices.truth["label"].tolist())
    told = panel.samples.set_index("samples")["rmse"]
    assert told.is_monotonic_decreasing
    weight = panel.judges.set_index("worker")["weight"]
    once = rows.pivot(index=["epoch", "task"], columns="worker", values="label").mul(weight / weight.sum()).sum(axis=1)
    off = once.to_numpy() - once.index.get_level_values("task").map(gold).to_numpy(float)
    assert told[1] == pytest.approx(np.sqrt(np.mean(off**2)), rel=0.05)  # with the weights of the panel
    assert panel.summary["panel"]["samples"]["least_steady"]["judge"] == "j2"
