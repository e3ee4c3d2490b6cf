"""Every question of a survey has a scale of its own; consent, people and checks are no questions."""

import math
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.readers.sources import open_table
from files.csv_exports import Sheets
from files.survey_exports import AGREE, HASTY, INATTENTIVE, STRAIGHT, SURVEYS, TIMED, course

pytestmark = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")


@pytest.fixture(params=SURVEYS)
def tool(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def survey(tool: str, tmp_path: Path) -> Path:
    return Sheets(tmp_path)(*SURVEYS[tool](), name=f"{tool}.csv")


def scales_of(answers: Any) -> dict[str, Any]:
    """Return how the labels of each scale are encoded."""
    return dict(answers.encoding.encodings)


def test_questions_have_their_scales_and_what_is_no_question_is_named(survey: Path) -> None:
    answers = allalike.read(survey)
    assert (answers.n_answers, len(answers.workers), len(answers.tasks)) == (300, 30, 10)
    assert sorted(each.n_labels for each in scales_of(answers).values()) == [2, 5, 5, 5]
    [remark] = [remark for remark in answers.notes["messages"] if "not read as questions" in remark]
    reasons = ("consent", "an attention check", "free text or dates", "personal data")
    assert all(f"({reason})" in remark for reason in reasons)


def test_questions_that_use_other_levels_of_one_scale_share_it(tool: str, tmp_path: Path) -> None:
    rows, sheets = course(tool), Sheets(tmp_path)
    scales = scales_of(allalike.read(sheets(*rows, name="course.csv")))
    assert {each.domain.name for each in scales.values()} == {"ordinal"}
    assert [each.levels.tolist() for each in scales.values()] == [AGREE, [4, 5, 6, 7], [6, 7, 8, 9]]
    halves = [sheets(*rows[:-8], name="some.csv"), sheets(*rows[:-12], *rows[-8:], name="others.csv")]
    assert list(scales_of(allalike.read(halves))) == list(scales)
    unsure = [["Don't know" if cell == "" and n > 3 else cell for n, cell in enumerate(row)] for row in rows]
    again = scales_of(allalike.read(sheets(*unsure, name="unsure.csv")))  # which is no level
    assert AGREE in [each.levels.tolist() for each in again.values()]


def test_careless_respondents_are_flagged_in_the_table_of_workers(tool: str, survey: Path) -> None:
    table = allalike.discover(survey, method="UA").workers.set_index("worker")
    expected = {STRAIGHT: "the same answer", INATTENTIVE: "'Agree'", **({HASTY: "40 s"} if tool in TIMED else {})}
    assert all(reason in str(table.loc[f"R_{number}", "reason"]) for number, reason in expected.items())
    assert {table.loc[f"R_{number}", "flag"] for number in expected} == {"look"}


def test_agreement_is_computed_scale_by_scale(survey: Path, tool: str) -> None:
    groups = allalike.agreement(survey, by="block")
    assert sorted(groups.table["tasks"]) == [1, 2, 3, 4]
    pattern = {"qualtrics": "Q3_*", "limesurvey": "G1Q2*"}.get(tool, "How often*")
    alone = allalike.agreement(survey, include=(pattern,))
    assert any(abs(group.alpha - alone.alpha) < 1e-12 for group in groups.values())
    assert math.isnan(allalike.agreement(survey).alpha)  # nobody knows it of several scales
    gender = {"qualtrics": "Q9", "limesurvey": "gender"}.get(tool, "What is your gender?")
    table = allalike.agreement(survey, by=gender).table
    assert list(table.columns[:2]) == ["block", gender]
    assert (len(table), set(table["workers"])) == (8, {15})
    assert set(allalike.agreement(survey, by="careless").table["careless"]) == {"yes", "no"}


def ask(folder: Path, questions: dict[str, list[str]]) -> Any:
    """Return a form of Google Forms with these answers, which people give in turn, and with one that all can answer."""
    rows = []
    for n in range(max(map(len, questions.values()))):
        answers = [cells[n % len(cells)] for cells in questions.values()]
        rows.append([f"3/{n % 9 + 1}/2024 10:00:00", *answers, "Yes" if n % 3 else "No"])
    return Sheets(folder)(["Timestamp", *questions, "Again or not?"], *rows)


CHECK, WRITTEN, CONSENT, WHO = "an attention check", "free text or dates", "consent", "personal data"
COLUMNS = [
    ("Please select 'Agree' to show that you read this.", "Agree;Strongly agree", CHECK),
    ("This is an attention check: choose the option Strongly agree", "Agree;Strongly agree", CHECK),
    ("Please answer 3 here.", "1;2;3", CHECK),
    ("Please select all that apply", "all;none", None),
    ("Which would you choose?", "tea;milk", None),
    ("Please select the best answer", "yes;no", None),
    ("Any other comments?", "None;None;none;Too fast at the end.", WRITTEN),
    ("Any other comments?", "Good;Good;no", WRITTEN),
    ("What could we improve?", "Price;Price;wifi;nothing", WRITTEN),
    ("Do you have any comments?", "Yes;No;No;No", None),
    ("The feedback helped me", "Agree;Neutral;Agree", None),
    ("Why?", "It was raining all day;I had no time that week", WRITTEN),
    ("Why not?", "It rained all day;no;I was ill that week;no;no;no", WRITTEN),
    ("Where is it?", "at home;at work;at home;at home", None),
    ("Capital of France?", "Paris;Paris;paris;Lyon", None),
    ("How many hours?", "3;12;7;4", None),
    ("I consent", "Yes;No", CONSENT),
    ("Informed consent", "Yes;No", CONSENT),
    ("Do you agree to participate?", "Yes;No", CONSENT),
    ("Einwilligung zur Studie", "Ja", CONSENT),
    ("Do you agree?", "Yes;No", None),
    ("How far do you agree with the plan?", "Agree;Disagree", None),
    ("Did they take part?", "Yes;No", None),
    ("What is your highest level of education?", "BSc;MSc", WHO),
    ("Marital status", "single;married", WHO),
    ("What is the age of the house?", "old;new", None),
    ("Wie alt sind Sie?", "20;30", WHO),
]


@pytest.mark.parametrize(("question", "cells", "reason"), COLUMNS)
def test_a_column_is_a_question_or_named_with_the_reason(
    question: str, cells: str, reason: str | None, tmp_path: Path
) -> None:
    table = open_table(ask(tmp_path, {question: cells.split(";")}))
    assert (question in table.names) == (reason is not None)  # where it is beside the questions
    assert any(f"({reason})" in remark for remark in table.remarks) == (reason is not None)


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
    found = scales_of(allalike.read(ask(tmp_path, {"What is it like?": cells * 4})))["What is it like?"]
    assert (found.domain.name, found.n_labels) == (kind, levels)


@pytest.mark.parametrize(("straight", "found"), [(1, ["21"]), (5, [])])
def test_a_matrix_that_many_answer_straight_is_no_sign(straight: int, found: list[str], tmp_path: Path) -> None:
    rows = {f"How is it? [{row}]": [*("abcd"[(n + row) % 4] for n in range(20)), *"a" * straight] for row in range(4)}
    assert list(open_table(ask(tmp_path, rows)).notes["careless"]) == found
