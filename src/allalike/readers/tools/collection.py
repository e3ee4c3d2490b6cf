"""Collections: answers as they are found in an export, with all that was left out of it.

Where annotators have files of their own, the place of a file says whose it is, and which document it is about.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from allalike._core.registry import did_you_mean
from allalike.answers.gold import match_truths
from allalike.errors import InputError, Proposal
from allalike.readers.formats.tables import Table, of_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.tools.base import Tool

REGIONS = ("boxes", "ellipses", "points", "polygons", "spans", "unknown regions")
KNOWN = object()  # who said what a tool marks as truth, where that is gold, and no answer
_MAX_LISTED = 12
_ENDING = re.compile(r"(\.[a-z][a-z0-9]{1,9})?(\.(gz|bz2|xz|zst|zip))?$", re.IGNORECASE)


@dataclass
class Collection:
    """The answers of an export, by the question that they answer.

    A label that is a tuple holds what was chosen: labels are classes if everybody chose one, and sets otherwise.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
    >>> from allalike.readers.tools import TOOLS
    >>> found = Collection(TOOLS["doccano"](), [Path("all.jsonl")], Files())
    >>> found.add(1, "doc 7", ("sad",))
    >>> found.leave_out("skipped documents")
    >>> found.table().load(["label"]), found.table().remarks
    ({'label': ['sad']}, ('Left out: 1 skipped documents.',))
    """

    tool: Tool
    paths: Sequence[Path]
    files: Files
    questions: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    kinds: dict[str, str] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)
    empty: list[tuple[Any, Any, str]] = field(default_factory=list)
    _places: dict[Path, tuple[str, str]] = field(default_factory=dict)

    def add(self, worker: Any, task: Any, label: Any, *, question: str = "", kind: str = "", **more: Any) -> None:
        """Add an answer to a question; ``more`` are further columns, such as a known truth.

        An empty one says that nothing is there if answers to this question are regions, and is none otherwise.
        """
        if label is None or (isinstance(label, str | tuple | list) and not label):
            self.empty.append((worker, task, question))
            return
        self.kinds.setdefault(question, kind)
        answer = {"worker": worker, "task": task, "label": label, **more}
        self.questions.setdefault(question, []).append(answer)

    def leave_out(self, what: str, number: int = 1) -> None:
        """Count what is no answer."""
        if number:
            self.left_out[what] += number

    def worker_of(self, path: Path) -> str:
        """Return the worker who has this file for herself."""
        return self.place_of(path)[0]

    def place_of(self, path: Path) -> tuple[str, str]:
        """Return whose file this is, and which of her documents."""
        if not self._places:
            self._places = place_files(self.paths, by_name=self.files.worker_from == "filename")
        return self._places[path]

    @property
    def where(self) -> str:
        """The files and the tool, for messages."""
        more = f" and {len(self.paths) - 1} more" if len(self.paths) > 1 else ""
        return f"{self.paths[0]}{more}, of {self.tool.title}"

    def table(self) -> Table:
        """Return the answers to the question that was asked for, or to the only one, as a table."""
        if not self.questions:
            counted = f": {self._counted()}" if self.left_out else ""
            raise InputError(f"{self.where}, holds no answers{counted}.")
        name = self._chosen()
        self._finish_empty(name)
        answers = _set_apart(self.questions[name])
        if not answers:
            raise InputError(f"{self.where}, holds no answers beside those that are marked as truths.")
        workers, tasks = ({answer[role] for answer in answers} for role in ("worker", "task"))
        about = f"{self.where} ({len(answers):,} answers of {len(workers):,} workers to {len(tasks):,} tasks)"
        known = not self.files.golden and any(answer.get("gold") is not None for answer in answers)
        told = ["Known truths are in the column gold; they count only with gold='export'."] if known else []
        remarks = [*self.remarks, *told, *([f"Left out: {self._counted()}."] if self.left_out else [])]
        if len(self.questions) > 1:
            others = ", ".join(sorted(set(self.questions) - {name}))
            remarks.append(f"Read: the answers to {name!r}. The file also has answers to {others}.")
        return replace(
            of_records(answers, about),
            roles={"worker": "worker", "task": "task", "label": "label"},
            guessed={"tool": self.tool.name, **({"tag": name} if name and name != self.files.tag else {})},
            remarks=tuple(remarks),
            samples=[name for name in ("sample", "order") if len({answer.get(name) for answer in answers}) > 1],
            truths={"label": "gold"} if any("gold" in answer for answer in answers) else {},
        )

    def _finish_empty(self, name: str) -> None:
        """Take empty answers for regions that are not there, or for none."""
        for worker, task, question in self.empty:
            if question == name and self.kinds[name] in REGIONS:
                self.questions[name].append({"worker": worker, "task": task, "label": []})
            elif question == name:
                self.leave_out(f"annotations without an answer to {name!r}" if name else "empty answers")
        self.empty = [entry for entry in self.empty if entry[2] != name]

    def _chosen(self) -> str:
        """Return the name of the question to read, or ask which."""
        names, tag = list(self.questions), self.files.tag
        if tag is not None and (match := {name.casefold(): name for name in names}.get(tag.casefold())):
            return match
        if tag is not None and names == [""]:
            raise InputError(f"{self.where}, has one question only, and none is called {tag!r}. Ask without a tag.")
        if tag is not None:
            raise InputError(
                f"{self.where}, has no question {tag!r}.{did_you_mean(tag, names)} It has: {self._listed()}."
            )
        if len(names) == 1:
            return names[0]
        best = sorted(names, key=lambda name: (self.kinds[name] in REGIONS, -len(self.questions[name]), name))
        raise InputError(
            f"{self.where}, has {len(names)} questions: {self._listed()}. Which is it?",
            proposals=[Proposal({"tag": name}) for name in best],
        )

    def _listed(self) -> str:
        names = sorted(self.questions, key=lambda name: (-len(self.questions[name]), name))
        listed = [
            f"{name!r} ({self.kinds[name]}, {len(self.questions[name]):,} answers)" for name in names[:_MAX_LISTED]
        ]
        more = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
        return ", ".join(listed) + more

    def _counted(self) -> str:
        return ", ".join(f"{number:,} {what}" for what, number in sorted(self.left_out.items()))


def _set_apart(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Finish answers, and put what is known of their tasks beside them, which is no answer."""
    pairs = list(zip([answer["worker"] is KNOWN for answer in answers], _finish(answers), strict=True))
    known = match_truths((said["task"], said["label"]) for marked, said in pairs if marked)
    return [{**said, **({"gold": known.get(said["task"])} if known else {})} for marked, said in pairs if not marked]


def _finish(answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Make choices classes or sets, and ids of one type."""
    chosen = [answer["label"] for answer in answers if isinstance(answer["label"], tuple)]
    single = all(len(set(label)) == 1 for label in chosen)
    as_text = {
        role: len({type(answer[role]) for answer in answers if answer[role] is not KNOWN}) > 1
        for role in ("worker", "task")
    }  # a model's name among the numbers of people
    words = single and len({type(label[0]) for label in chosen}) > 1

    def label_of(label: Any) -> Any:
        if not isinstance(label, tuple):
            return label
        return (str(label[0]) if words else label[0]) if single else frozenset(map(str, label))

    return [
        {
            **answer,
            **{role: str(answer[role]) for role, mixed in as_text.items() if mixed},
            "label": label_of(answer["label"]),
        }
        for answer in answers
    ]


def place_files(paths: Sequence[Path], *, by_name: bool = False) -> dict[Path, tuple[str, str]]:
    """Return worker and document of each file: the worker is its name if all names differ, and else its folder.

    >>> from pathlib import Path
    >>> list(place_files([Path("ada.json"), Path("bob.json")]).values())
    [('ada', ''), ('bob', '')]
    >>> list(place_files([Path("ada/1.json"), Path("ada/2.json"), Path("bob/1.json")]).values())
    [('ada', '1'), ('ada', '2'), ('bob', '1')]
    >>> list(place_files([Path("1/ada.json"), Path("1/bob.json"), Path("2/ada.json")], by_name=True).values())
    [('ada', '1'), ('bob', '1'), ('ada', '2')]
    """
    names = {_name(path) for path in paths}
    if len(paths) == 1 or len(names) == len(paths) or (by_name and len(names) > 1):
        shared = _shared(paths)
        folders = ["/".join(_folder(path)[shared:]) if len(names) < len(paths) else "" for path in paths]
        return {path: (_name(path), folder) for path, folder in zip(paths, folders, strict=True)}
    return place_in_folders(paths)


def place_in_folders(paths: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """Return worker and document of each file: the worker is the first folder that is not everybody's.

    >>> from pathlib import Path
    >>> list(place_in_folders([Path("ada/new/1.ann"), Path("bob/new/1.ann")]).values())
    [('ada', 'new/1'), ('bob', 'new/1')]
    """
    shared = _shared(paths)
    places = {}
    for path in paths:
        folder = _folder(path)
        owner = folder[shared] if len(folder) > shared else folder[-1]
        places[path] = owner, "/".join([*folder[shared + 1 :], _name(path)])
    return places


def _folder(path: Path) -> tuple[str, ...]:
    return path.absolute().parent.parts


def _shared(paths: Sequence[Path]) -> int:
    """Count the folders, from the root, that all files have in common."""
    levels = zip(*map(_folder, paths), strict=False)
    return next(
        (depth for depth, level in enumerate(levels) if len(set(level)) > 1), min(map(len, map(_folder, paths)))
    )


def _name(path: Path) -> str:
    return _ENDING.sub("", path.name) or path.name
