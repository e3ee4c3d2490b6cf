"""Sheets: exports that tests write themselves, and what a reader makes of them."""

from pathlib import Path
from typing import Any

from allalike.readers.formats.source import Source


class Sheets:
    """A folder into which exports are written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *rows: list[str], name: str = "export.csv") -> Path:
        """Write rows, of which the first has the names of columns."""
        path = self.folder / name
        lines = ['"' + '","'.join(cell.replace('"', '""') for cell in row) + '"' for row in rows]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return path


def answers(table: Source, label: str | None = None) -> list[tuple[str, str, Any]]:
    """Return worker, task and label of the rows that have one."""
    roles = {**table.roles, "label": label or table.roles["label"]}
    assert all(isinstance(name, str) for name in roles.values()), roles
    columns = {role: column.data for role, column in table.columns(roles).items()}  # type: ignore[arg-type]
    listed = [data if isinstance(data, list) else data.to_pylist() for data in columns.values()]
    return [row for row in zip(*listed, strict=True) if row[2] not in (None, "", "NA")]


def count(rows: list[tuple[str, str, Any]]) -> tuple[int, ...]:
    """Count answers, workers, tasks and different labels."""
    return len(rows), *(len(set(column)) for column in zip(*rows, strict=True))
