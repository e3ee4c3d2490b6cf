"""Reading: the columns of answers as they come from a table, complete and clean, and what is to be said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from allalike.answers.cleaning import Cleaning, check_ids
from allalike.domains.contract import spell_domain
from allalike.readers.column_names import is_gold

if TYPE_CHECKING:
    from collections.abc import Mapping

    from allalike._core.columns.column import Column
    from allalike.readers.formats.tables import Table

_LOOKED_AT = 1000  # rows
_KINDS = {"pandas": "pandas", "polars": "polars", "pyarrow": "arrow", "datasets": "datasets", "pyspark": "pandas"}


def find_frame(source: Any) -> str:
    """Name the kind of frame that answers came in: that of pandas, unless they came in another one.

    >>> import pyarrow as pa
    >>> find_frame(pa.table({"worker": ["ada"]})), find_frame("answers.csv")
    ('arrow', 'pandas')
    """
    package = type(source).__module__.partition(".")[0]
    arrow = hasattr(source, "__arrow_c_stream__") or "duckdb" in package
    return _KINDS.get(package, "arrow" if arrow else "pandas")


def note_table(guessed: Mapping[str, str], table: Table, picked: Mapping[str, str], *, given: bool) -> dict[str, Any]:
    """Return what was guessed about columns, how files lie in a folder, and what else was found out about them."""
    columns = {role: name for role, name in guessed.items() if role != "layout"}
    found: dict[str, Any] = {"columns": columns} if columns else {}
    found |= {"layout": guessed["layout"]} if "layout" in guessed else {}
    known = table.domain if isinstance(table.domain, str) else "" if table.domain.record else spell_domain(table.domain)
    found |= {**table.guessed, **({"domain": known} if known and not given else {})}
    careless = {who: list(why) for who, why in table.careless.items()}
    more = {"remarks": list(table.remarks), "samples": list(table.samples), "careless": careless}
    notes: dict[str, Any] = {"guessed": found, **{name: told for name, told in more.items() if told}}
    notes |= {} if table.silent is None else {"silent": table.silent}
    gold = find_gold_column(table, picked)
    return notes | ({"gold_column": gold} if gold else {})


def find_gold_column(table: Table, picked: Mapping[str, str]) -> str:
    """Name the column of gold labels, by its name and by what it holds, if there is one.

    >>> from allalike.readers.formats.tables import of_records
    >>> rows = [(1, "x", 1, "x"), (1, "y", 0, "x"), (2, "x", 1, "")]
    >>> table = of_records([dict(zip(("task", "label", "correct", "gold"), row)) for row in rows])
    >>> find_gold_column(table, {"task": "task", "label": "label"})
    'gold'
    """
    names = [name for name in table.names if is_gold(name) and name not in picked.values()]
    if not names:
        return ""
    from allalike.readers.guessing.contents import TableSample  # which most answers do not need

    sample = TableSample(table.sample(_LOOKED_AT, [*picked.values(), *names]))
    for name in names:
        gold, label = sample[name], sample[picked["label"]]
        numbers = {gold.kind, label.kind} <= {"whole", "number"}
        alike = numbers or len({*map(str, gold.values)} & {*map(str, label.values)}) > gold.n_present / 2
        if alike and sample.n_rows and sample.follows(name, picked["task"]):
            return name
    return ""


def complete(columns: dict[str, Column], cleaning: Cleaning) -> tuple[dict[str, Column], dict[str, Any]]:
    """Refuse rows without an id, clean the labels, and encode the ids; return also what is to be said of it."""
    rows = len(columns["label"])
    columns, _, dropped = cleaning.clean(columns)
    dropped.check(rows, cleaning.spelling.steps)
    for role in ("task", "worker"):  # one after the other, so that only one of them is in memory as it came
        check_ids(columns[role])
        _ = columns[role].factors
    return columns, dropped.notes(rows)
