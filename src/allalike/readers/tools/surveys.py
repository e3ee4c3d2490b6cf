"""Surveys: one row for each person and one column for each question, beside columns that are none."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike.errors import InputError
from allalike.readers.formats.encodings import read_text
from allalike.readers.formats.failures import guard
from allalike.readers.formats.spreadsheets import BOOKS, read_sheet
from allalike.readers.formats.tables import Table, join
from allalike.readers.rating_scales import find_range, order_levels, read_ratings
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.careless import find_fast, find_inattentive, find_straight
from allalike.readers.tools.sheets import BLANKS, as_text, delimiter_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set
    from pathlib import Path

    from allalike.readers.formats.files import Files


# Blocks of surveys: the questions that have one scale.
#
# The rows of a matrix are a block: their names differ only in a number or in brackets at the end, and they share
# answers. Blocks and single questions are joined where all their answers are levels of one scale in words, of which
# each may use other levels; where they are ratings in the same usual range (1 to 5, 1 to 7, 0 to 10); and where they
# have exactly the same answers, such as yes and no.


_ENDING = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")
_MAX_SHOWN = 3  # answers in the name of a block


def stem_of(name: str) -> str:
    """Return the name of a question without that of its part.

    >>> stem_of("Q2_1"), stem_of("How much? [tea]"), stem_of("Q2")
    ('Q2', 'How much?', 'Q2')
    """
    return _ENDING.sub("", name)


def find_matrices(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the rows of each matrix, by the name that they share.

    >>> find_matrices({"Q1_1": ["low", "high"], "Q1_2": ["high", "mid"], "Q1_3": ["tea"], "Q2": ["yes", "no"]})
    {'Q1': ['Q1_1', 'Q1_2']}
    """
    levels = {name: _levels(cells) for name, cells in columns.items()}
    stems: dict[str, list[str]] = {}
    for name in columns:
        stems.setdefault(stem_of(name), []).append(name)
    matrices = {
        stem: [name for name in names if any(levels[name] & levels[other] for other in names if other != name)]
        for stem, names in stems.items()
    }
    return {stem: names for stem, names in matrices.items() if names}


def find_blocks(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the block of each question, given what was answered.

    >>> said = {"Q1_1": ["low", "high"], "Q1_2": ["high", "medium"], "Q2": ["yes", "no"], "Q3": ["No", "Yes"]}
    >>> find_blocks(said)
    {'Q1_1': 'Q1', 'Q1_2': 'Q1', 'Q2': 'no, yes', 'Q3': 'no, yes'}
    >>> find_blocks({"Is it?": ["Agree", "Neutral"], "Was it?": ["Disagree"], "Rate it": ["5", "7"], "Again": ["6"]})
    {'Is it?': 'disagree to agree', 'Was it?': 'disagree to agree', 'Rate it': '5 to 7', 'Again': '5 to 7'}
    """
    matrices = list(find_matrices(columns).values())
    rows = {name for names in matrices for name in names}
    groups = [*matrices, *([name] for name in columns if name not in rows)]
    levels = [frozenset[str]().union(*(_levels(columns[name]) for name in names)) for names in groups]
    joined: dict[object, list[tuple[list[str], set[str]]]] = {}
    for names, own in sorted(zip(groups, levels, strict=True), key=lambda group: -len(group[1])):
        kind = _find_type(own)
        same_type = joined.setdefault(kind or names[0], [])
        alike = [group for group in same_type if _find_type(group[1] | own) == kind]
        if alike:
            most = max(alike, key=lambda group: len(group[1] & own))
            most[0].extend(names)
            most[1].update(own)
        else:
            same_type.append((list(names), set(own)))
    blocks = {name: _name_block(names, own) for each in joined.values() for names, own in each for name in names}
    return {name: blocks[name] for name in columns}


def _levels(cells: Sequence[str]) -> frozenset[str]:
    return frozenset(cell.strip().casefold() for cell in cells if cell.strip() not in BLANKS)


def _find_type(levels: Set[str]) -> object:
    """Return what answers to questions of one scale have in common; nothing for one answer that is not a level."""
    if order_levels(levels):
        return "words"
    return find_range(levels) or (frozenset(levels) if len(levels) > 1 else None)


def _name_block(names: Sequence[str], levels: Set[str]) -> str:
    stems = {stem_of(name) for name in names}
    if len(names) == 1 or len(stems) == 1:
        return names[0] if len(names) == 1 else stems.pop()
    if ordered := order_levels(levels) or tuple(read_ratings(levels)):
        return f"{ordered[0]} to {ordered[-1]}"
    shown = sorted(levels)
    return ", ".join(shown[:_MAX_SHOWN]) + (", ..." if len(shown) > _MAX_SHOWN else "")


# Columns of surveys: what is asked of a person, and is no question to which people can agree.
#
# Consent, who somebody is, and checks of attention have an answer of their own or a right one that is known. A check
# says itself what to answer: "Please select Strongly agree".


_PERSON = re.compile(
    r"(your|the|please|enter|write|select|indicate|specify|state|what|whats|which|is|are|of|do|you|in|current|highest"
    r"|student|participant|respondent|full|first|last|sur|nick|user|my|\d)*"
    r"(name|nameandsurname|namesurname|firstnamelastname|vorname|nom|pr[eé]nom|nometpr[eé]nom|nombre|nombrecompleto"
    r"|nome|nomecompleto|email.*|phone|phonenumber|mobilenumber|studentid|rollno|rollnumber|prolificid|participantid"
    r"|ages?|ageinyears|howoldareyou|agegroup|agerange|dateofbirth|birthdate|birthday|yearofbirth|birthyear|[aâ]ge|edad"
    r"|idade|alter|wiealtsindsie|gender|genderidentity|genderdoyouidentifywith|genderdoyouidentifyas|sex|genre|sexe"
    r"|sexo|g[eé]nero|geschlecht|country|countryofresidence|countrydoyoulivein|countryyoulivein|nationality|ethnicity"
    r"|race|raceethnicity|ethnicbackground|nativelanguage|firstlanguage|mothertongue|language|education|educationlevel"
    r"|levelofeducation|leveleducation|levelofeducationyouhavecompleted|degree|occupation|profession|employmentstatus"
    r"|jobtitle|maritalstatus|income|householdincome|annualhouseholdincome|zipcode|postcode|postalcode|religion)"
)
_CONSENT = re.compile(
    r"\b(informed )?consent(s|ing)?\b|\bagree(ing)? to (take part|participate)|(willing|wish|want|like) to (take part|"
    r"participate) in (this|the|our)|participation is voluntary|einwilligung|einverständnis(erklärung)?|consentement"
    r"|consentimiento|consenso informato|consentimento",
    re.IGNORECASE,
)
_COMMENTS = re.compile(
    r"\b(comments?|remarks?|suggestions?|feedback|(any|some)thing else|explain|elaborate|improve"
    r"|anmerkung(en)?|kommentare?|bemerkung(en)?"
    r"|commentaires?|remarques?|comentarios?|sugerencias?|commenti|osservazioni|comentários?|sugestões|opmerking(en)?"
    r"|uwagi|komentarze?|комментари[ий])\b|コメント|ご意見|备注|评论|意见",
    re.IGNORECASE,
)
_NOTHING = frozenset(
    (
        *("none", "no", "nope", "nothing", "nil", "na", "n/a", "x", "no comment", "no comments", "nothing else"),
        *("keine", "nein", "nichts", "non", "aucun", "rien", "nada", "ninguno", "nessuno", "geen", "brak", "нет"),
    )
)  # which people write into a field for comments
_YES = frozenset(("yes", "y", "maybe", "sometimes", "not sure", "ja", "oui", "sí", "si", "sim", "tak", "да"))
_TEXT_WORDS, _LONG_WORDS = 3, 8  # on average, of texts that are written, few or recurring
_MIN_ANSWERS = 4  # fewer short answers do not show whether they recur
_VERB = re.compile(
    r"\b(?:select|choose|pick|click(?: on)?|mark|tick|check|answer(?: with)?|respond(?: with)?)\b", re.IGNORECASE
)
_LEADING = re.compile(r"^[\s:,]*(?:the |only )*(?:(?:option|answer|response|box|number|word)\b[\s:,]*)?", re.IGNORECASE)
_GOES_ON = ("to", "for", "in", "below", "here", "as", "so", "and")  # words that are no part of an answer
_CHECK = re.compile(
    r"attention|\bread (this|the|carefully)|paying|to show|please|this (question|item)|bot\b", re.IGNORECASE
)


def plain_name(name: str) -> str:
    """Return a name without what is no letter or digit, in small letters.

    >>> plain_name("Duration (in seconds)")
    'durationinseconds'
    """
    return re.sub(r"[\W_]", "", name.casefold())


def asks_who(name: str) -> bool:
    """Tell whether a question asks who a person is, to which there is no answer that all should give.

    >>> asks_who("What is your age?"), asks_who("Gender"), asks_who("What is the age of the house?")
    (True, True, False)
    >>> asks_who("What is your highest level of education?"), asks_who("How does your country treat education?")
    (True, False)
    """
    return _PERSON.fullmatch(plain_name(name)) is not None


def asks_consent(text: str) -> bool:
    """Tell whether a question asks whether somebody takes part.

    >>> asks_consent("Do you agree to take part?"), asks_consent("consent"), asks_consent("Do you agree?")
    (True, True, False)
    """
    return _CONSENT.search(text) is not None


def is_written(texts: Iterable[str], answers: Sequence[str]) -> bool:
    """Return whether answers were written freely, such as comments: they hardly recur, or the question asks for them.

    >>> is_written(["Why?"], ["It rained all day", "no", "I was ill that week", "no", "no", "no"])
    True
    >>> is_written(["Any other comments?"], ["none", "none", "Good"]), is_written(["The feedback helped"], ["Agree"])
    (True, False)
    >>> is_written(["Where?"], ["at home", "at work", "at home", "at home"]), is_written(["Rate it"], [*"1234"])
    (False, False)
    """
    spelled = [answer.strip().casefold() for answer in answers]
    said = [answer for answer in spelled if answer.strip(" .!-") not in _NOTHING and answer.strip(" .!-")]
    different = set(said)
    if all(map(_is_number, spelled)) or (said and (order_levels(set(spelled)) or different <= _YES)):
        return False
    words = sum(len(answer.split()) for answer in said) / max(len(said), 1)
    if any(map(_COMMENTS.search, texts)):
        return len(said) < len(spelled) or words >= _TEXT_WORDS or 3 * len(different) > len(said)
    enough = len(said) >= _MIN_ANSWERS or words >= _TEXT_WORDS
    return (enough and 2 * len(different) > len(said)) or (words >= _LONG_WORDS and 3 * len(different) > len(said))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def find_instructed(text: str, answers: Iterable[str]) -> str | None:
    """Return the answer that a question tells people to give, if it is one of those that were given.

    >>> find_instructed("To show that you read this, please select 'Strongly agree'.", ["Agree", "Strongly agree"])
    'Strongly agree'
    >>> find_instructed("Please select all that apply", ["all", "none"])
    >>> find_instructed("Which do you choose?", ["tea", "milk"])
    """
    if not _CHECK.search(text):
        return None
    rests = [_LEADING.sub("", text[verb.end() :]).strip().lstrip("\"'“‘«").casefold() for verb in _VERB.finditer(text)]  # noqa: RUF001
    given = [answer for answer in answers if answer.strip()]
    told = [answer for answer in given if any(_begins(rest, answer.strip().casefold()) for rest in rests)]
    return max(told, key=len, default=None)


def _begins(text: str, answer: str) -> bool:
    """Tell whether a sentence begins with an answer, and goes on with no more of a phrase."""
    rest = text[len(answer) :].lstrip()
    next_word = re.match(r"\w*", rest)
    return text.startswith(answer) and (next_word is None or next_word[0] in ("", *_GOES_ON))


_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(\D.*)?")
_SHOWN = 12  # a remark lists this many names
_CARELESS_SHOWN = 5  # and this many people with reasons
_WRITTEN = "free text or dates"
_SECONDS = frozenset({"durationinseconds", "interviewtime", "totaltime", "duration"})
UNTICKED = "no"
_MARKS = frozenset({"1", "1.0", "y", "x", "true", "checked", "selected"})


@dataclass
class SurveyForm:
    """The answers of one file: a head for each column, what each person said, and which columns are no questions.

    ``texts`` are what was asked, where heads are codes, and ``checks`` the right answers to checks of attention.

    >>> SurveyForm(["Q1"], [["yes"], ["no"]]).column("Q1")
    ['yes', 'no']
    """

    names: list[str]
    rows: list[list[str]]
    remarks: list[str] = field(default_factory=list)
    aside: frozenset[str] = frozenset()
    texts: dict[str, str] = field(default_factory=dict)
    checks: dict[str, str] = field(default_factory=dict)

    def wording(self, name: str) -> str:
        """Return what a column asked: the last part of its text where it is one of several, or else its name."""
        return self.texts.get(name, name)

    def column(self, name: str) -> list[str]:
        """Return what all said in a column; a short row has said nothing in the last."""
        place = self.names.index(name)
        return [row[place] if place < len(row) else "" for row in self.rows]

    def leave_out(self, name: str | None, values: Iterable[str], why: str) -> None:
        """Leave out the rows with one of these values, in any case, and remark how many there were."""
        if name is None:
            return
        gone = set(values)
        kept = [
            row for row, value in zip(self.rows, self.column(name), strict=True) if value.strip().casefold() not in gone
        ]
        if len(kept) < len(self.rows):
            self.remarks.append(f"{len(self.rows) - len(kept):,} of {len(self.rows):,} rows {why} and are left out.")
            self.rows = kept


class SurveyTool(Tool):
    """A tool whose exports are matrices of people and questions."""

    questions_name: ClassVar[str] = "question"
    answers_name: ClassVar[str] = "answer"

    @abstractmethod
    def prepare(self, form: SurveyForm) -> None:
        """Take away the rows that are no answers, and give names to columns that have none."""

    @abstractmethod
    def is_about(self, name: str) -> bool:
        """Tell whether a column tells something about the person or the form, and is no question."""

    @abstractmethod
    def find_worker(self, form: SurveyForm) -> str | None:
        """Return the column with the id of a person, if there is one."""

    def open(self, paths: Sequence[Path], files: Files) -> Table:
        """Open exports as answers of people to questions; columns that are no questions stay beside them."""
        forms = [_read(path, files) for path in paths]
        asked = [self._ask(form, path, files) for form, path in zip(forms, paths, strict=True)]
        blocks = find_blocks(_join_columns([answers for _, answers in asked]))
        tables = [
            self._stack(form, path, who, answers, blocks, len(paths) > 1)
            for form, path, (who, answers) in zip(forms, paths, asked, strict=True)
        ]
        remarks = [remark for table in tables for remark in table.remarks]
        joined = join(tables)
        return Table(
            joined.names,
            joined.load,
            joined.where,
            text=True,
            roles=tables[0].roles,
            guessed={"tool": self.name, "wide": "workers", "missing": "drop"},
            remarks=tuple(dict.fromkeys(remarks)),
            scales=tables[0].scales,
            careless={who: why for table in tables for who, why in table.careless.items()},
        )

    def _ask(self, form: SurveyForm, path: Path, files: Files) -> tuple[str | None, dict[str, list[str]]]:
        """Return the column with the ids of people, if there is one, and the answers to each question."""
        self.prepare(form)
        form.names = _different(form.names)
        if not form.rows:
            raise InputError(f"{path} has questions, but no answers.")
        worker = self.find_worker(form)
        return worker, {name: form.column(name) for name in self._choose(form, worker, files, path)}

    def _stack(
        self,
        form: SurveyForm,
        path: Path,
        worker: str | None,
        answers: dict[str, list[str]],
        blocks: Mapping[str, str],
        several: bool,
    ) -> Table:
        questions = list(answers)
        ticks = fill_ticks(answers)
        if ticks:
            form.remarks.append(f"Options that were not ticked are {UNTICKED!r}, of {_shortened(list(ticks))}.")
        cells = np.array([[cell.strip() for cell in column] for column in (answers | ticks).values()], dtype=object)
        given = ~np.isin(cells, list(BLANKS))
        if not given.any():
            raise InputError(f"Nobody in {path} has answered any of {_shortened(questions)}.")
        question, row = np.nonzero(given)
        name = worker or "row"
        numbers = [f"{path.stem} {number}" if several else str(number) for number in range(1, len(form.rows) + 1)]
        others = [other for other in form.names if other not in answers]
        about = {other: form.column(other) for other in others} | ({} if worker else {name: numbers})
        matrices = find_matrices({each: column for each, column in answers.items() if each not in ticks})
        careless = self._find_careless(
            form, {stem: [answers[each] for each in rows] for stem, rows in matrices.items()}
        )
        reasons = {about[name][place]: why for place, why in careless.items()}
        form.remarks += _tell_careless(reasons)
        task, label, block, look = (
            _unused(head, about) for head in (self.questions_name, self.answers_name, "block", "careless")
        )
        about[look] = ["yes" if place in careless else "no" for place in range(len(form.rows))]

        def load(asked: Sequence[str]) -> dict[str, Any]:
            values = {
                task: lambda: np.array(questions, dtype=object)[question],
                block: lambda: np.array([blocks[each] for each in questions], dtype=object)[question],
                label: lambda: cells[given],
            }
            return {
                head: as_text(values[head]() if head in values else np.array(about[head], object)[row])
                for head in asked
            }

        roles = {"worker": name, "task": task, "label": label}
        names = [*about, block, task, label]
        told: dict[str, Any] = {"remarks": tuple(form.remarks), "scales": block, "careless": reasons}
        return Table(names, load, str(path), text=True, roles=roles, **told)

    def _find_careless(self, form: SurveyForm, matrices: Mapping[str, list[list[str]]]) -> dict[int, list[str]]:
        """Return the rows of people whose answers deserve a look, each with the reasons."""
        found: dict[int, list[str]] = {}
        for name, right in form.checks.items():
            for row in find_inattentive(form.column(name), right):
                found.setdefault(row, []).append(f"not {right!r} in {name}")
        for stem, columns in matrices.items():
            for row in find_straight(columns):
                found.setdefault(row, []).append(f"the same answer in all of {stem}")
        seconds = next((name for name in form.names if plain_name(name.partition(".")[0]) in _SECONDS), None)
        fast, median = find_fast(form.column(seconds) if seconds else [])
        for row in fast:
            found.setdefault(row, []).append(
                f"{float(form.column(str(seconds))[row]):.0f} s, the median is {median:.0f}"
            )
        return dict(sorted(found.items(), key=lambda item: -len(item[1])))

    def _choose(self, form: SurveyForm, worker: str | None, files: Files, path: Path) -> list[str]:
        """Return the columns that are questions."""
        reasons = {name: self._find_reason(form, name) for name in form.names if name != worker}
        form.checks = {name: form.checks[name] for name in form.checks if not _matches(name, files.only)}
        if files.only:
            questions = [name for name in form.names if _matches(name, files.only)]
            if not questions:
                raise InputError(f"{path} has no column like {', '.join(files.only)}. It has: {', '.join(form.names)}.")
        else:
            questions = [name for name, reason in reasons.items() if reason is None]
            questions = questions or [name for name, reason in reasons.items() if reason == _WRITTEN]
            form.remarks += _tell_others({name: str(why) for name, why in reasons.items() if name not in questions})
        questions = [name for name in questions if not _matches(name, files.skip)]
        if not questions:
            raise InputError(f"{path} has no column that is a question. It has: {', '.join(form.names)}.")
        return questions

    def _find_reason(self, form: SurveyForm, name: str) -> str | None:
        """Return why a column is no question, in a word or none; a check of attention is noted."""
        texts = {name, form.wording(name)}
        if name not in form.aside and any(map(asks_who, texts)):
            return "who people are"
        if name in form.aside or self.is_about(name):
            return ""
        if any(map(asks_consent, texts)):
            return "consent"
        right = next(filter(None, (find_instructed(text, set(form.column(name))) for text in sorted(texts))), None)
        if right is not None:
            form.checks[name] = right
            return "a check of attention"
        filled = [cell.strip() for cell in form.column(name) if not _is_blank(cell)]
        written = bool(filled) and (is_written(texts, filled) or all(map(_DATE.fullmatch, filled)))
        return _WRITTEN if written else None


def _tell_others(reasons: Mapping[str, str]) -> list[str]:
    """Say in one sentence which columns are no questions: those first that ask something, with the reason.

    >>> _tell_others({"StartDate": "", "Q1": "consent", "Q9": "who people are", "Q10": "who people are"})
    ['These columns are not taken as questions: Q1 (consent); Q9, Q10 (who people are); StartDate.']
    """
    groups: dict[str, list[str]] = {}
    for name, reason in sorted(reasons.items(), key=lambda item: not item[1]):
        groups.setdefault(reason, []).append(name)
    listed = [_shortened(names) + (f" ({reason})" if reason else "") for reason, names in groups.items()]
    return [f"These columns are not taken as questions: {'; '.join(listed)}."] if listed else []


def _tell_careless(reasons: Mapping[str, Sequence[str]]) -> list[str]:
    """Say whose answers deserve a look, and why.

    >>> _tell_careless({"R_7": ["the same answer in all of Q2", "35 s, the median is 540"]})
    ['Look at the answers of 1 person: R_7 (the same answer in all of Q2; 35 s, the median is 540).']
    """
    if not reasons:
        return []
    shown = [f"{name} ({'; '.join(why)})" for name, why in list(reasons.items())[:_CARELESS_SHOWN]]
    more = f" and {len(reasons) - len(shown)} more" if len(reasons) > len(shown) else ""
    people = "1 person" if len(reasons) == 1 else f"{len(reasons):,} people"
    return [f"Look at the answers of {people}: {', '.join(shown)}{more}."]


def _read(path: Path, files: Files) -> SurveyForm:
    if not path.is_file():
        raise InputError(f"There is no file {path}." if not path.exists() else f"{path} is a folder.")
    peek = Peek(path)
    try:
        rows = guard(path, "text with columns", lambda: _read_rows(peek, files))
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as text with columns: {error}.") from error
    if not rows:
        raise InputError(f"{path} is empty.")
    return SurveyForm(rows[0], rows[1:])


def _read_rows(peek: Peek, files: Files) -> list[list[str]]:
    if peek.ending in BOOKS:
        return read_sheet(peek.path)
    lines = io.StringIO(read_text(peek.path, files.encoding), newline="")
    return [row for row in csv.reader(lines, delimiter=delimiter_of(peek)) if row]


def _join_columns(forms: Sequence[Mapping[str, list[str]]]) -> dict[str, list[str]]:
    """Return the answers to each question in all forms."""
    names = dict.fromkeys(name for form in forms for name in form)
    return {name: [cell for form in forms for cell in form.get(name, [])] for name in names}


def _different(names: Sequence[str]) -> list[str]:
    """Number heads that occur before, and those that are empty."""
    seen: dict[str, int] = {}
    different = []
    for place, name in enumerate(names, start=1):
        head = name.strip() or f"column {place}"
        seen[head] = seen.get(head, 0) + 1
        different.append(head if seen[head] == 1 else f"{head} ({seen[head]})")
    return different


def _unused(name: str, taken: Iterable[str]) -> str:
    used = set(taken)
    return next(head for head in (name, *(f"{name} {n}" for n in range(2, len(used) + 3))) if head not in used)


def _matches(name: str, patterns: Sequence[str]) -> bool:
    return any(name == pattern or fnmatchcase(name, pattern) for pattern in patterns)


def _shortened(names: Sequence[str]) -> str:
    listed = ", ".join(name if len(name) <= 40 else f"{name[:37]}..." for name in names[:_SHOWN])
    return listed + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")


def fill_ticks(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns of options, in which those that somebody left open who ticked another are no longer empty.

    Options of a question are columns that are called alike but for a number or brackets at the end. Each has one value
    only: the same mark in all of them, or the option's own text.

    >>> fill_ticks({"Q1_1": ["tea", "", ""], "Q1_2": ["milk", "milk", ""], "Q2_1": ["a", "b", ""]})
    {'Q1_1': ['tea', 'no', ''], 'Q1_2': ['milk', 'milk', '']}
    """
    groups: dict[str, dict[str, list[str]]] = {}
    for name, cells in columns.items():
        stem = stem_of(name)
        if stem != name:
            groups.setdefault(stem, {})[name] = cells
    filled: dict[str, list[str]] = {}
    for group in groups.values():
        if _are_ticks(group):
            ticked = [any(not _is_blank(cell) for cell in row) for row in zip(*group.values(), strict=True)]
            for name, cells in group.items():
                pairs = zip(cells, ticked, strict=True)
                filled[name] = [UNTICKED if there and _is_blank(cell) else cell for cell, there in pairs]
    return filled


def _are_ticks(group: Mapping[str, list[str]]) -> bool:
    values = [{cell.strip() for cell in cells if not _is_blank(cell)} for cells in group.values()]
    if len(group) < 2 or any(len(each) > 1 for each in values):
        return False
    marks = [value.casefold() for each in values for value in each]
    return bool(marks) and (set(marks) <= _MARKS or (len(set(marks)) == len(marks) > 1))


def _is_blank(cell: str) -> bool:
    return cell.strip() in BLANKS
