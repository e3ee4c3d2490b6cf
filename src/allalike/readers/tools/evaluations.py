"""Logs of evaluation frameworks: answers of models, and verdicts of judges on them.

A log can be read in three ways. If several judges gave a verdict on each answer, the judges are the workers and the
answers are the tasks. If several models answered the same items, the models are the workers. Their labels are their
answers, with the target as gold label, or their scores. If several ways are possible, an error asks for the question.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from contextlib import suppress
from functools import wraps
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from allalike._core.extraction import find_extractor
from allalike.errors import InputError
from allalike.readers.formats.compression import ArchiveMembers, find_packing
from allalike.readers.tools.base import (
    count_up,
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

    from allalike.readers.tools.base import FileProbe

    Groups = dict[tuple[str, str], list["Case"]]  # by way and aspect
    Votes = list[int | None]  # 1 for the first of a pair, -1 for the second, 0 for a tie, None for no decision

_VERDICT, _SCORE, _ANSWER = "verdict", "score", "answer"
_MAX_CHARACTERS = 80  # of an answer that can be compared; longer ones are free text,
_EXTRACTED, _MOST_WITHOUT = ("number", "choice"), 0.1  # unless an answer can be extracted from most of them


class Case(NamedTuple):
    """A sample of a model's answer to an item of a suite, or a judge's verdict on it."""

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
        """Return a verdict on the answer, or on an aspect of it; None is counted as a missing verdict."""
        label = str(label).lower() if isinstance(label, bool) else label
        return self._replace(way=_VERDICT, label=label, judge=judge, aspect=aspect)

    def graded(self, judge: str, grade: Any, key: str, aspect: str) -> Iterator[Case]:
        """Yield the verdict, pass or fail, and the score."""
        passed = get(grade, key)
        if passed is not None and not isinstance(passed, bool):
            raise unexpected(passed, "true or false", key)
        yield self.judged(judge, None if passed is None else "pass" if passed else "fail", aspect)
        score = get_number(grade, "score", default=None)
        if score is not None:
            yield self._replace(way=_SCORE, label=score, judge=judge, aspect=aspect)


def logged(read: Callable[[Export], Iterable[Case]]) -> Callable[[Export], Iterator[Answer]]:
    """Make a reader from a function that yields cases; each way to read them is a separate question."""

    @wraps(read)
    def read_answers(export: Export) -> Iterator[Answer]:
        groups = _group(export, list(read(export)))
        cases = [case for some in groups.values() for case in some]
        several, suites = len({case.model for case in cases}) > 1, len({case.suite for case in cases}) > 1
        for (way, aspect), those in groups.items():
            judges, about = {case.judge for case in those}, f": {aspect}" if aspect else ""
            if way == _ANSWER and not (several and _are_comparable(those)):
                continue
            for case in those:
                item = f"{case.suite} | {case.item}" if suites else case.item
                kind = "numbers" if isinstance(case.label, int | float) else "classes"
                by_model = [f"{'answers' if way == _ANSWER else 'scores'}{about}"]
                if way == _VERDICT and len(judges) > 1:
                    task = f"{item} | {case.model}" if several else item
                    yield Answer(case.judge, task, case.label, f"judges{about}", kind, sample=case.sample)
                    by_model = [f"scores: {f'{aspect} by {case.judge}'.strip()}"] if several else []
                known = {"gold": case.known} if way == _ANSWER else {}
                for question in by_model:
                    yield Answer(case.model, item, case.label, question, kind, sample=case.sample, **known)

    return read_answers


def _group(export: Export, cases: list[Case]) -> Groups:
    """Return answers and verdicts by way and aspect, ordered by sample, with words and numbers separated."""
    known = [case for case in cases if case.label is not None]
    export.leave_out("cases without a verdict", len(cases) - len(known))
    worded = {case.aspect for case in known if case.way == _VERDICT and not isinstance(case.label, int | float)}
    graded = {case.aspect for case in known if case.way == _SCORE and case.label not in (0, 1)}  # not only verdicts
    groups: Groups = defaultdict(list)
    for case in sorted(known, key=lambda case: case.sample):
        if case.way == _SCORE:
            if case.aspect in graded:
                groups[_VERDICT, f"{case.aspect} score".strip()].append(case)
        elif case.way == _VERDICT and case.aspect in worded and isinstance(case.label, int | float):
            groups[_VERDICT, f"{case.aspect} numbers".strip()].append(case)
        else:
            groups[case.way, case.aspect].append(case)
    return groups


def _are_comparable(answers: list[Case]) -> bool:
    """Return whether answers are short, or texts from most of which a number or a choice can be extracted."""
    texts = [str(case.label) for case in answers]
    if all(len(text) <= _MAX_CHARACTERS and "\n" not in text.strip() for text in texts):
        return True
    most = (1 - _MOST_WITHOUT) * len(texts)
    return any(sum(find(text) is not None for text in texts) >= most for find in map(find_extractor, _EXTRACTED))


# lm-evaluation-harness.

_FILE = re.compile(r"samples_(.+?)(_\d{4}-\d\d-\d\dT[\d.-]+)?\.jsonl?(\.gz)?", re.IGNORECASE)


@record_tool("lm-eval", "lm-evaluation-harness", lambda peek: peek.has("doc_id", "resps", "filtered_resps"))
@logged
def lm_eval(export: Export) -> Iterator[Case]:
    """Read answers of models, logged with --log_samples, one folder per model (JSONL).

    Files are called ``samples_*.jsonl``, with records such as ``{"doc_id": 0, "target": "1", "filtered_resps":
    [["-3.5", "False"], ["-0.5", "True"]], "metrics": ["acc"], "acc": 1.0}``. The label is the index of the most likely
    choice, the text that a filter extracted, or a metric.
    """
    tables = {path: load_records(path) for path in export.paths}
    filters = {_get_filter(record) for path, records in tables.items() for record in export.each(records, path)}
    suites = {path: match[1] if (match := _FILE.fullmatch(path.name)) else "" for path in tables}
    by_folder = len({(path.absolute().parent, suite) for path, suite in suites.items()}) == len(tables)
    for path, records in tables.items():  # a folder with two files of one suite has several models
        model = path.absolute().parent.name if by_folder and not export.by_file else export.places[path][0]
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
        if "acc_mutual_info" in metrics:  # the second half repeats the choices without the question
            responses = responses[: len(responses) // 2]
        likelihoods = [float(likelihood) for likelihood, _ in responses]
        yield case.answered(likelihoods.index(max(likelihoods)), _find_place(target, record), aspect)
    elif len(responses) == 1 and not _is_likelihood(responses[0]):
        texts = responses[0] if isinstance(responses[0], list) else responses
        for sample, text in enumerate(texts, start=1):
            answer = get_text(text, default="").strip()
            if answer in ("", "[invalid]"):  # the output of a filter without a match
                export.leave_out("responses without an answer")
            else:
                known = target if isinstance(target, str) else None
                yield case._replace(sample=sample).answered(answer, known, aspect)
    for metric in metrics:
        if isinstance(record.get(metric), int | float):  # other metrics summarise all samples
            yield case.judged("", record[metric], f"{metric} {aspect}".strip())


def _is_likelihood(response: Any) -> bool:
    """Return whether a response is a log likelihood paired with a boolean, which is true for the greedy choice."""
    return isinstance(response, list) and len(response) == 2 and str(response[1]).lower() in ("true", "false")


def _find_place(target: Any, record: Any) -> int | None:
    """Return the index of the correct choice, given as a text: the index itself, or the text of the choice."""
    if re.fullmatch(r"\d{1,9}", str(target)):
        return int(target)
    arguments, texts = record.get("arguments"), []
    for given in arguments.values() if isinstance(arguments, dict) else arguments or ():
        pair = list(given.values()) if isinstance(given, dict) else given  # lists in logs before 2024
        texts.append(str(pair[1]).strip() if isinstance(pair, list) and len(pair) > 1 else "")
    return texts.index(str(target).strip()) if str(target).strip() in texts else None


# DeepEval.


@record_tool("deepeval", "DeepEval", lambda peek: any(peek.has(f"{at}*.metricsData") for at in ("", "testRunData.")))
@logged
def deepeval(export: Export) -> Iterator[Case]:
    """Read test runs: metrics that models measure (JSON).

    Test runs, ``test_run_*.json`` or ``.latest_run_full.json``, contain ``{"testCases": [{"name": "t1", "metricsData":
    [{"name": "Clear", "success": true, "score": 0.9, "evaluationModel": "gpt-4"}]}]}``. Each metric is a question,
    whose label is the verdict or the score.
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

_RESULTS = ("", "results.", "results.results.")  # possible paths of results in a file
_VERDICTS = [(f"{at}gradingResult", f"{at}{name}") for at in _RESULTS for name in ("promptIdx", "provider")]


@record_tool(
    "promptfoo",
    "promptfoo",
    lambda peek: peek.has("results.version", "results.timestamp") or any(peek.has(*each) for each in _VERDICTS),
)
@logged
def promptfoo(export: Export) -> Iterator[Case]:
    """Read results of assertions and of grading models (JSON, JSONL).

    ``--output results.json`` or ``.jsonl`` writes ``{"testIdx": 3, "promptIdx": 0, "provider": {"id": "m"},
    "gradingResult": {"componentResults": [{"pass": true, "score": 1, "assertion": {"type": "llm-rubric"}}]}}``. The
    worker is the grader, the type of the assertion, or the tested model. ``sample`` numbers repeated tests.
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
            test, variables = result.get("testCase"), result.get("vars")
            description = test.get("description") if isinstance(test, dict) else None
            same = [variables, description] if variables or description else result.get("testIdx")
            item = tests.setdefault(json.dumps(same, sort_keys=True), get(result, "testIdx", "id"))
            samples[model, item] += 1
            yield from _read_result(export, result, Case(model, item, sample=samples[model, item]))


def _name_provider(value: Any) -> str:
    """Return the label or the id of the provider."""
    provider = get(value, "provider")
    return str((get(provider, "label", "id") if isinstance(provider, dict) else provider) or "")


def _read_result(export: Export, result: Any, case: Case) -> Iterator[Case]:
    grading = result.get("gradingResult")
    if result.get("failureReason") == 2 or grading is None:  # 2: the run failed
        export.leave_out("results without a verdict")
        return
    parts = [part for part in get_list(grading, "componentResults") if get(part, "assertion") is not None]
    names = count_up(_name_provider(part["assertion"]) or get_text(part["assertion"], "type") for part in parts)
    for part, judge in zip(parts or [grading], names or ["assertions"], strict=True):
        assertion, metadata = get(part, "assertion") or {}, get(part, "metadata") or {}
        aspect = assertion["metric"] if isinstance(assertion.get("metric"), str) else ""
        graded = case.graded(judge, None if metadata.get("graderError") else part, "pass", aspect)
        measures = True in (assertion.get("metricOnly"), metadata.get("metricOnly"))  # and always passes
        yield from (each for each in graded if not measures or each.way == _SCORE)
    response = result.get("response")
    output = response.get("output") if isinstance(response, dict) else None
    if isinstance(output, str) and output.strip():
        yield case.answered(output.strip())


# Inspect.

_VERSION = 2  # of Inspect's logs, since 2024
_HEADERS = ("header.json", "_journal/start.json")  # a killed run has only the latter
_SAMPLE = re.compile(r"samples/.+\.json")
_GRADES, _NO_ANSWER = {"C", "I", "P", "N"}, "N"


def _is_archive(path: Path) -> bool:
    with suppress(OSError, InputError):
        if path.suffix.lower() != ".eval" and path.is_file() and find_packing(path) == "zip":
            with ArchiveMembers(path) as members:
                return not set(_HEADERS).isdisjoint(members.names)
    return path.suffix.lower() == ".eval"


def _is_inspect(peek: FileProbe) -> bool:
    if peek.path.is_dir():
        return next(peek.path.glob("*.eval"), None) is not None
    log = peek.document if isinstance(peek.document, dict) else {}
    return _is_archive(peek.path) or ("version" in log and isinstance(log.get("eval"), dict) and "task" in log["eval"])


@record_tool("inspect", "Inspect", _is_inspect)
@logged
def inspect(export: Export) -> Iterator[Case]:
    """Read logs of evaluations: verdicts of scorers and of panels of graders (.eval, JSON).

    A ``.eval`` is an archive of a header and samples. As JSON it is ``{"version": 2, "eval": {"task": "sums", "model":
    "m"}, "samples": [{"id": 7, "epoch": 1, "target": "4", "scores": {"match": {"value": "C", "answer": "4"}}}]}``. The
    worker is the grader, the scorer, or the evaluated model. ``sample`` is the epoch.
    """
    export.paths = [log for path in export.paths for log in (sorted(path.glob("*.eval")) if path.is_dir() else [path])]
    cases = [case for path in export.paths for case in _read_log(export, path)]
    verdicts = [case for case in cases if case.way == _VERDICT]
    graded = {case.label for case in verdicts if isinstance(case.label, str)} <= _GRADES
    for case in cases:
        refused = graded and case.way == _VERDICT and case.label == _NO_ANSWER
        yield case._replace(label=None) if refused else case


def _read_log(export: Export, path: Path) -> Iterator[Case]:
    parts = _list_parts(path)
    export.at, header = next(parts)
    version = get_number(header, "version", default=_VERSION)
    if version > _VERSION:
        raise InputError(
            f"{path} is a log of version {version}, but only versions up to {_VERSION} are supported. Export the scores"
            " as a table with the columns worker, task and label."
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
    """Yield the header of a log, then each of its samples, with their places for errors."""
    if not _is_archive(path):
        log = load_document(path)
        yield str(path), log
        for number, sample in enumerate(get_list(log, "samples"), start=1):
            yield f"{path}: sample {number}", sample
        return
    with ArchiveMembers(path) as members:
        header = next((name for name in _HEADERS if name in members.names), None)
        if header is None:
            raise InputError(f"{path} is not a log of Inspect: it contains no {_HEADERS[0]}. Copy the log again.")
        for name in [header, *filter(_SAMPLE.fullmatch, members.names)]:
            yield f"{path}: {name}", load_json(members.read_member(name), f"{path}: {name}")


def _read_score(export: Export, scorer: str, score: Any, case: Case, judges: list[str]) -> Iterator[Case]:
    """Yield the verdicts of a score, one per judge of a panel and aspect."""
    metadata = get(score, "metadata")
    panel = metadata.get("panel") if isinstance(metadata, dict) else None
    votes = panel.get("votes") if isinstance(panel, dict) else None
    if isinstance(votes, list):
        judges = get_list(panel, "judges") or judges
        if len(judges) != len(votes):
            judges = [f"{scorer} {place}" for place in range(1, len(votes) + 1)]
    else:
        lost = len(judges) > 1
        export.leave_out("panels with only the common verdict of their graders", int(lost))
        votes, judges = [get(score, "value")], [scorer] if lost else judges
    for judge, vote in zip(judges, votes, strict=True):
        listed = {str(place): part for place, part in enumerate(vote, start=1)} if isinstance(vote, list) else vote
        for aspect, part in (listed if isinstance(listed, dict) else {"": vote}).items():
            yield case.judged(judge, part, aspect)


def _name_judges(header: Any) -> dict[str, list[str]]:
    """Return the judges of each scorer: the grading models, or the scorer itself."""
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
        scorer: count_up(name if counts[name] == 1 else f"{scorer} {name}" for name in names) or [scorer]
        for scorer, names in graders.items()
    }


def _list_models(given: Any) -> list[str]:
    """Return the names of models, given as texts, objects, or a list of either."""
    if isinstance(given, list):
        return [name for each in given for name in _list_models(each)]
    if isinstance(given, dict):
        return _list_models(given.get("model"))
    return [get_text(given)] if given is not None else []


# Judges of pairs: JudgeBench, Arena-Hard, alpaca_eval and MT-bench. A judge who saw a pair in both orders has one
# answer: the sign of the sum of both decisions. So a tie and a decision give the decision, and two contradictory
# decisions give a tie. With the question `ORDERS` each order is a separate answer.

ORDERS = "orders"
_SIGNS = {"A>B": 1, "B>A": -1, "A=B": 0, "A<B": -1, "B<A": 1, "B=A": 0}
_COMPARED = ("instruction", "input", "generator_1", "generator_2", "output_1", "output_2")
_PAIRS = (("model_1", "model_2"), ("model_a", "model_b"))
_SIDES = {"model_1": 1, "model_a": 1, "model_2": -1, "model_b": -1}
_GAMES = ("g1_winner", "g2_winner")
_JUDGMENTS = (
    ("judge", "question_id", "score"),
    *((*pair, "g1_winner") for pair in _PAIRS),
    *((*pair, "judge", "question_id", "winner") for pair in _PAIRS),
)


def _read_votes(export: Export, games: list[Any], key: str, without: str) -> Votes:
    """Return the vote of each decision such as ``A>B`` or ``A>>B``. In every second game the sides are swapped."""
    decisions = [get_text(game, key, default=None) for game in games]
    export.leave_out(without, decisions.count(None))
    votes: Votes = []
    for place, decision in enumerate(decisions):
        plain = decision and decision.replace(" ", "").strip("[]").replace(">>", ">").replace("<<", "<")
        if decision is not None and plain not in _SIGNS:
            raise unexpected(decision, "A>B, B>A or A=B", key)
        votes.append(None if decision is None else _SIGNS[plain] * (-1) ** place)
    return votes


def _answer(export: Export, worker: Any, task: Any, votes: Votes, labels: Any, **more: Any) -> Iterator[Answer]:
    """Yield the decision on a pair as one answer, or as one answer per order."""
    cast = [(order, vote) for order, vote in enumerate(votes, start=1) if vote is not None]
    if export.files.question == ORDERS:
        for order, vote in cast:
            yield Answer(worker, task, labels[vote], kind="classes", order=order, **{**more, "question": ORDERS})
    else:
        total = sum(vote for _, vote in cast)
        sign = (total > 0) - (total < 0)
        yield Answer(worker, task, labels[sign] if cast else None, kind="classes", **more)


@record_tool("judgebench", "JudgeBench", lambda peek: peek.has("judgments.decision"))
def judgebench(export: Export) -> Iterator[Answer]:
    """Read decisions A>B, B>A, A=B of judges about pairs, one file per judge (JSONL).

    Record: ``{"pair_id": "p1", "label": "A>B", "judgments": [{"decision": "A>B"}, {"decision": "B>A"}]}``.
    ``label`` is the gold label.
    """
    twice = False
    for pair in export.records():
        judgments = get_list(pair, "judgments")
        votes = _read_votes(export, judgments, "decision", "judgments without a decision")
        twice |= len(votes) > 1
        records = [*(get(each, "judgment") for each in judgments), pair]
        judges = (record.get("judge_model") for record in records if isinstance(record, dict))
        judge = next((judge for judge in judges if judge is not None), None)
        worker, task = export.worker(judge, export.owner), get(pair, "pair_id", "id")
        yield from _answer(export, worker, task, votes, {1: "A>B", -1: "B>A", 0: "A=B"}, gold=pair.get("label"))
    if twice and export.files.question is None:
        export.remarks.append("Decisions in both orders are one answer; question='orders' reads them separately.")


@record_tool("arena-hard", "Arena-Hard", lambda peek: peek.has("model", "games.score"))
def arena_hard(export: Export) -> Iterator[Answer]:
    """Read judgments of models against a baseline, in both orders (JSONL).

    Record: ``{"question_id": "q1", "model": "m", "judge": "gpt-4", "games": [{"score": "B>A"}, {"score": "A>>B"}]}``.
    The label is the name of the better model, or ``tie``. The baseline comes first in the first game.
    """
    for record in export.records():
        model = get_text(record, "model")
        labels = {1: get_text(record, "baseline", default="baseline"), -1: model, 0: "tie"}
        votes = _read_votes(export, get_list(record, "games"), "score", "games without a winner")
        worker, task = export.worker(record.get("judge"), export.owner), get(record, "question_id", "uid")
        yield from _answer(export, worker, task and f"{task} | {model}", votes, labels)


@record_tool("alpaca_eval", "alpaca_eval", lambda peek: peek.has("instruction", "preference", "output_1", "output_2"))
def alpaca_eval(export: Export) -> Iterator[Answer]:
    """Read preferences of annotators between two outputs (JSON).

    Record: ``{"instruction": "Greet.", "output_1": "Hi!", "output_2": "Go.", "annotator": "gpt-4", "preference": 1}``.
    The label is 1 for the first output, 2 for the second, 1.5 for neither. The task is the instruction, with a hash of
    the compared pair if several pairs have the same instruction.
    """
    answers, compared = [], defaultdict(set)
    for record in export.records():
        pair = tuple(record.get(key) for key in _COMPARED)
        digest = blake2b(repr(pair).encode(errors="replace"), digest_size=4).hexdigest()
        instruction, preference = get_text(record, "instruction"), get_number(record, "preference", default=None)
        if preference is not None:
            preference = 1.5 if preference in (0, 1.5) else int(preference) if preference % 1 == 0 else preference
        compared[instruction].add(digest)
        worker = export.worker(get(record, "annotator_index", "annotator"), export.owner)
        answers.append((worker, instruction, digest, preference))
    for worker, instruction, digest, preference in answers:
        task = instruction if len(compared[instruction]) == 1 else f"{instruction} #{digest}"
        yield Answer(worker, task, preference)


@record_tool("mt-bench", "MT-bench", lambda peek: any(peek.has(*fields) for fields in _JUDGMENTS))
def mt_bench(export: Export) -> Iterator[Answer]:
    """Read judgments of models' answers: winners of pairs, or scores (JSONL).

    Record: ``{"question_id": 81, "turn": 1, "model_1": "a", "model_2": "b", "judge": "gpt-4", "g1_winner": "a"}``. The
    worker is the judge with its prompt, and the task is the question with its turn and models. Single answers have a
    ``score``, and arena battles a ``winner``.
    """
    for record in export.records():
        judge = record.get("judge")
        judge = " ".join(map(str, judge)) if isinstance(judge, list) else judge  # a model and its prompt
        worker = str(export.worker(judge or None, export.owner))
        turn = [f"turn {record['turn']}"] if record.get("turn") is not None else []
        pair = next((pair for pair in _PAIRS if record.keys() >= set(pair)), ("model",))
        models = [get_text(record, key) for key in pair]
        task = " | ".join([str(record["question_id"]), *turn, *sorted(models)])
        if len(models) == 1:
            score = get_number(record, "score", default=-1)
            export.leave_out("judgments without a score", int(score == -1))
            yield Answer(worker, task, None if score == -1 else score, "score", "numbers")
            continue
        games = _GAMES if any(key in record for key in _GAMES) else ("winner",)
        winners = [get_text(record, key, default="error") for key in games]
        export.leave_out("games without a winner", winners.count("error"))
        signs = {models[0]: 1, models[1]: -1, **_SIDES}
        votes = [None if winner == "error" else signs.get(winner, 0) for winner in winners]
        yield from _answer(export, worker, task, votes, {1: models[0], -1: models[1], 0: "tie"}, question="winner")
