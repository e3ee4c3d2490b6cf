"""Spellings: labels and ids that differ only in how they are written, and the option that makes labels one.

What differs in case, in blanks and marks, or in how one number or choice is written, is one label. So is a long word
beside another from which one letter is missing, or differs, if it is hardly ever given; the first letter counts, for
typical and atypical are no spellings of each other.
"""

from __future__ import annotations

import re
import unicodedata
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import combinations, islice
from typing import TYPE_CHECKING, Any

import numpy as np

from allalike._core.words import count
from allalike.domains.spelling import match_key
from allalike.engines.ranges import number_parts
from allalike.engines.sample import sample_tasks
from allalike.errors import DataNote, DataWarning
from allalike.readers.proposals import find_other_readings
from allalike.telling.answers import list_notes
from allalike.telling.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from allalike._core.blocks.block import Array, Block
    from allalike.answers import Answers
    from allalike.engines import Run

_MAX_LABELS = 5000  # that are looked at
_MAX_CHARACTERS = 200  # of a label that is looked at
_MAX_TWINS = 0.5  # of all ids: more of them are no accident
_MAX_SHOWN = 5
_MIN_LETTERS = 3  # of a label in which marks mean nothing: C and C. may be two
_MIN_LONG = 8  # letters of a word in which one of them may be a slip
_SLIPS = 0.05  # so often, at most, a word with a slip is given, beside the right one; or twice
_MIN_SHARE = 0.9  # of the labels that an option must be able to read
_CHOICE_PATTERN = re.compile(r"[A-Z](?:[<>=~]+[A-Z])?|tie")
_NUMBER_PATTERN = re.compile(r"\d(?:[\d.,]*\d)?")
_BOUNDS = re.compile(r"[<>≤≥~±%]")
_MARKS = re.compile(r"[\s\-_'\u2019.,;:!()\[\]\"/]")
_TRUTH_WORDS = {
    **dict.fromkeys(("true", "yes", "y", "1"), "true"),
    **dict.fromkeys(("false", "no", "n", "0"), "false"),
}
_ABSTENTION_WORDS = """
    ? ?? - -- -1 unknown unsure unclear undecided skip skipped ignore abstain idk not_sure don't_know dont_know
    do_not_know can't_tell cannot_tell no_answer not_applicable
"""
_ABSTENTIONS = frozenset(word.replace("_", " ") for word in _ABSTENTION_WORDS.split())


@dataclass(frozen=True)
class Spellings:
    """Labels that are probably one, though they are written differently.

    >>> Spellings((("cat", "Cat"),), 2, "categorical(lower=True)").labels
    2
    """

    pairs: tuple[tuple[Any, Any], ...]
    labels: int
    option: str


def find_spellings(values: Iterable[Any]) -> Spellings | None:
    """Find labels among different ones that differ only in case, blanks, marks, or how a number or choice is written.

    >>> find_spellings(["cat", "Cat", "dog"])
    Spellings(pairs=(('cat', 'Cat'),), labels=2, option='categorical(lower=True)')
    >>> find_spellings(["A", "B", "[[A]]", "Answer: B"]).option, find_spellings(["1", "1.0", "2"]).option
    ("categorical(extract='choice')", "categorical(extract='number')")
    >>> find_spellings(["True", "yes", "no"]).option, find_spellings(["cat", "dog"])
    ('', None)
    """
    known = list(islice(values, _MAX_LABELS))
    texts = {value: str(value) for value in known if isinstance(value, str | int | float)}
    texts = {value: text for value, text in texts.items() if len(text) <= _MAX_CHARACTERS}
    ways: tuple[tuple[str, Callable[[str], Any]], ...] = (
        ("categorical", str.strip),
        ("categorical(lower=True)", lambda text: text.strip().casefold()),
        ("categorical(extract='choice')", _as_choice),
        ("categorical(extract='number')", _as_number),
        ("", lambda text: _TRUTH_WORDS.get(text.strip().casefold())),
        ("", _without_marks),
    )
    found = [_find_alike(texts, key, option) for option, key in ways]
    best = max(found, key=lambda alike: alike.labels)  # of equal ones the simplest, which comes first
    return best if best.labels else None


def _find_alike(texts: dict[Any, str], key: Callable[[str], Any], option: str) -> Spellings:
    """Find labels with the same key; the option is not for those of which many have none."""
    groups: dict[Any, list[Any]] = {}
    for value, text in texts.items():
        if (meant := key(text)) is not None:
            groups.setdefault(meant, []).append(value)
    several = [group for group in groups.values() if len(group) > 1]
    pairs = tuple((group[0], other) for group in several for other in group[1:])
    n_alike, n_keys = sum(map(len, several)), sum(map(len, groups.values()))
    return Spellings(pairs[:_MAX_SHOWN], n_alike, option if n_keys >= _MIN_SHARE * len(texts) else "")


def _as_choice(text: str) -> str | None:
    """Return the letter that a short label stands for; a letter alone is itself, and a word stands for none."""
    word = text.strip().casefold()
    if word.isalpha():
        return word if word == "tie" else word.upper() if len(word) == 1 and word.isascii() else None
    from allalike._core.extraction import extract_choice

    found = extract_choice(text)
    return found if found is not None and _CHOICE_PATTERN.fullmatch(found) else None


def _as_number(text: str) -> str | None:
    """Return the number that a label stands for, unless it is a code such as 007."""
    bare = text.strip()
    if re.match(r"[-+]?0\d", bare) or _BOUNDS.search(bare) or len(_NUMBER_PATTERN.findall(bare)) != 1:
        return None
    if bare.isdecimal() and bare.isascii():
        return bare
    from allalike._core.extraction import extract_number

    found = extract_number(bare)
    return found if found is not None and re.fullmatch(r"-?[\d.]+", found) and _is_mostly_number(bare) else None


def _without_marks(text: str) -> str | None:
    """Return a label without case, accents, blanks and marks; a short one, or one with digits, may mean them.

    >>> _without_marks("Ice-cream"), _without_marks("café"), _without_marks("C."), _without_marks("0-0 1-6")
    ('icecream', 'cafe', None, None)
    """
    plain = "".join(letter for letter in unicodedata.normalize("NFKD", text) if not unicodedata.combining(letter))
    found = _MARKS.sub("", plain.casefold())
    return found if len(found) >= _MIN_LETTERS and not any(map(str.isdecimal, found)) else None


def find_near(labels: Iterable[Any]) -> list[tuple[str, str]]:
    """Find long words that differ in one letter, which is not the first.

    >>> find_near(["elephant", "elephnat", "elephat", "typically", "atypically", "cat", "bat"])
    [('elephant', 'elephat'), ('elephant', 'elephnat'), ('elephat', 'elephnat')]
    """
    words = [label for label in islice(labels, _MAX_LABELS) if isinstance(label, str)]
    words = [
        word for word in words if _MIN_LONG <= len(word) + 1 <= _MAX_CHARACTERS and word.replace(" ", "").isalpha()
    ]
    groups: dict[str, list[str]] = {}
    for word in words:
        for rest in {word[:place] + word[place + 1 :] for place in range(1, len(word) + 1)}:
            groups.setdefault(rest, []).append(word)
    return sorted({pair for group in groups.values() for pair in combinations(sorted(group), 2)})


def find_slips(near: Iterable[tuple[Any, Any]], counts: Mapping[Any, int]) -> list[tuple[Any, Any]]:
    """Return the words, and those near them that are hardly ever given.

    >>> find_slips([("elephant", "elephnat"), ("adsorption", "absorption")],
    ...            {"elephant": 90, "elephnat": 1, "adsorption": 40, "absorption": 30})
    [('elephant', 'elephnat')]
    """
    ordered = [(one, other) if counts[one] >= counts[other] else (other, one) for one, other in near]
    return [(one, other) for one, other in ordered if counts[other] <= max(2, _SLIPS * counts[one]) < counts[one]]


def find_twins(ids: Iterable[Any]) -> list[tuple[Any, Any]]:
    """Find ids that differ only in case and blanks; where most of them do, and not as words, case means something.

    >>> find_twins(["w0", "W0", "w1", "w2"]), find_twins(["a", "A", "b"]), find_twins(["aa", "Aa", "bb", "bB"])
    ([('w0', 'W0')], [], [])
    >>> find_twins(["ada", "ADA", "bob", "Bob"]), find_twins(["q1", "q1 "])
    ([('ada', 'ADA'), ('bob', 'Bob')], [('q1', 'q1 ')])
    """
    known = [each for each in ids if isinstance(each, str) and len(each.strip()) > 1]
    first: dict[str, str] = {}
    pairs = [(one, each) for each in known if (one := first.setdefault("".join(each.split()).casefold(), each)) != each]
    words = all(each == each.casefold() or each.isupper() or each.istitle() for pair in pairs for each in pair)
    return pairs if words or 2 * len(pairs) <= _MAX_TWINS * len(known) else []


def _is_mostly_number(text: str) -> bool:
    """Tell whether a label has no words of its own: "5 apples" and "x5" are no spellings of 5."""
    words = re.sub(r"\\(?:boxed|text|frac)|answer|final|the|is", "", text, flags=re.IGNORECASE)
    return not re.search(r"[^\W\d_]", words) or match_key(text) != text


def find_abstentions(labels: Iterable[Any]) -> list[Any]:
    """List labels that may mean that there is no answer: words for it, and -1 where no other is negative.

    >>> find_abstentions([-1, 0, 1]), find_abstentions([-1, 1]), find_abstentions(["cat", "dog", "Not sure"])
    ([-1], [], ['Not sure'])
    """
    known = list(labels)
    written = [str(match_key(label)).casefold() for label in known]
    sign = {"-1", "1"} <= set(written) and "0" not in written
    meant = _ABSTENTIONS - {"-1"} if sign else _ABSTENTIONS
    return [label for label, text in zip(known, written, strict=True) if text in meant]


# A doubt, and the warnings that are given.


@dataclass(frozen=True)
class Doubt:
    """A reason to wonder whether the answers are what was meant, and whether nothing can come of them if not."""

    what: str
    severe: bool = False


def warn_of(doubts: Iterable[Doubt], *, stacklevel: int, source: Any = None) -> None:
    """Give a `DataWarning` for each doubt that is severe, in the name of a caller so many levels up.

    The first of them says in which other ways the source of the answers can be read.
    """
    for place, doubt in enumerate(doubt for doubt in doubts if doubt.severe):
        others = find_other_readings(source) if place == 0 else ()
        warnings.warn(DataWarning(doubt.what, proposals=others), stacklevel=stacklevel + 1)


def note(summary: Mapping[str, Any], doubts: Iterable[Doubt], *, stacklevel: int) -> None:
    """Give a `DataNote` for all that was left out or looks strange, but for what `warn_of` said."""
    said = {doubt.what for doubt in doubts if doubt.severe}
    for remark in list_notes(Summary.from_dict(summary)):
        if remark.sentence not in said:
            warnings.warn(DataNote(remark.sentence), stacklevel=stacklevel + 1)


# The same: labels, workers and tasks of which two are probably one, written differently.


_SHOWN = 3
_SAMPLE_ANSWERS = 20_000
_MANY_ANSWERS = 10  # a task, which may then be one of several questions with labels of its own
_SAME_MAX_LABELS, _MAX_IDS = 1 << 12, 1 << 14  # that are looked at


def doubt_spellings(run: Run) -> Iterator[Doubt]:
    """Wonder about classes, workers and tasks that may be one."""
    found = find_spellings(list_labels(run)) if run.encoding.nominal else None
    if found is not None and run.answer_counts.sum() >= _MANY_ANSWERS * run.n_tasks:
        found = max(map(find_spellings, _label_parts(run)), key=lambda part: part.labels if part else 0)
    if found is not None:
        yield Doubt(
            f"{found.labels:,} labels differ only in how they are written: {_pairs(found.pairs)}. If they mean the"
            f" same, {say_joining(found.option)}."
        )
    elif slips := _slips(run):
        yield Doubt(
            f"{count(len(slips), 'label')} may be a slip of the pen: {_pairs(slips)}. If so, {say_joining('')}."
        )
    known = {"workers": run.workers, **({} if run.sample_tasks is None else {"tasks": run.sample_tasks})}
    for role, ids in known.items():
        if twins := find_twins(ids.take(np.arange(min(len(ids), _MAX_IDS))).tolist()):
            yield Doubt(
                f"{2 * len(twins):,} {role} differ only in how they are written: {_pairs(twins)}. If they are the same,"
                " write them alike."
            )


def _pairs(found: Sequence[tuple[Any, Any]]) -> str:
    return "; ".join(f"{one!r} and {other!r}" for one, other in found[:_SHOWN])


def _label_parts(run: Run) -> list[list[Any]]:
    """Put labels together that occur in the same tasks: others answer different questions."""
    labels = list_labels(run)
    part = np.arange(len(labels))
    for block in sample_tasks(run, _SAMPLE_ANSWERS, with_gold=False).blocks:
        same = np.flatnonzero(block.task[1:] == block.task[:-1])
        left, right = block.label[same], block.label[same + 1]
        known = (left < len(labels)) & (right < len(labels))
        part = number_parts(len(labels), part[left[known]], part[right[known]])[part]
    return [[labels[i] for i in np.flatnonzero(part == number)] for number in np.unique(part)]


def _slips(run: Run) -> list[tuple[Any, Any]]:
    labels = list_labels(run) if run.encoding.nominal else []
    near = find_near(labels)
    if not near:
        return []
    counts = run.total(partial(_count_all, n_labels=run.encoding.n_labels))["labels"]
    return find_slips(near, dict(zip(labels, counts.tolist(), strict=False)))


def _count_all(block: Block, *, n_labels: int) -> dict[str, Array]:
    return {"labels": np.bincount(block.label, minlength=n_labels)}


def say_joining(option: str) -> str:
    """Say what makes spellings one."""
    return f"the domain {option} or a label map joins them" if option else "a label map joins them"


def list_labels(run: Run | Answers) -> list[Any]:
    """Return the labels that occur, where labels are classes, or the first of them."""
    known = np.arange(min(run.encoding.n_labels, _SAME_MAX_LABELS))
    return run.encoding.decode(known).tolist() if len(known) else []
