"""Files of strangers with code in them: whatever they are called and wherever it stands, it is never run."""

from __future__ import annotations

import ast
import io
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.domains import DOMAINS
from allalike.errors import AllalikeError, InputError
from allalike.readers.tools import images
from files.plain_rows import rows

SOURCE = Path(allalike.__file__).parent
EVALUATING = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "marshal.loads", "yaml.load"}
UNPICKLING = {f"{kind}.{name}" for kind in ("pickle", "cloudpickle") for name in ("load", "loads", "Unpickler")}
UNPICKLING |= {"pd.read_pickle", "joblib.load", "dill.loads", "shelve.open"}
PICKLING = {  # what was packed by the same run, in its processes or its work folder, or right before
    "engines/ingest/partitions.py",
    "engines/spark/on_executors.py",
    "engines/spark/shuffle.py",
    "_core/system/serialization.py",
    "testing.py",
}
CELLS = [["worker", "task", "label"], ["ada", 1, "x"], ["bob", 1, "x"], ["eve", 1, "=1+1"]]


class Touch:
    """What makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.path), "w")


@pytest.fixture
def mark(tmp_path: Path) -> Iterator[Path]:
    """Return the path of a file that would tell that code was run."""
    path = tmp_path / "mark"
    yield path
    assert not path.exists()
    pickle.loads(pickle.dumps(Touch(path))).close()
    assert path.exists()  # so it would have told


def test_no_file_is_unpickled_whatever_it_is_called(tmp_path: Path, mark: Path) -> None:
    data = pickle.dumps([Touch(mark)])
    for name in ("a.pkl", "a.pickle", "a.csv", "a.json", "a.jsonl", "a.parquet", "a.npy", "a.npz", "a.xlsx", "a.mat"):
        path = tmp_path / name
        path.write_bytes(data)
        for wide in (None, "tasks"):
            with pytest.raises(AllalikeError):
                allalike.read(path, wide=wide)


def test_arrays_of_objects_are_not_read_neither_as_matrices_nor_as_masks(tmp_path: Path, mark: Path) -> None:
    array = np.array([[Touch(mark)]], dtype=object)
    for ending in ("npy", "npz"):
        for worker in ("ada", "bob"):
            path = tmp_path / ending / "t1" / f"{worker}.{ending}"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, array, allow_pickle=True) if ending == "npy" else np.savez(path, array)
        with pytest.raises(InputError):
            allalike.read(path, wide="tasks")
        with pytest.raises(InputError):
            allalike.discover(tmp_path / ending, domain="bitmap")


def test_types_that_arrow_keeps_as_pickles_are_not_made(tmp_path: Path, mark: Path) -> None:
    named = {
        "ARROW:extension:name": "arrow.py_extension_type",
        "ARROW:extension:metadata": pickle.dumps(Touch(mark)),
    }
    fields = [pa.field(name, pa.string(), metadata=named) for name in ("worker", "task", "label")]
    table = pa.table({"worker": ["ada", "bob"], "task": ["1", "1"], "label": ["x", "x"]}, pa.schema(fields))
    pq.write_table(table, tmp_path / "a.parquet")
    pyarrow.feather.write_feather(table, tmp_path / "a.feather")
    for name in ("a.parquet", "a.feather"):
        assert allalike.read(tmp_path / name).n_answers == 2


def test_text_that_is_code_is_a_text(tmp_path: Path, mark: Path) -> None:
    code = f"open({str(mark)!r}, 'w')"
    for spec in (code, f"({code})", f"[{code}]", f"__import__('os').mkdir({str(mark)!r})"):
        for domain in DOMAINS:
            try:
                allalike.discover([("ada", spec, spec), ("bob", spec, spec), (spec, spec, spec)], domain=domain)
            except AllalikeError:
                continue
        for known in ("P-TD", "real", "disk"):
            for written in (spec, f"{known}({spec})", f"{known}(x={spec})"):
                for chosen in ({"method": written}, {"domain": written}, {"engine": written}):
                    with pytest.raises(AllalikeError):
                        allalike.discover([("ada", 1, "x"), ("bob", 1, "x")], **chosen)  # type: ignore[arg-type]


def book(path: Path, sheet: dict[bytes, bytes]) -> Path:
    """Write a file of Excel, and change the text of its sheet."""
    made, written = openpyxl.Workbook(), io.BytesIO()
    for row in CELLS:
        made.active.append(row)
    made.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(path, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name == "xl/worksheets/sheet1.xml":
                for old, new in sheet.items():
                    assert old in data
                    data = data.replace(old, new, 1)
            target.writestr(name, data)
    return path


def test_a_sheet_gives_the_values_of_its_formulas(tmp_path: Path) -> None:
    path = book(tmp_path / "a.xlsx", {b"<f>1+1</f><v />": b"<f>1+1</f><v>7</v>"})
    assert rows(path, domain="categorical")[-1] == ("eve", 1, "7")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_xml_that_declares_entities_is_refused_in_every_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "annotations.xml"
    prolog = f'<?xml version="1.0" encoding="{encoding}"?><!-- --><!DOCTYPE a [<!ENTITY x "boom">]>'
    path.write_bytes(f"{prolog}<annotations>&x;</annotations>".encode(encoding))
    with pytest.raises(InputError, match="declares entities, which CVAT does not"):
        images.parse_annotations(path)


def test_a_sheet_that_declares_entities_is_refused(tmp_path: Path) -> None:
    declared = b'<!DOCTYPE worksheet [<!ENTITY x "boom">]><worksheet'
    path = book(tmp_path / "a.xlsx", {b"<worksheet": declared, b"<t>x</t>": b"<t>&x;</t>"})
    with pytest.raises(InputError, match="declares entities, which Excel does not"):
        allalike.read(path)


def list_calls(path: Path) -> set[str]:
    """Name the functions that a module calls, each with the name before its dot."""
    calls = (node.func for node in ast.walk(ast.parse(path.read_bytes())) if isinstance(node, ast.Call))
    return {ast.unparse(call) for call in calls if isinstance(call, ast.Name | ast.Attribute)}


def test_pickles_are_read_only_where_parts_of_one_run_meet_and_nothing_is_evaluated() -> None:
    word = re.compile(rb"pickle|joblib|dill|shelve|marshal|yaml|\b(eval|exec|compile|__import__|system|popen)\(")
    suspects = [path for path in SOURCE.rglob("*.py") if word.search(path.read_bytes())]
    calls = {path.relative_to(SOURCE).as_posix(): list_calls(path) for path in suspects}
    assert {name for name, called in calls.items() if called & UNPICKLING} == PICKLING
    assert not {(name, call) for name, called in calls.items() for call in called & EVALUATING}
