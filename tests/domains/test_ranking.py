"""Rankings: labels, distances, kernels and errors."""

from __future__ import annotations

import json
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import allalike
import crowds.ranking
from allalike._core.blocks.block import Ties
from allalike._core.columns.column import Column
from allalike.answers import Answers
from allalike.api.result import Result
from allalike.distances import footrule, kendall
from allalike.domains.rankings.ranking import Ranking
from allalike.engines import Engine, Memory
from allalike.errors import GoldError, LabelError, UnknownNameError, UnsupportedError
from allalike.rules.voting import VOTING
from running.turns import in_turn

Row = tuple[Any, Any, Any]


def answers_of(rows: list[Row], domain: Ranking | None = None) -> Answers:
    workers, tasks, labels = (list(values) for values in zip(*rows, strict=True))
    worker, task = Column.of_objects("worker", workers), Column.of_objects("task", tasks)
    return Answers.of_columns(worker, task, Column.of_objects("label", labels), domain or Ranking(), repeats="error")


def discover(rows: list[Row], rule: str = "", **options: Any) -> Result:
    distance = options.pop("distance", "")
    return allalike.discover(answers_of(rows, Ranking(rule=rule, distance=distance)), **options)


GOLDEN = [(f"w{i}", "t", ">".join(order)) for i, order in enumerate(["0123", "0213", "1023", "3210", "0132"])]


def positions(orders: Any) -> Any:
    return np.argsort(np.asarray(orders), axis=1).T


@given(st.integers(2, 9), st.integers(0, 2**32 - 1))
def test_kendall_tau_is_that_of_scipy(q: int, seed: int) -> None:
    from scipy.stats import kendalltau

    rng = np.random.default_rng(seed)
    left, right = (np.array([rng.permutation(q) for _ in range(5)]) for _ in range(2))
    theirs = [(1 - kendalltau(np.argsort(a), np.argsort(b)).statistic) / 2 for a, b in zip(left, right, strict=True)]
    assert kendall.distance(positions(left), positions(right)) == pytest.approx(theirs, abs=1e-12)


@given(st.integers(1, 9), st.integers(0, 2**32 - 1))
def test_the_footrule_adds_up_displacements(q: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    left, right = rng.permutation(q).tolist(), rng.permutation(q).tolist()
    moved = sum(abs(left.index(item) - right.index(item)) for item in left)
    largest = sum(abs(item - (q - 1 - item)) for item in range(q))
    assert footrule.distance(positions([left]), positions([right]))[0] == pytest.approx(moved / max(largest, 1))


@pytest.mark.parametrize("distance", Ranking.distances)
def test_the_sums_over_peers_are_those_over_all_pairs(distance: str, engine: Engine) -> None:
    rows = crowds.ranking.answers(seed=1, n=7, m=25, missing=0.3)
    answers = answers_of(rows, Ranking(distance=distance))
    run = engine.load(answers)
    weights = np.random.default_rng(0).random(7)
    sums = run.sum(run.kernels.peer_sums, weights)
    expected = np.zeros((2, 7))
    parsed: dict[str, list[tuple[int, tuple[str, ...]]]] = {}
    for worker, task, label in rows:
        parsed.setdefault(task, []).append((int(worker[1:]), tuple(label)))
    for given_answers in parsed.values():
        for i, mine in given_answers:
            for j, theirs in given_answers:
                expected[0, i] += weights[j] * _apart(mine, theirs, distance)
                expected[1, i] += weights[j] * (i != j)
    assert sums["distance"] == pytest.approx(expected[0])
    assert sums["weight"] == pytest.approx(expected[1])


def _apart(left: tuple[str, ...], right: tuple[str, ...], distance: str) -> float:
    if distance == "kendall":
        pairs = list(combinations(left, 2))
        return sum(right.index(a) > right.index(b) for a, b in pairs) / max(len(pairs), 1)
    return sum(abs(left.index(a) - right.index(a)) for a in left) / max(len(left) ** 2 // 2, 1)


@pytest.mark.parametrize("distance", Ranking.distances)
def test_sums_over_pairs_of_workers_agree_with_those_over_peers(distance: str) -> None:
    answers = answers_of(crowds.ranking.answers(seed=2, n=6, m=20, missing=0.2), Ranking(distance=distance))
    run = Memory().load(answers)
    pairs = run.pairs(run.kernels.pair_sums)["distance"].sum(axis=1)
    assert run.sum(run.kernels.peer_sums, np.ones(6))["distance"] == pytest.approx(pairs)


def test_the_worked_example_has_its_disparities() -> None:
    result = discover(GOLDEN, method="P-TD")
    assert result.workers["disparity"].tolist() == pytest.approx([0.375, 5 / 12, 5 / 12, 0.875, 5 / 12])
    assert result.truth["label"].tolist() == [["0", "1", "2", "3"]]


def test_faults_can_be_estimated_as_of_two_classes() -> None:
    disparity = np.array([0.375, 5 / 12, 5 / 12, 0.875, 5 / 12])
    half = disparity.mean() / 2
    fault = (disparity - half) / (1 - 2 * half)
    assert discover(GOLDEN, method="P-TD-AK").workers["fault"].tolist() == pytest.approx(fault.tolist())
    with pytest.raises(UnsupportedError, match="P-TD-AK cannot serve ranking labels"):
        discover(GOLDEN, method="P-TD-AK", distance="footrule")


@pytest.mark.parametrize(("rule", "distance"), in_turn(product(VOTING, Ranking.distances), 3))
def test_every_rule_works_with_every_distance_on_every_engine(rule: str, distance: str, engine: Engine) -> None:
    rows = crowds.ranking.answers(seed=3, n=6, m=12, missing=0.3)
    result = discover(rows, rule, distance=distance, engine=engine)
    expected = discover(rows[::-1], rule, distance=distance)
    assert result.truth["label"].tolist() == expected.truth["label"].tolist()
    assert result.truth["tied"].tolist() == expected.truth["tied"].tolist()
    assert result.workers["weight"].tolist() == pytest.approx(expected.workers["weight"].tolist())
    assert result.truth["support"].between(0, 1).all()
    for task, label in zip(result.truth["task"], result.truth["label"], strict=True):
        assert sorted(label) == sorted(next(given for _, other, given in rows if other == task))


def test_good_workers_are_found_and_improve_the_rankings() -> None:
    rng = np.random.default_rng(0)
    truth = {f"t{j}": [f"x{k}" for k in rng.permutation(6)] for j in range(60)}
    noise = [0.5, 0.6, 0.7, 6.0, 6.0, 6.0, 6.0]
    rows = [
        (f"w{i}", task, [order[k] for k in np.argsort(np.arange(6) + rng.normal(0, noise[i], 6))])
        for task, order in truth.items()
        for i in range(7)
    ]
    result = discover(rows, gold=truth)
    assert set(result.workers.nlargest(3, "weight")["worker"]) == {"w0", "w1", "w2"}
    assert result.summary["gold"]["error"] < 0.7 * result.summary["gold"]["unweighted_error"]


def test_labels_are_text_or_lists_and_come_back_as_lists() -> None:
    for a, b in (("x > y>z", "x>z>y"), ('["x", "y", "z"]', '["x","z","y"]'), (["x", "y", "z"], ["x", "z", "y"])):
        result = discover([("ada", 1, a), ("bob", 1, a), ("eve", 1, b)], method="UA")
        assert result.truth["label"].tolist() == [["x", "y", "z"]]
    for same in ((3, 1, 2), [3, 1, 2], np.array([3, 1, 2]), "[3, 1.0, 2]", [3.0, 1.0, 2.0]):
        result = discover([("ada", 1, same), ("bob", 1, same)], method="UA")
        assert repr(result.truth["label"][0]) == "[3, 1, 2]"


def test_frames_of_lists_are_rankings() -> None:
    import pandas as pd
    import pyarrow as pa

    columns = {"worker": ["ada", "bob"], "task": [1, 1], "label": [["a", "b"], ["a", "b"]]}
    for table in (pd.DataFrame(columns), pa.table(columns)):
        assert list(allalike.discover(table, domain=Ranking()).tables_as("pandas").truth["label"]) == [["a", "b"]]


def test_a_saved_ranking_can_be_read_again(tmp_path: Path) -> None:
    import csv

    rows = [("ada", "plain", "b>a"), ("ada", "odd", '["x>y", "=", "a,b"]'), ("bob", "plain", "b>a")]
    result = discover(rows, method="UA")
    result.save(tmp_path / "out")
    with (tmp_path / "out" / "truth.csv").open() as file:
        saved = {row["task"]: row["label"] for row in csv.DictReader(file)}
    assert saved["plain"] == "b>a"
    assert json.loads(saved["odd"]) == ["x>y", "=", "a,b"]
    assert [list(Ranking().parse(saved[task])) for task in result.truth["task"]] == result.truth["label"].tolist()


def test_tasks_may_have_other_items_and_other_numbers_of_them() -> None:
    rows = [
        ("ada", 1, "a"),
        ("bob", 1, "a"),
        ("ada", 2, "b>a"),
        ("bob", 2, "b>a"),
        ("ada", 3, "z>y>x>w"),
        ("bob", 3, "z>y>x>w"),
    ]
    result = discover(rows)
    assert result.truth["label"].tolist() == [["a"], ["b", "a"], ["z", "y", "x", "w"]]
    assert result.truth["support"].tolist() == [1.0, 1.0, 1.0]
    assert result.workers["disparity"].tolist() == [0.0, 0.0]


def test_weights_of_zero_count_the_same() -> None:
    answers = answers_of([("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>a")])
    run = Memory().load(answers)
    [block] = run.blocks
    found = run.kernels.decide(block, np.zeros(3), np.zeros(3), Ties())
    assert run.encoding.decode(found.label).tolist() == [["a", "b"]]
    assert found.confidence[0] == pytest.approx(2 / 3)


def test_the_first_item_is_the_first_in_natural_order() -> None:
    rows = [("ada", 1, "10>9"), ("bob", 1, "9>10")]
    assert discover(rows, method="UA", ties="first").truth["label"].tolist() == [["9", "10"]]
    named = [("ada", 1, "x10>x9"), ("bob", 1, "x9>x10")]
    assert discover(named, method="UA", ties="first").truth["label"].tolist() == [["x10", "x9"]]


def test_the_first_of_equal_rankings_is_the_first_in_order() -> None:
    rows = [("ada", 1, "c>a>b"), ("bob", 1, "a>c>b")]
    assert discover(rows, "modal", method="UA", ties="first").truth["label"].tolist() == [["a", "c", "b"]]


def test_more_than_a_hundred_items_can_be_ranked() -> None:
    rng = np.random.default_rng(0)
    truth = [f"i{k}" for k in range(140)]
    rows = [(f"w{i}", "t", [truth[k] for k in np.argsort(np.arange(140) + rng.normal(0, 20, 140))]) for i in range(9)]
    result = discover(rows, method="P-TD", gold={"t": truth})
    assert result.summary["gold"]["error"] < 0.1
    assert result.summary["domain"]["items"] == 140
    assert "exact" not in result.summary["domain"]
    assert discover(rows, "kemeny", method="UA").summary["domain"]["exact"] is False
    assert discover(GOLDEN, "kemeny", method="UA").summary["domain"]["exact"] is True


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("a>b>a", "row 2 does not fit: it ranks 'a' twice"),
        ("a>>b", "a place has no item"),
        ("a>b>", "a place has no item"),
        ("", "a place has no item"),
        ("[]", "it ranks 0 items"),
        ('["a", null]', "a place has no item"),
        ('["a", true]', "True is neither the name nor the number of an item"),
        ("[1, NaN]", "nan is neither the name nor the number of an item"),
        ('["a", "b"', "it is no JSON list"),
        ("[" * 100_000, "nested more than 100 levels deep"),
        ("a<b<c", "written best first, with '>' between the items"),
        ("a,b,c", "written best first, with '>' between the items"),
        (">".join(map(str, range(1001))), "it ranks 1,001 items; 1 to 1,000 can be compared"),
    ],
)
def test_a_label_that_is_no_ranking_is_named(label: str, message: str) -> None:
    with pytest.raises(LabelError) as error:
        discover([("ada", 1, "a>b>c"), ("bob", 1, label)])
    assert message in str(error.value)
    assert len(str(error.value)) < 400


def test_items_may_share_a_place() -> None:
    for shared in (["b", "c"], ("b", "c"), {"b", "c"}, np.array(["b", "c"])):
        result = discover([("ada", 1, ["a", "b", "c"]), ("bob", 1, ["a", shared])], method="UA")
        assert result.truth["label"].tolist() == [["a", "b", "c"]]
        assert result.workers["disparity"].tolist() == pytest.approx([1 / 6, 1 / 6])


def test_numbers_are_no_rankings() -> None:
    with pytest.raises(LabelError, match="a ranking is a list of items, or text such as 'a>b>c'"):
        discover([("ada", 1, 4), ("bob", 1, 5)])


def test_a_truth_ranks_the_items_of_its_task() -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "b>a"), ("ada", 2, "c>d"), ("bob", 2, "c>d")]
    for truth in ("c>a", "c", "c>d>e", "c>d>a"):
        with pytest.raises(GoldError, match="A known truth and an answer to its task rank different items"):
            discover(rows, gold={2: truth})
    assert discover(rows, gold={2: "c>d", 7: "x>y>z"}).summary["gold"]["error"] == 0.0
    assert discover(rows, gold={2: "d>c"}).summary["gold"]["error"] == 1.0


def test_the_oracle_weighs_by_known_rankings() -> None:
    rows = crowds.ranking.answers(seed=4, n=6, m=30, missing=0.2)
    truths = dict(zip(*(discover(rows).truth[name] for name in ("task", "label")), strict=True))
    half = {task: label for task, label in truths.items() if task < "t0015"}
    result = discover(rows, method="OA", gold=half)
    assert result.workers["weight"].sum() == pytest.approx(1)
    assert result.summary["gold"]["tasks"] == 15


def test_items_of_a_truth_match_by_their_text() -> None:
    rows = [("ada", 1, [1, 2]), ("bob", 1, [1, 2])]
    assert discover(rows, gold={1: "2>1"}).summary["gold"]["error"] == 1.0


def test_minimax_refuses_many_items_before_it_begins() -> None:
    with pytest.raises(UnsupportedError, match="at most 8 items, and there are some of 9"):
        discover([("ada", 1, "1>2>3>4>5>6>7>8>9")], "minimax")


def test_an_unknown_rule_is_named() -> None:
    with pytest.raises(UnknownNameError):
        Ranking(rule="bordaa")
    with pytest.raises(UnknownNameError):
        Ranking(distance="hamming")
