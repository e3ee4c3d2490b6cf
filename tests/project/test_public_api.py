"""What is public stays as it is, unless someone means to change it."""

from __future__ import annotations

import re
from difflib import unified_diff
from pathlib import Path

from public_api import SNAPSHOT, describe

ROOT = Path(__file__).parents[2]


def test_the_public_face_is_the_one_that_was_agreed_on() -> None:
    agreed, found = SNAPSHOT.read_text(encoding="utf-8").splitlines(), describe().splitlines()
    changed = "\n".join(unified_diff(agreed, found, "agreed", "found", lineterm="", n=0))
    what_to_do = "If you mean this, run `python tests/programs/public_api.py`, and tell it in the CHANGELOG."
    assert not changed, f"{what_to_do}\n{changed}"


def test_nobody_is_shown_what_is_private() -> None:
    assert "_core" not in SNAPSHOT.read_text(encoding="utf-8")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").glob("*.py")]
    assert len(pages) > 30
    for page in pages:
        assert not re.search(r"^\W*(from|import) allalike\._core", page.read_text(encoding="utf-8"), re.MULTILINE), page
