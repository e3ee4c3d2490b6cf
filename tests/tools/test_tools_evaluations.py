"""Logs of evaluation frameworks: answers of models, verdicts of graders, and archives that are broken."""

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


GRADERS = ["openai/a", {"model": "b", "config": {}}]
VOTES = {1: ("C", "C"), 2: ("I", "C"), 3: ("P", None)}
PANEL = inspect_log(
    [inspect_sample(item, {"model_graded_qa": panel_score(*votes)}) for item, votes in VOTES.items()], graders=GRADERS
)
ROWS = [("b", 1, "C"), ("b", 2, "C"), ("openai/a", 1, "C"), ("openai/a", 2, "I"), ("openai/a", 3, "P")]
FORMS = [ZSTANDARD, zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED]


@pytest.mark.parametrize("method", FORMS)
def test_each_grader_of_a_panel_is_a_worker_in_an_archive(method: int, tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL, method)
    assert recognised(path) == ["inspect"]
    assert answers(path) == ROWS
    assert "Left out: 1 cases without a verdict." in opened(path).remarks


def test_nothing_but_ids_and_verdicts_is_taken_from_a_log(tmp_path: Path) -> None:
    table = opened(write_eval(tmp_path / "log.eval", PANEL))
    assert table.names == ["worker", "task", "label", "sample"]
    assert SECRET not in repr(table.load(table.names))


def test_epochs_are_samples_of_which_the_first_is_read(tmp_path: Path) -> None:
    votes = {2: "I", 1: "C", 3: "I"}  # an archive has them in any order
    samples = [inspect_sample("x", {"match": vote, "includes": "C"}, epoch) for epoch, vote in votes.items()]
    path = write_eval(tmp_path / "log.eval", inspect_log(samples))
    table = opened(path)
    columns = table.load(["worker", "label", "sample"])
    assert sorted(zip(*columns.values(), strict=True))[3:] == [("match", "C", 1), ("match", "I", 2), ("match", "I", 3)]
    read = allalike.read(path)
    assert read.n_answers == 2
    assert read.encoding.decode(read.label).tolist() == ["C", "C"]
    assert "which there are up to 3" in table.remarks[0]


def test_refusals_are_no_class_beside_grades_but_one_beside_yes(tmp_path: Path) -> None:
    grades = [inspect_sample(1, {"a": "C", "b": "N", "c": 0.5}), inspect_sample(2, {"a": "I", "b": "P"})]
    table = opened(write(tmp_path / "log.json", inspect_log(grades)), tag="judges")
    assert set(table.load(["label"])["label"]) == {"C", "I", "P"}
    assert "Left out: 1 cases without a verdict." in table.remarks
    words = [inspect_sample(1, {"a": "Y", "b": "N"})]
    assert answers(write(tmp_path / "words.json", inspect_log(words))) == [("a", 1, "Y"), ("b", 1, "N")]


def models(tmp_path: Path, *names: str, **scores: Any) -> list[Path]:
    told = {"match": {"value": "C", "answer": "yes"}, **scores}
    return [write_eval(tmp_path / f"{name}.eval", inspect_log([inspect_sample(7, told)], model=name)) for name in names]


def test_several_models_are_workers_with_answers_or_scores(tmp_path: Path) -> None:
    paths = models(tmp_path, "a", "b")
    assert tags(*paths) == ["answers", "scores"]
    assert answers(*paths, tag="scores") == [("a", 7, "C"), ("b", 7, "C")]
    table = opened(*paths, tag="answers")
    assert table.load(["worker", "label", "gold"]) == {"worker": ["a", "b"], "label": ["yes"] * 2, "gold": ["yes"] * 2}
    assert any("gold" in remark for remark in table.remarks)


def test_where_models_and_judges_vary_one_question_is_asked(tmp_path: Path) -> None:
    paths = models(tmp_path, "a", "b", includes="I")
    assert tags(*paths) == ["judges", "answers", "scores: by includes", "scores: by match"]
    assert answers(*paths, tag="judges") == [
        ("includes", "7 | a", "I"),
        ("includes", "7 | b", "I"),
        ("match", "7 | a", "C"),
        ("match", "7 | b", "C"),
    ]
    assert answers(*paths, tag="scores: by includes") == [("a", 7, "I"), ("b", 7, "I")]


@pytest.mark.parametrize(
    ("scorers", "roles", "score", "judges"),
    [
        ([{"name": "qa", "options": {"model": ["a", "a"]}}], None, panel_score("C", "I"), ["a", "a (2)"]),
        ([{"name": "qa"}], None, panel_score("C", "I"), ["qa 1", "qa 2"]),
        ([{"name": "qa"}], None, panel_score("C", "I", judges=["x", "y"]), ["x", "y"]),
        (
            [{"name": "model_graded_qa"}],
            {"grader": [{"model": "a"}, {"model": "b"}]},
            panel_score("C", "I"),
            ["a", "b"],
        ),
        ([{"name": "model_graded_qa"}], {"grader": {"model": "a"}}, {"value": "C"}, ["a"]),
        ([{"name": "allalike/qa", "options": {"model": "a"}}], None, {"value": "C"}, ["a"]),
    ],
)
def test_judges_are_named_by_the_models_that_grade(
    scorers: Any, roles: Any, score: Any, judges: list[str], tmp_path: Path
) -> None:
    name = scorers[0]["name"].rpartition("/")[2]
    samples = [inspect_sample(1, {name: score, "match": "C"})]
    path = write(tmp_path / "log.json", inspect_log(samples, scorers=scorers, model_roles=roles))
    assert {worker for worker, _, _ in answers(path)} == {*judges, "match"}


def test_a_panel_that_kept_no_votes_is_told(tmp_path: Path) -> None:
    samples = [inspect_sample(1, {"model_graded_qa": "C", "match": "I"})]
    table = opened(write(tmp_path / "log.json", inspect_log(samples, graders=["a", "b"])))
    assert "1 panels that kept no verdict of their graders" in table.remarks[0]
    assert table.load(["worker"]) == {"worker": ["model_graded_qa", "match"]}


def test_a_score_of_several_values_has_a_question_for_each(tmp_path: Path) -> None:
    samples = [inspect_sample(1, {"a": {"value": {"clear": 1, "true": 2}}, "b": {"value": {"clear": 3, "true": None}}})]
    path = write(tmp_path / "log.json", inspect_log(samples))
    assert answers(path, tag="judges: clear") == [("a", 1, 1), ("b", 1, 3)]
    assert answers(path, tag="scores: true") == [("m", 1, 2)]


def test_what_a_killed_run_has_left_is_read(tmp_path: Path) -> None:
    members = eval_members(PANEL)
    del members["header.json"]
    failed = inspect_sample(4, {}, error={"message": SECRET})
    members |= eval_members(inspect_log([failed], graders=GRADERS)) | {"header.json": members["_journal/start.json"]}
    path = write_zstandard(tmp_path / "log.eval", members)
    assert answers(path) == ROWS
    assert "1 samples without a score" in opened(path).remarks[0]


def damaged(path: Path, **how: Any) -> str:
    with pytest.raises(InputError, match=path.name) as refused:
        opened(path, **how)
    return str(refused.value)


def test_an_archive_that_is_cut_or_changed_is_named(tmp_path: Path) -> None:
    path = write_eval(tmp_path / "log.eval", PANEL)
    whole = path.read_bytes()
    for end in (len(whole) // 2, len(whole) - 1, 4, 0):
        path.write_bytes(whole[:end])
        assert "Is it complete?" in damaged(path)
    place = whole.rindex(b"PK\x03\x04")
    for wrong in (place, place + 70):  # before the file, and in it
        path.write_bytes(whole[:wrong] + bytes(8) + whole[wrong + 8 :])
        assert "header.json: " in damaged(path)


@pytest.mark.parametrize(
    ("how", "said"),
    [({"size": 1 << 31}, "more than"), ({"size": 7}, "Is it complete?"), ({"flags": 1}, "it is encrypted")],
)
def test_sizes_that_are_not_true_and_what_is_encrypted_are_refused(how: Any, said: str, tmp_path: Path) -> None:
    assert said in damaged(write_zstandard(tmp_path / "log.eval", eval_members(PANEL), **how))


def test_a_log_may_have_more_files_than_another_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    members = eval_members(PANEL) | {f"more/{number}": b"" for number in range(limits.MAX_MEMBERS)}
    path = write_zstandard(tmp_path / "log.eval", members)
    assert answers(path) == ROWS
    monkeypatch.setattr("allalike.readers.formats.compression.MAX_SAMPLES", 10_003)
    assert "an archive may hold 10,003 files" in damaged(path)
