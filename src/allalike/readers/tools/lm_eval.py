"""lm-evaluation-harness: models' answers to tasks, a folder for each model."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.evaluations import Case, Evaluations
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["LMEval"]

_FILE = re.compile(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl?(\.gz)?", re.IGNORECASE)
_NOT_FOUND = "[invalid]"  # what a filter gives where it finds no answer
_MUTUAL = "acc_mutual_info"
_USUAL_FILTERS = ("none", "")


class LMEval(Tool):
    """lm-evaluation-harness' ``samples_*.jsonl``, as ``--log_samples`` writes them.

    >>> sample = '{"doc_id": 0, "target": "1", "resps": [], "filtered_resps": %s, "metrics": []}'
    >>> likelihoods = {"a": '[["-3.5", "False"], ["-0.5", "True"]]', "b": '[["-1.2", "True"], ["-2.4", "False"]]'}
    >>> LMEval().answers_in({f"{model}/samples_arc.jsonl": sample % text for model, text in likelihoods.items()})
    [('a', 0, 1), ('b', 0, 0)]
    """

    name: ClassVar[str] = "lm-eval"
    title: ClassVar[str] = "lm-evaluation-harness"
    summary: ClassVar[str] = "answers of models, logged with --log_samples, a folder for each model (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether samples have a document, responses and filtered ones."""
        return any({"doc_id", "resps", "filtered_resps"} <= set(record) for record in peek.records)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read what models answered, with the target as ``gold``, or the metrics that they got."""
        found = Evaluations(Collection(self, paths, files))
        records = {path: read_records(path) for path in paths}
        filters = {_filter(record) for those in records.values() for record in those}
        for path, those in records.items():
            model, suite = _model(path, paths, found), _suite(path)
            for record in those:
                aspect = _filter(record) if len(filters) > 1 else ""
                _read(record, Case(model, record["doc_id"].id(), suite), aspect, found)
        return found.table()


def _suite(path: Path) -> str:
    match = _FILE.fullmatch(path.name)
    return match[1] if match else ""


def _model(path: Path, paths: Sequence[Path], found: Evaluations) -> str:
    """Return whose file this is: its folder's, or its own where one folder has a task twice."""
    twice = len({(other.absolute().parent, _suite(other)) for other in paths}) < len(paths)
    if twice or found.collection.files.worker_from == "filename":
        return found.collection.worker_of(path)
    return path.absolute().parent.name


def _filter(record: Node) -> str:
    name = record["filter"].value
    return name if isinstance(name, str) and name not in _USUAL_FILTERS else ""


def _read(record: Node, case: Case, aspect: str, found: Evaluations) -> None:
    responses = record["filtered_resps"].items()
    target = record["target"].value
    if len(responses) > 1 and all(map(_is_likelihood, responses)):
        found.answer(case, _choose(responses, record), _place(target, record), aspect)
    elif len(responses) == 1 and not _is_likelihood(responses[0]):
        _read_texts(responses[0], case, target if isinstance(target, str) else None, aspect, found)
    for metric in record["metrics"].items():
        value = record[metric.text()].value
        if isinstance(value, int | float):  # other metrics are of all samples together
            found.judge(case, "", value, f"{metric.text()} {aspect}".strip())


def _is_likelihood(response: Node) -> bool:
    """Tell whether a response is a log likelihood, and whether it is the first guess."""
    pair = response.value
    return isinstance(pair, list) and len(pair) == 2 and str(pair[1]).lower() in ("true", "false")


def _choose(responses: list[Node], record: Node) -> int:
    """Return the place of the most likely choice; without its question, each choice comes again in the second half."""
    again = _MUTUAL in (metric.value for metric in record["metrics"].items())
    some = responses[: len(responses) // 2] if again else responses
    likelihoods = [_number(response.items()[0]) for response in some]
    return likelihoods.index(max(likelihoods))


def _number(value: Node) -> float:
    """Return a number, which may be written as a text."""
    try:
        return float(value.scalar())
    except ValueError:
        raise value.refused("a number") from None


def _place(target: Any, record: Node) -> int | None:
    """Return the place of the right choice, which is written as a text: the place itself, or what is said there."""
    if re.fullmatch(r"\d{1,9}", str(target)):
        return int(target)
    arguments = record.raw("arguments")
    given = arguments.values() if isinstance(arguments, dict) else ()
    said = [str(each.get("arg_1", "")).strip() for each in given if isinstance(each, dict)]
    return said.index(str(target).strip()) if str(target).strip() in said else None


def _read_texts(response: Node, case: Case, known: str | None, aspect: str, found: Evaluations) -> None:
    """Read answers in words, of which there may be several samples."""
    texts = response.items() if isinstance(response.value, list) else [response]
    for sample, text in enumerate(texts, start=1):
        said = text.text().strip() if text.there else ""
        if said in ("", _NOT_FOUND):
            found.collection.leave_out("responses without an answer")
        else:
            found.answer(replace(case, sample=sample), said, known, aspect)
