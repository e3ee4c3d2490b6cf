"""Mistakes that people make: each is one clear message and exit code 2, none a traceback, none is silent."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import allalike
from allalike.errors import AllalikeError
from running.program import call

GOOD = "worker,task,label\n" + "".join(
    f"{w},t{t},{'cat' if (t + n) % 3 else 'dog'}\n" for t in range(6) for n, w in enumerate("abc")
)
FILES = {
    "good.csv": GOOD,
    "gold.csv": "task,label\nt0,cat\nt1,dog\n",
    "numbers.csv": "task,label\nt0,1.5\nt1,2\n",
    "header.csv": "worker,task,label\n",
    "empty.csv": "",
    "zeros.csv": "a\0b,c\n1,2\n",
    "twice.csv": "worker,task,label,label\na,1,x,y\nb,1,x,y\n",
    "list.json": "[]",
    "odd.csv": "q,zz\nt0,cat\n",
    "golden.csv": "task,label\nt0,cat\nt0,dog\n",
    "blank.csv": "task,label\nt0,\nt1,NA\n",
    "nameless.csv": "task,label\n,cat\n",
    "history.csv": "worker,answers\na,3\n",
    "one.csv": "label\nx\n",
}

CALLS: dict[str, tuple[str, str]] = {
    "matrix with a pattern for tasks": ("good.csv --wide tasks --task a*", "has no column 'a*'"),
    "matrix with a label column": ("good.csv --wide tasks --label label", "Choose some of them with --only and --skip"),
    "columns of no matrix": ("good.csv --only Q*", "Columns of a matrix are chosen ('Q*'), but none is read"),
    "skipped columns of no matrix": ("good.csv --skip label", "--skip label --wide tasks"),
    "tag of no tool": ("good.csv --tag mood", "is no export of a known tool, and has no tag 'mood'"),
    "no tool": ("good.csv --from nowhere", "No tool is called 'nowhere'"),
    "decimal": ("good.csv --decimal x", "decimal is 'x'. Choose one of: ., ,"),
    "worker from a folder": ("good.csv --worker-from folder", "worker_from is 'folder'. Choose one of: filename"),
    "no worker": ("good.csv --worker who", "good.csv has no column 'who'"),
    "no label": ("good.csv --label lable", "good.csv has no column 'lable'"),
    "one column twice": ("good.csv --worker task --task task", "names 'task' twice"),
    "a role named twice": ("good.csv --label label --columns label=task", "--columns and --label both name the label"),
    "columns without names": ("good.csv --columns worker", "Write it as worker=...,task=...,label=..."),
    "no role": ("good.csv --columns who=worker", "The roles are: worker, task, label"),
    "empty": ("empty.csv", "empty.csv is empty"),
    "header only": ("header.csv", "There are no answers"),
    "folder": (".", ". is a folder with no masks in it"),
    "bytes": ("zeros.csv", "zeros.csv cannot be read as text with columns"),
    "no records": ("list.json", "Cannot tell which column of list.json"),
    "two columns of a name": ("twice.csv", "twice.csv has two columns called 'label'"),
    "a file twice": ("good.csv good.csv", "18 of 36 (50 %) rows have a worker and a task that an earlier row has"),
    "gold among the answers": ("good.csv gold.csv", "Cannot tell which column of"),
    "gold is nothing": ("good.csv --gold=", "The gold is ''"),
    "no gold": ("good.csv --gold nowhere.csv", "The gold cannot be read. There is no file nowhere.csv"),
    "gold is a folder": ("good.csv --gold .", "The gold cannot be read. . is a folder"),
    "gold is empty": ("good.csv --gold empty.csv", "The gold cannot be read. empty.csv is empty"),
    "gold is a header": ("good.csv --gold header.csv", "The gold is empty"),
    "gold is blank": ("good.csv --gold blank.csv", "No row of the gold has a label"),
    "gold without a task": ("good.csv --gold nameless.csv", "The gold has no task in row 1"),
    "gold is bytes": ("good.csv --gold zeros.csv", "The gold cannot be read. zeros.csv cannot be read"),
    "gold has two truths": ("good.csv --gold golden.csv", "two truths for task 't0', 'cat' and 'dog'"),
    "gold is the answers": ("good.csv --gold good.csv", "The gold is the file of the answers"),
    "gold of other columns": ("good.csv --gold odd.csv", "--gold odd.csv --gold-columns task=q,label=zz"),
    "gold of another kind": ("good.csv --domain text --gold column:worker", "two truths for task 't0', 'a' and 'b'"),
    "gold without a column": ("good.csv --gold column:gold", "good.csv has no column 'gold'"),
    "gold column of no name": ("good.csv --gold column:", "good.csv has no column ''"),
    "gold columns without names": ("good.csv --gold gold.csv --gold-columns task", "Write it as task=...,label=..."),
    "gold columns of no role": ("good.csv --gold gold.csv --gold-columns who=task", "The roles are: task, label"),
    "gold columns of no column": ("good.csv --gold gold.csv --gold-columns task=x", "gold.csv has no column 'x'"),
    "gold columns without gold": ("good.csv --gold-columns task=task", "but no gold is given"),
    "history of nothing": ("good.csv --history history.csv", "A history needs the columns"),
    "history of another method": ("good.csv --history history.csv --method UA", "UA does not use a history"),
    "confidence beyond one": ("good.csv --min-confidence 7", "It must be a probability, at most 1"),
    "memory for the wrong engine": ("good.csv --memory 2GB --engine memory", "--memory is for --engine disk"),
    "memory of words": ("good.csv --memory lots", "memory is 'lots'. Write a size such as '2GB'"),
    "no work folder": ("good.csv --folder nowhere/x", "No work folder can be made"),
    "output is an input": ("good.csv -o good.csv", "good.csv is a file, not a folder"),
    "output in a file": ("good.csv -o gold.csv/x", "gold.csv is a file, not a folder"),
    "output is nothing": ("good.csv --output=", "Name a folder"),
    "a blank behind the name": ("good.csv\\_", "There is no file"),
    "another case": ("GOOD.CSV", "There is no file GOOD.CSV"),
    "one column": ("one.csv", "Cannot tell which column of"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_text(content)
    return tmp_path


@pytest.mark.parametrize("case", CALLS)
def test_a_mistake_is_one_message_and_nothing_is_written(case: str, folder: Path) -> None:
    typed, message = CALLS[case]
    arguments = [word.replace("\\_", " ") for word in typed.split(" ")]
    done = call("discover", *arguments, folder=folder)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert message in done.stderr
    assert done.stderr.startswith("allalike: ")
    assert "Traceback" not in done.stderr
    assert {path.name for path in folder.iterdir()} == set(FILES)


def test_a_command_that_is_proposed_works(folder: Path) -> None:
    done = call("discover", "good.csv", "--gold", "odd.csv", "--columns", "worker=worker", folder=folder)
    proposed = done.stderr.splitlines()[-1].split()
    assert proposed[:2] == ["allalike", "discover"]
    assert call(*proposed[1:], folder=folder).returncode == 0


SOURCES: dict[str, tuple[dict[str, Any], str]] = {
    "tool of a frame": ({"tool": "toloka"}, "tool is for files, and these answers are in none"),
    "tag of a frame": ({"tag": "mood"}, "tag is for files"),
    "encoding of a frame": ({"encoding": "latin-1"}, "encoding is for files"),
    "columns of no matrix": ({"only": ("label",)}, "wide='tasks'"),
}


@pytest.mark.parametrize("case", SOURCES)
def test_options_of_files_are_not_for_frames(case: str) -> None:
    options, message = SOURCES[case]
    frame = pd.DataFrame({"worker": ["a", "b"], "task": [1, 1], "label": ["x", "y"]})
    with pytest.raises(AllalikeError) as stop:
        allalike.read(frame, **options)
    assert message in str(stop.value)


def test_answers_of_a_file_can_be_updated_with_a_frame_whatever_was_said_of_the_file(folder: Path) -> None:
    result = allalike.discover(allalike.read(folder / "good.csv", encoding="utf-8"), method="UA")
    more = pd.DataFrame({"worker": ["d"], "task": ["t0"], "label": ["cat"]})
    assert result.update(more).summary["answers"] == 19


@pytest.mark.parametrize("flag", ["--gold", "--history", "--label-map"])
@pytest.mark.parametrize("link", [False, True])
def test_whatever_file_is_read_is_never_replaced(flag: str, link: bool, folder: Path) -> None:
    """Also if it is called as a file of a result is, lies in the output, and is reached through a link."""
    name = {"--gold": "truth.csv", "--history": "workers.csv", "--label-map": "next.csv"}[flag]
    content = {
        "--gold": FILES["gold.csv"],
        "--history": "worker,answers,error_rate\na,9,0.1\n",
        "--label-map": "from,to\nCat,cat\n",
    }[flag]
    out = folder / "out"
    out.mkdir()
    (out / name).write_text(content)
    given = folder / "link.csv" if link else out / name
    if link:
        given.symlink_to(out / name)
    for target, where in (("out", folder), (".", out)):
        done = call("discover", str(folder / "good.csv"), flag, str(given), "-o", target, "--overwrite", folder=where)
        assert done.returncode == 2
        assert f"{name} is an input of this run, and an input is never replaced" in done.stderr
    assert (out / name).read_text() == content
    assert [path.name for path in out.iterdir()] == [name]
