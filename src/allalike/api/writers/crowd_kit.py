"""crowd-kit: labels, skills and probabilities, as its aggregators have them."""

from __future__ import annotations

import csv
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.system.formulas import guard_text
from allalike.api.writers.base import Findings, Writer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


__all__ = ["CrowdKitWriter"]


class CrowdKitWriter(Writer):
    r"""What crowd-kit's aggregators call ``labels_``, ``skills_`` and ``probas_``, as CSV files.

    >>> import tempfile, pathlib
    >>> from allalike.api.writers import Findings, Truth
    >>> found = Findings("categorical", lambda: iter([Truth("t1", "x", 0.9)]), ["ada"], [0.8])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     CrowdKitWriter().write(found, pathlib.Path(folder))
    ...     [pathlib.Path(folder, name).read_text() for name in ("labels.csv", "skills.csv")]
    ['task,agg_label\nt1,x\n', 'worker,skill\nada,0.8\n']
    """

    name: ClassVar[str] = "crowd-kit"
    summary: ClassVar[str] = "labels, skills and probabilities as crowd-kit's aggregators have them"
    kinds: ClassVar[tuple[str, ...]] = ("categorical", "real", "text")
    files: ClassVar[tuple[str, ...]] = ("labels.csv", "skills.csv", "probas.csv")

    def write(self, findings: Findings, folder: Path) -> None:
        """Write the labels of tasks, the skills of workers, and the probabilities of classes where they are known."""
        labels = ((truth.task, truth.label) for truth in findings.truths() if truth.label is not None)
        write = partial(_write, safe=findings.safe_csv)
        write(folder / "labels.csv", ("task", "agg_label"), labels)
        write(folder / "skills.csv", ("worker", "skill"), zip(findings.workers, findings.skills, strict=True))
        if findings.probabilities is not None:
            table = findings.probabilities()
            write(folder / "probas.csv", list(table.columns), table.itertuples(index=False, name=None))


def _write(path: Path, names: Sequence[Any], rows: Iterable[Sequence[Any]], *, safe: bool) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        for row in chain([names], rows):
            writer.writerow([guard_text(cell) if safe and isinstance(cell, str) else cell for cell in row])
