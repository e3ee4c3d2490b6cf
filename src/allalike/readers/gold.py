"""Known truths, matched with the tasks of the answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.columns.column import Column
from allalike._core.columns.values import numpy_of
from allalike._core.late import pa, pc
from allalike.answers.cleaning import Cleaning
from allalike.answers.gold import Gold
from allalike.domains.spelling import match_key
from allalike.errors import ColumnError, GoldError, InputError, OptionError
from allalike.readers.column_names import COLUMN, pick_columns
from allalike.readers.formats.files import Files
from allalike.readers.reshaping.columns import combine, has_fields
from allalike.readers.sources import is_path, open_table
from allalike.readers.tools import find_tool

if TYPE_CHECKING:
    import numpy.typing as npt

    from allalike.answers import Answers
    from allalike.readers.formats.tables import Table


# Label maps: what spellings of labels mean, from a mapping or a file with the columns from and to.


def read_label_map(given: Any) -> dict[Any, str]:
    """Return what each spelling means; a spelling is the same with blanks around it, and 1 the same as 1.0.

    >>> read_label_map({"yes": 1, "no": 0})
    {'yes': '1', 'no': '0'}
    >>> read_label_map([("y", "yes"), ("Y", "yes")])
    {'y': 'yes', 'Y': 'yes'}
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    elif isinstance(given, list | tuple) and given and all(isinstance(p, list | tuple) and len(p) == 2 for p in given):
        pairs = list(given)
    else:
        pairs = _label_maps_of_table(given)
    meant: dict[Any, str] = {}
    for spelling, meaning in pairs:
        if not isinstance(spelling, str | int | float) or not isinstance(meaning, str | int | float):
            raise InputError(f"The label map has {spelling!r} for {meaning!r}. Give texts or numbers.")
        key = match_key(spelling)
        if meant.setdefault(key, str(meaning)) != str(meaning):
            raise InputError(f"The label map has two meanings for {spelling!r}: {meant[key]!r} and {str(meaning)!r}.")
    if not meant:
        raise InputError("The label map is empty.")
    return meant


def _label_maps_of_table(given: Any) -> list[tuple[Any, Any]]:
    table = open_table(given)
    names = {name.strip().casefold(): name for name in table.names}
    picked = [names[name] for name in ("from", "to") if name in names]
    if len(picked) < 2:
        picked = table.names
    if len(picked) != 2:
        raise InputError(
            f"{table.where} is no label map: it has the columns {', '.join(table.names)}. Call two of them from and to."
        )
    columns = table.columns({"worker": picked[0], "task": picked[1]})
    spellings, meanings = (column.data for column in columns.values())
    return list(zip(*(c if isinstance(c, list) else c.to_pylist() for c in (spellings, meanings)), strict=True))


EXPORT = "export"  # the name of the truths that the tool marks which wrote the answers
_ROLES = ("task", "label")
_TRUTHS = (
    "gold golden goldlabel goldstandard truth groundtruth gt true truelabel trueanswer trueclass target correct"
    " correctanswer correctlabel expert expertlabel expertanswer reference solution key"
)
_TRUTH_NAMES = frozenset(_TRUTHS.split())


def is_within(gold: Any) -> bool:
    """Tell whether gold is in the files of the answers, and not in one of its own.

    >>> is_within("column:truth"), is_within("export"), is_within("gold.csv")
    (True, True, False)
    """
    return isinstance(gold, str) and (gold == EXPORT or gold.startswith(COLUMN))


def read_gold(gold: Any, answers: Answers) -> Answers:
    """Return the answers with these known truths.

    Truths of tasks that nobody answered are left out, and counted in the notes.

    >>> from allalike.readers import read
    >>> answers = read([("ada", "t1", "x"), ("bob", "t1", "y"), ("ada", "t2", "x")])
    >>> answers = read_gold({"t2": "x", "t3": "y"}, answers)
    >>> answers.gold_task, answers.gold_label, answers.notes["gold"]
    (array([1]), array([0]), {'tasks': 1, 'without_answers': 1})
    """
    return answers.with_gold(open_gold(gold).split(answers.domain))


def open_gold(
    gold: Any,
    *,
    columns: Mapping[str, str] | None = None,
    na: Iterable[str] = (),
    label_map: Any = None,
    gold_map: Any = None,
    fields: Sequence[str] = (),
    like: Callable[[], Mapping[str, str]] = dict,
    files: Files | None = None,
) -> Gold:
    """Read known truths: a path or a table with task and label, a mapping, or rows of (task, label).

    Which ``columns`` of a table they are can be said; otherwise their names tell, first of all those that the columns
    of the answers have (``like``). Truths without a label are left out
    and counted; in text files, ``na`` are further words for none. A label map says what spellings mean, as it does for
    the answers; a gold map says what labels of the gold mean among those of the answers. If a label has ``fields``,
    these may be columns of the table. An export of a tool is read as ``files`` says.

    >>> open_gold({"t2": "x"}).label.data.to_pylist()
    ['x']
    >>> open_gold({"question": [1, 2], "expert": ["x", None], "worker": ["ada", "bob"]}).blank
    1
    """
    if isinstance(gold, Gold):
        return gold
    task, label = _columns(gold, columns, fields, like, files)
    return _make(task, _mapped(label, label_map), _blank(label, na), gold_map)


def _make(task: Column, label: Column, blank: npt.NDArray[np.bool_], gold_map: Any) -> Gold:
    if gold_map is None:
        return Gold.of(task, label, blank)

    return Gold.of(task, map_gold(label, gold_map), blank, stated=True)


def _mapped(label: Column, label_map: Any) -> Column:
    return label if label_map is None else Cleaning(label_map=read_label_map(label_map)).map_labels(label)


def gather_gold(
    parts: Iterable[dict[str, Column]], *, na: Iterable[str] = (), label_map: Any = None, gold_map: Any = None
) -> Gold:
    """Make known truths of a column of the answers, in which each task has its truth in every row, or in some.

    ``parts`` are columns of tasks and of truths, some rows at a time.

    >>> task, label = Column.of_objects("task", [1, 1, 2]), Column.of_objects("label", ["x", None, None])
    >>> gather_gold([{"task": task, "label": label}]).task.factors[1].tolist()
    [1]
    """
    found = [pair for part in parts for pair in _different(part["task"], part["label"], tuple(na))]
    if not found:
        raise GoldError("No row of the gold has a label.")
    tasks, labels = zip(*found, strict=True)
    label = _joined("label", list(labels))
    return _make(_joined("task", list(tasks)), _mapped(label, label_map), label.missing(), gold_map)


def _joined(role: str, values: list[Any]) -> Column:
    """Make one column of values from several parts; whole numbers among texts are texts in all of them."""
    kinds = set(map(type, values))
    if len(kinds) > 1 and kinds <= {str, int, float, bool}:
        values = list(map(str, values))
    return Column.of_objects(role, values) if kinds <= {str, int, float, bool} else Column(role, values)


def _different(task: Column, label: Column, na: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
    """Yield the different pairs of a task and its truth."""
    here = ~_blank(label, na)
    ids, labels = task.keep(here).factors, label.keep(here).parsed(lambda value: value)
    numbers = ids[0].astype(np.int64) * len(labels[1]) + labels[0]
    for number in np.unique(numbers).tolist():
        place, truth = divmod(number, len(labels[1]))
        yield ids[1][place], labels[1][truth]


def _columns(
    gold: Any,
    chosen: Mapping[str, str] | None,
    fields: Sequence[str],
    like: Callable[[], Mapping[str, str]],
    files: Files | None,
) -> tuple[Column, Column]:
    is_series = hasattr(gold, "items") and hasattr(gold, "index") and not hasattr(gold, "columns")
    if is_series or (isinstance(gold, Mapping) and not chosen and not _is_table(gold, fields)):
        rows = list(gold.items())
    elif isinstance(gold, list | tuple) and gold and isinstance(gold[0], list | tuple):
        rows = list(gold)
        bad = next((row for row, pair in enumerate(rows) if len(pair) != 2), None)
        if bad is not None:
            raise GoldError(f"Row {bad + 1} of the gold is not a pair of task and label: {rows[bad]!r}.")
    else:
        return _of_table(*_with_fields(open_gold_table(gold, files), chosen or {}, fields), like)
    if chosen:
        raise GoldError(f"The gold has no columns of which gold_columns, {chosen!r}, could be some. Leave it out.")
    tasks, labels = zip(*rows, strict=True) if rows else ((), ())
    return Column.of_objects("task", list(tasks)), Column.of_objects("label", list(labels))


def _with_fields(table: Table, chosen: Mapping[str, str], fields: Sequence[str]) -> tuple[Table, Mapping[str, str]]:
    """Return a table in which the fields of a label are one column, if it has them, and which columns are which."""
    if not isinstance(chosen, Mapping) or not has_fields(table.names, fields, chosen, table.where):
        return table, chosen
    table, made = combine(table, fields)
    return table, {**chosen, "label": made}


def _is_table(gold: Mapping[Any, Any], fields: Sequence[str] = ()) -> bool:
    """Tell a mapping of columns from one of tasks to truths, which may be lists too: its columns are known by name."""
    names = [str(name) for name, values in gold.items() if isinstance(values, list | tuple | np.ndarray)]
    if set(_ROLES) <= set(gold) or (fields and {*fields} <= set(gold)):
        return True
    named = [name for name in names if is_truth(name)]
    truth = {"label": named[0]} if named else {}
    try:
        return len(names) == len(gold) and bool(pick_columns(names, truth, "", roles=_ROLES))
    except ColumnError:
        return False


def open_gold_table(gold: Any, files: Files | None = None) -> Table:
    """Open known truths that are a table, or the export of a tool, which is one annotator's then.

    >>> open_gold_table({"task": [1], "label": ["x"]}).names
    ['task', 'label']
    """
    if isinstance(gold, str) and not gold:
        raise GoldError("The gold is ''. Name a file, or leave it out.")
    try:
        alone = is_path(gold) and Path(gold).is_file() and find_tool([Path(gold)], None) is not None
        return open_table(gold, replace(files or Files(), worker_from="filename") if alone else None)
    except InputError as error:
        raise GoldError(f"The gold cannot be read. {error}") from error


def _of_table(table: Table, chosen: Mapping[str, str], like: Callable[[], Mapping[str, str]]) -> tuple[Column, Column]:
    if not isinstance(chosen, Mapping):
        raise GoldError(f"gold_columns is {chosen!r}. Write it as {{'task': ..., 'label': ...}}.")
    wrong = [name for role, name in chosen.items() if role in _ROLES and name not in table.names]
    if odd := [role for role in chosen if role not in _ROLES]:
        raise GoldError(f"gold_columns names {odd[0]!r}. The roles are: {', '.join(_ROLES)}.")
    named = [name for name in table.names if is_truth(name) and name not in chosen.values()]
    truth = {"label": named[0]} if len(named) == 1 and "label" not in chosen else {}
    said = {**chosen, **truth}
    if not set(_ROLES) <= {*said, *table.names}:
        said = {**_named_alike(like(), table.names, said), **said}
    try:
        picked, _ = pick_columns(table.names, said, table.where, roles=_ROLES)
    except ColumnError as error:
        listed = ", ".join(map(repr, table.names))
        what = f"no column {wrong[0]!r}" if wrong else f"{len(named)} columns of truths" if len(named) > 1 else ""
        what = what or "no two columns that are clearly task and label"
        raise GoldError(
            f"The gold cannot be read: {table.where} has {what}. It has: {listed}.",
            **_propose_columns(table.names, named, chosen, wrong),
        ) from error
    columns = table.columns(picked)
    return columns["task"], columns["label"]


def _named_alike(like: Mapping[str, str], names: list[str], said: Mapping[str, str]) -> dict[str, str]:
    """Name the columns that are called as those of the answers are, and are not taken."""
    free = [name for name in names if name not in said.values()]
    return {role: like[role] for role in _ROLES if role in like and like[role] in free}


def _propose_columns(
    names: list[str], truths: list[str], chosen: Mapping[str, str], wrong: list[str]
) -> dict[str, Any]:
    """Propose columns: those that were chosen rightly, a truth by its name, and the first ones for the rest."""
    right = {role: name for role, name in chosen.items() if name not in wrong}
    label = right.get("label") or next(iter(truths), None)
    others = [name for name in names if name not in (label, *right.values())]
    task = right.get("task") or next(iter(others), None)
    label = label or next((name for name in others if name != task), None)
    return {} if task is None or label is None else {"gold_columns": {"task": task, "label": label}}


def is_truth(name: str) -> bool:
    """Tell whether a column is called what known truths are called.

    >>> is_truth("Gold label"), is_truth("label")
    (True, False)
    """
    return "".join(mark for mark in name.casefold() if mark.isalnum()) in _TRUTH_NAMES


def _blank(label: Column, na: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Mark what is no label: missing, and in text files also blank, and the words for none."""
    missing = label.missing()
    if not (label.text and label.kind == "text"):
        return missing
    words = pc.is_in(pc.utf8_trim_whitespace(label.data), value_set=pa.array(["", *na], label.data.type))
    return missing | numpy_of(words).astype(np.bool_)


# Gold maps: mappings from gold labels to the labels of the answers.


SAME = "same"  # gold labels are correct as they are
_PAIRS = re.compile(r",(?=[^,=]*=)")


def map_gold(label: Column, gold_map: Any) -> Column:
    """Return gold labels in the spelling of the answers.

    A gold map is a mapping, a file with the columns from and to, a text such as ``0=no,1=yes`` (or JSON), or ``same``
    for labels that are correct as they are.

    >>> from allalike._core.columns.column import Column
    >>> label = Column.of_objects("label", ["0", "1"])
    >>> [map_gold(label, each).data.to_pylist() for each in ("0=no,1=yes", {"0": "no"}, "same")]
    [['no', 'yes'], ['no', '1'], ['0', '1']]
    """
    if isinstance(gold_map, str) and gold_map == SAME:
        return label
    return Cleaning(label_map=read_label_map(_read_pairs(gold_map))).map_labels(label)


def write_gold_map(meanings: Mapping[Any, Any]) -> str:
    """Write what labels mean as a text that is read as it was meant.

    >>> write_gold_map({0: "no", 1: "yes"}), write_gold_map({"a, b": "c"})
    ('0=no,1=yes', '{"a, b": "c"}')
    """
    pairs = [(str(label), str(meaning)) for label, meaning in meanings.items()]
    if any(mark in text for pair in pairs for text in pair for mark in ",={"):
        return json.dumps(dict(pairs), ensure_ascii=False)
    return ",".join(f"{label}={meaning}" for label, meaning in pairs)


def is_written(gold_map: Any) -> bool:
    """Return whether a gold map is written out, and not the name of a file.

    >>> [is_written(each) for each in ("same", "0=1", '{"0": "1"}', "map.csv")]
    [True, True, True, False]
    """
    if not isinstance(gold_map, str) or not (text := gold_map.strip()):
        return False
    return text == SAME or "=" in text or text.startswith("{")


def _read_pairs(gold_map: Any) -> Any:
    """Return the pairs that a text lists, and what is no such text as it is."""
    if not is_written(gold_map):
        return gold_map
    if not gold_map.lstrip().startswith("{"):
        pairs = [part.partition("=") for part in _PAIRS.split(gold_map)]
        return [(label.strip(), meaning.strip()) for label, _, meaning in pairs]
    try:
        return dict(json.loads(gold_map))
    except (ValueError, TypeError) as error:
        raise OptionError(f"gold_map is {gold_map!r}, which is no JSON object of labels.") from error
