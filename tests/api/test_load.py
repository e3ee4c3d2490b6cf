"""A saved result can be loaded: it is the one that was saved, and goes on."""

import json
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_ind

import allalike
from allalike import Disk, Memory, Result
from allalike.engines import Engine
from allalike.errors import AllalikeError, InputError, OutputError
from allalike.update import compare_means
from crowds.samples import KINDS, crowd, kind
from running.updates import assert_same, cut

pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning", "ignore::allalike.errors.DataNote")
BOTH = pytest.mark.parametrize("engine", [Memory(), Disk(partitions=3)], ids=["memory", "disk"])


def assert_equal(found: Result, expected: Result) -> None:
    """Compare what was loaded with what was saved: everything is the same, numbers to 1e-12."""
    for name in ("truth", "workers"):
        pd.testing.assert_frame_equal(getattr(found, name), getattr(expected, name), rtol=1e-12, atol=1e-12)
    texts = [json.dumps(each.summary, sort_keys=True, default=str) for each in (found, expected)]
    assert texts[0] == texts[1]


def signed(told: dict[str, Any]) -> dict[str, Any]:
    return {"sum": sha256(json.dumps(told).encode()).hexdigest(), "call": told}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*.*"))}


@pytest.mark.parametrize("domain", [each for each in KINDS if each != "custom"])  # whose distance is a function
def test_a_result_that_was_saved_is_loaded_as_it_was(domain: str, tmp_path: Path) -> None:
    rows = crowd(domain, seed=2, n=5, m=8, missing=0.2)
    if domain == "categorical":  # objects as ids
        rows = [((1, worker), ("t", task), label) for worker, task, label in rows]
    gold = {task: label for _, task, label in rows[:3]}
    method = "auto" if domain in ("categorical", "real") else "P-TD"
    result = allalike.discover(rows, domain=kind(domain), gold=gold, method=method)
    result.save(tmp_path / "out")
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert_equal(allalike.load(tmp_path / "elsewhere"), result)


@pytest.mark.parametrize("domain", ["categorical", "real", "spans"])
def test_it_is_loaded_on_another_engine_than_it_was_found_on(domain: str, tmp_path: Path) -> None:
    rows = crowd(domain, seed=4, n=6, m=20, missing=0.2)
    engines: list[Engine] = [Memory(), Disk(partitions=3)]
    for one, other in (engines, engines[::-1]):
        result = allalike.discover(rows, domain=kind(domain), engine=one, method="iP-TD")
        result.save(tmp_path / "out")
        assert_same(allalike.load(tmp_path / "out", engine=other), result)


def test_how_answers_were_read_and_what_was_known_is_loaded_too(tmp_path: Path) -> None:
    lines = ["who;item;vote", *(f"w{w};t{t};{(w * t) % 3 % 2 or 'o'}" for t in range(12) for w in range(5)), "w1;t1;?"]
    (tmp_path / "a.csv").write_text("\n".join([*lines, "w0;t0;third"]), encoding="utf-8")
    past = {"worker": ["w0", "w1"], "answers": [50, 40], "error_rate": [0.1, 0.4]}
    how: dict[str, Any] = {"columns": {"worker": "who"}, "abstain_label": "?", "label_map": {"o": "zero", 1: "one"}}
    known: dict[str, Any] = {"gold": {"t1": "zero", "t99": "never said"}, "history": pd.DataFrame(past)}
    result = allalike.discover(tmp_path / "a.csv", **how, **known, seed=7, ties="first", min_confidence=0.6)
    assert result.run.encoding.n_labels == 3  # though the only answer with the third was set aside
    result.save(tmp_path / "out")
    (tmp_path / "a.csv").unlink()
    again = allalike.load(tmp_path / "out")
    assert_equal(again, result)
    more = "\n".join(["who;item;vote", "w7;t3;o", "w7;t4;1"])
    (tmp_path / "b.csv").write_text(more, encoding="utf-8")
    assert_equal(again.update(tmp_path / "b.csv"), result.update(tmp_path / "b.csv"))


@BOTH
@pytest.mark.parametrize("method", ["auto", "LA"])
def test_updating_the_folder_is_updating_the_result(method: str, engine: Engine, tmp_path: Path) -> None:
    parts = cut(crowd("categorical", seed=5, n=7, m=20, missing=0.3), 3, seed=5)
    result = allalike.discover(parts[0], domain="categorical", method=method, engine=engine)
    result.save(tmp_path / "out", report=True)
    for part in parts[1:]:
        result, found = result.update(part), allalike.update(tmp_path / "out", part, engine=engine)
        told = found.summary.pop("changes")
        assert_same(found, result)
        assert told["answers"] == len(part)
        again = allalike.load(tmp_path / "out", engine=engine)
        assert again.summary.pop("changes") == told
        assert_same(again, result)
    assert (tmp_path / "out" / "report.html").exists()


@BOTH
def test_classes_and_ids_of_other_types_are_loaded(engine: Engine, tmp_path: Path) -> None:
    frames = [
        pd.DataFrame({"worker": np.array([1, 2, 1, 2], kind), "task": np.array([3, 3, 4, 4]) + more, "label": labels})
        for kind, more, labels in (("int8", 0, [9, 9, 10, 10]), ("int64", 2**40, ["9", "x", "x", "x"]))
    ]
    allalike.discover(frames[0], domain="categorical", engine=engine, method="UA").save(tmp_path / "out")
    result = allalike.update(tmp_path / "out", frames[1].assign(worker=[1, 2, 1, 1000]), engine=engine)
    assert result.truth["label"].tolist()[:2] == ["9", "10"]
    assert_same(allalike.load(tmp_path / "out", engine=engine), result)


@pytest.mark.parametrize(
    ("error", "raised"),
    [(OSError(28, "No space left on device"), OutputError), (ValueError("a bug"), ValueError)],
)
def test_an_update_that_fails_leaves_the_old_result_whole(
    error: Exception, raised: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = crowd("categorical", seed=1, n=4, m=9)
    allalike.discover(rows, domain="categorical").save(tmp_path / "out")
    before = bytes_of(tmp_path)

    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("allalike.result.saving.write_call", fail)  # behind the tables
    with pytest.raises(raised, match=r"No space|a bug"):
        allalike.update(tmp_path / "out", [("zoe", "t0001", 1)])
    assert bytes_of(tmp_path) == before


def test_it_is_written_again_as_it_was_saved(tmp_path: Path) -> None:
    rows = crowd("categorical", seed=1, n=4, m=9)
    to = ["label-studio(form=annotations)"]
    result = allalike.discover(rows, domain="categorical")
    written = result.save(tmp_path / "out", format="parquet", to=to, probabilities=True)
    allalike.update(tmp_path / "out", [("zoe", "t0001", 1)])
    assert all(path.exists() for path in written)


def test_what_changed_is_told(tmp_path: Path) -> None:
    """Ada turns bad, dan copies from cyd, and two tasks are answered otherwise by three more workers."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 400)
    names = ["ada", "bob", "cyd", "eve", "fay", "gil"]

    def answer(tasks: range, wrong: dict[str, float]) -> list[tuple[str, str, str]]:
        slips = {(name, t): rng.random() < wrong.get(name, 0.15) for t in tasks for name in names}
        return [(name, f"t{t:03}", "xyz"[(truth[t] + slips[name, t]) % 3]) for t in tasks for name in names]

    allalike.discover(answer(range(200), {})).save(tmp_path / "out")
    later = answer(range(200, 400), {"ada": 0.6})
    copied = [("dan", task, label) for name, task, label in later if name == "cyd"]
    turned = [(f"new{k}", "t000", "xyz"[(truth[0] + 2) % 3]) for k in range(9)]
    told = allalike.update(tmp_path / "out", [*later, *copied, *turned]).summary["changes"]
    assert [(each["worker"], each["what"]) for each in told["workers"]] == [("ada", "worse")]
    assert told["workers"][0]["ci_low"] > 0.2
    assert told["copies"] == [["cyd", "dan"]]
    assert {"task": "t000", "before": "xyz"[truth[0]], "now": "xyz"[(truth[0] + 2) % 3]} in told["changed"]
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["changes"] == told
    table = (tmp_path / "out" / "details" / "changes.csv").read_text(encoding="utf-8")
    assert '"worse","ada"' in table
    assert '"copies","cyd; dan"' in table
    once_more = allalike.update(tmp_path / "out", [("bob", "t401", "x")]).summary["changes"]
    assert (once_more["workers"], once_more["copies"]) == ([], [])


def test_the_change_of_a_worker_is_that_of_a_score_test() -> None:
    """Beside a crowd without end, and but for two of its answers, it is the pooled test of two means of textbooks."""
    rng = np.random.default_rng(0)
    one, two = rng.normal(0.3, 1.0, 4000), rng.normal(0.35, 1.0, 3000)
    sums = [np.array([[len(x), 1e12], [x.sum(), 0.0], [np.square(x).sum(), 1e12]]) for x in (one, two)]
    *_, low, high, chance = compare_means(sums[0], sums[1], np.array([0]))
    expected = ttest_ind(two, one)
    assert chance[0] == pytest.approx(expected.pvalue, rel=0.02)
    limits = expected.confidence_interval(0.95)
    assert [low[0], high[0]] == pytest.approx([limits.low, limits.high], abs=1e-4)


def test_damage_is_one_message_and_nothing_is_lost(tmp_path: Path) -> None:
    allalike.discover(crowd("categorical", seed=1, n=4, m=9), domain="categorical").save(tmp_path / "out")
    place = tmp_path / "out" / "details" / "state"
    state, answers = (place / "call.json").read_text(), (place / "answers-1.parquet").read_bytes()
    index: dict[str, Any] = json.loads(state)
    told = index["call"]
    wrong: list[Any] = [
        "",
        "[]",
        "[" * 500,
        *(signed({**told, "format": each}) for each in (1, 2, "3", None)),
        *({**index, "call": {**told, "seed": 1}, "sum": each} for each in (index["sum"], None)),
        *(signed({**told, "domain": each}) for each in ({"name": "os"}, {"name": "real", "x": 1}, 7)),
        *(signed({**told, "method": each}) for each in ({"name": "auto", "options": {"x": 1}}, {"name": "eval"}, 5)),
        *(signed({**told, "read": each}) for each in ({"source": "/etc/passwd"}, {"columns": 3}, {"duplicates": "x"})),
    ]
    for each in wrong:
        (place / "call.json").write_text(each if isinstance(each, str) else json.dumps(each), encoding="utf-8")
        before = bytes_of(tmp_path / "out")
        with pytest.raises(AllalikeError) as error:
            allalike.update(tmp_path / "out", [("ada", "t1", 1)])
        assert len(str(error.value).splitlines()) == 1, each
        assert bytes_of(tmp_path / "out") == before
    (place / "call.json").write_text(state, encoding="utf-8")
    rng = np.random.default_rng(0)
    for place_of in rng.integers(0, len(answers), 25).tolist():
        changed = bytearray(answers)
        changed[place_of] ^= 1 + rng.integers(0, 255)
        (place / "answers-1.parquet").write_bytes(changed)
        try:
            found = allalike.load(tmp_path / "out").summary["answers"]
        except InputError as error:
            assert "answers-1.parquet is damaged" in str(error) or "are not those that were saved" in str(error)
        else:
            assert found == 36  # a byte that nobody reads


def test_an_update_of_what_was_replaced_meanwhile_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = crowd("categorical", seed=1, n=4, m=9)
    allalike.discover(rows, domain="categorical").save(tmp_path / "out")

    def find(*_: Any) -> Any:
        allalike.discover(rows[:20], domain="categorical").save(tmp_path / "out")
        return {"answers": 1, "n_changed": 0, "of": 9, "tested": 0}, {"what": np.zeros(0)}

    monkeypatch.setattr(import_module("allalike.update"), "find_changes", find)
    with pytest.raises(OutputError, match="Another process replaced"):
        allalike.update(tmp_path / "out", rows[20:])
    assert allalike.load(tmp_path / "out").summary["answers"] == 20


def test_a_loaded_result_is_saved_elsewhere_whole_also_if_its_folder_is_gone(tmp_path: Path) -> None:
    result = allalike.discover(crowd("categorical", seed=1, n=4, m=9), domain="categorical")
    result.save(tmp_path / "out")
    loaded = allalike.load(tmp_path / "out")
    more = loaded.update([("zoe", "t0001", 1)])
    allalike.discover([("ada", 1, "x"), ("bob", 1, "x")]).save(tmp_path / "out")  # another one under the same names
    more.save(tmp_path / "copy")
    assert_equal(allalike.load(tmp_path / "copy"), more)
