"""The tables of the paper: which rows and columns they have, labelled as the paper labels them."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TABLES", "Part", "Row", "Table"]

_FAMILY = ("MAS", "P-TD-D", "P-TD-AK", "iP-TD")
_BINARY = ("CRH", "IBP", "DS", "EVD", "EXP", "TOP2", *_FAMILY)
_CLASSES = ("CRH", "EXP", "TOP2", *_FAMILY)
_NUMBERS = ("CRH", "CATD", "GTM", "KDE", "EXP", "TOP2", *_FAMILY)
_RANKINGS = ("EXP", "TOP2", "MAS", "P-TD-D", "iP-TD")
_MORE_RANKINGS = ("D-TD", *_RANKINGS)

_DOTS_PUZZLES = (*(f"DOTS{level}" for level in (3, 5, 7, 9)), *(f"PUZZ{level}" for level in (5, 7, 9, 11)))
_ALL_RANKED = ("SYN.HS", "SYN.N", "BUILD", *_DOTS_PUZZLES)
_FEW_RANKED = ("SYN.N", "BUILD", "DOTS3", "PUZZ5")


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row, as the paper labels it.

    Parameters
    ----------
    table
        The name of its table.
    kind
        The kind of label, a name of `KINDS`.
    dataset, group
        What it is labelled with: the data set, and the number of classes or the rule.
    workers, tasks
        How many are drawn, according to the caption.
    """

    table: str
    kind: str
    dataset: str
    group: str
    workers: int
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Part:
    """The rows of a table that have the same columns."""

    title: str
    rows: tuple[Row, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its name here, where it is in the paper, and its parts.

    >>> table = TABLES["table-A"]
    >>> [(part.title, len(part.rows), len(part.columns)) for part in table.parts]
    [('n = 30, m = 15', 4, 10), ('n = 10, m = 50', 4, 10)]
    """

    name: str
    title: str
    parts: tuple[Part, ...]

    @property
    def rows(self) -> list[Row]:
        """All rows."""
        return [row for part in self.parts for row in part.rows]


def _numbers(table: str, title: str, workers: int, tasks: int, datasets: tuple[str, ...]) -> Part:
    rows = tuple(
        Row(table=table, kind="numbers", dataset=name, group="", workers=workers, tasks=tasks) for name in datasets
    )
    return Part(title=title, rows=rows, columns=_NUMBERS)


def _classes(title: str, datasets: dict[str, int], columns: tuple[str, ...]) -> Part:
    rows = tuple(
        Row(table="table-2", kind="classes", dataset=name, group=str(classes), workers=10, tasks=15)
        for name, classes in datasets.items()
    )
    return Part(title=title, rows=rows, columns=columns)


def _ranked(table: str, rule: str, workers: int, datasets: tuple[str, ...], columns: tuple[str, ...]) -> Part:
    rows = tuple(
        Row(table=table, kind="rankings", dataset=name, group=rule, workers=workers, tasks=1) for name in datasets
    )
    return Part(title=rule.capitalize(), rows=rows, columns=columns)


def _complex(*labels: tuple[str, str, str]) -> Part:
    rows = tuple(
        Row(table="table-3", kind=kind, dataset=name, group=rule, workers=10, tasks=1) for kind, name, rule in labels
    )
    return Part(title="Texts and outlines", rows=rows, columns=_RANKINGS)


_TWO_CLASSES = dict.fromkeys(("SYN.HS", "SYN.N", "GG", "Pred.T1", "Pred.T2", "Pred.T3", "Pred.T4"), 2)
_MORE_CLASSES = {
    "SYN": 4,
    "DOGS": 10,
    "FLAGS": 4,
    "Chinese": 2,
    "English": 2,
    "IT": 4,
    "Medicine": 4,
    "Pokemon": 6,
    "Science": 5,
}

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        Table(
            name="table-2",
            title="classes and numbers, n = 10 workers and m = 15 tasks",
            parts=(
                _classes("Two classes", _TWO_CLASSES, _BINARY),
                _classes("Several classes", _MORE_CLASSES, _CLASSES),
                _numbers("table-2", "Numbers", 10, 15, ("SYN.N", "BUILD", "TRI1", "TRI2", "EMO")),
            ),
        ),
        Table(
            name="table-3",
            title="rankings, texts and outlines, n = 10",
            parts=(
                _ranked("table-3", "borda", 10, _ALL_RANKED, _RANKINGS),
                _ranked("table-3", "plurality", 10, _FEW_RANKED, _RANKINGS),
                _ranked("table-3", "copeland", 10, _FEW_RANKED, _RANKINGS),
                _complex(
                    ("texts", "TRANSL", "best worker"),
                    ("outlines", "ETCH", "best worker"),
                    ("outlines", "ETCH", "majority"),
                ),
            ),
        ),
        Table(
            name="table-A",
            title="numbers, other sizes (appendix)",
            parts=(
                _numbers("table-A", "n = 30, m = 15", 30, 15, ("SYN.N", "BUILD", "TRI1", "TRI2")),
                _numbers("table-A", "n = 10, m = 50", 10, 50, ("SYN.N", "TRI1", "TRI2", "EMO")),
            ),
        ),
        Table(
            name="table-B",
            title="rankings, more rules (appendix)",
            parts=(
                _ranked("table-B", "veto", 10, _ALL_RANKED, _MORE_RANKINGS),
                _ranked("table-B", "best worker", 10, _FEW_RANKED, _MORE_RANKINGS),
                _ranked("table-B", "kemeny", 10, _FEW_RANKED, _MORE_RANKINGS),
            ),
        ),
        Table(
            name="table-C",
            title="rankings, n = 30 (appendix)",
            parts=(
                _ranked("table-C", "borda", 30, _ALL_RANKED, _MORE_RANKINGS),
                _ranked("table-C", "plurality", 30, _FEW_RANKED, _MORE_RANKINGS),
                _ranked("table-C", "copeland", 30, _FEW_RANKED, _MORE_RANKINGS),
            ),
        ),
    )
}
