"""Open answers and gold labels, and find the columns of gold labels."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import find_places
from allalike._core.system.addresses import hide_in_word
from allalike._core.text_format import count
from allalike.answers import Answers
from allalike.domains.contract import field_names
from allalike.errors import AllalikeError, GoldError, OptionError
from allalike.readers import (
    COLUMN,
    EXPORT,
    NA,
    ReadOptions,
    Scan,
    find_unusual,
    gather_gold,
    is_within,
    open_gold,
    scan,
)
from allalike.readers.column_names import rate_name
from allalike.readers.gold import is_truth, open_gold_table
from allalike.readers.proposals import asking
from allalike.readers.sources import find_inputs, is_path

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from allalike.answers.gold import Gold
    from allalike.domains import Domain
    from allalike.readers.formats.source import Source

_MAX_BYTES = 1 << 28  # size of answers that are read to explain an error
_MIN_TASKS = 0.5  # share of a task column's values that are tasks of the answers


def open_source(
    answers: Any,
    gold: Any,
    gold_columns: Mapping[str, str] | None = None,
    gold_map: Any = None,
    *,
    domain: str | Domain | None = None,
    **how: Unpack[ReadOptions],
) -> tuple[Answers | Scan, Gold | None]:
    """Return answers, or a scan of them, and the gold labels."""
    if not isinstance(answers, Answers | Scan):
        answers = scan(answers, domain=domain, **how)
    elif unusual := find_unusual({"domain": domain, **how}):
        name = next(iter(unusual))
        raise OptionError(
            f"{name} has no effect on answers that are already read. Pass {name} to allalike.read or allalike.scan."
        )
    if is_within(gold):
        return open_gold_within(answers, gold, gold_map)
    for name, value in (("gold_columns", gold_columns), ("gold_map", gold_map)):
        if gold is None and value:
            raise OptionError(f"{name} is {value!r}, but there are no gold labels. Add gold=, or remove {name}=.")
    if gold is None:
        return answers, None
    files = Scan(source=None, **answers.read_options) if isinstance(answers, Answers) else answers
    known: dict[str, Any] = {"fields": field_names(answers.domain), "like": partial(name_columns, answers)}
    try:
        labels = open_gold(gold, columns=gold_columns, gold_map=gold_map, **_spelling(answers), **known, files=files)
        return answers, labels if answers.domain is None else labels.split(answers.domain)
    except GoldError as raised:
        error = suggest_columns(raised, answers, gold)
        if not set(answers.inputs) & set(find_inputs(gold)):
            raise error from raised
        message = f"{error.args[0]} Gold and answers are the same file. Name the column of gold labels as {COLUMN}NAME."
        raise GoldError(message, **error.options) from raised


def open_gold_within(answers: Answers | Scan, gold: str, gold_map: Any) -> tuple[Scan, Gold]:
    """Return answers, and gold labels from a column of their table or marked by the tool that exported them.

    In a matrix, this column is not a worker. Rows that a tool marks as gold are not answers.
    """
    name = gold.removeprefix(COLUMN)
    if not isinstance(answers, Scan):
        raise GoldError(
            f"The answers are already read, without the column {name!r}. Pass the source of the answers, or the gold"
            " labels themselves."
        )
    if gold == EXPORT:
        answers = replace(answers, golden=True)
        with asking(answers):
            table, picked, _ = answers.opened()
        if picked["label"] not in table.truths:
            raise GoldError(
                f"{table.where} has no marked gold labels: its tool marks none, or none is marked in this export. Pass"
                " gold labels in a file."
            )
        name = table.truths[picked["label"]]
    labels = gather_gold(answers.beside(name), gold_map=gold_map, **_spelling(answers))
    labels = labels if answers.domain is None else labels.split(answers.domain)
    if answers.wide is not None:
        answers = replace(answers, exclude=(*answers.exclude, name))
    return answers, labels


def _spelling(answers: Answers | Scan) -> dict[str, Any]:
    """Return the words that mean a missing label, and the label map of the answers."""
    how = answers.read_options if isinstance(answers, Answers) else vars(answers)
    return {"na": how.get("na_values") or NA, "label_map": how.get("label_map")}


def name_columns(answers: Answers | Scan) -> Mapping[str, str]:
    """Return the columns that the answers were read from, as far as they are known or can be inferred."""
    if isinstance(answers, Answers):
        return {**answers.notes.get("guessed", {}).get("columns", {}), **answers.read_options.get("columns", {})}
    with suppress(AllalikeError):  # reading the answers will raise it again
        return answers.pick(answers.open())[0] if answers.wide is None else {}
    return answers.columns


def suggest_columns(error: GoldError, answers: Answers | Scan, gold: Any) -> GoldError:
    """Return an error about the columns of gold, with a suggestion if one column contains tasks of the answers.

    >>> import allalike
    >>> answers = allalike.read([("ada", "t1", "x"), ("bob", "t1", "x"), ("ada", "t2", "y")])
    >>> print(suggest_columns(GoldError("No."), answers, {"task": ["x", "y"], "label": ["t1", "t2"]}))
    No. Its column 'label' contains 2 tasks of the answers. Use gold_columns={'task': 'label', 'label': 'task'}.
    """
    with suppress(AllalikeError, TypeError):
        if isinstance(answers, Scan) and answers.size >= _MAX_BYTES:
            return error
        held = answers if isinstance(answers, Answers) else answers.read()
        if picked := _search_columns(open_gold_table(gold), held):
            named, known = picked["task"], len(open_gold(gold, columns=picked).task)
            message = f"{error.args[0]} Its column {named!r} contains {count(known, 'task')} of the answers."
            if _share_known(Column.of_objects("task", [named]), held.tasks):
                return GoldError(f"{message} Its name is a task as well: add the missing header, such as task,label.")
            return GoldError(message, lines=error.lines, gold_columns=picked)
    return error


def _search_columns(table: Source, answers: Answers) -> dict[str, str]:
    """Find the column of tasks by its values, and the column of labels by its name and values."""
    columns = {name: table.columns({"task": name})["task"] for name in table.names}
    if len(columns) < 2:
        return {}
    tasks = {name: _share_known(column, answers.tasks) for name, column in columns.items()}
    task = max(tasks, key=tasks.__getitem__)
    encoding = answers.encoding
    labels = encoding.decode(np.arange(encoding.n_labels)) if encoding.nominal else ()
    named = {name: is_truth(name) + max(rate_name(name, "label"), 0.0) for name in columns}
    fits = {name: _share_known(column, labels) + named[name] for name, column in columns.items() if name != task}
    label = max(fits, key=fits.__getitem__)
    if tasks[task] < _MIN_TASKS or (len(fits) > 1 and not fits[label]):
        return {}
    return {"task": task, "label": label}


def _share_known(column: Column, values: Any) -> float:
    """Return the share of a column's distinct values that occur in ``values``."""
    held = column.keep(~column.missing()).factors[1]
    return float((find_places(held, values) >= 0).mean()) if len(held) and len(values) else 0.0


def inputs_of(*sources: Any) -> tuple[Path, ...]:
    """Return the files and folders of answers and gold."""
    outside = [source for source in sources if not is_within(source)]
    paths = (each.inputs if isinstance(each, Answers | Scan) else find_inputs(each) for each in outside)
    return tuple(path for inputs in paths for path in inputs)


def name_inputs(*sources: Any) -> tuple[str, ...]:
    """Return the files and addresses of answers and gold, without passwords.

    >>> name_inputs(Scan(source=["/data/a.csv", "https://ada:secret@host/b.csv"]), "column:truth")
    ('/data/a.csv', 'https://***@host/b.csv')
    """
    texts: list[str] = []
    for each in sources:
        for part in (each.source, each.label_map) if isinstance(each, Scan) else (each,):
            for source in part if isinstance(part, list | tuple) and all(map(is_path, part)) else [part]:
                is_remote = is_path(source) and "://" in os.fspath(source)
                texts += [hide_in_word(os.fspath(source))] if is_remote else map(str, inputs_of(source))
    return tuple(texts)
