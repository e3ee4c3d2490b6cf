"""DeepEval: metrics of test cases, most of which a model measures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.evaluations import Case, Evaluations
from allalike.readers.tools.trees import Node, read_document

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

__all__ = ["DeepEval"]

_CASES = ("testCases", "conversationalTestCases")
_WRAPPER = "testRunData"
_VERDICTS = {True: "pass", False: "fail"}


class DeepEval(Tool):
    """DeepEval's test runs, ``test_run_*.json`` or ``.latest_run_full.json``.

    >>> metric = '{"name": "Clear", "success": %s, "evaluationModel": "%s"}'
    >>> metrics = ", ".join([metric % ("true", "gpt-4"), metric % ("false", "claude")])
    >>> DeepEval().answers_in({"run.json": '{"testCases": [{"name": "t1", "metricsData": [%s]}]}' % metrics})
    [('gpt-4', 't1', 'pass'), ('claude', 't1', 'fail')]
    """

    name: ClassVar[str] = "deepeval"
    title: ClassVar[str] = "DeepEval"
    summary: ClassVar[str] = "test runs: metrics that models measure (JSON)"

    def recognises(self, peek: Peek) -> bool:
        """Tell whether there are test cases with data of metrics."""
        document = peek.document if isinstance(peek.document, dict) else {}
        document = document.get(_WRAPPER, document)
        cases = [case for key in _CASES for case in document.get(key) or []] if isinstance(document, dict) else []
        return any(isinstance(case, dict) and "metricsData" in case for case in cases)

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Read whether each model thinks that a test case passes, or how it scores it, for each metric."""
        found = Evaluations(Collection(self, paths, files))
        for path in paths:
            run = read_document(path)
            run = run[_WRAPPER] if isinstance(run.value, dict) and _WRAPPER in run.value else run
            for case, test in _list(run):
                for metric in test["metricsData"].items():
                    _add(metric, case, found)
        return found.table()


def _list(run: Node) -> Iterator[tuple[Case, Node]]:
    settings = run.raw("hyperparameters")
    named = settings.get("model") if isinstance(settings, dict) else None
    for key in _CASES:
        for test in run[key].items():
            yield Case(named if isinstance(named, str) else "model", test["name"].id()), test


def _add(metric: Node, case: Case, found: Evaluations) -> None:
    name = metric["name"].text()
    judge = metric["evaluationModel"].text() if metric["evaluationModel"].there else name
    failed = metric["error"].there
    passed = metric["success"]
    if passed.there and not isinstance(passed.value, bool):
        raise passed.refused("true or false")
    verdict: Any = None if failed or not passed.there else _VERDICTS[passed.value]
    found.judge(case, judge, verdict, name)
    score = metric["score"]
    if score.there and not failed:
        found.score(case, judge, score.number(), name)
