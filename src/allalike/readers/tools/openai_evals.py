"""OpenAI Evals: events of a run, with matches of answers, or choices of a model that grades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.errors import InputError
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.evaluations import Case, Evaluations
from allalike.readers.tools.trees import Node, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["OpenAIEvals"]

_INVALID = "__invalid__"  # a choice that could not be read
_CHOICE = "choice"
_META = "metascore"  # whether the choice is the known one; once behind the name of a metric
_SCORE = "score"  # what the choice is worth
_VERDICTS = {True: "correct", False: "incorrect"}


class OpenAIEvals(Tool):
    r"""OpenAI Evals' logs of events, as JSONL.

    >>> spec = '{"spec": {"completion_fns": ["%s"], "eval_name": "sums.dev.v0"}}'
    >>> event = '{"sample_id": "sums.dev.1", "type": "match", "data": {"correct": %s}}'
    >>> logs = {"gpt-4": "true", "gpt-3.5": "false"}
    >>> OpenAIEvals().answers_in({f"{name}.jsonl": f"{spec % name}\n{event % right}" for name, right in logs.items()})
    [('gpt-4', 'sums.dev.1', 'correct'), ('gpt-3.5', 'sums.dev.1', 'incorrect')]
    """

    name: ClassVar[str] = "openai-evals"
    title: ClassVar[str] = "OpenAI Evals"
    summary: ClassVar[str] = "events of runs: matches, and choices of a model that grades (JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether the first record says which models were run."""
        spec = peek.records[0].get("spec") if peek.records else None
        return isinstance(spec, dict) and "completion_fns" in spec

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read answers with the expected one as ``gold``, whether they are correct, or what a model chose for them."""
        found = Evaluations(Collection(self, paths, files))
        for path in paths:
            _read(path, found)
        return found.table()


def _read(path: Path, found: Evaluations) -> None:
    spec, *events = read_records(path) or [Node(None, str(path))]
    models = [model.text() for model in spec["spec"]["completion_fns"].items()]
    if not models:
        raise InputError(f"{path} does not say which models were run: 'spec.completion_fns' is missing or empty.")
    suite = spec["spec"]["eval_name"]
    for event in events:
        if (read := _READERS.get(str(event["type"].value))) is not None:
            case = Case(models[0], event["sample_id"].id(), suite.text() if suite.there else "")
            read(event["data"], case, models[-1], found)


def _read_match(data: Node, case: Case, _: str, found: Evaluations) -> None:
    correct = data["correct"]
    if not isinstance(correct.value, bool):
        raise correct.refused("true or false")
    found.judge(case, "match", _VERDICTS[correct.value])
    said, known = data.first("picked", "sampled").value, data["expected"].value
    if isinstance(said, str):
        found.answer(case, said, known if isinstance(known, str) else None)


def _read_metrics(data: Node, case: Case, grader: str, found: Evaluations) -> None:
    """Read what the last model of a run chose, which grades the answers of the first."""
    for name, value in data.fields().items():
        chosen: Any = value.value
        if name == _SCORE and _CHOICE in data.fields():
            if value.there:
                found.score(case, grader, value.number())
        elif isinstance(chosen, str | int | float) and not name.endswith(_META):
            found.judge(case, grader, None if chosen == _INVALID else chosen, "" if name == _CHOICE else name)


_READERS = {"match": _read_match, "metrics": _read_metrics}
