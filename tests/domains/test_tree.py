"""Classes in a tree: how far they are apart, and how far down most of the weight goes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Tree
from allalike.errors import LabelError, OptionError
from crowds.samples import crowd
from crowds.tree import LEAVES

WAYS = ["a/b/c", "a/b", "a/d"]
PARENTS = {"owl": "bird", "swan": "bird", "bird": "animal", "cat": "animal"}


def plain(left: str, right: str) -> float:
    """Return Dice's distance of two sets of ancestors."""
    one, other = ({tuple(way.split("/")[:k]) for k in range(1, way.count("/") + 2)} for way in (left, right))
    return 1 - 2 * len(one & other) / (len(one) + len(other))


def test_classes_are_apart_as_by_hand() -> None:
    answers = allalike.read([(way, 1, way) for way in WAYS], domain="tree")
    place = {worker: number for number, worker in enumerate(answers.workers.tolist())}
    pairs = [("a/b/c", "a/b", 1 / 5), ("a/b", "a/d", 1 / 2), ("a/b/c", "a/d", 3 / 5)]
    for left, right, expected in pairs:
        rows = answers.label[[place[left]]], answers.label[[place[right]]]
        assert answers.encoding.kernels.distance_between(*rows) == pytest.approx(expected)
        assert plain(left, right) == pytest.approx(expected)


def test_disparity_is_that_of_sets_of_ancestors() -> None:
    rows = crowd("tree", seed=1, n=5, m=12, missing=0.3)
    result = allalike.discover(rows, domain="tree", method="P-TD")
    for worker, found in zip(result.workers["worker"], result.workers["disparity"], strict=True):
        mine = [(task, label) for who, task, label in rows if who == worker]
        apart = [plain(label, other) for task, label in mine for who, t, other in rows if t == task and who != worker]
        assert found == pytest.approx(np.mean(apart))


def test_the_truth_goes_down_as_far_as_most_of_those_who_came_there() -> None:
    found = allalike.discover([(way, 1, way) for way in WAYS], domain="tree", method="UA").truth
    assert found["label"].tolist() == ["a/b"]
    assert found["confidence"].tolist() == pytest.approx([2 / 3])


@pytest.mark.parametrize(
    ("said", "truth"),
    [
        (["a/b/c", "a/b/c", "a/b", "x"], "a/b/c"),  # two of the three at a/b or below
        (["a/b", "a/c", "a/d"], "a"),
        (["a", "a", "a/b"], "a"),
        (["a", "b", "b/c"], "b"),  # heaviest at the top, where half of those below stop
        (["x/y/z"] * 3, "x/y/z"),
    ],
)
def test_where_the_way_ends(said: list[str], truth: str) -> None:
    rows: list[Any] = [(worker, 1, way) for worker, way in enumerate(said)]
    assert allalike.discover(rows, domain="tree", method="UA").truth["label"].tolist() == [truth]


def test_two_branches_of_the_same_weight_are_drawn() -> None:
    rows = [(worker, task, "xy"[worker % 2]) for worker in range(4) for task in range(60)]
    truth = allalike.discover(rows, domain="tree", method="UA").truth
    assert truth["tied"].all()
    assert 15 < (truth["label"] == "x").sum() < 45
    assert set(allalike.discover(rows, domain="tree", method="UA", ties="first").truth["label"]) == {"x"}


def test_names_with_parents_are_the_same_as_ways() -> None:
    ways = {"owl": "animal/bird/owl", "swan": "animal/bird/swan", "bird": "animal/bird", "cat": "animal/cat"}
    names = list(ways)
    rng = np.random.default_rng(2)
    rows = [(w, t, names[rng.integers(4)]) for w in range(5) for t in range(12)]
    named = allalike.discover(rows, domain=Tree(parents=PARENTS), method="P-TD")
    written = allalike.discover([(w, t, ways[name]) for w, t, name in rows], domain="tree", method="P-TD")
    assert named.workers["weight"].tolist() == pytest.approx(written.workers["weight"].tolist())
    expected = {**ways, "animal": "animal"}
    assert [expected[label] for label in named.truth["label"]] == written.truth["label"].tolist()


def test_good_workers_are_found_and_believed() -> None:
    rows = [(w, t, LEAVES[t % 6] if w < 3 or t % 3 == 0 else LEAVES[(t * w) % 6]) for w in range(7) for t in range(30)]
    gold = {task: LEAVES[task % 6] for task in range(30)}
    summary = allalike.discover(rows, domain="tree", gold=gold, method="iP-TD").summary["gold"]
    assert summary["error"] <= summary["unweighted_error"]


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"separator": ""}, "separator is ''"),
        ({"parents": {"a": "b", "b": "a"}}, "parents is no tree: 'a' is above itself"),
        ({"parents": {"a": 1}}, "parents must be a mapping from names to names"),
        ({"parents": "a"}, "parents must be a mapping from names to names"),
    ],
)
def test_what_is_no_tree_is_refused(how: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        Tree(**how)


def test_a_label_that_is_no_class_is_named_with_its_row() -> None:
    with pytest.raises(LabelError, match="row 2 does not fit: a name on its way is empty"):
        allalike.read([("ada", 1, "a/b"), ("bob", 1, "a//b")], domain="tree")
    with pytest.raises(LabelError, match="row 2 does not fit: parents does not have it"):
        allalike.read([("ada", 1, "owl"), ("bob", 1, "emu")], domain=Tree(parents=PARENTS))
