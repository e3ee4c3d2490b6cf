"""alpaca_eval: which of two outputs annotators prefer."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["AlpacaEval"]

_ASKED = ("instruction", "input", "generator_1", "generator_2", "output_1", "output_2")
_WORKER = ("annotator_index", "annotator")
_TIES = (0, 1.5)


class AlpacaEval(Tool):
    r"""alpaca_eval's ``annotations.json``.

    >>> pair = '{"instruction": "Greet.", "output_1": "Hi!", "output_2": "Go.", "annotator": "%s", "preference": %d}'
    >>> AlpacaEval().answers_in({"annotations.jsonl": "\n".join([pair % ("gpt-4", 1), pair % ("claude", 2)])})
    [('gpt-4', 'Greet.', 1), ('claude', 'Greet.', 2)]
    """

    name: ClassVar[str] = "alpaca_eval"
    title: ClassVar[str] = "alpaca_eval"
    summary: ClassVar[str] = "preferences of annotators between two outputs (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether records have an instruction, two outputs and a preference."""
        return any({"instruction", "preference", "output_1", "output_2"} <= set(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read the preferences: 1 for the first output, 2 for the second, 1.5 for neither."""
        found = Collection(self, paths, files)
        rows = [(path, record) for path in paths for record in read_records(path)]
        tasks = _tasks([record for _, record in rows])
        for (path, record), task in zip(rows, tasks, strict=True):
            who = record.first(*_WORKER)
            by_file = files.worker_from == "filename" or not who.there
            preference = record["preference"]
            label: Any = preference.number() if preference.there else None
            if label is not None:
                label = 1.5 if label in _TIES else int(label) if label == int(label) else label
            found.add(found.worker_of(path) if by_file else who.id(), task, label)
        return found.table()


def _tasks(records: list[Node]) -> list[str]:
    """Name what was compared: by the instruction, and by a hash of the rest where that says too little."""
    asked = [tuple(record[key].value for key in _ASKED) for record in records]
    variants: defaultdict[Any, set[str]] = defaultdict(set)
    for pair in asked:
        variants[repr(pair[0])].add(repr(pair))
    names = []
    for record, pair in zip(records, asked, strict=True):
        text = record["instruction"].text()
        several = len(variants[repr(pair[0])]) > 1
        names.append(f"{text} #{blake2b(repr(pair).encode(), digest_size=4).hexdigest()}" if several else text)
    return names
