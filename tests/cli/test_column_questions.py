"""Small tables with any columns: a result, or one question that ends with a complete command."""

import re
import shlex
from pathlib import Path

import pytest

from running.program import call

WORKERS, TASKS = ("ada", "bob", "eve"), range(8)
LABELS = {(who, task): "xyz"[(task + (place == task)) % 3] for place, who in enumerate(WORKERS) for task in TASKS}


def long(header: str, *others: str) -> str:
    """Write a row per answer: worker, task, label, and the same other cells in each row."""
    rows = [",".join((who, f"t{task}", label, *others)) for (who, task), label in LABELS.items()]
    return "\n".join([header, *rows])


def wide(header: str, *others: str) -> str:
    """Write a row per task, with a cell per worker, and the same other cells in each row."""
    rows = [",".join((f"t{task}", *(LABELS[who, task] for who in WORKERS), *others)) for task in TASKS]
    return "\n".join([header, *rows])


def two(header: str) -> str:
    """Write a row per task, with a cell for each of two workers."""
    return "\n".join([header, *(f"t{task},{LABELS['ada', task]},{LABELS['bob', task]}" for task in TASKS)])


TABLES = {
    "who, what, when": "who,what,when\nada,a,2020-01-01\nbob,a,2020-01-02\nada,b,2020-01-03\n",
    "row id and value": "row_id,val\n1,x\n2,y\n3,x\n",
    "x and y": "x,y\n1,2\n2,1\n3,3\n",
    "measurements": "Anna,Bob\n1.5,2.5\n2.0,1.0\n3.25,3.5\n",
    "one column": "label\nx\ny\n",
    "two columns": "task,label\na,x\na,y\nb,x\nb,x\n",
    "worker and label": "worker,label\nada,x\nbob,y\n",
    "all ids": "a,b,c\n" + "\n".join(f"u{row},v{row},w{row}" for row in range(20)),
    "all numbers": "a,b,c,d\n" + "\n".join(f"{row},{row * 7 % 5},{row * 3 % 4},{row % 3}" for row in range(20)),
    "one row": "a,b,c\n1,2,3\n",
    "one answer": "worker,task,label\nada,t1,x\n",
    "a header": "who,what,said\n",
    "a name twice": "worker,task,label,label\nada,1,x,y\nbob,1,x,y\n",
    "no names": ",,\nada,t1,x\nbob,t1,x\n",
    "a column without a name": long(",task,label"),
    "blank names": long(" ,  ,   "),
    "names of letters": long("a,b,c"),
    "two columns for a worker": long("user,annotator,label,time", "12.5"),
    "a time beside": long("a,b,c,created", "2020-01-01"),
    "three workers in columns": wide("item,Anna,Bob,Cem"),
    "two workers in columns": two("item,Anna,Bob"),
    "two workers and no task": "\n".join(line.partition(",")[2] for line in two("item,Anna,Bob").splitlines()),
    "workers and a consensus": wide("item,Anna,Bob,final"),
    "workers and gold": wide("item,Anna,Bob,gold"),
    "workers and a comment": wide("item,Anna,Bob,Cem,comment", "I was not sure about it"),
    "one worker and gold": two("item,label,gold"),
    "quotes and commas": two('item,"Anna, A.","Bob ""B"""'),
    "a dash at the beginning": long("-a,-b,-c"),
}


@pytest.mark.parametrize("name", TABLES)
def test_a_question_about_columns_ends_with_a_command_that_works(name: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(TABLES[name], encoding="utf-8")
    done = call("discover", "a.csv", "--no-report", folder=tmp_path)
    code, said = done.returncode, done.stderr
    assert code in (0, 2), said
    assert "Traceback" not in said
    if code == 0:
        return
    proposed = re.findall(r"^  allalike (discover a\.csv .*)$", said, re.MULTILINE)
    assert proposed, said
    if "After correcting it, run:" in said:
        assert proposed == ["discover a.csv --no-report"]
        return
    if " other.csv " in proposed[0]:  # which stands for the files of other workers
        return
    done = call(*shlex.split(proposed[0]), folder=tmp_path)
    assert done.returncode == 0, done.stderr


WRONG = {
    "a typing error": ("--worker wroker", "--worker worker"),
    "another name": ("--worker who", ""),
    "a column for two roles": ("--worker task --task task", "--task task"),
    "a pattern of labels": ("--label Q*", ""),
    "a gold column": ("--gold column:lable", "--gold column:label"),
    "no gold column": ("--gold column:truth", ""),
    "a column of a matrix": ("--wide tasks --include lable --exclude worker", "--wide tasks --exclude worker"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_name_is_replaced_or_left_out_in_the_proposed_command(case: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(long("worker,task,label"), encoding="utf-8")
    typed, right = WRONG[case]
    done = call("discover", "a.csv", *typed.split(), folder=tmp_path)
    assert done.returncode == 2
    proposed = re.findall(r"^  (allalike .*)$", done.stderr, re.MULTILINE)
    assert proposed[:1] == [f"allalike discover a.csv {right}".strip()]
