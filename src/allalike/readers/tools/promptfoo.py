"""promptfoo: assertions about the outputs of models, of which some are checked by models."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.evaluations import Case, Evaluations, count_up
from allalike.readers.tools.trees import Node, read_document, read_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["Promptfoo"]

_ERROR = 2  # the failureReason of a result that is none, because something broke
_VERDICTS = {True: "pass", False: "fail"}


class Promptfoo(Tool):
    """promptfoo's ``--output results.json`` or ``.jsonl``.

    >>> check = '{"pass": %s, "score": 1, "assertion": {"type": "llm-rubric", "provider": "%s"}}'
    >>> checks = ", ".join([check % ("true", "gpt-4"), check % ("false", "claude")])
    >>> result = '{"testIdx": 3, "promptIdx": 0, "provider": {"id": "m"}, "gradingResult": {"componentResults": [%s]}}'
    >>> Promptfoo().answers_in({"results.jsonl": result % checks})
    [('gpt-4', 3, 'pass'), ('claude', 3, 'fail')]
    """

    name: ClassVar[str] = "promptfoo"
    title: ClassVar[str] = "promptfoo"
    summary: ClassVar[str] = "results of assertions and of models that grade (JSON, JSONL)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether this is the summary of an evaluation, or a list of its results."""
        document = peek.document if isinstance(peek.document, dict) else {}
        results = document.get("results")
        if isinstance(results, dict) and {"version", "timestamp"} <= set(results):
            return True
        listed = results.get("results") if isinstance(results, dict) else results
        return any(map(_is_result, listed if isinstance(listed, list) else peek.records))

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read what graders said of outputs, or the verdicts on models; ``sample`` numbers repeated tests."""
        found = Evaluations(Collection(self, paths, files))
        for path in paths:
            results = _list(path)
            columns = {json.dumps(result["promptIdx"].value) for result in results}
            several = len(columns) > len({_name(result["provider"]) for result in results})
            tests: dict[str, str | int] = {}
            samples: Counter[tuple[str, Any]] = Counter()
            for result in results:
                model = _model(result, several=several)
                item = tests.setdefault(_inputs(result), result.first("testIdx", "id").id())
                samples[model, item] += 1
                _read(result, Case(model, item, sample=samples[model, item]), found)
        return found.table()


def _is_result(record: Any) -> bool:
    return isinstance(record, dict) and "gradingResult" in record and ("promptIdx" in record or "provider" in record)


def _list(path: Path) -> list[Node]:
    """Return the results in a file, which stand under one or two keys, or one in each line."""
    if path.suffix.lower() == ".jsonl":
        return read_records(path)
    document = read_document(path)
    while isinstance(document.value, dict) and "results" in document.value:
        document = document["results"]
    return document.items()


def _name(provider: Node) -> str:
    """Return the label or the id of a provider."""
    if isinstance(provider.value, dict):
        provider = provider.first("label", "id")
    return str(provider.value) if provider.there else ""


def _model(result: Node, *, several: bool) -> str:
    """Return the model, with the number of its prompt where there are more prompts than models."""
    model = _name(result["provider"]) or "model"
    prompt = result["promptIdx"]
    return f"{model} prompt {prompt.scalar()}" if several and prompt.there else model


def _inputs(result: Node) -> str:
    """Return what tells a test from others, but not from its repetitions."""
    test = result.raw("testCase")
    described = test.get("description") if isinstance(test, dict) else None
    known = result.raw("vars") or described
    return json.dumps([result.raw("vars"), described] if known else result.raw("testIdx"), sort_keys=True)


def _read(result: Node, case: Case, found: Evaluations) -> None:
    if result["failureReason"].value == _ERROR or not result["gradingResult"].there:
        found.collection.leave_out("results without a verdict")
        return
    grading = result["gradingResult"]
    parts = [part for part in grading["componentResults"].items() if part["assertion"].there]
    names = count_up(_judge(part["assertion"]) for part in parts)
    for part, name in zip(parts, names, strict=True):
        _add(part, case, name, found)
    if not parts:
        _add(grading, case, "assertions", found)
    output = result["response"].raw("output") if isinstance(result.raw("response"), dict) else None
    if isinstance(output, str):
        found.answer(case, output.strip() or None)


def _judge(assertion: Node) -> str:
    """Return who checked: the model that grades, or the kind of the assertion."""
    return _name(assertion["provider"]) or assertion["type"].text()


def _only_measures(part: Node) -> bool:
    """Tell whether an assertion has a score only, and passes whatever it finds."""
    told = (part.raw(key) for key in ("assertion", "metadata"))
    return any(isinstance(each, dict) and each.get("metricOnly") is True for each in told)


def _add(part: Node, case: Case, judge: str, found: Evaluations) -> None:
    broken = isinstance(part.raw("metadata"), dict) and part["metadata"].raw("graderError")
    passed = part["pass"]
    if passed.there and not isinstance(passed.value, bool):
        raise passed.refused("true or false")
    metric = part["assertion"].raw("metric") if part["assertion"].there else None
    aspect = metric if isinstance(metric, str) else ""
    if not _only_measures(part):
        found.judge(case, judge, None if broken or not passed.there else _VERDICTS[passed.value], aspect)
    if part["score"].there and not broken:
        found.score(case, judge, part["score"].number(), aspect)
