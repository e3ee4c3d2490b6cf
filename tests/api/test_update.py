"""Answers that are added later give the result that all answers give at once."""

import gc
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import DOMAINS, METHODS, Disk, Memory, Real, Result
from allalike.engines import Engine
from allalike.engines.memory import MemoryRun
from allalike.errors import InputError
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
            pytest.param(*case, ENGINES["memory"], marks=[] if case in pair_up()[::2] else pytest.mark.long)
            for case in CASES
        ),
        *(
            pytest.param(*case, ENGINES[name], marks=pytest.mark.long if (turn + place) % 4 else [])
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


MANY_TIMES = [
    *((method, "categorical") for method in ("UA", "P-TD", "P-TD(per_pair=True)", "iP-TD", "D-TD")),
    *(("UA", "real"), ("P-TD", "real"), ("P-TD(per_pair=True)", "text"), ("iP-TD", "real"), ("D-TD", "text")),
]


@pytest.mark.parametrize(
    ("method", "domain", "engine"),
    [  # of each method, one kind of label in blocks of one answer and the other on disk; both take long
        pytest.param(*case, ENGINES[name], marks=pytest.mark.long if (place + turn) % 2 else [])
        for place, case in enumerate(MANY_TIMES)
        for turn, name in enumerate(("small blocks", "disk"))
    ],
)
def test_updating_many_times_gives_what_all_answers_give(method: str, domain: str, engine: Engine) -> None:
    check(cut(crowd(domain, seed=1, n=6, m=20, missing=0.3), 12, 1), domain=kind(domain), method=method, engine=engine)


def test_shards_into_which_a_large_file_was_read_stay_apart(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("allalike.engines.memory._MIN_SHARDED_BYTES", 0)
    monkeypatch.setattr("allalike.engines.memory._SHARD_BYTES", 1 << 9)
    rows = crowd("categorical", seed=1, n=8, m=60)
    path = tmp_path / "rows.csv"
    path.write_text("worker,task,label\n" + "".join(f"{w},{t},{label}\n" for w, t, label in rows), encoding="utf-8")
    result = allalike.discover(path, domain="categorical", method="iP-TD")
    run = result.run
    assert isinstance(run, MemoryRun)
    n_shards = len(run.shards)
    assert n_shards > 8
    more: list[Row] = [("new", "t0003", 2), ("w001", "t0061", 0), *(("other", f"t{j:04d}", 3) for j in range(0, 60, 3))]
    for row in more:
        result = result.update([row])
    run = result.run
    assert isinstance(run, MemoryRun)
    assert len(run.shards) == n_shards
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
    result = allalike.discover(allalike.read(parts[0], repeats=repeats, domain=kind(domain)), engine=engine)
    result = result.update(parts[1]).update(parts[2])
    together = allalike.read([row for part in parts for row in part], repeats=repeats, domain=kind(domain))
    expected = allalike.discover(together, engine=engine)
    assert expected.summary["repeats_set_aside"] == 60
    assert_same(result, expected)


@both_engines
def test_a_repeat_is_an_error_if_it_was_to_be_one(engine: Engine) -> None:
    answers = allalike.read([("ada", 1, "x"), ("bob", 1, "x"), ("bob", 2, "y")], repeats="error")
    result = allalike.discover(answers, engine=engine)
    with pytest.raises(InputError, match="Worker 'bob' answered task 2 more than once"):
        result.update([("ada", 2, "x"), ("bob", 2, "x")])
    assert result.update([("ada", 2, "x")]).summary["answers"] == 4


@both_engines
@pytest.mark.parametrize("method", ["UA", "P-TD", "iP-TD", "CRH(start='median')", "GTM", "D-TD"])
@pytest.mark.parametrize("rule", ["mean", "median"])
def test_a_corrected_typing_error_leaves_no_trace_in_the_digits(method: str, rule: str, engine: Engine) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"w{i}", j, float(rng.normal(1e-3, 1e-4))) for i in range(5) for j in range(8)]
    wrong = [("w1", 3, 1e12), ("w2", 5, -3e14)]
    right = [("w1", 3, 1.1e-3), ("w2", 5, 0.9e-3)]
    first = [row for row in rows if row[:2] not in {("w1", 3), ("w2", 5)}] + wrong
    options: dict[str, Any] = {"domain": Real(rule=rule), "repeats": "last"}
    result = allalike.discover(allalike.read(first, **options), method=method, engine=engine).update(right)
    assert_same(result, allalike.discover(allalike.read([*first, *right], **options), method=method, engine=engine))


@both_engines
def test_vectors_keep_their_digits_too(engine: Engine) -> None:
    first = [("ada", 1, [1e-3, 2.0]), ("bob", 1, [1e10, 2.0]), ("eve", 1, [2e-3, 1.0]), ("eve", 2, [1e-3, 1e9])]
    right = [("bob", 1, [1.5e-3, 3.0])]
    result = allalike.discover(allalike.read(first, domain="vector", repeats="last"), method="P-TD", engine=engine)
    expected = allalike.discover(allalike.read([*first, *right], domain="vector", repeats="last"), method="P-TD")
    assert_same(result.update(right), expected)


@both_engines
def test_a_perfect_worker_stays_perfect(engine: Engine) -> None:
    rows = [(worker, task, 0.1 * task) for task in range(1, 30) for worker in ("ada", "bob")]
    odd = [("eve", task, 0.1 * task + 1 / 3) for task in range(20, 40)]
    result, expected = check([rows + odd, [("cy", 25, 2.5), ("cy", 3, 0.3)]], domain="real", method="P-TD-AK")
    zero = expected.workers["disparity"].tolist()[1] == 0
    assert zero == (result.workers["disparity"].tolist()[1] == 0)
    alike = [("ada", 1, 3), ("bob", 1, 3), ("ada", 2, 4), ("bob", 2, 4), ("eve", 2, 3)]
    result, _ = check([alike, [("cy", 1, 3)]], domain="categorical", method="P-TD", engine=engine)
    assert result.workers["fault"].tolist()[2] == 0


@both_engines
def test_both_results_can_be_used_after_an_update_and_alone(engine: Engine, tmp_path: Path) -> None:
    rows = crowd("text", seed=1, n=5, m=20)
    first = allalike.discover(rows[:60], domain="text", engine=engine)
    labels, saved = first.truth["label"].tolist(), [path.read_bytes() for path in first.save(tmp_path / "first")]
    second = first.update(rows[60:80])
    third = second.update(rows[80:])
    other = first.update(rows[70:])
    del second
    gc.collect()
    assert first.found.joined().found["label"].tolist() == labels
    assert [path.read_bytes() for path in first.save(tmp_path / "again")][:2] == saved[:2]
    assert_same(other, allalike.discover([*rows[:60], *rows[70:]], domain="text"))
    del first, other
    gc.collect()
    assert_same(third, allalike.discover(rows, domain="text"))
    assert third.save(tmp_path / "third")[0].read_text().count("\n") >= 21


def test_disk_leaves_nothing_behind(tmp_path: Path) -> None:
    rows = crowd("real", seed=1, n=5, m=20)
    result = allalike.discover(rows[:60], domain="real", engine=Disk(folder=tmp_path, partitions=4))
    result = result.update(rows[60:80]).update(rows[80:])
    assert len(result.truth) == 20
    assert len(list(tmp_path.iterdir())) == 1
    assert max(len(path.relative_to(tmp_path).parts) for path in tmp_path.rglob("*")) == 3  # not one in the other
    del result
    assert not list(tmp_path.iterdir())


def test_children_of_the_disk_engine_find_the_same() -> None:
    rows = crowd("categorical", seed=1, n=6, m=60)
    engine = Disk(partitions=4, processes=2)
    parts = [rows[:200], [("new", "t0001", 1), ("w001", "t0070", 7)], rows[200:]]
    check(parts, domain="categorical", method="iP-TD", engine=engine)


def test_blocks_that_know_all_workers_and_those_that_know_some_are_renumbered() -> None:
    rows = crowd("categorical", seed=1, n=4, m=200)
    few = [("v", "t0003", 1), ("z", "t0300", 2)]
    for engine in (Memory(), Memory(block_answers=40), Memory(block_answers=20), Disk()):
        check([rows, few, [("a", "t0003", 0), ("w001", "t0300", 2)]], domain="categorical", engine=engine)


@st.composite
def batches(draw: st.DrawFn, label: st.SearchStrategy[Any]) -> list[list[Row]]:
    answer = st.tuples(st.integers(0, 5), st.integers(0, 8), label)
    return draw(st.lists(st.lists(answer, min_size=1, max_size=12), min_size=2, max_size=5))


@settings(max_examples=15)
@given(
    batches(st.sampled_from("abcde")),
    st.sampled_from(["P-TD", "iP-TD", "DS-1"]),
    st.sampled_from(sorted(ENGINES)),
    st.sampled_from(["first", "random"]),
)
def test_any_batches_of_classes_add_up(parts: list[list[Row]], method: str, engine: str, ties: str) -> None:
    check(parts, domain="categorical", method=method, engine=ENGINES[engine], ties=ties)


@settings(max_examples=15)
@given(
    batches(st.integers(-1000, 1000).map(lambda number: number / 8)),
    st.sampled_from(["UA", "P-TD", "D-TD", "CRH"]),
    st.sampled_from(sorted(ENGINES)),
)
def test_any_batches_of_numbers_add_up(parts: list[list[Row]], method: str, engine: str) -> None:
    check(parts, domain="real", method=method, engine=ENGINES[engine])
