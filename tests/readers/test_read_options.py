"""The options of reading are the same wherever answers are named: one list, and all faces have what is in it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import allalike
from allalike.cli.options import take
from allalike.errors import OptionError
from allalike.readers import READ_OPTIONS, Scan

ROWS = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y")]
SEVERAL = {"na_values", "abstain_label", "include", "exclude"}
ON_NO_PAGE = {"label_map", "layout", "query"}  # these open files or databases, or describe folders
DOORS: list[Callable[..., Any]] = [
    allalike.agreement,
    allalike.compare,
    allalike.discover,
    allalike.jury,
    allalike.read,
    allalike.scan,
]


def test_every_option_is_kept_told_and_has_a_flag() -> None:
    kept = {field.name for field in dataclasses.fields(Scan)}
    assert kept - {"source", "domain", "choices", "frame", "golden"} == set(READ_OPTIONS)
    told = [name for line in str(allalike.read.__doc__).splitlines() for name in line.strip().split(", ")]
    named = str(allalike.discover.__doc__).partition("**how")[2]
    assert [name for name in READ_OPTIONS if name not in told or f" {name}" not in named] == []
    command = click.command(take("Input", "Columns", files=True)(lambda **options: None))
    flags = {option.name: option.multiple for option in command.params if isinstance(option, click.Option)}
    assert {name: flags[name] for name in READ_OPTIONS if name != "columns"} == {
        name: name in SEVERAL for name in READ_OPTIONS if name != "columns"
    }


@pytest.mark.parametrize("door", DOORS, ids=lambda door: str(door.__name__))
def test_an_option_that_is_none_is_named_with_those_that_there_are(door: Callable[..., Any]) -> None:
    with pytest.raises(OptionError, match=f"{door.__name__} .*'colums'.*'columns'") as caught:
        door(ROWS, colums={"task": "photo"})
    assert all(name in str(caught.value) for name in READ_OPTIONS)


@pytest.mark.parametrize("door", DOORS[:4], ids=lambda door: str(door.__name__))
def test_files_are_read_as_they_are_named_without_a_step_between(door: Callable[..., Any], tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    lines = ["worker,task,label", *(f"{worker},{task},été" for worker in "abc" for task in (1, 2)), "d,1,?", "d,2,Été"]
    path.write_text("\n".join(lines), encoding="latin-1")
    how: dict[str, Any] = {"encoding": "latin-1", "na_values": ["?"], "missing": "drop", "label_map": {"Été": "été"}}
    found, before = door(path, domain="categorical", **how), door(allalike.read(path, domain="categorical", **how))
    run, other = (each.result.run if isinstance(each, allalike.Panel) else each.run for each in (found, before))
    assert run.answer_counts.tolist() == other.answer_counts.tolist() == [2, 2, 2, 1]
