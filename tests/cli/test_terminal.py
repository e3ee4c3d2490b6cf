"""What reaches the terminal: nothing that it would obey."""

import json
import unicodedata
import warnings
from pathlib import Path

import pytest

from allalike import ConvergenceWarning
from allalike.cli import console
from running.program import run

HOSTILE = "\x1b[2J\x1b]0;x\x07\r\n\b\x7f\x9b31m\u202e\u2066\u200b\u2028\u2029\ufeff\U000e0001"
CONTROLS = {"Cc", "Cf", "Cs", "Zl", "Zp"}


def check_harmless(text: str) -> None:
    assert text
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in CONTROLS]


@pytest.fixture
def answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [
        {"who" + HOSTILE: worker + HOSTILE, "task": f"{task}{HOSTILE}", "label": label + HOSTILE}
        for worker, labels in {"ada": "xyx", "bob": "xyy", "eve": "yyx"}.items()
        for task, label in enumerate(labels)
    ]
    Path("answers.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return tmp_path


COLUMNS = ("--worker", f"who{HOSTILE}", "--task", "task", "--label", "label")


def test_ids_are_printed_so_that_a_terminal_shows_and_does_not_obey_them(answers: Path) -> None:
    said, _ = run("discover", "answers.jsonl", *COLUMNS, "-o", f"out{HOSTILE}")
    check_harmless(said)
    assert "ada\\u001b[2J" in said
    assert len([line for line in said.splitlines() if line.startswith("  ada")]) == 1
    table = (answers / f"out{HOSTILE}" / "workers.csv").read_bytes().decode()
    assert f"ada{HOSTILE}" in table  # in files, ids are as they came


def test_json_stays_json_and_is_harmless_too(answers: Path) -> None:
    said, _ = run("discover", "answers.jsonl", *COLUMNS, "-o", f"out{HOSTILE}", "--json")
    check_harmless(said)
    assert json.loads(said)["files"][0].startswith(f"out{HOSTILE}")


@pytest.mark.parametrize(
    "arguments",
    [
        ("discover", "nothing-here" + HOSTILE),
        ("discover", "answers.jsonl", "--domain", HOSTILE),
        ("discover", "answers.jsonl"),
        ("discover", "--" + HOSTILE),
        ("discover", "answers.jsonl", "--seed", HOSTILE),
        (HOSTILE,),
        ("datasets", "fetch", HOSTILE),
    ],
)
def test_errors_are_harmless_and_one_line(arguments: tuple[str, ...], answers: Path) -> None:
    check_harmless(run(*arguments, code=2)[1])


def test_notes_are_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    with console.progress_and_notes({}):
        warnings.warn(HOSTILE, ConvergenceWarning, stacklevel=1)
    check_harmless(capsys.readouterr().err)


def test_help_and_letters_of_all_languages_stay_as_they_are() -> None:
    assert run("discover", "--help")[0].startswith("Usage:")
    for text in ("Zoë", "東京\u3000", "кот", "عربي", "🙂", "a\u00a0b"):
        assert console.visible(text) == text
