"""What is wrong is said in one clear message, by the library and by the program, and nothing is written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike import AllalikeError, Categorical
from allalike.cli import main
from allalike.engines import Memory
from allalike.errors import GoldError
from allalike.methods import DTD, IPTD, OA, PTD, PTDAK
from allalike.readers.formats import delimited
from files.broken_files import FILES, GOOD


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_a_clear_error(
    name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    content, message = FILES[name]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(AllalikeError, match="(?s)" + re.escape(message)):
        allalike.discover(path)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as stop:
        main(["discover", name])
    printed = capfd.readouterr()
    assert stop.value.code == 2
    assert message in printed.err
    assert printed.err.startswith("allalike: ")
    said = re.split("Say it with|No choice of columns works|Once that is corrected", printed.err)[0]
    assert all(line.startswith("  ") for line in said.splitlines()[1:])
    assert not printed.out
    assert [path.name for path in tmp_path.iterdir()] == [name]


CALLS: dict[str, tuple[list[str], str]] = {
    "missing file": (["nowhere.csv"], "There is no file nowhere.csv"),
    "folder": (["."], ". is a folder of files with different columns"),
    "pattern": (["*.tsv"], "No file matches '*.tsv'"),
    "method": (
        ["good.csv", "--method", "PTD"],
        "No method is called 'PTD'. Did you mean 'P-TD'? Known methods: auto, UA,",
    ),
    "domain": (["good.csv", "--domain", "catgorical"], "Did you mean 'categorical'"),
    "rule": (["good.csv", "--rule", "plurallity"], "no rule called 'plurallity'. Did you mean 'plurality'?"),
    "another domain's rule": (["good.csv", "--rule", "median"], "The categorical domain has no rule called 'median'"),
    "distance": (["good.csv", "--distance", "haming"], "no distance called 'haming'. Did you mean 'hamming'?"),
    "engine": (["good.csv", "--engine", "memroy"], "Did you mean 'memory'"),
    "option": (["good.csv", "--method", "iP-TD(rounds=3)"], "Method iP-TD has no option 'rounds'. It has max_iter"),
    "options": (["good.csv", "--method", "iP-TD(3)"], "cannot be read"),
    "brackets": (["good.csv", "--method", "iP-TD(("], "is not the name of a method"),
    "value": (["good.csv", "--method", "P-TD(weighting='min')"], "Choose one of: max, inverse, chance, printed"),
    "type of an option": (
        ["good.csv", "--method", "iP-TD(max_iter='a')"],
        "max_iter is 'a'. It must be a whole",
    ),
    "a ridge of words": (["numbers.csv", "--method", "P-TD-AK(ridge='a')"], "ridge is 'a'. It must be a finite number"),
    "a weighting of numbers": (["good.csv", "--method", "P-TD(weighting=3)"], "weighting is 3. Choose one of"),
    "columns": (["good.csv", "--columns", "worker"], "Write it as worker=...,task=...,label=..."),
    "column": (["good.csv", "--columns", "worker=who"], "has no column 'who'. It has: 'worker', 'task', 'label'"),
    "role": (["good.csv", "--columns", "who=worker"], "The roles are: worker, task, label"),
    "wide": (["good.csv", "--wide", "rows"], "Choose one of: tasks, workers"),
    "repeats": (["good.csv", "--repeats", "all"], "Choose one of: first, last, error"),
    "missing": (["good.csv", "--missing", "keep"], "Choose one of: error, drop"),
    "ties": (["good.csv", "--ties", "last"], "Choose one of: random, first"),
    "format": (["good.csv", "--format", "xlsx"], "Choose one of: csv, parquet"),
    "gold": (["good.csv", "--gold", "nowhere.csv"], "There is no file nowhere.csv"),
    "gold of other tasks": (["good.csv", "--gold", "other.csv"], "None of the 1 tasks with gold was answered"),
    "two golds": (["good.csv", "--gold", "two.csv"], "two truths for task 1"),
    "gold without labels": (["good.csv", "--gold", "tasks.csv"], "The gold cannot be read"),
    "oracle without gold": (["good.csv", "--method", "OA"], "OA needs known truths"),
    "real": (["good.csv", "--domain", "real"], "The label 'x' in row 1 is not a number"),
    "classes": (["good.csv", "--domain", "categorical(classes=1)"], "2 different labels, but classes is 1"),
    "an empty matrix": (["empty.csv", "--wide", "tasks"], "empty.csv has no answers"),
    "one column": (["tasks.csv", "--wide", "tasks"], "has no column of answers"),
    "repeated": (["good.csv", "again.csv", "--repeats", "error"], "Worker 'a' answered task 1 more than once"),
    "output": (["good.csv", "-o", "good.csv"], "is a file, not a folder"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_bad_call_is_a_clear_error(
    case: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, message = CALLS[case]
    monkeypatch.chdir(tmp_path)
    contents = {
        "good.csv": GOOD,
        "again.csv": GOOD,
        "numbers.csv": "worker,task,label\na,1,1.5\nb,1,2.5\nc,1,2.0\na,2,1\nb,2,2\n",
        "other.csv": "task,label\n9,x\n",
        "two.csv": "task,label\n1,x\n1,y\n",
        "tasks.csv": "task\n1\n",
        "empty.csv": "task,a,b\n1,,\n2,,\n",
    }
    for name, content in contents.items():
        Path(name).write_text(content)
    with pytest.raises(SystemExit) as stop:
        main(["discover", *arguments])
    printed = capfd.readouterr()
    assert stop.value.code == 2, printed
    assert message in printed.err
    assert re.match("Say it with|Once that is corrected, run:|$", "".join(printed.err.splitlines()[1:2]))
    assert not printed.out
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(contents)


ROWS: dict[str, tuple[Any, str]] = {
    "mixed labels": ([("a", 1, "x"), ("b", 1, 2)], "labels are of mixed types: 'x' is str, 2 in row 2 is int"),
    "mixed workers": (
        [("a", 1, "x"), (7, 1, "x")],
        r"workers are of mixed types: 'a' is str, 7 in row 2 is int. Write all of them as texts, in quotes\.",
    ),
    "truth values and numbers": ([("a", 1, True), ("b", 1, 2)], "mixed types"),
    "short row": ([("a", 1, "x"), ("b", 1)], r"Row 2 is not \(worker, task, label\)"),
    "no rows": ([], "no answers"),
    "a missing worker": ([("a", 1, "x"), (None, 1, "x")], "Row 2 has no worker"),
    "a missing label": ([("a", 1, "x"), ("b", 1, None)], "Row 2 has no label"),
    "nan": ([("a", 1, 1.5), ("b", 1, float("nan"))], "Row 2 has no label"),
    "infinity": ([("a", 1, 1.5), ("b", 1, float("inf"))], "label in row 2 is inf"),
    "lists": ([("a", 1, ["x"]), ("b", 1, ["y"])], "do not order the same items"),
    "unhashable": ([("a", 1, bytearray(b"x")), ("b", 1, bytearray(b"x"))], "labels cannot be told apart"),
    "a number": (5, "cannot be read from int"),
    "a matrix": (np.zeros((2, 4)), "does not say whether its rows are tasks or workers.\nSay it with"),
    "an array": (np.zeros(3), "cannot be read from ndarray"),
    "a column of nothing": (pd.DataFrame({"worker": ["a"], "task": [1], "label": [np.nan]}), "No row has a label"),
    "two columns of a name": (
        pd.DataFrame([["a", 1, "x", 1]], columns=["worker", "task", "label", "task"]),
        "two columns",
    ),
    "no columns": (pd.DataFrame({"x": [1]}), "Cannot tell which column of the table contains the worker. Columns: 'x'"),
    "nested labels": (pa.table({"worker": ["a"], "task": [1], "label": [[[[1]]]]}), "look like lists"),
    "a series": (pd.Series([1, 2]), "cannot be read from Series"),
    "too large": ([("a", 1, 1e200), ("b", 1, 1.5)], "row 1 is 1e.200"),
    "uneven columns": ({"worker": ["a", "b"], "task": [1], "label": ["x", "y"]}, "not equally long"),
}


@pytest.mark.parametrize("case", ROWS)
def test_bad_tables_are_clear_errors(case: str) -> None:
    source, message = ROWS[case]
    with pytest.raises(AllalikeError, match=message):
        allalike.discover(source)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PTDAK(ridge=-1), "ridge is -1"),
        (lambda: PTDAK(ridge=float("nan")), "ridge is nan"),
        (lambda: PTDAK(nonpositive="drop"), "nonpositive is 'drop'"),
        (lambda: PTDAK(mu="exact"), "no option 'mu' for real labels"),
        (lambda: IPTD(max_iter=0), "max_iter is 0"),
        (lambda: IPTD(tol=-1), "tol is -1"),
        (lambda: DTD(rounds=0), "rounds is 0"),
        (lambda: PTD(weighting="chance"), "no chance level"),
        (lambda: OA(faults={"a": 1.0}), "lack 2 workers, among them 'b'"),
        (lambda: OA(faults={"a": -1.0, "b": 1.0, "c": 1.0}), "at least 0"),
    ],
)
def test_options_that_make_no_sense(make: Any, message: str) -> None:
    with pytest.raises(AllalikeError, match=message):
        allalike.discover([("a", 1, 1.5), ("b", 1, 2.5), ("c", 1, 2.0)], method=make())


def test_more_options_that_make_no_sense() -> None:
    for make, message in (
        (lambda: Categorical(classes=0), "classes is 0"),
        (lambda: Categorical(classes=2.5), "classes is 2.5"),  # type: ignore[arg-type]
        (lambda: Memory(block_answers=0), "block_answers is 0"),
        (lambda: allalike.discover(allalike.read([("a", 1, 1.5)]), domain="real"), "have been read or named already"),
        (lambda: allalike.weigh([[0, 1], [2, 0]]), "not symmetric"),
        (lambda: allalike.weigh([[0, -1], [-1, 0]]), "similarity=True"),
        (lambda: allalike.weigh([[0, 1]]), "one row and one column per worker"),
        (lambda: allalike.weigh([[0, np.inf], [np.inf, 0]]), "infinite"),
        (lambda: allalike.weigh([["x"]]), "cannot be read as numbers"),
        (lambda: allalike.weigh(np.zeros((2, 2)), workers=["a"]), "1 workers for a matrix of 2 rows"),
        (lambda: allalike.weigh(np.zeros((2, 2)), workers=["a", "a"]), "more than once"),
        (lambda: allalike.weigh(np.zeros((2, 2)), method="P-TD-AK"), "needs the answers themselves"),
    ):
        with pytest.raises(AllalikeError, match=message):
            make()


def test_every_error_is_a_builtin_too() -> None:
    from allalike import errors

    for name in {*errors.__all__} - {"Proposal"}:
        kind = getattr(errors, name)
        builtin = (ValueError, LookupError, OSError, RuntimeError, ImportError, MemoryError, UserWarning)
        assert kind is AllalikeError or issubclass(kind, builtin), name


def test_distances_per_pair_of_too_many_workers_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 1 << 16)
    rows = {"worker": np.arange(20_001), "task": np.arange(20_001) // 3, "label": np.arange(20_001) % 2}
    with pytest.raises(MemoryError, match="Leave per_pair out"):
        allalike.discover(rows, method=PTD(per_pair=True))


def test_an_unreadable_file_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "answers.csv"
    path.write_text(GOOD)

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("io.open", refuse)  # root may read everything
    with pytest.raises(AllalikeError, match="answers.csv cannot be read: Permission denied"):
        allalike.read(path)


def test_a_field_of_many_blocks_is_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(delimited, "MAX_FIELD_BYTES", 1 << 10)
    (tmp_path / "a.csv").write_text(GOOD + "d,1," + "x" * 10_000 + "\n")
    with pytest.raises(AllalikeError, match="a row is longer than 16 MB, or a quote is never closed"):
        allalike.read(tmp_path / "a.csv")


@settings(max_examples=100)
@given(content=st.binary(max_size=200) | st.text(alphabet='worker,tasklabel\n"1;\t', max_size=200).map(str.encode))
@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "json", "parquet"])
def test_no_file_whatever_is_in_it_breaks_the_reader(content: bytes, ending: str, tmp_path_factory: Any) -> None:
    path = tmp_path_factory.mktemp("fuzz") / f"a.{ending}"
    path.write_bytes(content)
    try:
        allalike.read(path)
    except AllalikeError as error:
        assert str(error)


def test_gold_whose_square_is_beyond_all_numbers_is_refused() -> None:
    with pytest.raises(GoldError, match=r"row 1 is 1e\+200, whose square is beyond all numbers"):
        allalike.discover([("ada", 1, 1.5), ("bob", 1, 2.5)], domain="real", gold={1: 1e200})
