"""Inspect: logs of evaluations, in which scorers, or several models that grade, judge the answers of a model."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.formats.compression import ArchiveMembers
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.evaluations import Case, Evaluations, count_up
from allalike.readers.tools.trees import Node, parse_document, read_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

_VERSION = 2  # of logs, since their beginning in 2024
_HEADERS = ("header.json", "_journal/start.json")  # the latter is all that a run leaves that was killed
_SAMPLE = re.compile(r"samples/.+\.json")
_GRADES, _NO_ANSWER = {"C", "I", "P"}, "N"
_GRADER = "grader"


class Inspect(Tool):
    """Inspect's logs, as ``.eval`` or ``.json``.

    >>> panel = '{"value": "C", "metadata": {"panel": {"votes": ["C", "I"]}}}'
    >>> sample = '{"id": 7, "epoch": 1, "target": "4", "scores": {"model_graded_qa": %s}}' % panel
    >>> scorer = '{"name": "model_graded_qa", "options": {"model": ["a", "b"]}}'
    >>> task = '{"task": "sums", "model": "m", "scorers": [%s]}' % scorer
    >>> text = '{"version": 2, "status": "success", "eval": %s, "samples": [%s]}' % (task, sample)
    >>> Inspect().answers_in({"log.json": text})
    [('a', 7, 'C'), ('b', 7, 'I')]
    """

    name: ClassVar[str] = "inspect"
    title: ClassVar[str] = "Inspect"
    summary: ClassVar[str] = "logs of evaluations: verdicts of scorers and of panels of graders (.eval, JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether this is a log, or a folder of logs."""
        if peek.path.is_dir():
            return next(peek.path.glob("*.eval"), None) is not None
        if _is_archive(peek):
            return True
        log = peek.document if isinstance(peek.document, dict) else {}
        return {"version", "eval"} <= set(log) and isinstance(log["eval"], dict) and "task" in log["eval"]

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read verdicts of judges on answers, or answers of models to samples; ``sample`` is the epoch."""
        logs = [log for path in paths for log in (sorted(path.glob("*.eval")) if path.is_dir() else [path])]
        found = Evaluations(Collection(self, logs, files))
        for path in logs:
            _read(path, found)
        if {label for label in found.labels() if isinstance(label, str)} <= {*_GRADES, _NO_ANSWER}:
            found.leave_out(_NO_ANSWER, "cases without a verdict")
        return found.table()


def _is_archive(peek: Peek) -> bool:
    return peek.path.suffix.lower() == ".eval" or not set(_HEADERS).isdisjoint(peek.members)


def _read(path: Path, found: Evaluations) -> None:
    samples = _list_samples(path)
    header = next(samples)
    version = header["version"]
    if version.there and version.number() > _VERSION:
        raise InputError(
            f"{path} is a log of version {version.value}, and versions up to {_VERSION} can be read. Export the scores"
            " as a table, with a column for each of worker, task and label."
        )
    judges = _name_judges(header)
    model, suite = header["eval"]["model"].text(), header["eval"]["task"].text()
    for sample in samples:
        epoch = sample["epoch"].number() if sample["epoch"].there else 1
        _read_sample(sample, Case(model, sample["id"].id(), suite, int(epoch)), judges, found)


def _list_samples(path: Path) -> Iterator[Node]:
    """Yield the header of a log, and then its samples one by one."""
    if not _is_archive(Peek(path)):
        log = read_document(path)
        yield log
        yield from log["samples"].items()
        return
    with ArchiveMembers(path) as members:
        names = set(members.names)
        header = next((name for name in _HEADERS if name in names), None)
        if header is None:
            raise InputError(f"{path} is no log of Inspect: there is no {_HEADERS[0]} in it.")
        for name in [header, *filter(_SAMPLE.fullmatch, members.names)]:
            yield parse_document(members.read(name), f"{path}: {name}")


def _read_sample(sample: Node, case: Case, judges: dict[str, list[str]], found: Evaluations) -> None:
    scores = sample["scores"].fields()
    if not scores:
        found.collection.leave_out("samples without a score")
    for scorer, score in scores.items():
        names = judges.get(scorer, [scorer])
        votes = _votes(score)
        if votes is None:
            lost = len(names) > 1
            found.collection.leave_out("panels that kept no verdict of their graders but the common one", int(lost))
            _judge(score["value"], case, scorer if lost else names[0], found)
        else:
            told = [judge.text() for judge in score["metadata"]["panel"]["judges"].items()] or names
            told = told if len(told) == len(votes) else [f"{scorer} {place}" for place in range(1, len(votes) + 1)]
            for judge, vote in zip(told, votes, strict=True):
                _judge(vote, case, judge, found)
    answer = next((score["answer"] for score in scores.values() if score["answer"].there), None)
    if answer is not None:
        found.answer(case, answer.text(), _known(sample["target"]))


def _votes(score: Node) -> list[Node] | None:
    """Return what each of a panel said, if a score keeps it."""
    metadata = score.raw("metadata")
    panel = metadata.get("panel") if isinstance(metadata, dict) else None
    if not isinstance(panel, dict) or not isinstance(panel.get("votes"), list):
        return None
    return score["metadata"]["panel"]["votes"].items()


def _judge(value: Node, case: Case, judge: str, found: Evaluations) -> None:
    """Add a verdict, or one for each aspect where a score has several."""
    if isinstance(value.value, dict):
        for aspect, part in value.fields().items():
            found.judge(case, judge, part.scalar() if part.there else None, aspect)
    elif isinstance(value.value, list):
        for place, part in enumerate(value.items(), start=1):
            found.judge(case, judge, part.scalar() if part.there else None, str(place))
    else:
        found.judge(case, judge, value.scalar() if value.there else None)


def _known(target: Node) -> Any:
    """Return the target, if it is one text."""
    value = target.value
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, str) else None


def _name_judges(header: Node) -> dict[str, list[str]]:
    """Return the judges behind each scorer: the models that grade, or the scorer itself."""
    graders: dict[str, list[str]] = {}
    for score in [*header["eval"]["scorers"].items(), *header["results"]["scores"].items()]:
        options = score.first("params", "options")
        graders[score["name"].text().rpartition("/")[2]] = _models(options["model"]) or _models_of_role(
            header, score, options
        )
    counts = Counter(name for names in graders.values() for name in set(names))
    return {
        scorer: count_up(name if counts[name] == 1 else f"{scorer} {name}" for name in names) or [scorer]
        for scorer, names in graders.items()
    }


def _models_of_role(header: Node, score: Node, options: Node) -> list[str]:
    """Return the models that have the role of a grader, if this scorer lets a model grade."""
    if "model_graded" not in score["name"].text():
        return []
    role = options["model_role"].value
    return _models(header["eval"]["model_roles"][role if isinstance(role, str) else _GRADER])


def _models(given: Node) -> list[str]:
    """Return the names of models, which are given as such, as objects, or as a list of either."""
    if isinstance(given.value, list):
        return [name for item in given.items() for name in _models(item)]
    if isinstance(given.value, dict):
        return _models(given["model"])
    return [given.text()] if given.there else []
