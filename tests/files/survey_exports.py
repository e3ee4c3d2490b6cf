"""Surveys of ten questions, each with a scale of its own, as the tools export them."""

from dataclasses import dataclass

AGREE = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]
OFTEN = ["Never", "Rarely", "Sometimes", "Often", "Always"]
PARTS = ["easy", "useful", "kind", "fast"]
HABITS = ["read", "write", "sing"]
CONSENT = "Do you agree to take part in this study?"
CHECK = "To show that you read this, please select Agree."
STRAIGHT, HASTY, INATTENTIVE = 3, 8, 11  # people who deserve a look


@dataclass(frozen=True)
class Person:
    """What one of thirty people answers."""

    number: int

    @property
    def name(self) -> str:
        return f"R_{self.number}"

    @property
    def seconds(self) -> str:
        return "40" if self.number == HASTY else str(300 + 7 * self.number)

    @property
    def agreement(self) -> list[str]:
        if self.number == STRAIGHT:
            return [AGREE[0]] * 4
        return [AGREE[(self.number + place + self.number // 7) % 5] for place in range(4)]

    @property
    def habits(self) -> list[str]:
        return [OFTEN[(2 * self.number + place * place) % 5] for place in range(3)]

    @property
    def others(self) -> list[str]:
        """Stars, two questions of yes or no, a check, age, gender, and a remark."""
        stars, used, liked = "12345"[self.number * 3 % 5], self.number % 2, self.number % 3
        check = "Neutral" if self.number == INATTENTIVE else "Agree"
        said = ["Yes" if used else "No", "Yes" if liked else "No"]
        return [stars, *said, check, str(20 + self.number), "fm"[self.number % 2]]

    @property
    def answers(self) -> list[str]:
        return [*self.agreement, *self.habits, *self.others, f"well, {self.number} things are to be said"]


PEOPLE = [Person(number) for number in range(30)]
QUESTIONS = [
    *(f"How much do you agree? - {part}" for part in PARTS),
    *(f"How often do you - {habit}" for habit in HABITS),
    "How many stars?",
    "Have you used it?",
    "Did you like it?",
]
_ASIDE = [CHECK, "How old are you?", "What is your gender?", "Anything else?"]


def qualtrics() -> list[list[str]]:
    codes = [*(f"Q2_{n}" for n in range(1, 5)), *(f"Q3_{n}" for n in range(1, 4)), "Q4", "Q5", "Q6"]
    heads = ["StartDate", "EndDate", "Status", "Duration (in seconds)", "ResponseId", "Q1", *codes]
    heads += ["Q7", "Q8", "Q9", "Q10", "Q11_Page Submit"]
    texts = ["Start Date", "End Date", "Response Type", "Duration (in seconds)", "Response ID", CONSENT, *QUESTIONS]
    texts += [*_ASIDE, "Timing - Page Submit"]
    about = ["startDate", "endDate", "status", "duration", "_recordId"]
    imports = [f'{{"ImportId":"{name}"}}' for name in [*about, *(f"QID{n}" for n in range(len(heads) - 5))]]
    rows = [
        ["2024-01-01", "2024-01-01", "IP Address", each.seconds, each.name, "I agree", *each.answers, "3.5"]
        for each in PEOPLE
    ]
    return [heads, texts, imports, *rows]


def survey_monkey() -> list[list[str]]:
    heads = ["Respondent ID", "Collector ID", "Start Date", CONSENT, "How much do you agree?", "", "", ""]
    heads += ["How often do you ...", "", "", *QUESTIONS[7:], *_ASIDE]
    options = ["", "", "", "Response", *PARTS, *HABITS, *["Response"] * 6, "Open-Ended Response"]
    rows = [[each.name, "c", "01/02/2024", "Yes", *each.answers] for each in PEOPLE]
    return [heads, options, *rows]


def google_forms() -> list[list[str]]:
    heads = ["Timestamp", "Username", CONSENT, *(f"How much do you agree? [{part}]" for part in PARTS)]
    heads += [*(f"How often do you [{habit}]" for habit in HABITS), *QUESTIONS[7:], *_ASIDE]
    rows = [[f"2024/01/01 10:{each.number:02}:00 AM GMT+1", each.name, "Yes", *each.answers] for each in PEOPLE]
    return [heads, *rows]


def lime_survey() -> list[list[str]]:
    heads = ["id", "submitdate", "lastpage", "startlanguage", "consent", *(f"G1Q1[SQ00{n}]" for n in range(1, 5))]
    heads += [*(f"G1Q2[SQ00{n}]" for n in range(1, 4)), "G2Q1", "G2Q2", "G2Q3", f"check. {CHECK}", "age", "gender"]
    heads += ["remarks", "interviewtime", "consentTime"]
    rows = [[each.name, "2024-01-01 10:00:00", "3", "en", "Y", *each.answers, each.seconds, "2.5"] for each in PEOPLE]
    return [heads, *rows]


SURVEYS = {
    "qualtrics": qualtrics,
    "surveymonkey": survey_monkey,
    "google-forms": google_forms,
    "limesurvey": lime_survey,
}
TIMED = ("qualtrics", "limesurvey")


COURSE = [
    "The course was well organised",
    "The lecturer explained things clearly",
    "The pace was right for me",
    "I would recommend the course",
    "The feedback on my work helped me",
    "I felt able to ask questions",
]
_MARKS = (
    "34434543343x",
    "4443554x4444",
    "2323x3232233",
    "455x45444545",
    "010100101x01",
    "1223x2122321",
)  # places in AGREE
_RATED = ("567x45676567", "89876xx98789")  # of seven, and of ten
_COMMENTS = (
    "none",
    "",
    "The room was too cold in winter.",
    "None",
    "",
    "More exercises, please!",
    "no",
    "",
    "None",
    "",
)
_EVALUATION = [*COURSE, "How would you rate the course?", "How likely would you take another?", "Any other comments?"]


def course(tool: str) -> list[list[str]]:
    """Return a survey in which each of six questions was answered with other levels of one scale of agreement."""
    levels = {**{str(place): level for place, level in enumerate(AGREE, start=1)}, "0": AGREE[0], "x": ""}
    said = [[levels[mark] for mark in marks] for marks in _MARKS]
    said += [[mark.replace("x", "") for mark in marks] for marks in _RATED]
    rows = [[*cells, (*_COMMENTS, *_COMMENTS)[number]] for number, cells in enumerate(zip(*said, strict=True))]
    codes = [f"Q{number}" for number in range(1, len(_EVALUATION) + 1)]
    about, heads = {
        "google-forms": (["Timestamp"], [_EVALUATION]),
        "surveymonkey": (
            ["Respondent ID", "Collector ID", "Start Date"],
            [_EVALUATION, ["Response"] * 8 + ["Open-Ended Response"]],
        ),
        "qualtrics": (["ResponseId", "StartDate", "EndDate"], [codes, _EVALUATION]),
        "limesurvey": (["id", "submitdate", "lastpage"], [_EVALUATION]),
    }[tool]
    below = ["", "", ""] if tool == "surveymonkey" else about
    table = [[*(below if place else about), *names] for place, names in enumerate(heads)]
    known = [
        f"3/{number + 1}/2024 10:15:00" if tool == "google-forms" else f"R_{number}" for number in range(len(rows))
    ]
    return [
        *table,
        *([who, *["2024-01-01"] * (len(about) - 1), *cells] for who, cells in zip(known, rows, strict=True)),
    ]
