"""Sizes: a file of a stranger costs what its size tells, or it is refused at once, with the limit."""

import io
import json
import runpy
import zipfile
from pathlib import Path

import openpyxl
import pandas as pd
import pytest

import allalike
from allalike._core import limits
from allalike._core.system.files import Archive
from allalike.domains.tree import Tree
from allalike.errors import InputError, LabelError, OptionError

ROOT = Path(__file__).parents[2]
DEEP = 8000


def refused(path: Path, limit: int, **options: object) -> str:
    """Return why the file is refused, which names the limit."""
    with pytest.raises(InputError) as told:
        allalike.discover(path, method="UA", **options)  # type: ignore[arg-type]
    assert f"{limit:,}" in str(told.value)
    return str(told.value)


def test_a_way_through_a_tree_is_limited() -> None:
    answers = pd.DataFrame({"worker": ["ada", "bob"], "task": [1, 1], "label": ["/".join("x" * DEEP), "x/x"]})
    with pytest.raises(LabelError, match=f"8,000 levels, and at most {limits.MAX_DEPTH} are allowed"):
        allalike.discover(answers, domain="tree", method="UA")


def test_the_parents_of_a_tree_are_limited() -> None:
    parents = {f"class {number}": f"class {number + 1}" for number in range(DEEP)}
    with pytest.raises(OptionError, match=f"more than {limits.MAX_DEPTH} levels"):
        Tree(parents=parents)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_nested_json_is_limited(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text('{"a": ' * DEEP + "1" + "}" * DEEP)
    assert "nested" in refused(tmp_path / name, limits.MAX_DEPTH)


def test_the_columns_of_text_are_limited(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("," * 80_000 + "\n" + "," * 80_000)
    assert "80,001 columns" in refused(tmp_path / "a.csv", limits.MAX_COLUMNS)


@pytest.mark.long
def test_the_keys_of_one_record_are_limited(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({f"key {number}": number for number in range(300_000)}))
    assert "300,000 columns" in refused(tmp_path / "a.json", limits.MAX_COLUMNS)


def test_the_fields_of_a_label_are_limited(tmp_path: Path) -> None:
    label = {f"field {number}": number for number in range(limits.MAX_FIELDS + 1)}
    answers = [{"worker": worker, "task": 1, "label": label} for worker in ("ada", "bob")]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, answers)))
    assert "501 fields" in refused(tmp_path / "a.jsonl", limits.MAX_FIELDS, domain="record")


def test_a_new_key_in_each_line_costs_no_more_than_other_keys(tmp_path: Path) -> None:
    lines = [{"worker": n % 5, "task": n // 5, "label": "ab"[n % 2], f"key {n}": n} for n in range(10_000)]
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert allalike.discover(tmp_path / "a.jsonl", method="UA").summary["tasks"] == 2000


def test_the_members_of_an_archive_are_limited_before_they_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        for number in range(limits.MAX_MEMBERS + 1):
            archive.writestr(f"{number}.csv", "")
    monkeypatch.setattr(zipfile, "ZipInfo", lambda *_: pytest.fail("a member was looked at"))
    assert "10,001 files" in refused(tmp_path / "a.zip", limits.MAX_MEMBERS)


def test_an_archive_in_an_archive_is_not_opened(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "inner.zip", "w") as archive:
        archive.writestr("a.csv", "worker,task,label\n")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.write(tmp_path / "inner.zip", "inner.zip")
    with pytest.raises(InputError, match=r"contains another archive, inner\.zip"):
        allalike.discover(tmp_path / "outer.zip", method="UA")


def test_an_archive_that_cannot_be_opened_is_closed_silently(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Archive(tmp_path / "missing.zip")  # a warning in its destructor fails the test


CELL = b'<c r="A1" t="s"><v>0</v></c>'


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'r="A5"', b'r="XFD1048576"'),
        (b'r="A5"', b"s='1'\nr = 'XFD1048576'"),
        (b'r="A5"', b'r="A1048577"'),
        (b'r="A5"', b'r="AAAAAA1"'),
        (b'<row r="5">', b'<row r="1048000">' + b"<c><v>1</v></c>" * 200 + b"</row><row>"),
        (b"</sheetData>", b'<row r="6">' + CELL * 100_000 + b"</row></sheetData>"),
    ],
    ids=["corner", "quotes", "beyond", "letters", "no references", "one long text"],
)
def test_cells_that_would_fill_the_memory_are_refused(old: bytes, new: bytes, tmp_path: Path) -> None:
    made, written = openpyxl.Workbook(), io.BytesIO()
    for row in [["worker", "task", "label"], ["ada", 1, "x"], ["bob", 1, "x"], ["eve", 1, "y"], ["zoe", 1, "x"]]:
        made.active.append(row)
    made.save(written)
    with zipfile.ZipFile(written) as source, zipfile.ZipFile(tmp_path / "a.xlsx", "w") as target:
        for name in set(source.namelist()) - {"xl/sharedStrings.xml"}:
            data = source.read(name)
            assert (old in data) == (name == "xl/worksheets/sheet1.xml")
            target.writestr(name, data.replace(old, new), zipfile.ZIP_DEFLATED)
        target.writestr("xl/sharedStrings.xml", f"<sst><si><t>{'x' * 9000}</t></si></sst>", zipfile.ZIP_DEFLATED)
    with pytest.raises(InputError, match="unpacks to|rows beyond"):
        allalike.read(tmp_path / "a.xlsx")


def test_the_page_lists_all_limits_as_they_are() -> None:
    program = runpy.run_path(str(ROOT / "docs" / "site" / "limits.py"))
    assert (page := program["PAGE"].read_text(encoding="utf-8")) == program["draw"]()
    assert all(f"| `{name}` |" in page for name in vars(limits) if name.isupper())
