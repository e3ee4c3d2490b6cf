r"""Numbers in what a person or a model wrote: "The answer is 42.", **42**, \boxed{42}, $42 and 42.0 are one label."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation, localcontext

from allalike._core.extraction.fields import find_field
from allalike._core.extraction.marks import find_bold, find_boxed, find_phrases, find_tagged

__all__ = ["extract_number", "write_number"]

_DIGITS = 12  # of a fraction that has no end
_MAX_EXPONENT = 30  # of a number that is written out
_MAX_CHARACTERS = 1000  # of a number
_MAX_FORMULA_CHARACTERS = 200
_MAX_END_CHARACTERS = 4000  # of a text, among which its last number is looked for
_THOUSANDS_PATTERN = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})*,\d{3}(?:\.\d+)?")
_PLAIN_PATTERN = re.compile(r"\d+(?:\.\d+)?|\.\d+")
_TOKEN = r"(?:\d(?:[\d.,]*\d)?|\.\d+)(?:[eE][-+]?\d{1,4}(?![\w.]))?"  # nosec B105 # of a number, not of a login
_NUMBER_PATTERN = re.compile(
    rf"(?<![\w^_])(?<!\^\{{)(?<!_\{{)(?<!\d[.,])"
    rf"(?P<sign>(?:(?<![\w)\]}}])[-+])?)(?:[$€£¥₹]\s?)?(?P<minus>-?)"
    rf"(?:(?P<whole>\d+)\s+(?=\d+\s?/\s?\d))?(?P<top>{_TOKEN})(?:\s?/\s?(?P<below>{_TOKEN})(?!\s?/))?"
)
_HASHES_PATTERN = re.compile(r"(?<!#)#{4,}\s*((?:[^\w\n]{0,4})[\d.][^\n]*)")
_PURE_PATTERN = re.compile(r"[^\w.,]*(?:[\d.,]|[-+/]|[eE][-+]?\d)+[^\w.,]*[.]?(?:\s*[^\W\d][\w²³^°/ .-]*)?\W*")
_SYMBOLS_PATTERN = re.compile(r"\\?sqrt|\\[dtc]?frac|√|\\pi\b|π|\\infty|∞|\\pm|±|\\theta|\\log|\\ln|\\sin|\\cos|\\tan")
_VARIABLE_PATTERN = re.compile(r"\d\s?\*?(?:[xyzabcknpqrt]\b|\()|\b[xyzn]\s*[-+*/^]|[\d)}]\s*\^|\d\s*[-+*]\s*\d")
_TUPLE_PATTERN = re.compile(r"[(\[{]?\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*[)\]}]?")
_SPACED_PATTERN = re.compile(r"\d{1,3}(?: \d{3})+(?:\.\d+)?")
_SENTENCE_END_PATTERN = re.compile(r"(?<!approx)(?<!\bca)[.!?](?=\s)")
_SAYS_PATTERN = re.compile(r"\b(?:is|are|be|equals)\s+(?:about\s+|approximately\s+|exactly\s+)?")
_LATEX = (  # what is written otherwise in LaTeX and in print
    (re.compile(r"[\u2010-\u2013\u2212](?=\s?[\d.$\\])"), "-"),
    (re.compile(r"\\([$%#&])"), r"\1"),
    (re.compile(r"(?<=\d)(?:\\[,!]|\{,\}|[\u00a0\u2009\u202f'](?=\d{3}))+(?=\d)"), ","),
    (re.compile(r"\\(?:text|textbf|mathrm|mathbf|mbox|textit|operatorname)\s*\{([^{}]*)\}"), r" \1 "),
    (re.compile(r"\\[dtc]?frac\s*(\d)\s*(\d)"), r"\\frac{\1}{\2}"),
    (re.compile(r"(\d)\s*\\[dtc]?frac"), r"\1 \\frac"),
    (re.compile(r"\\[dtc]?frac\s*\{\s*(-?[\d.,]+)\s*\}\s*\{\s*([\d.,]+)\s*\}"), r"\1/\2"),
    (
        re.compile(r"(?<![\d.])([\d.]{1,40})\s*(?:\\times|\\cdot|\u00d7|\*|x)\s*10\s*\^\s*\{?\s*([-+]?\d{1,4})\s*\}?"),
        r"\1e\2",
    ),
    (re.compile(r"\\(?:left|right|quad|displaystyle|approx|[ ,;:!()\[\]])"), " "),
    (re.compile(r"\^\s*\{?\s*\\circ\s*\}?|\\degree"), "°"),
)


def extract_number(text: str) -> str | None:
    r"""Return the number that a text gives as its answer, in its shortest form; nothing if it gives none.

    It is what the text marks as the answer, or else its last number. A marked answer that is no number, such as a
    formula, stays as it is.

    >>> for text in ("The answer is 42.", "**42**", r"\boxed{42}", "1,000.0", "$5 for 2, so 3 left", r"\frac{1}{2}"):
    ...     print(extract_number(text))
    42
    42
    42
    1000
    3
    0.5
    >>> extract_number("I cannot tell."), extract_number(r"\boxed{n+1}"), extract_number("1.234,5")
    (None, 'n+1', '1.234,5')
    """
    for find in (_answer_field, find_tagged, find_boxed):
        marked = find(text)
        if marked is not None:
            return _read_marked(marked)
    if found := _HASHES_PATTERN.findall(text):
        return _first(_without_latex(found[-1][:_MAX_CHARACTERS]))
    for line in find_phrases(text.replace("**", "")):
        if (number := _first(_SENTENCE_END_PATTERN.split(_without_latex(line), maxsplit=1)[0])) is not None:
            return number
    plain = _without_latex(text[-_MAX_END_CHARACTERS:])
    for bold in find_bold(plain):
        if _PURE_PATTERN.fullmatch(bold.rpartition("=")[2].strip()) and (number := _first(bold)) is not None:
            return number
    return _only(plain) or _last(plain)


def write_number(number: Decimal) -> str:
    """Write a number in its shortest form.

    >>> write_number(Decimal("1000.50")), write_number(Decimal("1E+3")), write_number(Decimal("-0.0"))
    ('1000.5', '1000', '0')
    """
    if not number:
        return "0"
    short = number.normalize() if len(number.as_tuple().digits) <= _MAX_CHARACTERS else number
    return str(short) if abs(short.adjusted()) > _MAX_EXPONENT else f"{short:f}"


def _answer_field(text: str) -> str | None:
    if "{" not in text or "answer" not in text:
        return None
    return next((found for key in ("final_answer", "answer") if (found := find_field(text, key)) is not None), None)


def _read_marked(text: str) -> str | None:
    """Read a marked answer: a number with words around it, or a short formula, which stays as it is."""
    inner = (find_boxed(text) or text)[:_MAX_CHARACTERS]
    plain = _without_latex(inner).strip().strip("$*` ")
    if (only := _only(plain)) is not None:
        return only
    value = plain.rpartition("=")[2].strip()
    is_tuple = _TUPLE_PATTERN.fullmatch(value) and not _THOUSANDS_PATTERN.fullmatch(value)
    has_variable = _VARIABLE_PATTERN.search(value) and not re.search(r"(?<!\\)[A-Za-z]{3}", value)
    if not (is_tuple or has_variable or _SYMBOLS_PATTERN.search(value)) and (number := _first(plain)) is not None:
        return number
    return inner.strip().strip("$*` ") or None if len(inner) <= _MAX_FORMULA_CHARACTERS else None


def _without_latex(text: str) -> str:
    for pattern, plain in _LATEX:
        text = pattern.sub(plain, text)
    return text


def _only(text: str) -> str | None:
    """Return a text that is one number and nothing else, perhaps with spaces between thousands."""
    bare = text.strip().strip("$€£%.*` ")
    sign = "-" if bare.startswith("-") else ""
    if _SPACED_PATTERN.fullmatch(bare.lstrip("-")):
        return _value(sign + bare.lstrip("-").replace(" ", ","))
    return None


def _first(text: str) -> str | None:
    """Return the number behind the last equals sign, the first behind "is" or the like, or the first of all."""
    behind = text.rpartition("=")[2]
    said = [place.end() for place in _SAYS_PATTERN.finditer(behind)]
    for numbers in (_numbers(behind), _numbers(text)):
        if numbers:
            return next((number for place, number in numbers if place in said), numbers[0][1])
    return None


def _last(text: str) -> str | None:
    numbers = _numbers(text)
    return numbers[-1][1] if numbers else None


def _numbers(text: str) -> list[tuple[int, str]]:
    """Return the numbers of a text with their places."""
    found = ((match.start(), _of_match(match)) for match in _NUMBER_PATTERN.finditer(text))
    return [(place, number) for place, number in found if number is not None]


def _of_match(match: re.Match[str]) -> str | None:
    sign = "-" if "-" in (match["sign"], match["minus"]) else ""
    top = match["top"]
    if match["below"] is None:
        return _value(sign + top)
    parts = [_decimal(part) for part in (match["whole"] or "0", top, match["below"])]
    whole, above, below = parts
    if whole is None or above is None or below is None or not below:
        return _value(sign + top)
    with localcontext(prec=_DIGITS):
        return write_number((whole + above / below) * (-1 if sign else 1))


def _value(token: str) -> str | None:
    """Return a token in its shortest form; one whose commas and points mean something else stays as it is."""
    number = _decimal(token)
    if number is not None:
        return write_number(number)
    if token.count(",") > 1 and "." not in token:  # a list
        return _value(token.rpartition(",")[2])
    return token


def _decimal(token: str) -> Decimal | None:
    bare = token.lstrip("-")
    digits, mark, exponent = bare.replace("E", "e").partition("e")
    if _THOUSANDS_PATTERN.fullmatch(digits):
        digits = digits.replace(",", "")
    elif not _PLAIN_PATTERN.fullmatch(digits):
        return None
    if len(digits) > _MAX_CHARACTERS:
        return None
    try:
        return Decimal(("-" if token.startswith("-") else "") + digits + mark + exponent)
    except InvalidOperation:
        return None
