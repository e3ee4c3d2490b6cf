"""Writer: a form in which another tool takes a result, and what of the result there is to be written."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from allalike.errors import UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import pandas as pd

__all__ = ["Findings", "Truth", "Writer"]


class Truth(NamedTuple):
    """What was found for a task: the label, or nothing, and how sure it is, if that is known."""

    task: Any
    label: Any
    confidence: float | None


@dataclass(frozen=True)
class Findings:
    """What of a result there is to be written.

    Parameters
    ----------
    domain
        The name of the kind of labels.
    truths
        Yields what was found for the tasks, in their order.
    workers
        The ids of the workers.
    skills
        How good each of them is, the higher the better.
    probabilities
        Returns how probable each class is for each task, where that is known.
    inputs
        The files that the answers were read from, if there are any.
    model
        What to call the program that found it.
    safe_csv
        Whether cells of text must not look like formulas (`allalike._core.system.formulas`).
    """

    domain: str
    truths: Callable[[], Iterator[Truth]]
    workers: Sequence[Any] = ()
    skills: Sequence[float] = ()
    probabilities: Callable[[], pd.DataFrame] | None = None
    inputs: tuple[Path, ...] = ()
    model: str = "allalike"
    safe_csv: bool = False


class Writer(ABC):
    """A form in which another tool takes a result: some files in a folder that is called like the writer.

    >>> from allalike.api.writers import WRITERS
    >>> list(WRITERS)
    ['label-studio', 'coco', 'crowd-kit']
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    files: ClassVar[tuple[str, ...]]

    def check(self, domain: str) -> None:
        """Refuse labels that the tool has no form for, by the name of their kind.

        >>> from allalike.api.writers import CocoWriter
        >>> CocoWriter().check("real")
        Traceback (most recent call last):
        allalike.errors.UnsupportedError: Labels of the kind real cannot be written for coco. It takes: bitmap.
        """
        if domain not in self.kinds:
            raise UnsupportedError(
                f"Labels of the kind {domain} cannot be written for {self.name}. It takes: {', '.join(self.kinds)}."
            )

    @abstractmethod
    def write(self, findings: Findings, folder: Path) -> None:
        """Write the files into a folder."""
