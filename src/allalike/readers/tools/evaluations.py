"""Evaluations: models' answers, and what judges said of them, as the logs of evaluation frameworks have them.

Such a log can be read in three ways. Where several judges said something of each answer, they are the workers, and an
answer is a task. Where several models answered the same items, these are the workers: their labels are what they
answered, with the known answer as gold, or the scores that they got. If more than one way is open, it is asked.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar

from allalike._core.extraction import find_extractor
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.collection import Collection
from allalike.readers.tools.trees import Node, read_document, read_records

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from allalike.readers.formats.files import Files
    from allalike.readers.formats.tables import Table

_JUDGES, _SCORES, _ANSWERS = "judges", "scores", "answers"  # the three ways, which are questions to choose from
_MAX_CHARACTERS = 80  # of an answer that can be compared with others; longer ones are texts, which are not copied,
_EXTRACTED, _MOST_WITHOUT = ("number", "choice"), 0.1  # unless most have an answer that can be extracted


@dataclass(frozen=True)
class Case:
    """One answer of a model: the item, the suite of items, and which of several samples it is.

    >>> Case("gpt-4", 7).sample
    1
    """

    model: str
    item: str | int
    suite: str = ""
    sample: int = 1


@dataclass(frozen=True)
class _Said:
    """Something that was said of a case, or in it."""

    case: Case
    label: Any
    judge: str = ""
    known: Any = None


@dataclass
class Evaluations:
    """What is found in logs, until it is known whether models or judges are the workers.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
    >>> from allalike.readers.tools import TOOLS
    >>> from allalike.readers.tools.collection import Collection
    >>> log = Evaluations(Collection(TOOLS["inspect"](), [Path("log.json")], Files()))
    >>> log.judge(Case("gpt-4", 7), "claude", "C")
    >>> log.judge(Case("gpt-4", 7), "gemini", "I")
    >>> log.table().load(["worker", "task", "label"])
    {'worker': ['claude', 'gemini'], 'task': [7, 7], 'label': ['C', 'I']}
    """

    collection: Collection
    _verdicts: defaultdict[str, list[_Said]] = field(default_factory=lambda: defaultdict(list))
    _scores: defaultdict[str, list[_Said]] = field(default_factory=lambda: defaultdict(list))
    _answers: defaultdict[str, list[_Said]] = field(default_factory=lambda: defaultdict(list))

    def judge(self, case: Case, judge: str, label: Any, aspect: str = "") -> None:
        """Add what a judge said of an answer, or of an aspect of it; nothing is no verdict, and counted."""
        if label is None:
            self.collection.leave_out("cases without a verdict")
        else:
            self._verdicts[aspect].append(_Said(case, _plain(label), judge))

    def score(self, case: Case, judge: str, score: float, aspect: str = "") -> None:
        """Add the number behind a verdict, which is read if it says more than the verdict does."""
        self._scores[aspect].append(_Said(case, score, judge))

    def answer(self, case: Case, label: Any, known: Any = None, aspect: str = "") -> None:
        """Add what a model answered, and the known answer."""
        if label is not None:
            self._answers[aspect].append(_Said(case, _plain(label), known=known))

    def labels(self) -> set[Any]:
        """Return everything that judges said."""
        return {said.label for verdicts in self._verdicts.values() for said in verdicts}

    def leave_out(self, label: Any, what: str) -> None:
        """Count verdicts that are none."""
        for aspect, verdicts in self._verdicts.items():
            self._verdicts[aspect] = [said for said in verdicts if said.label != label]
            self.collection.leave_out(what, len(verdicts) - len(self._verdicts[aspect]))

    def table(self) -> Table:
        """Return the answers as a table, in the way that was asked for, or in the only one."""
        for aspect, scores in self._scores.items():
            if any(said.label not in (0, 1) for said in scores):
                self._verdicts[f"{aspect} score".strip()].extend(scores)
        cases = [said.case for each in (self._verdicts, self._answers) for those in each.values() for said in those]
        several = len({case.model for case in cases}) > 1
        suites = len({case.suite for case in cases}) > 1
        for question, said, by_judge in self._questions(several=several):
            worker = said.judge if by_judge else said.case.model
            known = {"gold": said.known} if question.startswith(_ANSWERS) else {}
            task = _name_task(said.case, suite=suites, model=by_judge and several)
            kind = "numbers" if _is_number(said.label) else "classes"
            self.collection.add(
                worker, task, said.label, question=question, kind=kind, sample=said.case.sample, **known
            )
        self._remark()
        return self.collection.table()

    def _questions(self, *, several: bool) -> Iterator[tuple[str, _Said, bool]]:
        """List what was said: to which question, and whether it is an answer of the judge or of the model."""
        for aspect, verdicts in _by_type(self._verdicts):
            judges = {said.judge for said in verdicts}
            for said in _in_order(verdicts):
                if len(judges) > 1:
                    yield _join(_JUDGES, aspect), said, True
                if len(judges) == 1 or several:
                    by = f"{aspect} by {said.judge}".strip() if len(judges) > 1 else aspect
                    yield _join(_SCORES, by), said, False
        for aspect, answers in self._answers.items():
            if several and (all(_is_short(said.label) for said in answers) or _end_alike(answers)):
                for said in _in_order(answers):
                    yield _join(_ANSWERS, aspect), said, False

    def _remark(self) -> None:
        tag = (self.collection.files.tag or "").casefold()
        for question, answers in self.collection.questions.items():
            if tag in ("", question.casefold()):
                self._remark_on(answers)

    def _remark_on(self, answers: list[dict[str, Any]]) -> None:
        if (most := max(answer["sample"] for answer in answers)) > 1:
            self.collection.remarks.append(
                f"The column 'sample' numbers the samples of an item, of which there are up to {most:,}."
            )


def _plain(label: Any) -> Any:
    return str(label).lower() if isinstance(label, bool) else label


def _is_number(label: Any) -> bool:
    return isinstance(label, int | float)


def _is_short(label: Any) -> bool:
    return _is_number(label) or (len(label) <= _MAX_CHARACTERS and "\n" not in label.strip())


def _end_alike(answers: list[_Said]) -> bool:
    """Return whether texts end in a number or a letter, which can be extracted, with few exceptions."""
    texts = [str(said.label) for said in answers]
    most = (1 - _MOST_WITHOUT) * len(texts)
    return any(sum(find(text) is not None for text in texts) >= most for find in map(find_extractor, _EXTRACTED))


def _by_type(verdicts: dict[str, list[_Said]]) -> Iterator[tuple[str, list[_Said]]]:
    """Ask for words and for numbers apart, if there are both."""
    for aspect, those in verdicts.items():
        numbers = [said for said in those if _is_number(said.label)]
        if not numbers or len(numbers) == len(those):
            yield aspect, those
        else:
            yield aspect, [said for said in those if not _is_number(said.label)]
            yield f"{aspect} numbers".strip(), numbers


def _in_order(those: list[_Said]) -> list[_Said]:
    """Put first samples first, for these are read."""
    return sorted(those, key=lambda said: said.case.sample)


def _join(question: str, aspect: str) -> str:
    return f"{question}: {aspect}" if aspect else question


def _name_task(case: Case, *, suite: bool, model: bool) -> str | int:
    if not suite and not model:
        return case.item
    return " | ".join([*([case.suite] if suite else []), str(case.item), *([case.model] if model else [])])


def count_up(names: Iterable[str]) -> list[str]:
    """Number names that stand in a list again.

    >>> count_up(["gpt-4", "claude", "gpt-4"])
    ['gpt-4', 'claude', 'gpt-4 (2)']
    """
    seen: defaultdict[str, int] = defaultdict(int)
    counted = []
    for name in names:
        seen[name] += 1
        counted.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return counted


# lm-evaluation-harness: models' answers to tasks, a folder for each model.


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


# DeepEval: metrics of test cases, most of which a model measures.


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


# promptfoo: assertions about the outputs of models, of which some are checked by models.


_ERROR = 2  # the failureReason of a result that is none, because something broke


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
            results = _promptfoo_list(path)
            columns = {json.dumps(result["promptIdx"].value) for result in results}
            several = len(columns) > len({_name(result["provider"]) for result in results})
            tests: dict[str, str | int] = {}
            samples: Counter[tuple[str, Any]] = Counter()
            for result in results:
                model = _promptfoo_model(result, several=several)
                item = tests.setdefault(_inputs(result), result.first("testIdx", "id").id())
                samples[model, item] += 1
                _promptfoo_read(result, Case(model, item, sample=samples[model, item]), found)
        return found.table()


def _is_result(record: Any) -> bool:
    return isinstance(record, dict) and "gradingResult" in record and ("promptIdx" in record or "provider" in record)


def _promptfoo_list(path: Path) -> list[Node]:
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


def _promptfoo_model(result: Node, *, several: bool) -> str:
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


def _promptfoo_read(result: Node, case: Case, found: Evaluations) -> None:
    if result["failureReason"].value == _ERROR or not result["gradingResult"].there:
        found.collection.leave_out("results without a verdict")
        return
    grading = result["gradingResult"]
    parts = [part for part in grading["componentResults"].items() if part["assertion"].there]
    names = count_up(_judge(part["assertion"]) for part in parts)
    for part, name in zip(parts, names, strict=True):
        _promptfoo_add(part, case, name, found)
    if not parts:
        _promptfoo_add(grading, case, "assertions", found)
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


def _promptfoo_add(part: Node, case: Case, judge: str, found: Evaluations) -> None:
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
