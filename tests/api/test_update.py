"""Answers that are added later give the result that all answers give at once."""

import datetime
import gc
from dataclasses import replace
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import DOMAINS, METHODS, Custom, Disk, Ranking, Result
from allalike._core.blocks.block import Block
from allalike.engines import Engine
from allalike.engines.memory import MemoryRun
from allalike.errors import InputError, LabelError, UnsupportedError
from allalike.readers import read_gold
from crowds.samples import Row, crowd, kind, pair_up
from running.updates import ENGINES, assert_same, both_engines, check, cut

CASES = [(name, domain) for domain in (*DOMAINS, "binary") for name in METHODS if METHODS[name]().serves(kind(domain))]
OPTIONS = {"MAS": "MAS(starts=1)", "EBCC": "EBCC(starts=3)"}
pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")


def parts_of(domain: str, seed: int = 3) -> tuple[list[list[Row]], list[dict[Any, Any]]]:
    """Cut a crowd into three parts, with truths that become known before or after their tasks are answered."""
    parts = cut(crowd(domain, seed=seed, n=7, m=20, missing=0.4), 3, seed)
    truths = {task: label for part in parts for worker, task, label in part if worker == "w000" and int(task[1:]) % 2}
    first = parts[0][0][1]  # at least one task with gold is answered in the first part
    label = next(label for _, task, label in parts[0] if task == first)
    known = sorted(truths.items(), key=lambda pair: pair[0])
    return parts, [{**dict(known[::2]), first: label}, dict(known[1:4:2]), dict(known[5::2])]


@cache
def from_scratch(method: str, domain: str) -> Result:
    parts, golds = parts_of(domain)
    gold = {task: label for truths in golds for task, label in truths.items()}
    rows = [row for part in parts for row in part]
    return allalike.discover(rows, domain=kind(domain), method=OPTIONS.get(method, method), gold=gold)


@pytest.mark.parametrize(
    ("method", "domain", "engine"),
    [
        *(
            pytest.param(*case, ENGINES["memory"], marks=[] if case in pair_up()[::3] else pytest.mark.long)
            for case in CASES
        ),
        *(
            pytest.param(*case, ENGINES[name], marks=pytest.mark.long if (turn + place) % 6 else [])
            for turn, name in enumerate(("small blocks", "disk"))
            for place, case in enumerate(pair_up())
        ),
    ],
)
def test_updating_twice_gives_what_all_answers_give(method: str, domain: str, engine: Engine) -> None:
    parts, golds = parts_of(domain)
    name = OPTIONS.get(method, method)
    result = allalike.discover(parts[0], domain=kind(domain), method=name, engine=engine, gold=golds[0])
    for part, gold in zip(parts[1:], golds[1:], strict=True):
        result = result.update(part, gold=gold)
    assert_same(result, from_scratch(method, domain))


def test_a_large_file_that_was_read_part_by_part_is_updated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("allalike.engines.memory._MIN_SHARDED_BYTES", 0)
    monkeypatch.setattr("allalike.engines.memory._SHARD_BYTES", 1 << 9)
    rows = crowd("categorical", seed=1, n=8, m=60)
    path = tmp_path / "rows.csv"
    path.write_text("worker,task,label\n" + "".join(f"{w},{t},{label}\n" for w, t, label in rows), encoding="utf-8")
    result = allalike.discover(path, domain="categorical", method="iP-TD")
    run = result.run
    assert isinstance(run, MemoryRun)
    assert len(run.shards) > 8
    more: list[Row] = [("new", "t0003", 2), ("w001", "t0061", 0), ("other", "t0000", 3), ("other", "t0057", 3)]
    for row in (more[:1], more[1:]):
        result = result.update(row)
    assert_same(result, allalike.discover([*rows, *more], domain="categorical", method="iP-TD"))


@both_engines
@pytest.mark.parametrize("repeats", ["first", "last"])
@pytest.mark.parametrize(
    "domain",
    ["categorical", "real", *(pytest.param(name, marks=pytest.mark.long) for name in ("ranking", "text", "vector"))],
)
def test_repeats_are_settled_as_if_they_had_come_at_once(domain: str, repeats: str, engine: Engine) -> None:
    rows = crowd(domain, seed=2, n=6, m=12)
    other = crowd(domain, seed=2 if domain == "ranking" else 3, n=6, m=12)
    if domain == "ranking":
        other = [(worker, task, label[::-1] if isinstance(label, list) else label) for worker, task, label in other]
    rows = [*rows, *rows[:20], *other[10:50]]
    parts = cut(rows, 3, 5)
    result = allalike.discover(allalike.read(parts[0], duplicates=repeats, domain=kind(domain)), engine=engine)
    result = result.update(parts[1]).update(parts[2])
    together = allalike.read([row for part in parts for row in part], duplicates=repeats, domain=kind(domain))
    expected = allalike.discover(together, engine=engine)
    assert expected.summary["duplicates_removed"] == 60
    assert_same(result, expected)


@both_engines
def test_a_repeat_is_an_error_if_it_was_to_be_one(engine: Engine) -> None:
    answers = allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("bob", 2, "y")], duplicates="error")
    result = allalike.discover(answers, engine=engine)
    with pytest.raises(InputError, match="Worker 'bob' answered task 2 more than once"):
        result.update([("ada", 2, "x"), ("bob", 2, "x")])
    assert result.update([("ada", 2, "x")]).summary["answers"] == 4


@both_engines
def test_both_results_can_be_used_after_an_update_and_alone(engine: Engine, tmp_path: Path) -> None:
    rows = crowd("text", seed=1, n=5, m=20)
    first = allalike.discover(rows[:60], domain="text", engine=engine, method="P-TD")
    labels, saved = first.truth["label"].tolist(), [path.read_bytes() for path in first.save(tmp_path / "first")]
    second = first.update(rows[60:80])
    third = second.update(rows[80:])
    other = first.update(rows[70:])
    del second
    gc.collect()
    assert first.found.joined().found["label"].tolist() == labels
    assert [path.read_bytes() for path in first.save(tmp_path / "again")][:2] == saved[:2]
    assert_same(other, allalike.discover([*rows[:60], *rows[70:]], domain="text", method="P-TD"))
    del first, other
    gc.collect()
    assert_same(third, allalike.discover(rows, domain="text", method="P-TD"))
    assert third.save(tmp_path / "third")[0].read_text().count("\n") >= 21


def test_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = crowd("real", seed=1, n=5, m=20)
    result = allalike.discover(rows[:60], domain="real", engine=Disk(work_dir=tmp_path, partitions=4))
    result = result.update(rows[60:80]).update(rows[80:])
    assert len(result.truth) == 20
    assert len(list(tmp_path.iterdir())) == 1
    assert max(len(path.relative_to(tmp_path).parts) for path in tmp_path.rglob("*")) == 3  # not one in the other
    del result
    assert not list(tmp_path.iterdir())


LABELS: dict[str, st.SearchStrategy[Any]] = {
    "categorical": st.sampled_from("abcde"),
    "real": st.integers(-1000, 1000).map(lambda number: number / 8),
}
ADDED = {"categorical": ["P-TD", "iP-TD", "DS-1"], "real": ["UA", "P-TD", "D-TD", "CRH"]}


@pytest.mark.parametrize("domain", LABELS)
@settings(max_examples=8)
@given(data=st.data(), engine=st.sampled_from(sorted(ENGINES)), ties=st.sampled_from(["first", "random"]))
def test_any_batches_add_up(domain: str, data: st.DataObject, engine: str, ties: str) -> None:
    answer = st.tuples(st.integers(0, 5), st.integers(0, 8), LABELS[domain])
    parts = data.draw(st.lists(st.lists(answer, min_size=1, max_size=12), min_size=2, max_size=5))
    method = data.draw(st.sampled_from(ADDED[domain]))
    check(parts, domain=domain, method=method, engine=ENGINES[engine], ties=ties)


# What may come later: new classes and items, known truths, other tables, and what is refused.


def discover(answers: Any, **options: Any) -> Result:
    """Discover, by a quick method: what is tried here is what comes in."""
    return allalike.discover(answers, **{"method": "P-TD", **options})


@both_engines
@pytest.mark.parametrize(
    ("method", "ties"), [("UA", "random"), ("iP-TD", "first"), ("DS", "random"), ("DS-1", "first")]
)
def test_new_classes_find_their_place(method: str, ties: str, engine: Engine) -> None:
    rng = np.random.default_rng(4)
    classes = ["cat", "dog", "ant", "bee", "elk"]
    rows = [(f"w{i}", f"t{j:02d}", classes[rng.integers(2 + j // 6)]) for j in range(24) for i in range(5)]
    parts = [rows[:50], rows[50:90], rows[90:]]
    result, expected = check(parts, domain="categorical", method=method, ties=ties, engine=engine)
    assert result.summary["domain"]["classes"] == 5
    if method.startswith("DS"):
        assert list(result.probabilities.columns) == ["task", "ant", "bee", "cat", "dog", "elk"]
        np.testing.assert_allclose(result.probabilities.iloc[:, 1:], expected.probabilities.iloc[:, 1:], atol=1e-9)


@both_engines
def test_numbers_become_texts_once_a_class_is_a_text(engine: Engine, tmp_path: Path) -> None:
    labels = [["9", "10", "9", "9", "10", "10"], ["10", "9", "x", "x", "x", "9"]]
    files = [tmp_path / f"{number}.csv" for number in range(3)]
    rows = [[f"w{row % 3},t{row // 3 + part},{label}" for row, label in enumerate(labels[part])] for part in range(2)]
    for path, lines in zip(files, (*rows, [*rows[0], *rows[1]]), strict=True):
        path.write_text("\n".join(["worker,task,label", *lines, ""]), encoding="utf-8")
    for ties in ("first", "random"):
        first = discover(files[0], domain="categorical", engine=engine, ties=ties)
        assert first.truth["label"].tolist() == [9, 10]
        expected = discover(files[2], domain="categorical", engine=engine, ties=ties)
        assert_same(first.update(files[1]), expected)


@both_engines
@pytest.mark.parametrize("rule", ["borda", "kemeny"])
def test_new_items_and_longer_rankings_find_their_place(rule: str, engine: Engine) -> None:
    first = [("ada", 1, "9>10>8"), ("bob", 1, "10>9>8"), ("eve", 1, "8>9>10"), ("ada", 2, "10>9"), ("bob", 2, "9>10")]
    second = [("eve", 2, "9>10"), ("ada", 3, "7>12>9>1"), ("bob", 3, "12>7>9>1"), ("ada", 4, "1>7")]
    third = [("bob", 4, "7>1"), ("ada", 5, "b>10>a"), ("eve", 5, "a>10>b"), ("eve", 3, "1>9>7>12")]
    for ties in ("first", "random"):
        gold = [{1: "9>10>8"}, {3: "7>12>9>1", 9: "z>y"}, {5: "b>10>a"}]
        check([first, second, third], gold=gold, domain=Ranking(rule=rule), ties=ties, engine=engine)


def gold_calibration(block: Block) -> dict[str, Any]:
    truth = np.full(block.n_tasks, -1)
    truth[block.gold_task] = block.gold_label
    return {"truth": truth}


@both_engines
def test_a_truth_that_nobody_had_answered_becomes_a_class(engine: Engine) -> None:
    first = [("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("bob", 2, "x"), ("eve", 4, "y")]
    more = [("ada", 3, "b"), ("bob", 3, "b"), ("eve", 3, "x")]
    gold = {1: "b", 2: "x", 3: "b", 5: "q"}
    result, _ = check([first, more], gold=[gold, None], domain="categorical", method="OA", engine=engine)
    assert result.summary["gold"]["tasks"] == 3
    assert result.summary["gold"]["without_answers"] == 1
    codes = result.run.collect(gold_calibration)["truth"]
    assert codes.tolist() == [0, 1, 0, -1]


@both_engines
def test_truths_may_become_known_later_without_new_answers_to_their_tasks(engine: Engine) -> None:
    rows = crowd("real", seed=8, n=5, m=20)
    first, more = rows[:-10], rows[-10:]
    result, _ = check([first, more], gold=[None, {"t0001": 0.5, "t0007": 1.5}], domain="real", engine=engine)
    later = result.update([("zoe", "t0001", 0.0)], gold={"t0007": 2.5, "t0002": 0.0})
    gold = {"t0001": 0.5, "t0007": 2.5, "t0002": 0.0}
    expected = allalike.discover([*rows, ("zoe", "t0001", 0.0)], domain="real", method="iP-TD", gold=gold)
    assert_same(later, expected)


def test_gold_without_a_known_origin_cannot_be_carried_on() -> None:
    answers = read_gold({1: "x"}, allalike.read([("ada", 1, "x"), ("bob", 1, "x")]))
    result = discover(answers)
    assert result.update([("eve", 1, "y")], gold={2: "y"}).summary["gold"]["without_answers"] == 1
    assert result.call is not None
    with pytest.raises(UnsupportedError, match="with gold="):
        replace(result, call=replace(result.call, gold=None)).update([("eve", 1, "y")])


@both_engines
def test_what_all_labels_share_is_found_out_again(engine: Engine) -> None:
    whole = [("ada", 1, [[0, 4]]), ("bob", 1, [[2, 6]]), ("ada", 2, [[1, 2]])]
    result, _ = check([whole, [("bob", 2, [[0.5, 2]])]], domain="interval", engine=engine)
    assert result.truth["label"].tolist()[0] == [[2.0, 4.0]]
    sets = discover([("ada", 1, ["a"]), ("bob", 1, ["a", "b"])], domain="set", engine=engine)
    with pytest.raises(LabelError, match="different types"):
        sets.update([("eve", 1, [1, 2])])
    vectors = discover([("ada", 1, [1.0, 2.0]), ("bob", 1, [1.0, 3.0])], domain="vector", engine=engine)
    with pytest.raises(LabelError, match="Some vectors have 2 numbers, but others have 3"):
        vectors.update([("eve", 1, [1.0, 2.0, 3.0])])


@both_engines
def test_labels_may_be_rows_of_a_matrix(engine: Engine) -> None:
    rng = np.random.default_rng(1)
    points = rng.normal(size=(5, 2))
    matrix = np.linalg.norm(points[:, None] - points, axis=2)
    rows = [(f"w{i}", task, int(rng.integers(3 + task % 3))) for task in range(12) for i in range(5)]
    check(cut(rows, 3, 1), domain=Custom(distance=matrix), engine=engine)


@pytest.mark.parametrize("first", [5, 5.5, "5", b"5", (5, "a")])
def test_ids_may_be_of_any_type(first: Any) -> None:
    kinds: dict[type, Any] = {int: int, float: float, str: str, bytes: lambda n: b"%d" % n, tuple: lambda n: (n, "a")}
    name = kinds[type(first)]
    rows = [(name(i), name(j), "xyz"[(i * j + i) % 3]) for j in range(9, 15) for i in range(8, 12)]
    for name in ("memory", "disk"):
        check(cut(rows, 3, 2), domain="categorical", engine=ENGINES[name])


@both_engines
def test_more_is_read_as_the_first_answers_were(engine: Engine, tmp_path: Path) -> None:
    table: dict[str, Any] = {
        "who": ["ada", "bob", "ada"],
        "what": [1, 1, 2],
        "said": ["x", "y", "x"],
        "label": ["?", "?", "?"],
    }
    columns = {"worker": "who", "task": "what", "label": "said"}
    more = {**table, "who": ["bob", "bob", "eve"], "said": ["x", None, "x"]}
    together = {name: [*table[name], *more[name]] for name in table}
    options: dict[str, Any] = {"columns": columns, "duplicates": "last", "missing": "drop", "domain": "categorical"}
    expected = discover(allalike.read(together, **options), engine=engine)
    assert (expected.summary["duplicates_removed"], expected.summary["missing_dropped"]) == (1, 1)
    for read in (allalike.read, allalike.scan):
        assert_same(discover(read(table, **options), engine=engine).update(more), expected)
    path = tmp_path / "more.csv"
    csv.write_csv(pa.table(more), path)
    assert_same(discover(allalike.scan(table, **options), engine=engine).update(path), expected)


@both_engines
def test_a_wide_table_is_updated_by_a_wide_table(engine: Engine) -> None:
    first = {"task": [1, 2], "ada": ["x", "y"], "bob": ["x", "x"]}
    more = {"task": [2, 3], "ada": ["y", "y"], "eve": ["y", "x"]}
    result = discover(allalike.read(first, wide="tasks"), engine=engine).update(more)
    rows = [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "x"), ("eve", 2, "y")]
    expected = discover([*rows, ("ada", 3, "y"), ("eve", 3, "x"), ("ada", 2, "y")], engine=engine)
    assert_same(result, expected)


def test_a_result_without_its_answers_cannot_be_updated() -> None:
    result = discover([("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "y"), ("bob", 2, "y")])
    with pytest.raises(UnsupportedError, match="cannot be updated"):
        Result(result.run, result.weighing, result.found, {}).update([("eve", 1, "x")])


@both_engines
@pytest.mark.parametrize("make", [lambda i: datetime.date(2020, 1, 1 + i), lambda i: ("t", i), lambda i: i + 0.5])
def test_truths_that_come_later_find_tasks_of_any_type_by_their_text(make: Any, engine: Engine) -> None:
    ids = [make(number) for number in range(9)]
    rows = [(worker, task, label) for task in ids for worker, label in (("a", "x"), ("b", "x"), ("c", "y"))]
    more, gold = [("z", ids[-1], "x")], {str(ids[0]): "y", str(ids[-1]): "x"}
    expected = discover(rows + more, gold=gold, domain="categorical").summary["gold"]
    updated = discover(rows, engine=engine, domain="categorical").update(more, gold=gold).summary["gold"]
    assert updated == expected
    assert updated["tasks"] == 2


@both_engines
@pytest.mark.parametrize("other", [("t", 8.0), ("t", np.int64(8)), ("t", Decimal("8.0"))])
def test_a_task_that_equals_an_old_one_is_the_same_task(other: Any, engine: Engine) -> None:
    rows = [(worker, ("t", number), "x") for worker in "abc" for number in range(9)]
    assert discover(rows, engine=engine).update([("e", other, "y")]).summary["tasks"] == 9


@both_engines
def test_whole_numbers_of_another_width_stay_whole_numbers(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allalike.engines.disk._TASKS_PER_SORT", 3)

    def table(kind: Any, tasks: list[int], labels: list[int]) -> pa.Table:
        thrice = [pa.array([number for number in numbers for _ in "abc"], kind) for numbers in (tasks, labels)]
        return pa.table({"worker": list("abc") * len(tasks), "task": thrice[0], "label": thrice[1]})

    first = allalike.scan(table(pa.int32(), [1, 2, 3, 4, 5], [1, 2, 1, 2, 1]), domain="categorical")
    result = discover(first, engine=engine).update(table(pa.int64(), [5, 6, 7], [1, 3, 3])).tables_as("pandas")
    assert result.truth["label"].tolist() == [1, 2, 1, 2, 1, 3, 3]
    assert result.truth["label"].dtype.kind == "i"
    path = result.save(tmp_path / "out", format="parquet")[0]
    assert pa.parquet.read_table(path)["task"].to_pylist() == [1, 2, 3, 4, 5, 6, 7]
    path = result.update(table(pa.int64(), [1 << 40], [1])).save(tmp_path / "wide", format="parquet")[0]
    assert pa.parquet.read_table(path)["task"].to_pylist() == [1, 2, 3, 4, 5, 6, 7, 1 << 40]
    large = discover(table(pa.uint64(), [1, (1 << 64) - 3], [1, 2]), domain="categorical", engine=engine)
    tasks = large.update(table(pa.int64(), [1, 2], [1, 2])).tables_as("pandas").truth["task"]
    assert tasks.tolist() == [1, 2, (1 << 64) - 3]  # no float64
    with pytest.raises(InputError, match="-1 is int64, 1.* is uint64"):
        large.update(table(pa.int64(), [-1], [1]))
