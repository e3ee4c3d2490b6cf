"""Evaluations: models' answers, and verdicts of judges on them, as the logs of evaluation frameworks have them.

Such a log can be read in three ways. Where several judges gave a verdict on each answer, they are the workers, and an
answer is a task. Where several models answered the same items, these are the workers: their labels are what they
answered, with the known answer as gold, or the scores that they got. If more than one way is open, it is asked.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import suppress
from functools import wraps
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike._core.extraction import find_extractor
from allalike.errors import InputError
from allalike.readers.formats.compression import ArchiveMembers, find_packing
from allalike.readers.tools.base import (
    get,
    get_list,
    get_number,
    get_text,
    load_document,
    load_json,
    load_records,
    unexpected,
)
from allalike.readers.tools.frame import Answer, Export, record_tool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from allalike.readers.tools.base import Peek

    Groups = dict[tuple[str, str], list["Case"]]  # by way and aspect

_VERDICT, _SCORE, _ANSWER = "verdict", "score", "answer"
_MAX_CHARACTERS = 80  # of an answer that can be compared with others; longer ones are texts, which are not copied,
_EXTRACTED, _MOST_WITHOUT = ("number", "choice"), 0.1  # unless most have an answer that can be extracted


class Case(NamedTuple):
    """A model's answer to an item of a suite, of which there may be several samples, or a judge's verdict on it."""

    model: str
    item: str | int
    suite: str = ""
    sample: int = 1
    way: str = ""
    label: Any = None
    judge: str = ""
    aspect: str = ""
    known: Any = None

    def answered(self, label: str | float, known: Any = None, aspect: str = "") -> Case:
        """Return the answer, with the gold label."""
        return self._replace(way=_ANSWER, label=label, known=known, aspect=aspect)

    def judged(self, judge: str, label: Any, aspect: str = "") -> Case:
        """Return a verdict on the answer, or on an aspect of it; nothing is no verdict, and counted."""
        label = str(label).lower() if isinstance(label, bool) else label
        return self._replace(way=_VERDICT, label=label, judge=judge, aspect=aspect)

    def graded(self, judge: str, grade: Any, key: str, aspect: str) -> Iterator[Case]:
        """Yield whether the answer passed, and the score behind that."""
        passed = get(grade, key)
        if passed is not None and not isinstance(passed, bool):
            raise unexpected(passed, "true or false", key)
        yield self.judged(judge, None if passed is None else "pass" if passed else "fail", aspect)
        score = get_number(grade, "score", default=None)
        if score is not None:
            yield self._replace(way=_SCORE, label=score, judge=judge, aspect=aspect)


def logged(read: Callable[[Export], Iterable[Case]]) -> Callable[[Export], Iterator[Answer]]:
    """Make a reader of a function that yields cases; each way to read them is a question of its own."""

    @wraps(read)
    def read_answers(export: Export) -> Iterator[Answer]:
        groups = _group(export, read(export))
        cases = [case for some in groups.values() for case in some]
        several, suites = len({case.model for case in cases}) > 1, len({case.suite for case in cases}) > 1
        for question, case, by_judge in _list_questions(groups, several=several):
            parts = [*([case.suite] if suites else []), case.item, *([case.model] if by_judge and several else [])]
            task = " | ".join(map(str, parts)) if len(parts) > 1 else case.item
            more = {"sample": case.sample, **({"gold": case.known} if case.way == _ANSWER else {})}
            kind = "numbers" if isinstance(case.label, int | float) else "classes"
            yield Answer(case.judge if by_judge else case.model, task, case.label, question, kind, **more)

    return read_answers


def _group(export: Export, cases: Iterable[Case]) -> Groups:
    """Return answers and verdicts by way and aspect, first samples first, and words and numbers apart."""
    by_way: defaultdict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        if case.label is None:
            export.leave_out("cases without a verdict")
        else:
            by_way[case.way, case.aspect].append(case)
    groups: defaultdict[tuple[str, str], list[Case]] = defaultdict(list)
    for (way, aspect), those in by_way.items():
        those.sort(key=lambda case: case.sample)
        numbers = [case for case in those if isinstance(case.label, int | float)]
        words = [case for case in those if not isinstance(case.label, int | float)]
        if way == _ANSWER:
            groups[way, aspect] += those
        elif way == _SCORE and any(case.label not in (0, 1) for case in those):  # they say more than verdicts do
            groups[_VERDICT, f"{aspect} score".strip()] += those
        elif way == _VERDICT:
            groups[way, aspect] += words or numbers
            if words and numbers:
                groups[way, f"{aspect} numbers".strip()] += numbers
    return groups


def _list_questions(groups: Groups, *, several: bool) -> Iterator[tuple[str, Case, bool]]:
    """Yield a question, a case that answers it, and whether that is an answer of the judge or of the model."""
    for (way, aspect), cases in groups.items():
        judges, about = {case.judge for case in cases}, f": {aspect}" if aspect else ""
        if way == _ANSWER and not (several and _are_comparable(cases)):
            continue
        for case in cases:
            if way == _ANSWER:
                yield f"answers{about}", case, False
            elif len(judges) == 1:
                yield f"scores{about}", case, False
            else:
                yield f"judges{about}", case, True
                if several:
                    yield f"scores: {f'{aspect} by {case.judge}'.strip()}", case, False


def _are_comparable(answers: list[Case]) -> bool:
    """Return whether answers are short, or texts that end in a number or a letter, with few exceptions."""
    texts = [str(case.label) for case in answers]
    if all(len(text) <= _MAX_CHARACTERS and "\n" not in text.strip() for text in texts):
        return True
    most = (1 - _MOST_WITHOUT) * len(texts)
    return any(sum(find(text) is not None for text in texts) >= most for find in map(find_extractor, _EXTRACTED))


def _count_up(names: Iterable[str]) -> list[str]:
    """Number names that stand in a list again."""
    seen: Counter[str] = Counter()
    counted = []
    for name in names:
        seen[name] += 1
        counted.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return counted


# lm-evaluation-harness.

_FILE = re.compile(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl?(\.gz)?", re.IGNORECASE)


@record_tool("lm-eval", "lm-evaluation-harness", lambda peek: peek.has("doc_id", "resps", "filtered_resps"))
@logged
def lm_eval(export: Export) -> Iterator[Case]:
    """Read answers of models, logged with --log_samples, a folder for each model (JSONL).

    Files are called ``samples_*.jsonl``, with records such as ``{"doc_id": 0, "target": "1", "filtered_resps":
    [["-3.5", "False"], ["-0.5", "True"]], "metrics": ["acc"], "acc": 1.0}``. The worker is the folder, the task
    ``doc_id``, and the label the place of the likeliest choice or the text that a filter found, with ``target`` as
    ``gold``, or a metric.
    """
    tables = {path: load_records(path) for path in export.paths}
    filters = {_get_filter(record) for path, records in tables.items() for record in export.each(records, path)}
    suites = {path: match[1] if (match := _FILE.fullmatch(path.name)) else "" for path in tables}
    by_folder = len({(path.absolute().parent, suite) for path, suite in suites.items()}) == len(tables)
    for path, records in tables.items():  # one folder has a task twice where files are of several models
        model = path.absolute().parent.name if by_folder and not export.by_file else export.place_of(path)[0]
        for record in export.each(records, path):
            aspect = _get_filter(record) if len(filters) > 1 else ""
            yield from _read_sample(export, record, Case(model, record["doc_id"], suites[path]), aspect)


def _get_filter(record: Any) -> str:
    name = record.get("filter")
    return name if isinstance(name, str) and name != "none" else ""


def _read_sample(export: Export, record: Any, case: Case, aspect: str) -> Iterator[Case]:
    responses, target = get_list(record, "filtered_resps"), record.get("target")
    metrics = get_list(record, "metrics")
    if len(responses) > 1 and all(map(_is_likelihood, responses)):
        if "acc_mutual_info" in metrics:  # without its question, each choice comes again in the second half
            responses = responses[: len(responses) // 2]
        likelihoods = [float(likelihood) for likelihood, _ in responses]
        yield case.answered(likelihoods.index(max(likelihoods)), _find_place(target, record), aspect)
    elif len(responses) == 1 and not _is_likelihood(responses[0]):
        texts = responses[0] if isinstance(responses[0], list) else responses
        for sample, text in enumerate(texts, start=1):
            answer = get_text(text, default="").strip()
            if answer in ("", "[invalid]"):  # as a filter writes where it finds none
                export.leave_out("responses without an answer")
            else:
                known = target if isinstance(target, str) else None
                yield case._replace(sample=sample).answered(answer, known, aspect)
    for metric in metrics:
        if isinstance(record.get(metric), int | float):  # other metrics are of all samples together
            yield case.judged("", record[metric], f"{metric} {aspect}".strip())


def _is_likelihood(response: Any) -> bool:
    """Return whether a response is a log likelihood, and whether it is the first guess."""
    return isinstance(response, list) and len(response) == 2 and str(response[1]).lower() in ("true", "false")


def _find_place(target: Any, record: Any) -> int | None:
    """Return the place of the right choice, which is written as a text: the place itself, or what is said there."""
    if re.fullmatch(r"\d{1,9}", str(target)):
        return int(target)
    arguments = record.get("arguments")
    given = arguments.values() if isinstance(arguments, dict) else ()
    texts = [str(each.get("arg_1", "")).strip() for each in given if isinstance(each, dict)]
    return texts.index(str(target).strip()) if str(target).strip() in texts else None


# DeepEval.


def _is_deepeval(peek: Peek) -> bool:
    run = peek.document.get("testRunData", peek.document) if isinstance(peek.document, dict) else None
    lists = [value for value in run.values() if isinstance(value, list)] if isinstance(run, dict) else []
    return any(isinstance(case, dict) and "metricsData" in case for cases in lists for case in cases)


@record_tool("deepeval", "DeepEval", _is_deepeval)
@logged
def deepeval(export: Export) -> Iterator[Case]:
    """Read test runs: metrics that models measure (JSON).

    Test runs, ``test_run_*.json`` or ``.latest_run_full.json``, hold ``{"testCases": [{"name": "t1", "metricsData":
    [{"name": "Clear", "success": true, "score": 0.9, "evaluationModel": "gpt-4"}]}]}``. The worker is the model that
    evaluates, the task the test case, and each metric a question, whose label is the verdict or the score.
    """
    for path in export.paths:
        document = export.document(path)
        run = get(document, "testRunData") or document
        settings = get(run, "hyperparameters")
        model = settings.get("model") if isinstance(settings, dict) else None
        tests = [*get_list(run, "testCases"), *get_list(run, "conversationalTestCases")]
        for test in export.each(tests, path, "test case"):
            case = Case(model if isinstance(model, str) else "model", test["name"])
            for metric in get_list(test, "metricsData"):
                name = get_text(metric, "name")
                judge = get_text(metric, "evaluationModel", default=name)
                yield from case.graded(judge, metric if get(metric, "error") is None else None, "success", name)


# promptfoo.


def _is_promptfoo(peek: Peek) -> bool:
    results = peek.document.get("results") if isinstance(peek.document, dict) else None
    if isinstance(results, dict):
        if results.keys() >= {"version", "timestamp"}:
            return True
        results = results.get("results")
    listed = results if isinstance(results, list) else peek.records
    records = [each for each in listed if isinstance(each, dict)]
    return any("gradingResult" in each and ("promptIdx" in each or "provider" in each) for each in records)


@record_tool("promptfoo", "promptfoo", _is_promptfoo)
@logged
def promptfoo(export: Export) -> Iterator[Case]:
    """Read results of assertions and of models that grade (JSON, JSONL).

    ``--output results.json`` or ``.jsonl`` writes ``{"testIdx": 3, "promptIdx": 0, "provider": {"id": "m"},
    "gradingResult": {"componentResults": [{"pass": true, "score": 1, "assertion": {"type": "llm-rubric"}}]}}``. The
    worker is the grader or the type of the assertion, or the model that was tested, the task the test, and the label
    the verdict. ``sample`` numbers repeated tests.
    """
    for path in export.paths:
        results = load_records(path) if path.suffix.lower() == ".jsonl" else export.document(path)
        while isinstance(results, dict) and "results" in results:
            results = results["results"]
        results = list(export.each(get_list(results), path, "result"))
        prompts = {json.dumps(result.get("promptIdx")) for result in results}
        several = len(prompts) > len({_name_provider(result) for result in results})
        tests: dict[str, str | int] = {}
        samples: Counter[Any] = Counter()
        for result in export.each(results, path, "result"):
            model, prompt = _name_provider(result) or "model", result.get("promptIdx")
            model = f"{model} prompt {prompt}" if several and prompt is not None else model
            item = tests.setdefault(_describe_test(result), get(result, "testIdx", "id"))
            samples[model, item] += 1
            yield from _read_result(export, result, Case(model, item, sample=samples[model, item]))


def _name_provider(value: Any) -> str:
    """Return the label or the id of the provider, which may be the provider itself."""
    provider = get(value, "provider")
    return str((get(provider, "label", "id") if isinstance(provider, dict) else provider) or "")


def _describe_test(result: Any) -> str:
    """Return what distinguishes a test from others, but not from its repetitions."""
    test, variables = result.get("testCase"), result.get("vars")
    description = test.get("description") if isinstance(test, dict) else None
    known = variables or description
    return json.dumps([variables, description] if known else result.get("testIdx"), sort_keys=True)


def _read_result(export: Export, result: Any, case: Case) -> Iterator[Case]:
    grading = result.get("gradingResult")
    if result.get("failureReason") == 2 or grading is None:  # 2: the run failed
        export.leave_out("results without a verdict")
        return
    parts = [part for part in get_list(grading, "componentResults") if get(part, "assertion") is not None]
    names = _count_up(_name_provider(part["assertion"]) or get_text(part["assertion"], "type") for part in parts)
    for part, judge in zip(parts or [grading], names or ["assertions"], strict=True):
        assertion, metadata = get(part, "assertion") or {}, get(part, "metadata") or {}
        aspect = assertion["metric"] if isinstance(assertion.get("metric"), str) else ""
        graded = case.graded(judge, None if metadata.get("graderError") else part, "pass", aspect)
        measures = True in (assertion.get("metricOnly"), metadata.get("metricOnly"))  # and passes whatever it finds
        yield from (each for each in graded if not measures or each.way == _SCORE)
    response = result.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    if isinstance(output, str) and output.strip():
        yield case.answered(output.strip())


# Inspect.

_VERSION = 2  # of Inspect's logs, since their beginning in 2024
_HEADERS = ("header.json", "_journal/start.json")  # the latter is all that a run leaves that was killed
_SAMPLE = re.compile(r"samples/.+\.json")
_GRADES, _NO_ANSWER = {"C", "I", "P", "N"}, "N"


def _is_archive(path: Path) -> bool:
    with suppress(OSError, InputError):
        if path.suffix.lower() != ".eval" and path.is_file() and find_packing(path) == "zip":
            with ArchiveMembers(path) as members:
                return not set(_HEADERS).isdisjoint(members.names)
    return path.suffix.lower() == ".eval"


def _is_inspect(peek: Peek) -> bool:
    if peek.path.is_dir():
        return next(peek.path.glob("*.eval"), None) is not None
    log = peek.document if isinstance(peek.document, dict) else {}
    return _is_archive(peek.path) or ("version" in log and isinstance(log.get("eval"), dict) and "task" in log["eval"])


@record_tool("inspect", "Inspect", _is_inspect)
@logged
def inspect(export: Export) -> Iterator[Case]:
    """Read logs of evaluations: verdicts of scorers and of panels of graders (.eval, JSON).

    A ``.eval`` is an archive of a header and samples; as JSON it is ``{"version": 2, "eval": {"task": "sums", "model":
    "m"}, "samples": [{"id": 7, "epoch": 1, "target": "4", "scores": {"match": {"value": "C", "answer": "4"}}}]}``. The
    worker is the grader, the scorer, or the model that answered, the task the sample, and the label the score or the
    answer, with ``target`` as ``gold``; ``sample`` is the epoch.
    """
    export.paths = [log for path in export.paths for log in (sorted(path.glob("*.eval")) if path.is_dir() else [path])]
    cases = [case for path in export.paths for case in _read_log(export, path)]
    words = {case.label for case in cases if case.way == _VERDICT and isinstance(case.label, str)}
    for case in cases:
        refused = case.way == _VERDICT and case.label == _NO_ANSWER and words <= _GRADES
        yield case._replace(label=None) if refused else case


def _read_log(export: Export, path: Path) -> Iterator[Case]:
    parts = _list_parts(path)
    export.at, header = next(parts)
    version = get_number(header, "version", default=_VERSION)
    if version > _VERSION:
        raise InputError(
            f"{path} is a log of version {version}, and versions up to {_VERSION} can be read. Export the scores"
            " as a table, with a column for each of worker, task and label."
        )
    judges, about = _name_judges(header), header["eval"]
    model, suite = get_text(about, "model"), get_text(about, "task")
    for export.at, sample in parts:
        case = Case(model, sample["id"], suite, int(get_number(sample, "epoch", default=1)))
        scores = get(sample, "scores") or {}
        export.leave_out("samples without a score", int(not scores))
        for scorer, score in scores.items():
            yield from _read_score(export, scorer, score, case, judges.get(scorer, [scorer]))
        answer = next((score for score in scores.values() if get(score, "answer") is not None), None)
        if answer is not None:
            target = sample.get("target")
            target = target[0] if isinstance(target, list) and len(target) == 1 else target
            yield case.answered(get_text(answer, "answer"), target if isinstance(target, str) else None)


def _list_parts(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the header of a log, and then its samples one by one, each with its place."""
    if not _is_archive(path):
        log = load_document(path)
        yield str(path), log
        for number, sample in enumerate(get_list(log, "samples"), start=1):
            yield f"{path}: sample {number}", sample
        return
    with ArchiveMembers(path) as members:
        header = next((name for name in _HEADERS if name in members.names), None)
        if header is None:
            raise InputError(f"{path} is no log of Inspect: there is no {_HEADERS[0]} in it.")
        for name in [header, *filter(_SAMPLE.fullmatch, members.names)]:
            yield f"{path}: {name}", load_json(members.read(name), f"{path}: {name}")


def _read_score(export: Export, scorer: str, score: Any, case: Case, judges: list[str]) -> Iterator[Case]:
    """Yield the verdict of each judge in a panel, or the only one; one for each aspect where it has several."""
    metadata = get(score, "metadata")
    panel = metadata.get("panel") if isinstance(metadata, dict) else None
    votes = panel.get("votes") if isinstance(panel, dict) else None
    if isinstance(votes, list):
        judges = get_list(panel, "judges") or judges
        if len(judges) != len(votes):
            judges = [f"{scorer} {place}" for place in range(1, len(votes) + 1)]
    else:
        lost = len(judges) > 1
        export.leave_out("panels that kept no verdict of their graders but the common one", int(lost))
        votes, judges = [get(score, "value")], [scorer] if lost else judges
    for judge, vote in zip(judges, votes, strict=True):
        listed = {str(place): part for place, part in enumerate(vote, start=1)} if isinstance(vote, list) else vote
        for aspect, part in (listed if isinstance(listed, dict) else {"": vote}).items():
            yield case.judged(judge, part, aspect)


def _name_judges(header: Any) -> dict[str, list[str]]:
    """Return the judges behind each scorer: the models that grade, or the scorer itself."""
    about, results = header["eval"], get(header, "results")
    graders: dict[str, list[str]] = {}
    for score in [*get_list(about, "scorers"), *get_list(results, "scores")]:
        name, options = get_text(score, "name"), get(score, "params", "options") or {}
        models = _list_models(options.get("model"))
        if not models and "model_graded" in name:
            role = options.get("model_role")
            models = _list_models(get(about.get("model_roles"), role if isinstance(role, str) else "grader"))
        graders[name.rpartition("/")[2]] = models
    counts = Counter(name for names in graders.values() for name in set(names))
    return {
        scorer: _count_up(name if counts[name] == 1 else f"{scorer} {name}" for name in names) or [scorer]
        for scorer, names in graders.items()
    }


def _list_models(given: Any) -> list[str]:
    """Return the names of models, which are given as such, as objects, or as a list of either."""
    if isinstance(given, list):
        return [name for each in given for name in _list_models(each)]
    if isinstance(given, dict):
        return _list_models(given.get("model"))
    return [get_text(given)] if given is not None else []
