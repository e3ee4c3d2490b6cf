"""Amazon Mechanical Turk: which assignments of a batch to approve and which to reject, to be uploaded."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, ClassVar

from allalike._core.system.formulas import guard_text
from allalike.api.writers.base import Findings, Writer, find_exports
from allalike.errors import UnsupportedError
from allalike.readers.tools.sheets import find_name
from allalike.readers.tools.trees import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["MTurkWriter"]

_DECISIONS = ("Approve", "Reject")
_WAITING = ("submitted", "")  # the status of an assignment that nobody has decided on
_REASONS = {  # what a worker reads, which names nobody else, by how the reason begins for which she is flagged
    "always": "All of your answers are the same, whatever was asked.",
    "no signal": "Your answers agree with those of other workers no more often than by chance.",
    "copies": "Your answers repeat those of another worker.",
}


class MTurkWriter(Writer):
    """A batch as it was downloaded, with a decision on each assignment that waits for one.

    Rejected are the assignments of workers who are flagged ``block``, as the block list has them, with the reason in
    the column ``Reject``; all others have an ``x`` in the column ``Approve``. An assignment that was approved or
    rejected before, or has something in one of these columns, stays as it is.

    >>> MTurkWriter().check("categorical")
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: What is found is written for mturk into Batch_..._batch_results.csv, and the ...
    """

    name: ClassVar[str] = "mturk"
    summary: ClassVar[str] = "the batch with the columns Approve and Reject, by whom the block list names (CSV)"
    kinds: ClassVar[tuple[str, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ("*.csv",)
    into: ClassVar[str] = "Batch_..._batch_results.csv"

    def check(self, domain: str | None, inputs: Sequence[Path] = ()) -> None:
        """Refuse also batches in which nothing waits for a decision."""
        super().check(domain, inputs)
        paths = find_exports(self.name, inputs)
        if not any(_review(path, {})[1] for path in paths):
            raise UnsupportedError(
                f"No assignment in {paths[0]} waits for a decision: all were approved or rejected before."
            )

    def write(self, findings: Findings, folder: Path) -> None:
        """Write each batch under its own name."""
        blocked = {str(worker): reasons for worker, reasons in findings.blocked.items()}
        for path in find_exports(self.name, findings.inputs):
            if (folder / path.name).exists():
                raise UnsupportedError(f"Two batches are called {path.name}. Rename one of them.")
            with (folder / path.name).open("w", encoding="utf-8", newline="") as file:
                rows = (
                    [guard_text(cell) if findings.safe_csv else cell for cell in row]
                    for row in _review(path, blocked)[0]
                )
                csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)


def _review(path: Path, blocked: Mapping[str, Sequence[str]]) -> tuple[list[list[str]], int]:
    """Return the rows of a batch, heads first, with a decision on each that waits for one, and how many these are."""
    try:
        head, *rows = [row for row in csv.reader(io.StringIO(read_text(path), newline="")) if row]
    except csv.Error as error:
        raise UnsupportedError(f"{path} cannot be written for mturk: {error}.") from error
    names = [*head, *(name for name in _DECISIONS if find_name(head, name) is None)]
    worker, approve, reject = (names.index(str(find_name(names, name))) for name in ("WorkerId", *_DECISIONS))
    status, decided = find_name(names, "AssignmentStatus"), 0
    for row in rows:
        row += [""] * (len(names) - len(row))
        done = status is not None and row[names.index(status)].strip().casefold() not in _WAITING
        if not (done or row[approve].strip() or row[reject].strip()):
            reasons, decided = blocked.get(row[worker]), decided + 1
            why = [said for start, said in _REASONS.items() if any(each.startswith(start) for each in reasons or ())]
            row[approve], row[reject] = ("x", "") if reasons is None else ("", " ".join(why))
    return [names, *rows], decided
