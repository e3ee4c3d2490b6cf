"""Work: what is done in a process of its own, so that it can be ended at any time, and the page stays awake.

An order comes as a line of JSON on standard input, and what is said goes back as lines of JSON: how far it has come,
and at last what came of it. Standard input stays open as long as somebody waits; once it is closed, as it is when the
parent ends in whatever way, the process ends in the middle of its work.

A preview shows what `discover` would work on: the same reader, the same guesses, the same doubts. Where it asks a
question, its first rows are shown beside it, so that a person can answer.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any, get_type_hints

from allalike._core.system.progress import STAGES, report, watching
from allalike._core.words import count, write_options
from allalike.errors import (
    AllalikeError,
    ConvergenceWarning,
    DataNote,
    DataWarning,
    InputError,
    OptionError,
    Proposal,
    ReportWarning,
)
from allalike.readers import ReadOptions, Scan, scan
from allalike.readers.column_names import COLUMN
from allalike.readers.gold import is_written
from allalike.readers.proposals import asking, find_other_readings
from allalike.report.material import cut
from allalike.telling.answers import remark_answers, remark_doubts
from allalike.telling.commands import complete_words
from allalike.telling.summary import Summary
from allalike.telling.truths import list_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from allalike.readers.formats.tables import Table


# Choices: what a person says on the page about her answers, checked before anything is done with it.
#
# They are options of `allalike.read` and `allalike.discover`. Those that name files are not among them: whatever a page
# says, no file is read but those that were handed over.


_ROLES = {"columns": ("worker", "task", "label"), "gold_columns": ("task", "label")}
_OF_FOLDERS = ("layout",)  # a page hands over files, and no folders
_HINTS = get_type_hints(ReadOptions)
_TEXTS = ("domain", *(name for name in _HINTS if _HINTS[name] in (str, str | None) and name not in _OF_FOLDERS))
_LISTS = ("only", "skip", "na", "abstain", "levels")
_MAX_TEXT, _MAX_LIST = 10_000, 1000


@dataclass(frozen=True, kw_only=True)
class Choices:
    """What a person chose.

    >>> Choices.of({"domain": "real", "columns": {"task": "photo"}, "method": "UA"}).read
    {'columns': {'task': 'photo'}, 'domain': 'real'}
    >>> Choices.of({"levels": ["poor", "good"]}).read
    {'domain': 'ordinal(levels=["poor", "good"])'}
    """

    read: Mapping[str, Any] = field(default_factory=dict)
    rule: str = ""
    method: str = "auto"
    gold: str = ""
    gold_columns: Mapping[str, str] = field(default_factory=dict)
    gold_map: str = ""
    use_gold: bool = True
    force: bool = False

    @classmethod
    def of(cls, given: Any) -> Choices:
        """Check what came from a page; what is empty is not chosen.

        >>> Choices.of({"label_map": "/etc/passwd"})
        Traceback (most recent call last):
        allalike.errors.OptionError: The page asks for 'label_map', which cannot be chosen here.
        """
        if not isinstance(given, dict):
            raise OptionError("The choices of the page are no object of JSON.")
        empty: tuple[Any, ...] = (None, "", [], {}, False)
        chosen = {name: value for name, value in given.items() if value not in empty or name == "use_gold"}
        found = {name: _check(name, value) for name, value in chosen.items()}
        own = {each.name for each in fields(cls)} - {"read"}
        if levels := found.pop("levels", None):
            found["domain"] = f"ordinal(levels={json.dumps(levels, ensure_ascii=False)})"
        read = {name: found[name] for name in ("columns", *_TEXTS, *_LISTS) if name in found}
        return cls(read=read, **{name: value for name, value in found.items() if name in own})

    def name(self, paths: list[str]) -> Scan:
        """Name files with the way to read them."""
        return replace(scan(paths, **self.read), choices={"rule": self.rule} if self.rule else {})

    def name_gold(self, path: str | None) -> str | None:
        """Name the known truths: a file, a column of the answers, or none."""
        return f"column:{self.gold}" if self.gold else path

    def write_command(self, paths: Sequence[str], gold: str | None) -> tuple[str, ...]:
        """Return the words of the command that does the same; of files a page knows the names alone, and no folders.

        >>> Choices.of({"wide": "tasks", "method": "UA"}).write_command(["/tmp/1/a.csv"], None)
        ('discover', 'a.csv', '--wide', 'tasks', '--method', 'UA')
        """
        own = {"rule": self.rule, "method": "" if self.method == "auto" else self.method, "force": self.force}
        known: dict[str, Any] = {"gold": self.name_gold(gold and Path(gold).name)}
        known |= {"gold_columns": self.gold_columns, "gold_map": self.gold_map}
        settles = {name: value for name, value in {**self.read, **own, **known}.items() if value}
        settles |= {} if self.use_gold else {"use_gold": False}
        return tuple(complete_words(["discover", *(Path(path).name for path in paths)], settles))


def _check(name: str, value: Any) -> Any:
    if name in _ROLES:
        if isinstance(value, dict) and set(value) <= set(_ROLES[name]):
            return {role: _check_text(name, column) for role, column in value.items() if column != ""}
    elif name in _LISTS:
        listed = [value] if isinstance(value, str) else value
        if isinstance(listed, list) and len(listed) <= _MAX_LIST:
            return tuple(_check_text(name, each) for each in listed)
    elif name in (*_TEXTS, "rule", "method", "gold"):
        return _check_text(name, value)
    elif name == "gold_map":
        if is_written(value):
            return _check_text(name, value)
    elif name in ("force", "use_gold"):
        if isinstance(value, bool):
            return value
    else:
        raise OptionError(f"The page asks for {name!r}, which cannot be chosen here.")
    raise OptionError(f"{name} is {value!r}, which cannot be chosen here.")


def _check_text(name: str, value: Any) -> str:
    if not isinstance(value, str) or len(value) > _MAX_TEXT:
        raise OptionError(f"{name} is {str(value)[:80]!r}. It must be a text.")
    return value


_SECONDS_BETWEEN = 0.05  # signs of progress in the same stage
_ROWS, _COLUMNS, _NAMES, _CELL = 6, 40, 2000, 80


def perform(order: Mapping[str, Any]) -> dict[str, Any]:
    """Do what is ordered, and return what came of it, or what is wrong.

    >>> perform({"do": "preview", "files": ["nowhere.csv"], "gold": None, "choices": {}})["question"]["what"]
    'There is no file nowhere.csv.'
    """
    try:
        return _ORDERS[order["do"]](order)
    except DataWarning as doubt:
        return {"error": _say(str(doubt.args[0]), *doubt.proposals, Proposal({"force": True}))}
    except AllalikeError as error:
        return {"error": describe_error(error)}
    except MemoryError:
        return {"error": _say("There is not enough memory for this.")}
    except Exception as error:
        if os.environ.get("ALLALIKE_DEBUG"):
            raise
        return {"error": _say(f"Something unexpected happened: {type(error).__name__}: {error}.")}


def _preview(order: Mapping[str, Any]) -> dict[str, Any]:
    report("reading")
    return preview(order["files"], order["gold"], Choices.of(order["choices"]))


def _run(order: Mapping[str, Any]) -> dict[str, Any]:
    """Find the truths, and write them with their page."""
    from allalike.api.discover import discover

    choices = Choices.of(order["choices"])
    with warnings.catch_warnings(record=True) as caught:
        for kind in (ConvergenceWarning, ReportWarning):
            warnings.simplefilter("always", kind)
        warnings.simplefilter("ignore" if choices.force else "error", DataWarning)
        warnings.simplefilter("ignore", DataNote)
        source, gold = choices.name(order["files"]), choices.name_gold(order["gold"])
        columns, meant, use = choices.gold_columns or None, choices.gold_map or None, choices.use_gold
        result = discover(source, method=choices.method, gold=gold, gold_columns=columns, gold_map=meant, use_gold=use)
        result = replace(result, command=choices.write_command(order["files"], order["gold"]))
        report("saving")
        result.save(order["folder"], report=True)
    doubts = remark_doubts(Summary.from_dict(result.summary))
    return {"notes": [*(_name_options(doubt.sentence) for doubt in doubts), *(str(each.message) for each in caught)]}


def _revisit(order: Mapping[str, Any]) -> dict[str, Any]:
    """Write the page of a result that has none."""
    from allalike.api.update import load

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all of it was said when the result was found
        result = load(order["folder"])
    report("saving")
    result.report(Path(order["page"]))
    return {"notes": []}


_ORDERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "preview": _preview,
    "run": _run,
    "revisit": _revisit,
}


def preview(files: Sequence[str], gold: str | None, choices: Choices) -> dict[str, Any]:
    r"""Read files as they are chosen to be read; say what was found, guessed and doubted, or what is to be answered.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.csv")
    ...     _ = path.write_text("annotator,task,label\nada,1,x\nbob,1,x\n", encoding="utf-8")
    ...     found = preview([str(path)], None, Choices())
    >>> found["facts"], found["picked"]["worker"], found["rows"][0]
    (['2 answers', '2 workers', '1 task', 'categorical labels of 1 class'], 'annotator', ['ada', '1', 'x'])
    """
    found: dict[str, Any] = {}
    try:
        source = choices.name(list(files))
        with asking(source):
            table = source.table()
            found |= _show(table)
            if source.wide is None and "wide" not in table.guessed:
                found["picked"] = source.pick(table)[0]
        found |= _read(source, choices.name_gold(gold), choices)
    except AllalikeError as error:
        found["question"] = describe_error(error)
    return found


def describe_error(error: AllalikeError) -> dict[str, Any]:
    """Return what an error says, what was seen, and which choices would settle it.

    >>> describe_error(InputError("Numbers or classes?", domain="real"))
    {'what': 'Numbers or classes?', 'lines': [], 'proposals': [{'settles': {'domain': 'real'}, 'gives': ''}]}
    """
    if not isinstance(error, InputError):
        return _say(_name_options(str(error)))
    return {**_say(_name_options(str(error.args[0])), *error.proposals), "lines": list(error.lines)}


def _say(what: str, *proposals: Proposal) -> dict[str, Any]:
    """Return what is wrong, and what would settle it."""
    offered = [{"settles": _name_column(each.settles), "gives": each.gives} for each in proposals if not each.files]
    return {"what": what, "lines": [], "proposals": offered}


def _name_column(settles: Mapping[str, Any]) -> dict[str, Any]:
    """Return options as the page chooses them: gold labels are a column's name alone."""
    gold = {"gold": settles["gold"].removeprefix(COLUMN)} if "gold" in settles else {}
    return {**settles, **gold}


def _name_options(sentence: str) -> str:
    """Name the options of a sentence of the library as the page does."""
    return write_options(sentence, lambda name, value: f"{name} = {value}" if value else name)


def _show(table: Table) -> dict[str, Any]:
    """Return the names of columns, and the first rows of some of them."""
    names = table.names[:_COLUMNS]
    sample = {name: _cells(data) for name, data in table.sample(_ROWS, names).items()}
    rows = [[sample[name][row] for name in names] for row in range(min(map(len, sample.values()), default=0))]
    return {"columns": table.names[:_NAMES], "rows": rows, "left_out": len(table.names) - len(names)}


def _cells(data: Any) -> list[str]:
    values = data.to_pylist() if hasattr(data, "to_pylist") else list(data)
    return [cut("" if value is None else str(value), _CELL) for value in values[:_ROWS]]


def _read(source: Scan, gold: str | None, choices: Choices) -> dict[str, Any]:
    """Read all answers, and wonder about them."""
    from allalike._core.blocks.block import Ties
    from allalike.api.discover import open_run
    from allalike.checks import check_answers
    from allalike.methods import METHODS
    from allalike.result.inputs.opening import open_source
    from allalike.result.summaries import describe_answers

    answers, known = open_source(source, gold, choices.gold_columns or None, choices.gold_map or None)
    _, run = open_run(answers, known, engine=None, ties=Ties())
    issues = check_answers(run, known)
    described = {**describe_answers(run), "domain": run.encoding.describe(), **run.notes}
    summary = Summary.from_dict({**described, "warnings": [issue.text for issue in issues if not issue.severe]})
    return {
        "facts": [*list_facts(summary), *([count(run.n_gold, "known truth")] if run.n_gold else [])],
        "domain": run.domain.name,
        "rule": str(run.domain.rule),
        "rules": [rule.name for rule in run.domain.rules],
        "methods": [name for name, method in METHODS.items() if method().serves(run.encoding)],
        "notes": [*(_name_options(remark.sentence) for remark in remark_answers(summary)), *summary.remarks],
        "doubts": [_name_options(remark.sentence) for remark in remark_doubts(summary)],
        "stops": [_name_options(issue.text) for issue in issues if issue.severe],
        "instead": _offer_instead(source) if any(issue.severe for issue in issues) else None,
    }


def _offer_instead(source: Scan) -> dict[str, Any] | None:
    """Say in which other ways answers can be read."""
    others = [each for each in find_other_readings(source) if not each.files]
    return _say("These answers can be read otherwise.", *others) if others else None


class _Watcher:
    """Who tells how far the work has come, not too often."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send, self._stage, self._time = send, "", 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = monotonic()
        if stage != self._stage or now - self._time > _SECONDS_BETWEEN:
            self._stage, self._time = stage, now
            self._send({"stage": STAGES.get(stage, stage), "round": stage == "round", "done": done, "total": total})


def main() -> None:
    """Do the work that is ordered on standard input; no longer than that is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's to say what an interrupt ends
    back = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is printed here must not get among what is said
    order = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with_parent, daemon=True).start()

    def send(**said: Any) -> None:
        back.write(json.dumps(said) + "\n")
        back.flush()

    watcher = _Watcher(lambda progress: send(progress=progress))
    with watching(watcher):
        send(outcome=perform(order))


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
