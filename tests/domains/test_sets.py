"""Sets: Jaccard distance, the majority of elements, and what is not a set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

import allalike
from allalike import Memory
from allalike._core.blocks.block import Ties
from allalike.distances import jaccard
from allalike.domains.sets import Set
from allalike.errors import LabelError, OptionError
from crowds.set import ELEMENTS, answers

LABELS = st.lists(st.frozensets(st.integers(0, 8)), min_size=1, max_size=8)


def solve(rows: list[tuple[Any, Any, Any]], **options: Any) -> allalike.Result:
    method = options.pop("method", "UA")
    return allalike.discover(rows, domain=Set(**options), method=method, ties="first")


def plain(left: Any, right: Any) -> float:
    either = set(left) | set(right)
    return 1 - len(set(left) & set(right)) / len(either) if either else 0.0


@given(LABELS, LABELS)
def test_jaccard_is_what_python_sets_say(left: list[frozenset[int]], right: list[frozenset[int]]) -> None:
    one, other = jaccard.pack([sorted(s) for s in left]), jaccard.pack([sorted(s) for s in right])
    i, j = (index.ravel() for index in np.indices((len(left), len(right))))
    expected = [plain(left[a], right[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(jaccard.distance(one, i, other, j), expected, atol=1e-15)


def test_jaccard_is_what_scipy_says(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.random.default_rng(0).random((40, 30)) < 0.3
    table[0] = table[1] = False
    expected = cdist(table, table, "jaccard")
    store = jaccard.pack([np.flatnonzero(row).tolist() for row in table])
    i, j = (index.ravel() for index in np.indices(expected.shape))
    np.testing.assert_allclose(jaccard.distance(store, i, store, j), expected.ravel(), atol=1e-15)
    monkeypatch.setattr(jaccard, "_ELEMENTS_PER_CHUNK", 7)
    np.testing.assert_allclose(jaccard.distance(store, i, store, j), expected.ravel(), atol=1e-15)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_disparity_is_the_mean_distance_to_the_others(missing: float) -> None:
    rows = answers(1, 6, 20, missing)
    found = solve(rows).workers.set_index("worker")["disparity"]
    for worker in found.index:
        peers = [
            plain(label, other)
            for who, task, label in rows
            if who == worker
            for peer, same, other in rows
            if same == task and peer != who
        ]
        assert found[worker] == pytest.approx(np.mean(peers))


@pytest.mark.parametrize("block_answers", [1, 1000])
@pytest.mark.parametrize("method", ["UA", "P-TD", "D-TD(rounds=3)"])
def test_the_majority_is_what_a_plain_loop_finds(method: str, block_answers: int) -> None:
    rows = answers(2, 7, 25, 0.3)
    result = allalike.discover(rows, domain=Set(), method=method, engine=Memory(block_answers=block_answers))
    weight = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    for task, label, confidence in result.truth[["task", "label", "confidence"]].itertuples(index=False):
        given = [(weight[who], label) for who, where, label in rows if where == task]
        total = sum(w for w, _ in given)
        share = {e: sum(w for w, label in given if e in label) / total for e in ELEMENTS}
        assert label == [e for e in ELEMENTS if share[e] > 0.5 + 1e-9]
        named = {e for _, label in given for e in label}
        assert confidence == pytest.approx(np.mean([max(share[e], 1 - share[e]) for e in named]))


def test_exactly_half_is_out_and_nothing_is_drawn() -> None:
    rows = [("ada", 1, ["x", "y"]), ("bob", 1, ["x"]), ("ada", 2, ["z"]), ("bob", 2, ["z"])]
    truth = solve(rows).truth
    assert truth["label"].tolist() == [["x"], ["z"]]
    assert truth["confidence"].tolist() == [0.75, 1.0]
    assert not truth["tied"].any()


def test_rounding_does_not_decide_at_half() -> None:
    rows = [(f"w{i}", 1, ["x"] if i < 3 else []) for i in range(6)]
    read = allalike.read(rows, domain=Set())
    (block,) = map(read.encoding.prepare, read.blocks(100))
    weights = np.array([0.1, 0.2, 0.3, 0.3, 0.2, 0.1]) * (1 + 1e-15)
    found = read.encoding.kernels.decide(block, weights, np.zeros(6), Ties())
    assert found.label[0] == ()


def test_sets_without_elements_are_labels_too() -> None:
    rows = [("ada", 1, []), ("bob", 1, []), ("ada", 2, []), ("bob", 2, ["x"]), ("eve", 2, ["x"]), ("ada", 3, [])]
    result = solve(rows, method="P-TD")
    assert result.truth["label"].tolist() == [[], ["x"], []]
    assert result.truth["confidence"][0] == 1.0
    only_empty = solve([("ada", 1, []), ("bob", 1, [])], method="iP-TD")
    assert only_empty.truth["label"].tolist() == [[]]
    assert only_empty.workers["disparity"].tolist() == [0.0, 0.0]


def test_one_answer_is_its_own_majority() -> None:
    assert solve([("ada", 1, ["b", "a", "b"])], method="iP-TD").truth["label"].tolist() == [["a", "b"]]


def test_identical_sets_agree_fully() -> None:
    result = solve([(w, t, {3, 1}) for w in "abc" for t in (1, 2)], method="iP-TD")
    assert result.truth["label"].tolist() == [[1, 3], [1, 3]]
    assert result.truth["confidence"].tolist() == [1.0, 1.0]
    np.testing.assert_allclose(result.workers["weight"], 1 / 3)


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_choices_return_a_set_that_was_given(rule: str) -> None:
    rows = answers(4, 6, 20, 0.2)
    given = {(task, tuple(label)) for _, task, label in rows}
    truth = solve(rows, rule=rule, method="iP-TD").truth
    assert all((task, tuple(label)) in given for task, label in zip(truth["task"], truth["label"], strict=True))


def test_every_way_to_write_a_set_means_the_same() -> None:
    plain_sets = [{"a", "b"}, {"b"}, {"b", "c"}, set()]
    ways: dict[str, list[Any]] = {
        "sets": plain_sets,
        "frozensets": [frozenset(s) for s in plain_sets],
        "lists": [sorted(s, reverse=True) for s in plain_sets],
        "tuples": [tuple(s) for s in plain_sets],
        "arrays": [np.array(sorted(s), dtype=str) for s in plain_sets],
        "json": [json.dumps(sorted(s)) for s in plain_sets],
        "separated": [" ; ".join(sorted(s)) or "[]" for s in plain_sets],
    }
    found = []
    for way, labels in ways.items():
        rows = [(f"w{i}", 1, label) for i, label in enumerate(labels)]
        result = solve(rows, method="P-TD", separator=";" if way == "separated" else None)
        found.append((result.truth["label"].tolist(), result.workers["weight"].round(12).tolist()))
    assert all(each == found[0] for each in found)


def test_elements_keep_their_type() -> None:
    rows = [("ada", 1, [10, 9]), ("bob", 1, [9, 10]), ("eve", 1, [2])]
    assert solve(rows).truth["label"].tolist() == [[9, 10]]
    pairs = [(w, 1, [("a", 2), ("b", 1)]) for w in "xyz"]
    assert solve(pairs).truth["label"].tolist() == [[("a", 2), ("b", 1)]]


def test_a_saved_set_is_json_that_can_be_read_again(tmp_path: Path) -> None:
    rows = [(w, t, '["é, \\"x\\"", "b"]') for w in ("ada", "bob") for t in ("t1", "t2")]
    solve(rows).save(tmp_path / "out")
    import pandas as pd

    table = pd.read_csv(tmp_path / "out" / "truth.csv")
    assert [json.loads(label) for label in table["label"]] == [["b", 'é, "x"']] * 2


def test_gold_may_hold_elements_that_nobody_named() -> None:
    rows = [("ada", 1, ["x"]), ("bob", 1, ["x", "y"]), ("eve", 1, ["x"])]
    for method in ("UA", "OA", "D-TD"):
        result = allalike.discover(rows, domain=Set(), method=method, gold={1: ["new", "x"]})
        assert result.summary["gold"]["error"] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        ("a;b", "separator"),
        ('["a", "b"', "JSON"),
        ("[" * 100_000, "nested"),
        ('["a", 1]', "different types"),
        ('[{"a": 1}]', "neither text nor a whole number"),
        ("[1.5]", "neither text nor a whole number"),
        ("[NaN]", "neither text nor a whole number"),
        ("[true]", "neither text nor a whole number"),
        ("[null]", "neither text nor a whole number"),
        ('["\\ud800"]', "it is no valid text"),
        ('[["a", 1], [1, "a"]]', "no order"),
    ],
)
def test_a_label_that_is_no_set_is_named_with_its_row(label: str, reason: str) -> None:
    rows = [("ada", 1, "[]"), ("bob", 1, label)]
    with pytest.raises(LabelError, match="row 2") as error:
        solve(rows)
    assert reason in str(error.value)
    assert len(str(error.value)) < 300


def test_labels_that_are_no_lists_are_refused() -> None:
    for label in (3, {"a": 1}, 2.5):
        with pytest.raises(LabelError, match="must be a list"):
            solve([("ada", 1, label), ("bob", 1, label)])


def test_elements_of_two_types_are_refused_across_labels() -> None:
    with pytest.raises(LabelError, match="'a' is a text, 1 is a whole number"):
        solve([("ada", 1, ["a"]), ("bob", 1, [1])])
    with pytest.raises(LabelError, match="'a' is a text, 1 is a whole number"):
        solve([("ada", 1, [("a", 1)]), ("bob", 1, [(1, "a")])])
    with pytest.raises(LabelError, match="'c' is a text, 1 is a whole number|1 is a whole number, 'c' is a text"):
        solve([("ada", 1, [("a", 1)]), ("bob", 2, [("b", "c")])])
    assert solve([("ada", 1, [("a", 1)]), ("bob", 1, [("a",), ("a", 1)])]).truth["label"][0] == [("a", 1)]


def test_sets_of_a_file_that_all_are_one_number_are_sets(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("worker,task,label\na,1,12\nb,1,13\nc,1,12\n")
    found = allalike.discover(tmp_path / "a.csv", domain=Set(separator=";"))
    assert found.truth["label"].tolist() == [["12"]]


@pytest.mark.parametrize("separator", ["", 3])
def test_a_separator_must_be_a_text(separator: Any) -> None:
    with pytest.raises(OptionError, match="separator"):
        Set(separator=separator)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_other_names_of_elements_change_nothing(seed: int, n: int) -> None:
    rows = answers(seed, n, 5, 0.2)
    order = np.random.default_rng(seed).permutation(len(ELEMENTS))
    names = {e: f"n{order[k]:02d}" for k, e in enumerate(ELEMENTS)}
    one, other = solve(rows, method="P-TD"), solve([(w, t, [names[e] for e in s]) for w, t, s in rows], method="P-TD")
    np.testing.assert_allclose(one.workers["weight"], other.workers["weight"], atol=1e-12)
    assert [sorted(names[e] for e in s) for s in one.truth["label"]] == other.truth["label"].tolist()


def matches(log: Path) -> set[tuple[str, str]]:
    """Read the pairs of terms that a matcher found alike; the last confidence of a pair counts."""
    found: dict[tuple[str, str], float] = {}
    target = ""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = [part.strip() for part in line.split("|")]
        if "setTargetTerm" in fields:
            target = fields[fields.index("setTargetTerm") + 2]
        elif "matched" in fields:
            at = fields.index("matched")
            found[fields[at + 4], target] = float(fields[at + 5])
    return {pair for pair, confidence in found.items() if confidence > 0}


def test_schema_matchers_are_as_far_from_the_truth_as_known(data: Path) -> None:
    folder = data / "schema_matching_powarematch"
    known = json.loads((folder / "SOURCE.json").read_text())["verification"]
    lines = (folder / "DataFiles" / "Excel2CIDX.csv").read_text().splitlines()
    truth = {tuple(part.strip() for part in line.split(",")[:2]) for line in lines if line.strip()}
    logs = sorted((folder / "DataFiles" / "ExperimentData").glob("*/*/report.log"))
    rows = [(log.parts[-3], "Excel - CIDX", matches(log)) for log in logs]
    assert len(truth) == known["n_truth_pairs"]
    result = allalike.discover(rows, domain=Set(), method="OA", gold={"Excel - CIDX": truth})
    assert len(rows) == 5
    for worker, fault in zip(result.workers["worker"], result.workers["fault"], strict=True):
        assert 1 - fault == pytest.approx(known["per_matcher"][worker]["jaccard"], abs=5e-5)
    majority = allalike.discover(rows, domain=Set(), method="UA", gold={"Excel - CIDX": truth})
    assert len(majority.truth["label"][0]) == known["majority_3_of_5"]["n_pairs"]
    assert 1 - majority.summary["gold"]["error"] == pytest.approx(known["majority_3_of_5"]["jaccard"], abs=5e-5)
