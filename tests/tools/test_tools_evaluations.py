"""Logs of evaluation frameworks: answers of models, verdicts of judges, and archives that are broken."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike._core import limits
from allalike.errors import InputError
from files.evaluation_logs import (
    SECRET,
    ZSTANDARD,
    deepeval_metric,
    deepeval_run,
    eval_members,
    inspect_log,
    inspect_sample,
    lm_eval_sample,
    panel_score,
    promptfoo_result,
    promptfoo_results,
    write_eval,
    write_zstandard,
)
from files.tool_exports import answers, opened, recognised, write

A_OR_B = {"a": [["-3.5", "False"], ["-0.5", "True"]], "b": [["-0.2", "True"], ["-0.5", "False"]]}
MUTUAL = [*A_OR_B["a"], ["-0.1", "True"], ["-9", "False"]]
GIVEN = {f"gen_args_{place}": {"arg_0": SECRET, "arg_1": f" {text}"} for place, text in enumerate(("no", "yes"))}
GIVEN_LISTS = [[SECRET, " no"], [SECRET, " yes"]]
GRADERS = ["openai/a", {"model": "b", "config": {}}]
VOTES = {1: ("C", "C"), 2: ("I", "C"), 3: ("P", None)}
PANEL = inspect_log(
    [inspect_sample(item, {"model_graded_qa": panel_score(*votes)}) for item, votes in VOTES.items()], graders=GRADERS
)
ROWS = [("b", 1, "C"), ("b", 2, "C"), ("openai/a", 1, "C"), ("openai/a", 2, "I"), ("openai/a", 3, "P")]


def harness(**samples: list[Any]) -> dict[str, Any]:
    return {f"{model}/samples_arc_2024-05-01T10-00-00.123456.jsonl": those for model, those in samples.items()}


def matched(strict: str, loose: Any) -> list[Any]:
    return [lm_eval_sample(3, [strict], "18", "strict-match"), lm_eval_sample(3, [loose], "18", "flexible-extract")]


def rubric(item: int, column: int = 0, model: str = "m", **verdicts: bool) -> dict[str, Any]:
    return promptfoo_result(item, [({"provider": judge}, passed) for judge, passed in verdicts.items()], model, column)


def grader_fails(result: dict[str, Any]) -> dict[str, Any]:
    result["gradingResult"]["componentResults"][0]["metadata"] = {"graderError": True}
    return result


def metric(judge: str, passed: bool, **more: Any) -> dict[str, Any]:
    return deepeval_run(("t1", [deepeval_metric(judge, passed, **more)]))


def models(**scores: Any) -> dict[str, Any]:
    told = {"match": {"value": "C", "answer": "yes"}, **scores}
    return {f"{name}.json": inspect_log([inspect_sample(7, told)], model=name) for name in "ab"}


def inspected(*scores: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"log.json": inspect_log([inspect_sample(item, each) for item, each in enumerate(scores, start=1)], **more)}


KINDS = [
    ({"type": "contains"}, True),
    ({"type": "contains"}, False),
    ({"metric": "tone", "provider": {"id": "g"}}, True),
]
BROKEN = [
    rubric(0, gpt=True, claude=True),
    {**rubric(1, gpt=False, claude=False), "failureReason": 2},
    grader_fails(rubric(2, gpt=False, claude=True)),
]
ASPECTS = {"a": {"value": {"clear": 1, "true": 2}}, "b": {"value": {"clear": 3, "true": None}}}

# Files, and what is read of them for each tag: worker, task, label, sample, gold.
LOGS: dict[str, tuple[dict[str, Any], dict[str, list[tuple[Any, ...]]]]] = {
    "lm-eval, the place of the likeliest choice": (
        harness(**{model: [lm_eval_sample(0, pair, acc=1.0)] for model, pair in A_OR_B.items()}),
        {"answers": [("a", 0, 1, 1, 1), ("b", 0, 0, 1, 1)], "scores: acc": [("a", 0, 1.0), ("b", 0, 1.0)]},
    ),
    "lm-eval, a target that is a text": (
        harness(**{m: [{**lm_eval_sample(0, pair, "yes"), "arguments": GIVEN}] for m, pair in A_OR_B.items()}),
        {"": [("a", 0, 1, 1, 1), ("b", 0, 0, 1, 1)]},
    ),
    "lm-eval, a target and arguments that are lists": (
        harness(**{m: [{**lm_eval_sample(0, pair, "yes"), "arguments": GIVEN_LISTS}] for m, pair in A_OR_B.items()}),
        {"": [("a", 0, 1, 1, 1), ("b", 0, 0, 1, 1)]},
    ),
    "lm-eval, no choice in the second half of mutual information": (
        harness(a=[lm_eval_sample(0, MUTUAL, acc_mutual_info=1.0)], b=[lm_eval_sample(0, A_OR_B["b"])]),
        {"answers": [("a", 0, 1), ("b", 0, 0)], "scores: acc_mutual_info": [("a", 0, 1.0)]},
    ),
    "lm-eval, texts by filter": (
        harness(a=matched("18", "18"), b=matched("[invalid]", ["17", "18"])),
        {
            "answers: flexible-extract": [("a", 3, "18", 1), ("b", 3, "17", 1), ("b", 3, "18", 2)],
            "answers: strict-match": [("a", 3, "18")],
        },
    ),
    "lm-eval, likelihoods of one text": (
        harness(a=[lm_eval_sample(0, [["-1", "False"]], acc=0)], b=[lm_eval_sample(0, [["-1", "True"]], acc=1)]),
        {"": [("a", 0, 0), ("b", 0, 1)]},
    ),
    "promptfoo, graders": (
        {"results.jsonl": [rubric(0, gpt=True, claude=False)]},
        {"": [("claude", 0, "fail"), ("gpt", 0, "pass")]},
    ),
    "promptfoo, models": (
        {"a.json": promptfoo_results(*(rubric(0, column, "mn"[column], gpt=True) for column in range(2)))},
        {"": [("m", 0, "pass"), ("n", 0, "pass")]},
    ),
    "promptfoo, prompts of a model": (
        {"a.json": promptfoo_results(*(rubric(0, column, gpt=True) for column in range(2)))},
        {"": [("m prompt 0", 0, "pass"), ("m prompt 1", 0, "pass")]},
    ),
    "promptfoo, errors": (
        {"results.json": promptfoo_results(*BROKEN)},
        {"": [("claude", 0, "pass"), ("claude", 2, "pass"), ("gpt", 0, "pass")]},
    ),
    "promptfoo, assertions by kind": (
        {"results.json": promptfoo_results(promptfoo_result(0, KINDS))},
        {"judges": [("contains (2)", 0, "fail"), ("contains", 0, "pass")], "scores: tone": [("m", 0, "pass")]},
    ),
    "deepeval, a file for each model": (
        {"gpt.json": metric("gpt", True, score=1.0), "claude.json": metric("claude", False, score=0.0)},
        {"": [("claude", "t1", "fail"), ("gpt", "t1", "pass")]},
    ),
    "deepeval, scores that say more": (
        {"gpt.json": {"testRunData": metric("gpt", True, score=0.9)}, "claude.json": metric("claude", True, score=0.6)},
        {
            "judges: Correctness": [("claude", "t1", "pass"), ("gpt", "t1", "pass")],
            "judges: Correctness score": [("claude", "t1", 0.6), ("gpt", "t1", 0.9)],
        },
    ),
    "inspect, several models": (
        models(),
        {"answers": [("a", 7, "yes", 1, "yes"), ("b", 7, "yes", 1, "yes")], "scores": [("a", 7, "C"), ("b", 7, "C")]},
    ),
    "inspect, models and judges": (
        models(includes="I"),
        {
            "judges": [(who, f"7 | {m}", label) for who, label in (("includes", "I"), ("match", "C")) for m in "ab"],
            "answers": [("a", 7, "yes"), ("b", 7, "yes")],
            "scores: by includes": [("a", 7, "I"), ("b", 7, "I")],
            "scores: by match": [("a", 7, "C"), ("b", 7, "C")],
        },
    ),
    "inspect, refusals beside grades and numbers": (
        inspected({"a": "C", "b": "N", "c": 0.5}, {"a": "I", "b": "P"}),
        {"judges": [("a", 1, "C"), ("a", 2, "I"), ("b", 2, "P")], "scores: numbers": [("m", 1, 0.5)]},
    ),
    "inspect, no beside yes": (inspected({"a": "Y", "b": "N"}), {"": [("a", 1, "Y"), ("b", 1, "N")]}),
    "inspect, a panel that kept no votes": (
        inspected({"model_graded_qa": "C", "match": "I"}, graders=["a", "b"]),
        {"": [("match", 1, "I"), ("model_graded_qa", 1, "C")]},
    ),
    "inspect, several values": (
        inspected(ASPECTS),
        {"judges: clear": [("a", 1, 1), ("b", 1, 3)], "scores: true": [("m", 1, 2)]},
    ),
}
REMARKS = {
    "lm-eval, a target that is a text": "gold='export'",
    "lm-eval, texts by filter": "1 responses without an answer",
    "promptfoo, errors": "Excluded: 1 cases without a verdict, 1 results without a verdict.",
    "inspect, refusals beside grades and numbers": "Excluded: 1 cases without a verdict.",
    "inspect, a panel that kept no votes": "1 panels with only the common verdict",
}


@pytest.mark.parametrize("name", LOGS)
def test_logs_are_read_in_each_way_without_their_texts(name: str, tmp_path: Path) -> None:
    files, expected = LOGS[name]
    paths = [write(tmp_path / file, content) for file, content in files.items()]
    assert recognised(paths[0]) == [name.partition(",")[0]]
    if len(expected) > 1:
        with pytest.raises(InputError) as asked:
            opened(*paths)
        assert {proposal.options["question"] for proposal in asked.value.proposals} == set(expected)
        assert asked.value.options["question"] == next(iter(expected))
    for tag, rows in expected.items():
        table = opened(*paths, question=tag or None)
        found = sorted(zip(*table.load(table.names).values(), strict=True), key=repr)
        assert [row[: len(rows[0])] for row in found] == rows
        assert REMARKS.get(name, "") in " ".join(table.remarks)
        assert SECRET not in repr(found)


def games(*scores: Any, **more: Any) -> dict[str, Any]:
    told = [{"score": score, "user_prompt": SECRET, "judgment": SECRET} for score in scores]
    return {"question_id": "q1", "model": "m", "judge": "gpt-4", "games": told, **more}


@pytest.mark.parametrize(
    ("decisions", "place"),
    [("B>>A A>B", 1), ("A>B B>A", 0), ("B>A B>A", 2), ("A=B A>B", 1), ("A<B", 1), ("- A>B", 1), ("[[A>B]] A=B", 0)],
)
def test_decisions_in_both_orders_are_one(decisions: str, place: int, tmp_path: Path) -> None:
    told = [None if each == "-" else each for each in decisions.split()]
    arena = write(tmp_path / "m.jsonl", [games(*told)])
    assert recognised(arena) == ["arena-hard"]
    assert answers(arena) == [("gpt-4", "q1 | m", ["baseline", "m", "tie"][place])]
    judgments = [each and {"judgment": {"judge_model": "j"}, "decision": each} for each in told]
    bench = write(tmp_path / "bench.jsonl", [{"pair_id": "p", "label": "A>B", "judgments": judgments}])
    assert answers(bench) == [("j", "p", ["A>B", "B>A", "A=B"][place])]


def test_orders_can_be_read_one_by_one(tmp_path: Path) -> None:
    arena = write(tmp_path / "m.jsonl", [games("B>A", "B>A", uid="u1", baseline="n")])
    pair = {"question_id": 81, "model_1": "m", "model_2": "n", "judge": ["gpt-4", "pair-v2"]}
    bench = write(tmp_path / "pair.jsonl", [{**pair, "g1_winner": "model_1", "g2_winner": "model_2"}])
    judgments = [{"decision": "A>B"}, {"decision": "A>B"}]
    judged = write(tmp_path / "judge.jsonl", [{"pair_id": "p", "label": "A>B", "judgments": judgments}])
    for path, labels in {arena: ["m", "n"], bench: ["m", "n"], judged: ["A>B", "B>A"]}.items():
        assert opened(path, question="orders").load(["label", "order"]) == {"label": labels, "order": [1, 2]}


@pytest.mark.parametrize("method", [ZSTANDARD, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED])
def test_each_grader_of_a_panel_is_a_worker_in_an_archive(method: int, tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL, method)
    assert recognised(path) == ["inspect"]
    assert answers(path) == answers(tmp_path) == ROWS
    table = opened(path)
    assert "Excluded: 1 cases without a verdict." in table.remarks
    assert table.names == ["worker", "task", "label", "sample"]


def test_epochs_are_samples_of_which_the_first_is_read(tmp_path: Path) -> None:
    votes = {2: "I", 1: "C", 3: "I"}  # an archive has them in any order
    samples = [inspect_sample("x", {"match": vote, "includes": "C"}, epoch) for epoch, vote in votes.items()]
    path = write_eval(tmp_path / "log.eval", inspect_log(samples))
    table = opened(path)
    rows = sorted(zip(*table.load(["worker", "label", "sample"]).values(), strict=True))
    assert rows[3:] == [("match", "C", 1), ("match", "I", 2), ("match", "I", 3)]
    assert "up to 3" in table.remarks[0]
    read = allalike.read(path)
    assert read.n_answers == 2
    assert read.encoding.decode(read.label).tolist() == ["C", "C"]


@pytest.mark.parametrize(
    ("scorer", "roles", "score", "judges"),
    [
        ({"name": "qa", "options": {"model": ["a", "a"]}}, None, panel_score("C", "I"), ["a", "a (2)"]),
        ({"name": "qa"}, None, panel_score("C", "I"), ["qa 1", "qa 2"]),
        ({"name": "qa"}, None, panel_score("C", "I", judges=["x", "y"]), ["x", "y"]),
        (
            {"name": "model_graded_qa"},
            {"grader": [{"model": "a"}, {"model": "b"}]},
            panel_score("C", "I"),
            ["a", "b"],
        ),
        ({"name": "model_graded_qa"}, {"grader": {"model": "a"}}, {"value": "C"}, ["a"]),
        ({"name": "allalike/qa", "options": {"model": "a"}}, None, {"value": "C"}, ["a"]),
    ],
)
def test_judges_are_named_by_the_models_that_grade(
    scorer: Any, roles: Any, score: Any, judges: list[str], tmp_path: Path
) -> None:
    samples = [inspect_sample(1, {scorer["name"].rpartition("/")[2]: score, "match": "C"})]
    path = write(tmp_path / "log.json", inspect_log(samples, scorers=[scorer], model_roles=roles))
    assert {worker for worker, _, _ in answers(path)} == {*judges, "match"}


def test_what_a_killed_run_has_left_is_read(tmp_path: Path) -> None:
    members = eval_members(PANEL)
    del members["header.json"]
    failed = inspect_sample(4, {}, error={"message": SECRET})
    members |= eval_members(inspect_log([failed], graders=GRADERS)) | {"header.json": members["_journal/start.json"]}
    path = write_zstandard(tmp_path / "log.eval", members)
    assert answers(path) == ROWS
    assert "1 samples without a score" in opened(path).remarks[0]


def damaged(path: Path) -> str:
    with pytest.raises(InputError, match=path.name) as refused:
        opened(path)
    return str(refused.value)


def test_an_archive_that_is_cut_or_changed_is_named(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL)
    whole = path.read_bytes()
    for end in (len(whole) // 2, len(whole) - 1, 4, 0):
        path.write_bytes(whole[:end])
        assert "Check that it is complete" in damaged(path)
    place = whole.rindex(b"PK\x03\x04")
    for wrong in (place, place + 70):  # before the file, and in it
        path.write_bytes(whole[:wrong] + bytes(8) + whole[wrong + 8 :])
        assert "header.json: " in damaged(path)


@pytest.mark.parametrize(
    ("how", "said"),
    [({"size": 1 << 31}, "more than"), ({"size": 7}, "Check that it is complete"), ({"flags": 1}, "it is encrypted")],
)
def test_sizes_that_are_not_true_and_what_is_encrypted_are_refused(how: Any, said: str, tmp_path: Path) -> None:
    assert said in damaged(write_zstandard(tmp_path / "log.eval", eval_members(PANEL), **how))


def test_a_log_may_have_more_files_than_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = eval_members(PANEL) | {f"more/{number}": b"" for number in range(limits.MAX_MEMBERS)}
    path = write_zstandard(tmp_path / "log.eval", members)
    assert answers(path) == ROWS
    monkeypatch.setattr("allalike.readers.formats.compression.MAX_SAMPLES", 10_003)
    assert "more than the limit of 10,003 files" in damaged(path)
