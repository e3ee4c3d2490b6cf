r"""Choices in what a person or a model wrote: A, (A), [[A]], "Answer: A", model_a and \boxed{A} are one label."""

from __future__ import annotations

import re

from allalike._core.extraction.fields import find_field
from allalike._core.extraction.marks import find_bold, find_boxed, find_phrases, find_tagged

__all__ = ["extract_choice"]

_MAX_CHARACTERS = 200  # of a text that is a choice and nothing else
_NOUNS = "model|assistant|response|answer|option|choice|candidate|output|system|completion|summary|text|verdict"
_NOUN = rf"(?:(?:the\s+)?(?:correct\s+|final\s+|best\s+|better\s+)*(?:{_NOUNS})s?\s*(?:is|:|=)?[\s_\-:]*)"
_OPEN, _CLOSE = r"[\s\"'`*_$(\[{<]*", r"[\s\"'`*_$)\]}>.,;:!]*"
_TIE = "tie|tied|draw|both|neither|equal|same"
_LETTER = r"[A-Za-z]"
_RELATION = rf"{_LETTER}\s*(?:>>|>|<<|<|==|=|≈|~|≻)\s*{_LETTER}"
_WHOLE_PATTERN = re.compile(rf"{_OPEN}{_NOUN}?{_OPEN}({_RELATION}|{_TIE}|{_LETTER}){_CLOSE}", re.IGNORECASE)
_BRACKETS_PATTERN = re.compile(rf"\[\[\s*({_RELATION}|{_TIE}|{_LETTER})\s*\]\]", re.IGNORECASE)
_BEHIND = r"(?:because|since|as|due|for|which|with|and|is|was|over|rather|\W)"
_START_PATTERN = re.compile(
    rf"{_OPEN}(?:{_NOUN}{_OPEN})?(?:({_RELATION})|([A-Z])(?=[)\].:,;*\"'`}}$]|\s*$|\s+{_BEHIND})|([a-z])(?=[)\]])"
    rf"|([B-HJ-Z])(?=\s))"
)
_HEAD_PATTERN = re.compile(r"\s*[\"'*(\[]*([A-Za-z])[\"'*]*(?:[)\]]|[.:](?=\s|\*|$)|\s*(?:\n|$))")
_BETTER_PATTERN = re.compile(
    rf"(?:\b(?:{_NOUNS})\s*[(\[_\"'*]*|(?<![\w'(-]))\(?([A-Z]|(?<=\()[a-z]|(?<=_)[a-z])\b[)\]\"'*]*"
    r"\s+(?:is|would be)\s+"
    r"(?:\w+\s+){0,3}(?:correct|better|best|right|preferred|preferable|superior|winner)\b"
)
_TEXT_PATTERN = re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox)\s*\{([^{}]*)\}")


def extract_choice(text: str) -> str | None:
    r"""Return the letter that a text chooses, in upper case; a comparison such as ``A>B`` as it is; nothing if unsure.

    >>> for text in ("a)", "[[A]]", "Answer: A", "The answer is (A).", "**A**", r"\boxed{A}", "model_a", "A. Because"):
    ...     assert extract_choice(text) == "A", text
    >>> extract_choice("A dog sat on it."), extract_choice("[[A>>B]]"), extract_choice("tie")
    (None, 'A>>B', 'tie')
    """
    text = _TEXT_PATTERN.sub(r" \1 ", text.strip())
    if (whole := _whole(text)) is not None:
        return whole
    if found := _BRACKETS_PATTERN.findall(text):
        return _shown(found[-1])
    for find in (_answer_field, find_tagged, find_boxed):
        if (marked := find(text)) is not None:
            return _whole(marked) or _start(marked)
    for line in find_phrases(text):
        if (chosen := _whole(line) or _start(line)) is not None:
            return chosen
    return _unmarked(text)


def _unmarked(text: str) -> str | None:
    """Look where a choice stands that nothing announces: alone in bold or in the last line, at the head, or praised."""
    for bold in find_bold(text):
        if (chosen := _whole(bold) or _head(bold)) is not None:
            return chosen
    if (last := _whole(text.rpartition("\n")[2])) is not None:
        return last
    if (head := _head(text)) is not None:
        return head
    praised = _BETTER_PATTERN.findall(text)
    return praised[-1].upper() if praised else None


def _whole(text: str) -> str | None:
    found = _WHOLE_PATTERN.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    return _shown(found[1]) if found else None


def _start(line: str) -> str | None:
    found = _START_PATTERN.match(line[:_MAX_CHARACTERS])
    return _shown(next(filter(None, found.groups()))) if found else None


def _head(text: str) -> str | None:
    found = _HEAD_PATTERN.match(text)
    return _shown(found[1]) if found else None


def _shown(found: str) -> str:
    return found.casefold() if re.fullmatch(_TIE, found, re.IGNORECASE) else re.sub(r"\s+", "", found).upper()


def _answer_field(text: str) -> str | None:
    if "{" not in text:
        return None
    keys = ("final_answer", "answer", "choice", "verdict", "winner")
    return next((found for key in keys if key in text and (found := find_field(text, key)) is not None), None)
