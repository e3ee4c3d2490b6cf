"""A panel of judges: what it says, how sure it is, who is wrong with whom, and who is needed."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy.stats import nchypergeom_fisher

import allalike
from allalike.api.judges.coverage import Sureness
from allalike.api.judges.held_out import decide_held_out
from allalike.api.judges.odds import OddsLine, fit_line, mend
from allalike.api.judges.open_labels import OpenChance, find_chances
from allalike.api.judges.shared_errors import compare_pair, find_shared_errors
from allalike.api.judges.smaller_panels import find_sizes, judge_panel
from allalike.api.judges.verdicts import Verdicts
from allalike.errors import UnsupportedError

Table = npt.NDArray[np.intp]


def draw(seed: int, *, judges: int, tasks: int, k: int = 3, right: float = 0.75) -> tuple[Table, Table]:
    """Draw truths, and a row of verdicts for each task."""
    rng = np.random.default_rng([seed, judges, tasks])
    truth = rng.integers(k, size=tasks)
    wrong = (truth[:, None] + rng.integers(1, k, (tasks, judges))) % k
    return np.where(rng.random((tasks, judges)) < right, truth[:, None], wrong), truth


def rows_of(said: Table) -> list[tuple[str, int, str]]:
    return [(f"j{judge}", int(task), "abcdefgh"[label]) for (task, judge), label in np.ndenumerate(said)]


def known(said: Table, truth: Table, k: int = 3) -> Verdicts:
    """Return verdicts on tasks whose truths are all known."""
    tasks = len(truth)
    right = (np.arange(k) == truth[:, None]).astype(float)
    hashes = np.arange(tasks, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    return Verdicts(said, right, truth, np.ones(tasks), np.ones(tasks, bool), truth, hashes)


def open_rows(tasks: int = 80, judges: int = 5) -> tuple[list[tuple[str, int, str]], dict[int, str]]:
    """Draw answers that may be any of a thousand numbers."""
    rng = np.random.default_rng(5)
    truth = rng.integers(1000, size=tasks)
    said = np.where(rng.random((tasks, judges)) < 0.7, truth[:, None], rng.integers(1000, size=(tasks, judges)))
    rows = [(f"j{judge}", int(task), f"n{label}") for (task, judge), label in np.ndenumerate(said)]
    return rows, {task: f"n{label}" for task, label in enumerate(truth.tolist())}


def test_the_probability_of_an_open_answer_is_that_of_bayes() -> None:
    from allalike._core.blocks.block import Block

    rate, m = np.array([0.1, 0.2, 0.3, 0.4]), 5.0
    said = np.array([[7], [7], [3], [4]])
    odds = {7: (0.9 / (0.1 / m)) * (0.8 / (0.2 / m)), 3: 0.7 / (0.3 / m), 4: 0.6 / (0.4 / m)}
    total = sum(odds.values()) + (m + 1 - 3)  # the labels that nobody gave
    found = find_chances(Block.of(said), rate, chance=OpenChance(m, 1.0))
    assert found == pytest.approx([odds[7] / total, odds[7] / total, odds[3] / total, odds[4] / total])


def test_open_answers_have_probabilities_that_hold_and_engines_and_rows_do_not_matter(tmp_path: Path) -> None:
    rows, gold = open_rows()
    panel = allalike.jury(rows, domain="categorical")
    right = np.mean(
        [gold[task] == label for task, label in zip(panel.truth["task"], panel.truth["label"], strict=True)]
    )
    assert abs(panel.truth["confidence"].mean() - right) < 0.03
    again = allalike.jury(rows[::-1], domain="categorical", engine=allalike.Disk(folder=str(tmp_path)))
    assert again.truth["confidence"].to_numpy() == pytest.approx(panel.truth["confidence"].to_numpy())
    assert again.smallest == panel.smallest
    assert again.sizes["accuracy"].to_numpy() == pytest.approx(panel.sizes["accuracy"].to_numpy())


def test_known_truths_mend_confidences_that_are_too_low() -> None:
    rng = np.random.default_rng(0)
    true = rng.uniform(0.6, 1.0, 4000)
    hit = rng.random(4000) < true
    line = fit_line(mend(true, OddsLine(-1.0, 0.5)), hit)
    assert line == pytest.approx((2.0, 2.0), abs=0.25)
    few = Sureness(np.full(49, 0.9), np.zeros(49), np.arange(49, dtype=np.uint64))
    assert few.fit() == OddsLine()
    assert few.mended() is few


def test_what_is_expected_of_a_pair_is_the_mean_of_fishers_distribution_and_the_tail_its_tail() -> None:
    table = np.array([[40.0, 12.0], [9.0, 5.0], [11.0, 6.0], [6.0, 4.0]])
    one, two = (nchypergeom_fisher(int(n), int(x), int(y), 1.7) for n, x, y, _ in table.T)
    mean, tail = compare_pair(table, 1.7)
    assert mean == pytest.approx(one.mean() + two.mean())
    tails = [one.pmf(a) * two.pmf(b) for a in range(10) for b in range(6) if a + b >= 10]
    assert tail == pytest.approx(sum(tails))


def test_counts_of_shared_errors_are_those_of_the_rows() -> None:
    said, truth = draw(3, judges=4, tasks=50)
    found = find_shared_errors(known(said, truth), 2.0)
    for place, (left, right) in enumerate(combinations(range(4), 2)):
        wrong = (said[:, left] != truth) & (said[:, right] != truth)
        assert found.both_wrong[place] == wrong.sum()
        assert found.together[place] == (wrong & (said[:, left] == said[:, right])).sum()


def test_judges_who_share_errors_are_found_and_others_are_not() -> None:
    said, truth = draw(4, judges=6, tasks=300)
    assert not find_shared_errors(known(said, truth), 2.0).found.any()
    shared = np.random.default_rng(0).random(300) < 0.5
    said[shared, 5] = said[shared, 2]
    assert find_shared_errors(known(said, truth), 2.0).groups(6) == [[2, 5]]


def test_the_best_panel_of_each_size_is_that_of_brute_force() -> None:
    said, truth = draw(6, judges=5, tasks=40)
    said[0, 1:3] = -1
    table, odds = known(said, truth), np.array([2.0, 1.0, 1.5, 0.5, 1.2])

    def worth(members: tuple[int, ...]) -> float:
        total = 0.0
        for row, right in zip(said, truth, strict=True):
            score = [sum(odds[judge] for judge in members if row[judge] == label) for label in range(3)]
            best = [label for label in range(3) if score[label] == max(score) > 0]
            total += (right in best) / len(best) if best else 0.0
        return total / len(truth)

    found = find_sizes(table, odds, table.chance, np.ones(40))
    for size, members in enumerate(found.members, 1):
        assert worth(members) == pytest.approx(max(map(worth, combinations(range(5), size))))
        assert worth(members) == pytest.approx(judge_panel(table, odds, members, table.chance).mean())


def test_held_out_tasks_do_not_flatter_a_panel_of_guesses() -> None:
    said, truth = draw(8, judges=12, tasks=60, k=2, right=0.5)
    table = known(said, truth, 2)
    found = find_sizes(table, np.ones(12), table.chance, np.ones(60))
    chosen = judge_panel(table, np.ones(12), found.members[4], table.chance).mean()
    assert chosen > 0.6
    assert found.worth[4] < chosen - 0.05


@pytest.mark.parametrize("crowd", ["xxxx xxxx xxxx", "x x y", "xy.. ..xy .y.x", "xyxy xxyy", "xyxyxy xxxxxx xyyyxy"])
def test_odd_panels_have_all_their_tables(crowd: str, tmp_path: Path) -> None:
    rows = [(judge, t, x) for judge, said in enumerate(crowd.split()) for t, x in enumerate(said) if x != "."]
    panel = allalike.jury(rows, min_confidence=0.9)
    names = [path.name for path in panel.save(tmp_path / "out")]
    assert {"truth.csv", "judges.csv", "pairs.csv", "sizes.csv", "coverage.csv", "summary.json"} <= set(names)
    assert json.loads((tmp_path / "out" / "summary.json").read_text())["panel"]["smallest"]["size"] >= 1
    assert (panel.truth["label"].isna() == (panel.truth["confidence"] < 0.9)).all()


@pytest.mark.long
def test_models_wrong_together_are_of_one_family_or_saw_the_answers_in_the_same_order(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from crowd_data import load

    monkeypatch.setenv("ALLALIKE_DATA", str(data))
    panel = allalike.jury(load("llmbar_llm_judges").answers)
    found = panel.pairs[panel.pairs["wrong_together"]]
    family = found["judge"].str.partition("/")[0] == found["other"].str.partition("/")[0]
    order = found["judge"].str.endswith("/swapped") == found["other"].str.endswith("/swapped")
    assert len(found) >= 30
    assert (family | order).all()
    assert family.mean() > 0.5


def test_a_panel_can_be_loaded_and_explained_but_goes_on_with_all_verdicts_only(tmp_path: Path) -> None:
    panel = allalike.jury(rows_of(draw(1, judges=5, tasks=30)[0]))
    panel.save(tmp_path / "out")
    again = allalike.load(tmp_path / "out")
    assert again.truth["label"].tolist() == panel.result.truth["label"].tolist()
    assert str(again.explain(task=again.truth["task"][0])) == str(panel.result.explain(task=again.truth["task"][0]))
    with pytest.raises(UnsupportedError, match="is that of a panel. Run 'allalike jury' on all verdicts"):
        allalike.update(tmp_path / "out", [("ada", 1, "a")])


def draw_fooled(seed: int, tasks: int) -> tuple[list[tuple[str, int, str]], dict[int, str]]:
    """Draw six judges who fall for the same wrong verdict on two of five tasks, and one who does not."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=tasks)
    fooled = np.where(rng.random(tasks) < 0.4, (truth + 1) % 3, truth)
    meant = np.column_stack([truth, *[fooled] * 6])
    said = np.where(rng.random(meant.shape) < 0.9, meant, rng.integers(3, size=meant.shape))
    rows = [(f"j{judge}", int(task), "abc"[label]) for (task, judge), label in np.ndenumerate(said)]
    return rows, {task: "abc"[label] for task, label in enumerate(truth.tolist())}


@pytest.mark.long
def test_a_panel_says_how_often_it_is_right_on_tasks_that_nobody_told_it() -> None:
    rows, truth = draw_fooled(1, 600)
    known = {task: truth[task] for task in range(200)}
    panel = allalike.jury(rows, gold=known)
    said = dict(zip(panel.truth["task"], panel.truth["label"], strict=True))
    right = np.mean([said[task] == truth[task] for task in range(200, 600)])
    told = panel.summary["panel"]
    assert told["accuracy_from"] == "gold"
    assert told["accuracy"] == pytest.approx(right, abs=0.05)
    assert right > 0.9
    assert 1 - panel.summary["gold"]["error"] < 0.75  # of the panel that knows none
    assert panel.coverage["accuracy"][0] == pytest.approx(told["accuracy"], abs=0.01)


def test_no_truth_decides_its_own_task() -> None:
    rows, truth = draw_fooled(2, 120)
    wrong = {task: "abc"[("abc".index(label) + 2) % 3] for task, label in truth.items()}
    known = {task: wrong[task] if task == 7 else label for task, label in truth.items() if task < 80}
    run = allalike.discover(rows, gold=known, gold_map="same").run
    found = decide_held_out(run, 10_000, allalike.Auto().weigh)
    assert len(found.task_hash) == len(set(found.task_hash.tolist())) == 80
    assert found.wrong.sum() >= 1
    assert found.wrong.mean() < 0.25
