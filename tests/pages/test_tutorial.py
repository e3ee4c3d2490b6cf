"""The tutorial works as it stands there, from an empty folder."""

from __future__ import annotations

import contextlib
import doctest
import re
import shlex
from pathlib import Path

from running.program import call

PAGE = Path(__file__).parents[2] / "docs/guide/TUTORIAL.md"
_PART = re.compile(r"```(python|sh)\n(.*?)```|`(allalike discover[^`]*)`", re.DOTALL)
_SETUP = ("pip ", "allalike demo", "allalike serve")


def parts() -> list[tuple[str, str]]:
    """List what is to be typed, in its order: Python, or a command."""
    found = []
    for kind, block, inline in _PART.findall(PAGE.read_text(encoding="utf-8")):
        if kind == "python":
            found.append((kind, block))
        else:
            lines = [inline.replace("\n", " ")] if inline else block.splitlines()
            found += [("sh", line) for line in lines if not line.startswith(_SETUP)]
    return found


def test_all_that_is_typed_works_in_an_empty_folder(tmp_path: Path) -> None:
    known: dict[str, object] = {}
    commands = []
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for kind, text in parts():
        if kind == "python":
            test = doctest.DocTestParser().get_doctest(text, known, "TUTORIAL", str(PAGE), 0)
            with contextlib.chdir(tmp_path):
                runner.run(test, clear_globs=False)
            known = test.globs
        else:
            _, *words = shlex.split(text)
            done = call(*words, folder=tmp_path)
            assert done.returncode == 0, done.stderr
            commands.append(words[0])
    assert runner.summarize(verbose=False).failed == 0
    assert commands.count("discover") == 4
    assert "compare" in commands
    assert {"birds.csv", "gold.csv", "out", "checked", "sure", "next-week"} <= {
        each.name for each in tmp_path.iterdir()
    }
    named = re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(named) == 6
    assert set(named) <= {each.name for each in (tmp_path / "out").iterdir()}
