"""Surveys of ten questions, each with a scale of its own, as the tools export them."""

AGREE = ["Strongly disagree", "Disagree", "Neutral", "Agree", "Strongly agree"]
OFTEN = ["Never", "Rarely", "Sometimes", "Often", "Always"]
PARTS = ["easy", "useful", "kind", "fast"]
HABITS = ["read", "write", "sing"]
CONSENT = "Do you agree to take part in this study?"
CHECK = "To show that you read this, please select Agree."
STRAIGHT, HASTY, INATTENTIVE = 3, 8, 11  # people who deserve a look
PEOPLE = range(30)
QUESTIONS = [
    *(f"How much do you agree? - {part}" for part in PARTS),
    *(f"How often do you - {habit}" for habit in HABITS),
    *("How many stars?", "Have you used it?", "Did you like it?"),
]
_ASIDE = [CHECK, "How old are you?", "What is your gender?", "Anything else?"]


def answer(n: int) -> list[str]:
    """Return what a person says: agreement, habits, stars, yes or no twice, a check, age, gender and a remark."""
    agreement = [AGREE[0 if n == STRAIGHT else (n + place + n // 7) % 5] for place in range(4)]
    habits = [OFTEN[(2 * n + place * place) % 5] for place in range(3)]
    others = ["12345"[n * 3 % 5], "Yes" if n % 2 else "No", "Yes" if n % 3 else "No"]
    about = ["Neutral" if n == INATTENTIVE else "Agree", str(20 + n), "fm"[n % 2]]
    return [*agreement, *habits, *others, *about, f"well, {n} things are to be said"]


def seconds(n: int) -> str:
    return "40" if n == HASTY else str(300 + 7 * n)


def qualtrics() -> list[list[str]]:
    codes = [*(f"Q2_{n}" for n in range(1, 5)), *(f"Q3_{n}" for n in range(1, 4)), *(f"Q{n}" for n in range(4, 11))]
    heads = ["StartDate", "EndDate", "Status", "Duration (in seconds)", "ResponseId", "Q1", *codes, "Q11_Page Submit"]
    texts = ["Start Date", "End Date", "Response Type", "Duration (in seconds)", "Response ID", CONSENT, *QUESTIONS]
    texts += [*_ASIDE, "Timing - Page Submit"]
    about = ["startDate", "endDate", "status", "duration", "_recordId"]
    imports = [f'{{"ImportId":"{name}"}}' for name in [*about, *(f"QID{n}" for n in range(len(heads) - 5))]]
    day = "2024-01-01"
    rows = [[day, day, "IP Address", seconds(n), f"R_{n}", "I agree", *answer(n), "3.5"] for n in PEOPLE]
    return [heads, texts, imports, *rows]


def survey_monkey() -> list[list[str]]:
    heads = ["Respondent ID", "Collector ID", "Start Date", CONSENT, "How much do you agree?", "", "", ""]
    heads += ["How often do you ...", "", "", *QUESTIONS[7:], *_ASIDE]
    options = ["", "", "", "Response", *PARTS, *HABITS, *["Response"] * 6, "Open-Ended Response"]
    return [heads, options, *([f"R_{n}", "c", "01/02/2024", "Yes", *answer(n)] for n in PEOPLE)]


def google_forms() -> list[list[str]]:
    heads = ["Timestamp", "Username", CONSENT, *(f"How much do you agree? [{part}]" for part in PARTS)]
    heads += [*(f"How often do you [{habit}]" for habit in HABITS), *QUESTIONS[7:], *_ASIDE]
    return [heads, *([f"2024/01/01 10:{n:02}:00 AM GMT+1", f"R_{n}", "Yes", *answer(n)] for n in PEOPLE)]


def lime_survey() -> list[list[str]]:
    heads = ["id", "submitdate", "lastpage", "startlanguage", "consent", *(f"G1Q1[SQ00{n}]" for n in range(1, 5))]
    heads += [*(f"G1Q2[SQ00{n}]" for n in range(1, 4)), "G2Q1", "G2Q2", "G2Q3", f"check. {CHECK}", "age", "gender"]
    heads += ["remarks", "interviewtime", "consentTime"]
    day = "2024-01-01 10:00:00"
    return [heads, *([f"R_{n}", day, "3", "en", "Y", *answer(n), seconds(n), "2.5"] for n in PEOPLE)]


SURVEYS = {
    "qualtrics": qualtrics,
    "surveymonkey": survey_monkey,
    "google-forms": google_forms,
    "limesurvey": lime_survey,
}
TIMED = ("qualtrics", "limesurvey")

COURSE = {
    "The course was well organised": "34434543343x",  # the levels of agreement, from 1
    "The lecturer explained things clearly": "4443554x4444",
    "The pace was right for me": "2323x3232233",
    "I would recommend the course": "455x45444545",
    "The feedback on my work helped me": "010100101x01",
    "I felt able to ask questions": "1223x2122321",
    "How would you rate the course?": "567x45676567",
    "How likely would you take another?": "89876xx98789",
}
_COMMENTS = [
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
]


def course(tool: str) -> list[list[str]]:
    """Return a survey in which each of six questions was answered with other levels of one scale of agreement."""
    levels = dict(zip("x012345", ["", AGREE[0], *AGREE], strict=True))
    columns = [[levels[mark] for mark in marks] for marks in list(COURSE.values())[:6]]
    columns += [[mark.replace("x", "") for mark in marks] for marks in list(COURSE.values())[6:]]
    columns.append([_COMMENTS[n % 10] for n in range(12)])
    heads = [*COURSE, "Any other comments?"]
    about, *below = {
        "google-forms": [["Timestamp"]],
        "surveymonkey": [["Respondent ID", "Collector ID", "Start Date"], ["", "", ""]],
        "qualtrics": [["ResponseId", "StartDate", "EndDate"], ["ResponseId", "StartDate", "EndDate"]],
        "limesurvey": [["id", "submitdate", "lastpage"]],
    }[tool]
    first = [[*about, *([f"Q{n}" for n in range(1, 10)] if tool == "qualtrics" else heads)]]
    options = [*["Response"] * 8, "Open-Ended Response"] if tool == "surveymonkey" else heads
    ids = [f"3/{n + 1}/2024 10:15:00" if tool == "google-forms" else f"R_{n}" for n in range(12)]
    rows = [[who, *["2024-01-01"] * (len(about) - 1), *cells] for who, *cells in zip(ids, *columns, strict=True)]
    return [*first, *([*names, *options] for names in below), *rows]
