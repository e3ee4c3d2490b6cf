"""Every question of a survey has a scale of its own; consent, people and checks are no questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.readers.tools.careless import find_straight
from allalike.readers.tools.surveys import asks_consent, asks_who, find_instructed, is_written
from files.csv_exports import Sheets
from files.survey_exports import AGREE, HASTY, INATTENTIVE, STRAIGHT, SURVEYS, TIMED, course
from running.program import run


@pytest.fixture(params=SURVEYS)
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def survey(tool: str, tmp_path: Path) -> Path:
    return Sheets(tmp_path)(*SURVEYS[tool](), name=f"{tool}.csv")


def scales_of(answers: Any) -> dict[str, Any]:
    """Return how the labels of each scale are encoded."""
    return dict(answers.encoding.encodings)


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_ten_questions_have_four_scales_and_no_classes_are_pooled(survey: Path) -> None:
    answers = allalike.read(survey)

    assert (answers.n_answers, len(answers.workers), len(answers.tasks)) == (300, 30, 10)
    assert sorted(each.n_labels for each in scales_of(answers).values()) == [2, 5, 5, 5]


def test_questions_that_use_other_levels_of_one_scale_share_it(tool: str, tmp_path: Path) -> None:
    answers = allalike.read(Sheets(tmp_path)(*course(tool), name="course.csv"))
    scales = scales_of(answers)

    assert (len(answers.workers), len(answers.tasks)) == (12, 8)
    assert {each.domain.name for each in scales.values()} == {"ordinal"}
    assert [each.levels.tolist() for each in scales.values()] == [AGREE, [4, 5, 6, 7], [6, 7, 8, 9]]
    remarks = [remark for remark in answers.notes["remarks"] if "not taken as questions" in remark]
    assert len(remarks) == 1
    assert "(free text or dates)" in remarks[0]


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_answers_without_an_opinion_are_not_levels(tool: str, tmp_path: Path) -> None:
    rows = [
        ["Don't know" if cell == "" and place > 3 else cell for place, cell in enumerate(row)] for row in course(tool)
    ]
    answers = allalike.read(Sheets(tmp_path)(*rows, name="course.csv"))

    assert AGREE in [each.levels.tolist() for each in scales_of(answers).values()]
    assert any('excluded: "Don\'t know"' in remark for remark in answers.notes["remarks"])


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_one_sentence_says_what_is_no_question(survey: Path) -> None:
    remarks = [remark for remark in allalike.read(survey).notes["remarks"] if "not taken as questions" in remark]

    assert len(remarks) == 1
    reasons = ("consent", "a check of attention", "free text or dates", "who people are")
    assert all(f"({reason})" in remarks[0] for reason in reasons)


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_careless_respondents_are_flagged_in_the_table_of_workers(tool: str, survey: Path) -> None:
    table = allalike.discover(survey, method="UA").workers.set_index("worker")
    expected = {STRAIGHT: "the same answer in all of", INATTENTIVE: "not 'Agree' in"}
    expected |= {HASTY: "40 s, the median is 402"} if tool in TIMED else {}

    assert all(reason in str(table.loc[f"R_{number}", "reason"]) for number, reason in expected.items())
    assert {table.loc[f"R_{number}", "flag"] for number in expected} == {"look"}


def test_a_survey_has_a_line_of_agreement_for_each_scale(survey: Path) -> None:
    summary = json.loads(run("agreement", survey, "--json", "-q")[0])
    tasks = sorted(group["tasks"] for group in summary["groups"])

    assert summary["by"] == ["block"]
    assert tasks == [1, 2, 3, 4]
    assert all((group["alpha"] is None) == (group["tasks"] == 1) for group in summary["groups"])


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_groups_of_workers_are_compared_scale_by_scale(survey: Path, tool: str) -> None:
    gender = {"qualtrics": "Q9", "limesurvey": "gender"}.get(tool, "What is your gender?")
    table = allalike.agreement(survey, by=gender).table

    assert list(table.columns[:2]) == ["block", gender]
    assert len(table) == 8
    assert set(table["workers"]) == {15}
    assert set(allalike.agreement(survey, by="careless").table["careless"]) == {"yes", "no"}


@pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")
def test_alpha_of_a_scale_is_that_of_its_questions_alone(survey: Path, tool: str) -> None:
    patterns = {"qualtrics": "Q3_*", "limesurvey": "G1Q2*"}.get(tool, "How often*")
    alone = allalike.agreement(survey, only=(patterns,))
    groups = allalike.agreement(survey, by="block")

    assert any(abs(group.alpha - alone.alpha) < 1e-12 for group in groups.values())
    assert allalike.agreement(survey).alpha != allalike.agreement(survey).alpha  # which nobody knows of several scales


@pytest.mark.parametrize(
    ("text", "answers", "told"),
    [
        ("Please select 'Agree' to show that you read this.", ["Agree", "Strongly agree"], "Agree"),
        ("This is an attention check: choose the option Strongly agree", ["Agree", "Strongly agree"], "Strongly agree"),
        ("Please answer 3 here.", ["1", "2", "3"], "3"),
        ("Please select all that apply", ["all", "none"], None),
        ("Which would you choose?", ["tea", "milk"], None),
        ("Please select the best answer", ["yes", "no"], None),
    ],
)
def test_a_check_of_attention_says_what_to_answer(text: str, answers: list[str], told: str | None) -> None:
    assert find_instructed(text, answers) == told


@pytest.mark.parametrize(
    ("question", "answers", "written"),
    [
        ("Any other comments?", ["None", "None", "none", "Too fast at the end."], True),
        ("Any other comments?", ["Good", "Good", "no"], True),
        ("What could we improve?", ["Price", "Price", "wifi", "nothing"], True),
        ("Do you have any comments?", ["Yes", "No", "No", "No"], False),
        ("The feedback helped me", ["Agree", "Neutral", "Agree"], False),
        ("Why?", ["It was raining all day", "I had no time that week"], True),
        ("Capital of France?", ["Paris", "Paris", "paris", "Lyon"], False),
        ("How many hours?", ["3", "12", "7", "4"], False),
    ],
)
def test_comments_are_known_by_the_question_and_by_the_answers(
    question: str, answers: list[str], written: bool
) -> None:
    assert is_written([question], answers) is written


@pytest.mark.parametrize(
    ("cells", "kind", "levels"),
    [
        (["Not at all likely - 0", "7", "8", "Extremely likely - 10"], "ordinal", 11),
        (["Very helpful", "Not so helpful", "Extremely helpful", "Somewhat helpful"], "ordinal", 4),
        (["Definitely yes", "Probably not", "Might or might not", "Definitely not"], "ordinal", 4),
        (["1. tea", "2. milk", "3. ale", "1. tea"], "categorical", 3),
        (["0", "1", "1", "0"], "categorical", 2),
    ],
)
def test_levels_are_known_by_words_and_numbers(cells: list[str], kind: str, levels: int, tmp_path: Path) -> None:
    rows = [[f"3/{n % 9 + 1}/2024 10:00:00", cells[n % 4], "Yes" if n % 3 else "No"] for n in range(16)]
    answers = allalike.read(Sheets(tmp_path)(["Timestamp", "What is it like?", "Again or not?"], *rows))
    found = scales_of(answers)["What is it like?"]

    assert (found.domain.name, found.n_labels) == (kind, levels)


@pytest.mark.parametrize("text", ["I consent", "Informed consent", "Do you agree to participate?", "Einwilligung"])
def test_consent_is_recognised(text: str) -> None:
    assert asks_consent(text)


@pytest.mark.parametrize("text", ["Do you agree?", "How far do you agree with the plan?", "Did they take part?"])
def test_agreement_is_no_consent(text: str) -> None:
    assert not asks_consent(text)


@pytest.mark.parametrize("text", ["What is your highest level of education?", "Marital status", "Wie alt sind Sie?"])
def test_who_people_are_is_recognised(text: str) -> None:
    assert asks_who(text)


def test_a_matrix_that_many_answer_straight_says_nothing_of_anybody() -> None:
    spread = [["abcd"[(person + row) % 4] for person in range(20)] for row in range(4)]
    few, many = ([cells + ["a"] * count for cells in spread] for count in (1, 5))

    assert find_straight(few) == [20]
    assert find_straight(many) == []
