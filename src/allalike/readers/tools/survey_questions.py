"""Questions of surveys: which columns are some, which of them share a scale, and whose answers deserve a look."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

from allalike.readers.rating_scales import find_range, order_levels, read_ratings
from allalike.readers.tools.sheets import is_blank, is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence, Set

_LISTS = json.loads(Path(__file__).with_name("survey_words.json").read_text(encoding="utf-8"))
WORDS = {name: "|".join(patterns) for name, patterns in _LISTS.items()}
CONSENT = re.compile(WORDS["consent"], re.IGNORECASE)
_PERSON = re.compile(f"({WORDS['before who people are']})*({WORDS['who people are']})")
_COMMENTS = re.compile(WORDS["comments"], re.IGNORECASE)
_NOTHING = frozenset(WORDS["nothing to say"].split("|"))  # which people write into a field for comments
_YES = frozenset(WORDS["yes"].split("|"))
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
UNTICKED = "no"
_MARKS = frozenset({"1", "1.0", "y", "x", "true", "checked", "selected"})
_ENDING = re.compile(r"(\s*\[[^\[\]]*\]|_\d+)$")
_MAX_SHOWN = 3  # answers in the name of a block
_LEAST_CHANCE = 0.01
_MIN_ROWS = 3  # of a matrix
_MAX_STRAIGHT = 0.1  # of all people
_FAST = 1 / 3
_MIN_PEOPLE = 10  # of fewer the median time does not show who is fast


def plain_name(name: str) -> str:
    """Return a name with letters and digits only, in small letters."""
    return re.sub(r"[\W_]", "", name.casefold())


def asks_who(name: str) -> bool:
    """Return whether a question asks who a person is, so that there is no common answer."""
    return _PERSON.fullmatch(plain_name(name)) is not None


def is_written(texts: Iterable[str], answers: Sequence[str]) -> bool:
    """Return whether answers were written freely: they hardly recur, or the question asks for comments."""
    spelled = [answer.strip().casefold() for answer in answers]
    given = [answer for answer in spelled if answer.strip(" .!-") not in _NOTHING and answer.strip(" .!-")]
    different = set(given)
    if all(map(is_number, spelled)) or (given and (order_levels(set(spelled)) or different <= _YES)):
        return False
    words = sum(len(answer.split()) for answer in given) / max(len(given), 1)
    if any(map(_COMMENTS.search, texts)):
        return len(given) < len(spelled) or words >= _TEXT_WORDS or 3 * len(different) > len(given)
    enough = len(given) >= _MIN_ANSWERS or words >= _TEXT_WORDS
    return (enough and 2 * len(different) > len(given)) or (words >= _LONG_WORDS and 3 * len(different) > len(given))


def find_instructed(text: str, answers: Iterable[str]) -> str | None:
    """Return the answer that an attention check asks for, if it is one of those that were given."""
    if not _CHECK.search(text):
        return None
    rests = [_LEADING.sub("", text[verb.end() :]).strip().lstrip("\"'“‘«").casefold() for verb in _VERB.finditer(text)]  # noqa: RUF001
    asked = [answer for answer in answers if any(_begins(rest, answer.casefold()) for rest in rests)]
    return max(asked, key=len, default=None)


def _begins(text: str, answer: str) -> bool:
    """Return whether a sentence begins with an answer, and goes on with no more of a phrase."""
    next_word = re.split(r"\W", text[len(answer) :].lstrip(), maxsplit=1)[0]
    return text.startswith(answer) and next_word in ("", *_GOES_ON)


def _group_by_stem(names: Iterable[str]) -> dict[str, list[str]]:
    """Group the parts of a question, whose names differ in a number or in brackets at the end."""
    groups: dict[str, list[str]] = {}
    for name in names:
        groups.setdefault(_ENDING.sub("", name), []).append(name)
    return groups


def find_matrices(columns: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the rows of each matrix, by the name that they share."""
    matrices: dict[str, list[str]] = {}
    for stem, names in _group_by_stem(columns).items():
        levels = {name: _levels(columns[name]) for name in names}
        counts = Counter(level for own in levels.values() for level in own)
        rows = [name for name, own in levels.items() if any(counts[level] > 1 for level in own)]
        matrices |= {stem: rows} if rows else {}
    return matrices


def find_blocks(columns: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """Return the name of the block of each question: questions that have one scale.

    The rows of a matrix are a block: their names differ only in a number or in brackets at the end, and they share
    answers. Blocks and single questions are joined if all their answers are levels of one scale in words, ratings in
    the same usual range (1 to 5, 1 to 7, 0 to 10), or exactly the same, such as yes and no.

    >>> answers = {"Q1_1": ["low", "high"], "Q1_2": ["high", "medium"], "Q2": ["yes", "no"], "Q3": ["No", "Yes"]}
    >>> find_blocks(answers)
    {'Q1_1': 'Q1', 'Q1_2': 'Q1', 'Q2': 'no, yes', 'Q3': 'no, yes'}
    """
    matrices = list(find_matrices(columns).values())
    rows = {name for names in matrices for name in names}
    groups = [*matrices, *([name] for name in columns if name not in rows)]
    levels = [frozenset[str]().union(*(_levels(columns[name]) for name in names)) for names in groups]
    blocks: list[tuple[object, list[str], set[str]]] = []  # the scale, its questions and its levels
    for names, own in sorted(zip(groups, levels, strict=True), key=lambda group: -len(group[1])):
        scale = _find_scale(own) or names[0]
        fitting = [block for block in blocks if block[0] == scale and _find_scale(block[2] | own) == scale]
        if fitting:
            _, others, known = max(fitting, key=lambda block: len(block[2] & own))
            others += names
            known |= own
        else:
            blocks.append((scale, list(names), set(own)))
    block_of = {name: _name_block(names, own) for _, names, own in blocks for name in names}
    return {name: block_of[name] for name in columns}


def _levels(cells: Sequence[str]) -> frozenset[str]:
    return frozenset(cell.strip().casefold() for cell in set(cells) if not is_blank(cell))


def _find_scale(levels: Set[str]) -> object:
    """Return what identifies the scale of some levels; nothing for one answer that is not a level."""
    if order_levels(levels):
        return "words"
    return find_range(levels) or (frozenset(levels) if len(levels) > 1 else None)


def _name_block(names: Sequence[str], levels: Set[str]) -> str:
    stems = list(_group_by_stem(names))
    if len(names) == 1 or len(stems) == 1:
        return names[0] if len(names) == 1 else stems[0]
    if ordered := order_levels(levels) or tuple(read_ratings(levels)):
        return f"{ordered[0]} to {ordered[-1]}"
    return ", ".join(sorted(levels)[:_MAX_SHOWN]) + (", ..." if len(levels) > _MAX_SHOWN else "")


def fill_ticks(columns: Mapping[str, list[str]]) -> dict[str, list[str]]:
    """Return the columns of options, filled where a person left an option open and ticked another.

    Options of a question are columns that are called alike but for a number or brackets at the end. Each has one value
    only: the same mark in all of them, or the option's own text.
    """
    filled: dict[str, list[str]] = {}
    for stem, names in _group_by_stem(columns).items():
        options = {name: columns[name] for name in names if name != stem}
        levels = [_levels(cells) for cells in options.values()]
        marks = [mark for own in levels for mark in own]
        different = len(set(marks)) == len(marks) > 1
        if len(levels) > 1 and max(map(len, levels)) == 1 and (different or set(marks) <= _MARKS):
            ticked = [not all(map(is_blank, row)) for row in zip(*options.values(), strict=True)]
            for name, cells in options.items():
                rows = zip(cells, ticked, strict=True)
                filled[name] = [UNTICKED if other and is_blank(cell) else cell for cell, other in rows]
    return filled


def find_careless(
    checks: Mapping[str, tuple[str, Sequence[str]]],
    matrices: Mapping[str, Sequence[Sequence[str]]],
    times: Sequence[str],
) -> dict[int, list[str]]:
    """Return the rows of people whose answers deserve a look, those with the most reasons first, and the reasons.

    Three signs need no gold labels. An **attention check** was failed. The **same answer** was given in all rows of a
    matrix, though that is improbable: with the share of the answer in each row, the product of the shares is below 1 %,
    and at most a tenth of the people do so. **Less than a third of the median time**: if times were lognormal with a
    deviation of 0.5, 1.4 % of careful people would be as fast. Leiner: Too fast, too straight, too weird. Survey
    Research Methods 2019, compares such signs. None of them proves anything.

    ``checks`` are the right answer and the answers to each check, ``times`` the seconds that people needed.
    """
    reasons: dict[int, list[str]] = {}
    for name, (right, cells) in checks.items():
        for row, cell in enumerate(cells):
            if cell.strip().casefold() not in ("", right.casefold()):
                reasons.setdefault(row, []).append(f"not {right!r} in {name}")
    for stem, columns in matrices.items():
        for row in _find_straight(columns):
            reasons.setdefault(row, []).append(f"the same answer in all of {stem}")
    seconds = {row: float(cell) for row, cell in enumerate(times) if is_number(cell) and float(cell) > 0}
    middle = median(seconds.values()) if len(seconds) >= _MIN_PEOPLE else 0.0
    for row, time in seconds.items():
        if time < _FAST * middle:
            reasons.setdefault(row, []).append(f"{time:.0f} s, the median is {middle:.0f}")
    return dict(sorted(reasons.items(), key=lambda item: -len(item[1])))


def _find_straight(columns: Sequence[Sequence[str]]) -> list[int]:
    """Return who gave the same answer in all rows of a matrix, though that is improbable."""
    if len(columns) < _MIN_ROWS:
        return []
    counts = [Counter(cells) for cells in columns]
    totals = [sum(number for cell, number in count.items() if not is_blank(cell)) for count in counts]
    rows = []
    for row, cells in enumerate(zip(*columns, strict=True)):
        if len(set(cells)) == 1 and not is_blank(cells[0]):
            shares = [count[cells[0]] / total for count, total in zip(counts, totals, strict=True)]
            rows += [row] if math.prod(shares) < _LEAST_CHANCE else []
    return rows if len(rows) <= _MAX_STRAIGHT * len(columns[0]) else []
