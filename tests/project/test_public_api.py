"""What is public stays as it is, unless someone means to change it."""

from __future__ import annotations

from difflib import unified_diff

from public_api import SNAPSHOT, describe


def test_the_public_face_is_the_one_that_was_agreed_on() -> None:
    agreed, found = SNAPSHOT.read_text(encoding="utf-8").splitlines(), describe().splitlines()
    changed = "\n".join(unified_diff(agreed, found, "agreed", "found", lineterm="", n=0))
    what_to_do = "If you mean this, run `python tests/programs/public_api.py`, and tell it in the CHANGELOG."
    assert not changed, f"{what_to_do}\n{changed}"
