"""Mechanical Turk: the batch with decisions on assignments."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.late import pd
from allalike._core.system.tables import guard_text
from allalike.errors import UnsupportedError
from allalike.readers.formats.encodings import read_text
from allalike.readers.tools.sheets import find_name
from allalike.result.writers.base import Findings, Writer, find_exports

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_WAITING = ("submitted", "")  # the status of an undecided assignment
_REASON = "All of your answers are the same, whatever was asked."  # for a worker who is rejected


class MTurkWriter(Writer):
    """A batch as it was downloaded, with a decision on assignments that wait for one, to be uploaded.

    Workers who always give the same answer are rejected, with the reason in the column ``Reject``. Others of the block
    list, whose answers repeat or do not fit those of other workers, stay undecided: a person must look at them, because
    a crowd may be wrong about somebody. All others have an ``x`` in the column ``Approve``. An assignment that was
    approved or rejected before, or has an entry in one of these columns, stays as it is.

    >>> MTurkWriter().check("categorical")
    Traceback (most recent call last):
    allalike.errors.UnsupportedError: The result for mturk is written into Batch_..._batch_results.csv, and the ...
    """

    name: ClassVar[str] = "mturk"
    summary: ClassVar[str] = "the batch with the columns Approve and Reject; whom to look at is left open (CSV)"
    kinds: ClassVar[tuple[str, ...]] = ()
    files: ClassVar[tuple[str, ...]] = ("*.csv",)
    into: ClassVar[str] = "Batch_..._batch_results.csv"

    def write(self, findings: Findings, folder: Path) -> None:
        """Write each batch under its own name."""
        for path in find_exports(self.name, findings.inputs):
            if (folder / path.name).exists():
                raise UnsupportedError(f"Two batches are called {path.name}. Rename one of them.")
            table = pd.read_csv(io.StringIO(read_text(path)), dtype=str, keep_default_na=False).fillna("")
            table = _decide(table, findings.blocked)
            if findings.safe_csv:
                table = table.map(guard_text).rename(columns=guard_text)
            table.to_csv(folder / path.name, index=False, lineterminator="\n")


def _decide(batch: Any, blocked: Mapping[Any, Sequence[str]]) -> Any:
    """Return a batch with a decision on each assignment that waits for one."""
    names = list(batch.columns)
    worker, status, approve, reject = (
        find_name(names, name) or name for name in ("WorkerId", "AssignmentStatus", "Approve", "Reject")
    )
    batch = batch.reindex(columns=list(dict.fromkeys([*names, status, approve, reject])), fill_value="")
    decided = batch[[approve, reject]].map(str.strip).any(axis=1)
    waits = batch[status].str.strip().str.casefold().isin(_WAITING) & ~decided
    same = {str(each) for each, reasons in blocked.items() if any(why.startswith("always ") for why in reasons)}
    batch.loc[waits & batch[worker].isin(same), reject] = _REASON
    batch.loc[waits & ~batch[worker].isin(set(map(str, blocked))), approve] = "x"
    return batch
