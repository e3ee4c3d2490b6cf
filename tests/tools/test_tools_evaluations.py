"""Logs of evaluation frameworks beside Inspect: models' answers, and what graders said of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from allalike.errors import InputError
from files.evaluation_logs import (
    SECRET,
    deepeval_metric,
    deepeval_run,
    lm_eval_sample,
    promptfoo_result,
    promptfoo_results,
)
from files.tool_exports import answers, opened, recognised, write

A_OR_B = {"a": [["-3.5", "False"], ["-0.5", "True"]], "b": [["-0.2", "True"], ["-0.5", "False"]]}


def tags(*paths: Path) -> list[Any]:
    with pytest.raises(InputError) as asked:
        opened(*paths)
    return [proposal.settles["tag"] for proposal in asked.value.proposals]


def harness(tmp_path: Path, **samples: list[Any]) -> list[Path]:
    name = "samples_arc_easy_2024-05-01T10-00-00.123456.jsonl"
    return [write(tmp_path / model / name, those) for model, those in samples.items()]


def test_the_harness_has_the_place_of_the_likeliest_choice(tmp_path: Path) -> None:
    paths = harness(tmp_path, **{model: [lm_eval_sample(0, pair, acc=1.0)] for model, pair in A_OR_B.items()})

    assert recognised(paths[0]) == ["lm-eval"]
    assert tags(*paths) == ["answers", "scores: acc"]
    table = opened(*paths, tag="answers")
    assert table.load(table.names) == {
        "worker": ["a", "b"],
        "task": [0, 0],
        "label": [1, 0],
        "sample": [1, 1],
        "gold": [1, 1],
    }
    assert answers(*paths, tag="scores: acc") == [("a", 0, 1.0), ("b", 0, 1.0)]


def test_a_target_that_is_a_text_is_the_choice_with_this_text(tmp_path: Path) -> None:
    given = {f"gen_args_{place}": {"arg_0": SECRET, "arg_1": f" {text}"} for place, text in enumerate(("no", "yes"))}
    samples = {model: [{**lm_eval_sample(0, pair, "yes"), "arguments": given}] for model, pair in A_OR_B.items()}
    assert opened(*harness(tmp_path, **samples), tag="answers").load(["label", "gold"]) == {
        "label": [1, 0],
        "gold": [1, 1],
    }


def test_the_second_half_of_mutual_information_is_no_choice(tmp_path: Path) -> None:
    pair = [*A_OR_B["a"], ["-0.1", "True"], ["-9", "False"]]
    paths = harness(tmp_path, a=[lm_eval_sample(0, pair, acc_mutual_info=1.0)], b=[lm_eval_sample(0, A_OR_B["b"])])
    assert answers(*paths, tag="answers") == [("a", 0, 1), ("b", 0, 0)]


def test_the_harness_has_texts_by_filter_and_those_not_found_are_none(tmp_path: Path) -> None:
    def samples(strict: str, loose: Any) -> list[Any]:
        return [lm_eval_sample(3, [strict], "18", "strict-match"), lm_eval_sample(3, [loose], "18", "flexible-extract")]

    paths = harness(tmp_path, a=samples("18", "18"), b=samples("[invalid]", ["17", "18"]))
    assert tags(*paths) == ["answers: flexible-extract", "answers: strict-match"]
    assert answers(*paths, tag="answers: strict-match") == [("a", 3, "18")]
    loose = opened(*paths, tag="answers: flexible-extract")
    assert loose.load(["worker", "label", "sample"]) == {
        "worker": ["a", "b", "b"],
        "label": ["18", "17", "18"],
        "sample": [1, 1, 2],
    }
    assert "1 responses without an answer" in loose.remarks[-2]


def test_likelihoods_of_one_text_are_no_answer(tmp_path: Path) -> None:
    paths = harness(
        tmp_path, a=[lm_eval_sample(0, [["-1.5", "False"]], acc=0)], b=[lm_eval_sample(0, [["-1", "True"]], acc=1)]
    )
    assert answers(*paths) == [("a", 0, 0), ("b", 0, 1)]


def rubric(**verdicts: bool) -> list[Any]:
    return [({"provider": judge}, passed) for judge, passed in verdicts.items()]


@pytest.mark.parametrize("name", ["results.json", "results.jsonl"])
def test_graders_of_promptfoo_are_judges(name: str, tmp_path: Path) -> None:
    results = [promptfoo_result(0, rubric(gpt=True, claude=False)), promptfoo_result(1, rubric(gpt=True, claude=True))]
    path = write(tmp_path / name, promptfoo_results(*results) if name.endswith("json") else results)

    assert recognised(path) == ["promptfoo"]
    rows = [("claude", 0, "fail"), ("claude", 1, "pass"), ("gpt", 0, "pass"), ("gpt", 1, "pass")]
    assert answers(path) == rows
    table = opened(path)
    assert SECRET not in repr(table.load(table.names))


def test_providers_of_promptfoo_are_models_and_their_prompts_if_several(tmp_path: Path) -> None:
    results = [promptfoo_result(0, rubric(gpt=True), "mn"[column % 2], column) for column in range(2)]
    assert answers(write(tmp_path / "a.json", promptfoo_results(*results))) == [("m", 0, "pass"), ("n", 0, "pass")]
    results = [promptfoo_result(0, rubric(gpt=True), "m", column) for column in range(2)]
    workers = [worker for worker, *_ in answers(write(tmp_path / "b.json", promptfoo_results(*results)))]
    assert workers == ["m prompt 0", "m prompt 1"]


def test_errors_of_promptfoo_are_no_verdicts(tmp_path: Path) -> None:
    broken = promptfoo_result(1, rubric(gpt=False, claude=False), failureReason=2)
    graders = promptfoo_result(2, rubric(gpt=False, claude=True))
    graders["gradingResult"]["componentResults"][0]["metadata"] = {"graderError": True}
    results = promptfoo_results(promptfoo_result(0, rubric(gpt=True, claude=True)), broken, graders)
    table = opened(write(tmp_path / "results.json", results))
    assert sorted(zip(*table.load(["worker", "task"]).values(), strict=True)) == [
        ("claude", 0),
        ("claude", 2),
        ("gpt", 0),
    ]
    assert "Left out: 1 cases without a verdict, 1 results without a verdict." in table.remarks


def test_assertions_of_promptfoo_without_a_grader_are_judges_by_kind(tmp_path: Path) -> None:
    checks = [
        ({"type": "contains"}, True),
        ({"type": "contains"}, False),
        ({"metric": "tone", "provider": {"id": "g"}}, True),
    ]
    path = write(tmp_path / "results.json", promptfoo_results(promptfoo_result(0, checks)))
    assert answers(path, tag="judges") == [("contains (2)", 0, "fail"), ("contains", 0, "pass")]
    assert answers(path, tag="scores: tone") == [("m", 0, "pass")]


def test_metrics_of_deepeval_are_questions_and_their_models_judges(tmp_path: Path) -> None:
    paths = [
        write(tmp_path / f"{judge}.json", deepeval_run(("t1", [deepeval_metric(judge, passed, score=float(passed))])))
        for judge, passed in {"gpt": True, "claude": False}.items()
    ]
    assert recognised(paths[0]) == ["deepeval"]
    assert answers(*paths) == [("claude", "t1", "fail"), ("gpt", "t1", "pass")]


def test_scores_of_deepeval_are_offered_where_they_say_more(tmp_path: Path) -> None:
    data = [deepeval_metric("gpt", True, score=0.9), deepeval_metric("claude", True, score=0.6)]
    path = write(tmp_path / "run.json", {"testRunData": deepeval_run(("t1", data))})
    assert tags(path) == ["judges: Correctness", "judges: Correctness score"]
    assert answers(path, tag="judges: Correctness score") == [("claude", "t1", 0.6), ("gpt", "t1", 0.9)]


def games(*scores: Any, judge: str = "gpt-4", **more: Any) -> dict[str, Any]:
    told = [{"score": score, "user_prompt": SECRET, "judgment": SECRET} for score in scores]
    return {"question_id": "q1", "model": "m", "judge": judge, "games": told, **more}


@pytest.mark.parametrize(
    ("scores", "winner"),
    [
        (("B>>A", "A>B"), "m"),
        (("A>B", "B>A"), "baseline"),
        (("B>A", "B>A"), "tie"),
        (("A=B", "A>B"), "m"),
        ((None, "A>B"), "m"),
    ],
)
def test_games_of_arena_hard_are_one_answer(scores: Any, winner: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.jsonl", [games(*scores)])
    assert recognised(path) == ["arena-hard"]
    assert answers(path) == [("gpt-4", "q1 | m", winner)]


def test_orders_can_be_read_one_by_one(tmp_path: Path) -> None:
    arena = write(tmp_path / "m.jsonl", [games("B>A", "B>A", uid="u1", baseline="n")])
    pair = {"question_id": 81, "model_1": "m", "model_2": "n", "judge": ["gpt-4", "pair-v2"]}
    bench = write(tmp_path / "pair.jsonl", [{**pair, "g1_winner": "model_1", "g2_winner": "model_2"}])
    judgments = [{"decision": "A>B"}, {"decision": "A>B"}]
    judged = write(tmp_path / "judge.jsonl", [{"pair_id": "p", "label": "A>B", "judgments": judgments}])

    labels = {path: opened(path, tag="orders").load(["label", "order"]) for path in (arena, bench, judged)}

    assert [found["label"] for found in labels.values()] == [["m", "n"], ["m", "n"], ["A>B", "B>A"]]
    assert all(found["order"] == [1, 2] for found in labels.values())
