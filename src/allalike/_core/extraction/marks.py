r"""Marks: where a text says that its answer stands, such as \boxed{42} or "The answer is 42."."""

from __future__ import annotations

import re
from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["find_bold", "find_boxed", "find_phrases", "find_tagged"]

_MAX_PHRASES = 50  # that are looked at, from the end of a text
_MAX_LINE_CHARACTERS = 1000  # of a line that is looked at
_BOX_PATTERN = re.compile(r"\\(?:boxed|fbox)\s*\{")
_TAG_PATTERN = re.compile(r"<(answer|final_answer)>(.*?)(?:</\1>|$)", re.DOTALL | re.IGNORECASE)
_PHRASE_PATTERN = re.compile(
    r"\b(?:answer|verdict|choice|decision)\b[\"'`*_\s)]{0,4}"
    r"(?:(?:is|are|was|would be|will be|should be|equals)\b|[:=\uff1a\n])[\s:*_]*",
    re.IGNORECASE,
)
_BOLD_PATTERN = re.compile(r"\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__")


def find_boxed(text: str) -> str | None:
    r"""Return what stands in the last box of LaTeX; a box that is never closed goes to the end of its line.

    >>> find_boxed(r"so \boxed{1}, no, \boxed{\frac{1}{2}}.")
    '\\frac{1}{2}'
    """
    starts = [found.end() for found in _BOX_PATTERN.finditer(text)]
    if not starts:
        return None
    begin, depth = starts[-1], 1
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return text[begin:place]
    return text[begin:].partition("\n")[0]


def find_tagged(text: str) -> str | None:
    """Return what stands in the last tag of an answer.

    >>> find_tagged("Well... <answer> 42 </answer>")
    '42'
    """
    found = [match[2].strip() for match in _TAG_PATTERN.finditer(text)]
    return found[-1] if found else None


def find_phrases(text: str) -> Iterator[str]:
    """Yield the lines that begin behind "answer is" or "answer:", the last one first.

    >>> list(find_phrases("The answer is 41. Wait. Final answer: 42"))
    ['42', '41. Wait. Final answer: 42']
    """
    for match in reversed(deque(_PHRASE_PATTERN.finditer(text), maxlen=_MAX_PHRASES)):
        line = text[match.end() : match.end() + _MAX_LINE_CHARACTERS].partition("\n")[0].strip()
        if line:
            yield line


def find_bold(text: str) -> Iterator[str]:
    """Yield what is printed in bold letters, the last one first.

    >>> list(find_bold("**Step 1** gives **42**."))
    ['42', 'Step 1']
    """
    for match in reversed(deque(_BOLD_PATTERN.finditer(text), maxlen=_MAX_PHRASES)):
        yield (match[1] or match[2]).strip()
