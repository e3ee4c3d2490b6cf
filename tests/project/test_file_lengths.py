"""No file is so long that nobody reads it to the end."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST_LINES = 400


def test_no_file_is_longer_than_that() -> None:
    files = [
        file for room in ("src", "tests", "benchmarks", "paper", "examples") for file in (ROOT / room).rglob("*.py")
    ]
    assert len(files) > 700
    lengths = {file.relative_to(ROOT).as_posix(): len(file.read_text(encoding="utf-8").splitlines()) for file in files}
    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {}
