"""Extract answers from free text, such as the output of a language model."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation, localcontext
from functools import cache, partial
from typing import Any

from allalike._core.lazy_imports import late_pattern
from allalike._core.system.json_text import is_deep, parse_json
from allalike.errors import OptionError

Extract = Callable[[str], str | None]
_KNOWN = "number, choice, json:KEY, last line, or a regular expression with one group"


@cache
def find_extractor(how: str) -> Extract:
    r"""Return the function that extracts a label from a text, or None if there is none.

    >>> find_extractor("last line")("Let me think.\nyes\n"), find_extractor("json:a")('{"a": 1}')
    ('yes', '1')
    >>> find_extractor(r"is (\w+)")("It is red.")
    'red'
    >>> find_extractor("numbers")
    Traceback (most recent call last):
    allalike.errors.OptionError: extract is 'numbers'. It must be number, choice, json:KEY, last line, or a regular
    expression with one group, such as 'is (\w+)'.
    """
    if how in ("number", "choice"):
        return extract_number if how == "number" else extract_choice
    if how == "last line":
        return lambda text: next((line.strip() or None for line in reversed(text.strip().splitlines())), None)
    if how.startswith("json:") and how[5:].strip():
        return partial(find_field, path=how[5:].strip())
    if "(" not in how:
        raise OptionError(f"extract is {how!r}. It must be {_KNOWN}, such as 'is (\\w+)'.")
    try:
        pattern = re.compile(how, re.DOTALL)
    except (re.error, RecursionError, OverflowError) as error:
        raise OptionError(f"extract is {how!r}, which is not a valid regular expression: {error}.") from None
    if pattern.groups != 1:
        raise OptionError(f"extract is {how!r} with {pattern.groups} groups. Use one group, around the label.")
    return lambda text: (found[1] or None) if (found := pattern.search(text)) else None


def check_extract(how: Any, name: str) -> str | tuple[str, ...]:
    """Return the value of ``extract``, one step or several in sequence, or raise an error if a step is unknown."""
    steps = tuple(how) if isinstance(how, list | tuple) else (how,)
    for step in steps:
        if not isinstance(step, str):
            raise OptionError(f"{name} is {how!r}. It must be {_KNOWN}.")
        find_extractor(step)
    return steps if isinstance(how, list | tuple) else how


# JSON fields within a text: complete, in a code fence, between words, or truncated.


_MAX_TRIES = 1000  # positions where an object may begin
_MAX_DIGITS = 4000  # of an integer; Python refuses longer ones
_ABSENT = object()
_DECODER = json.JSONDecoder(  # for values that are written again, with numbers as numbers
    strict=False,
    parse_float=lambda digits: float(digits) if len(digits) <= _MAX_DIGITS else digits,
    parse_int=lambda digits: int(digits) if len(digits) <= _MAX_DIGITS else digits,
)
_ANSWER_KEYS = ("final_answer", "answer", "choice", "verdict", "winner")  # the first two may be numbers


def find_field(text: str, path: str) -> str | None:
    r"""Return a field of the last object that has it, as text; None if it is absent, empty or null.

    >>> find_field('Sure: {"a": {"b": 4.50}} Done.', "a.b"), find_field('{"answer": ""}', "answer")
    ('4.50', None)
    >>> find_field('{"reasoning": "a line \\frac', "answer"), find_field('{"answer": "yes", "why": "bec', "answer")
    (None, 'yes')
    """
    ways = [[path], path.split(".")] if "." in path else [[path]]
    key = ways[-1][-1]
    if key not in text and not key.isdigit():
        return None
    for value, source in _list_objects(text):
        for way in ways:
            found = _follow(value, way)
            if found is not _ABSENT:
                numbered = _follow(_DECODER.decode(source), way) if isinstance(found, dict | list) else found
                return _write(numbered)
    return _find_broken(text, key)


def _list_objects(text: str) -> list[tuple[Any, str]]:
    """Return the outermost JSON values in a text, the last one first, with numbers as strings."""
    decoder = json.JSONDecoder(strict=False, parse_float=str, parse_int=str)
    found, place = [], 0
    for _ in range(_MAX_TRIES):
        begins = [begin for mark in "{[" if (begin := text.find(mark, place)) >= 0]
        if not begins:
            break
        place = min(begins)
        try:
            value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            place += 1
            continue
        if not is_deep(value):
            found.append((value, text[place:end]))
        place = end
    return found[::-1]


def _follow(value: Any, way: Sequence[str]) -> Any:
    for key in way:
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isascii() and key.isdigit() and int(key[:9]) < len(value):
            value = value[int(key[:9])]
        else:
            return _ABSENT
    return value


def _write(value: Any) -> str | None:
    if value is None:
        return None
    return (value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)).strip() or None


def _find_broken(text: str, key: str) -> str | None:
    """Return a field of invalid JSON that is truncated or contains illegal line breaks or backslashes."""
    value = r'("(?:[^"\\]|\\.)*"|"[^"\n]*$|[^\s,{}\[\]"][^,{}\n]*)'
    found = re.findall(rf'["\']{re.escape(key)}["\']\s*:\s*{value}', text, flags=re.DOTALL)
    if not found:
        return None
    last = found[-1].strip()
    try:
        return _write(parse_json(last, strict=False, parse_float=str, parse_int=str))
    except ValueError:
        return last.strip("\"'").strip() or None


# Marked answers, such as \boxed{42} or "The answer is 42.".


_MAX_PHRASES = 50  # that are read, from the end of a text
_MAX_LINE_CHARACTERS = 1000  # that are read of a line
_PHRASE_PATTERN = late_pattern(
    r"\b(?:answer|verdict|choice|decision)\b[\"'`*_\s)]{0,4}"
    r"(?:(?:is|are|was|would be|will be|should be|equals)\b|[:=\uff1a\n])[\s:*_]*",
    re.IGNORECASE,
)
_BOLD_PATTERN = late_pattern(r"\*\*([^*\n]{1,200})\*\*|__([^_\n]{1,200})__")


def _find_boxed(text: str) -> str | None:
    r"""Return the content of the last LaTeX box; an unclosed box ends with its line."""
    begin, depth = max((found.end() for found in re.finditer(r"\\(?:boxed|fbox)\s*\{", text)), default=None), 1
    if begin is None:
        return None
    for place in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if not depth:
            return text[begin:place]
    return text[begin:].partition("\n")[0]


def _find_tagged(text: str) -> str | None:
    """Return the content of the last answer tag."""
    found = re.findall(r"<(answer|final_answer)>(.*?)(?:</\1>|$)", text, re.DOTALL | re.IGNORECASE)
    return found[-1][1].strip() if found else None


def _find_phrases(text: str) -> Iterator[str]:
    """Yield the rest of each line after "answer is" or "answer:", the last one first."""
    for match in _last_matches(_PHRASE_PATTERN, text):
        if line := text[match.end() : match.end() + _MAX_LINE_CHARACTERS].partition("\n")[0].strip():
            yield line


def _find_bold(text: str) -> Iterator[str]:
    """Yield the texts in bold, the last one first."""
    return ((match[1] or match[2]).strip() for match in _last_matches(_BOLD_PATTERN, text))


def _last_matches(pattern: re.Pattern[str], text: str) -> Iterator[re.Match[str]]:
    return reversed(deque(pattern.finditer(text), maxlen=_MAX_PHRASES))


# Choices: A, (A), [[A]], "Answer: A", model_a and \boxed{A} are the same label.


_MAX_CHARACTERS = 200  # of a text that is only a choice
_NOUNS = "model|assistant|response|answer|option|choice|candidate|output|system|completion|summary|text|verdict"
_NOUN = rf"(?:(?:the\s+)?(?:correct\s+|final\s+|best\s+|better\s+)*(?:{_NOUNS})s?\s*(?:is|:|=)?[\s_\-:]*)"
_OPEN, _CLOSE = r"[\s\"'`*_$(\[{<]*", r"[\s\"'`*_$)\]}>.,;:!]*"
_TIE = "tie|tied|draw|both|neither|equal|same"
_LETTER = r"[A-Za-z]"
_RELATION = rf"{_LETTER}\s*(?:>>|>|<<|<|==|=|≈|~|≻)\s*{_LETTER}"
_WHOLE_PATTERN = late_pattern(rf"{_OPEN}{_NOUN}?{_OPEN}({_RELATION}|{_TIE}|{_LETTER}){_CLOSE}", re.IGNORECASE)
_BRACKETS_PATTERN = late_pattern(rf"\[\[\s*({_RELATION}|{_TIE}|{_LETTER})\s*\]\]", re.IGNORECASE)
_BEHIND = r"(?:because|since|as|due|for|which|with|and|is|was|over|rather|\W)"
_START_PATTERN = late_pattern(
    rf"{_OPEN}(?:{_NOUN}{_OPEN})?(?:({_RELATION})|([A-Z])(?=[)\].:,;*\"'`}}$]|\s*$|\s+{_BEHIND})|([a-z])(?=[)\]])"
    rf"|([B-HJ-Z])(?=\s))"
)
_HEAD_PATTERN = late_pattern(r"\s*[\"'*(\[]*([A-Za-z])[\"'*]*(?:[)\]]|[.:](?=\s|\*|$)|\s*(?:\n|$))")
_BETTER_PATTERN = late_pattern(
    rf"(?:\b(?:{_NOUNS})\s*[(\[_\"'*]*|(?<![\w'(-]))\(?([A-Z]|(?<=\()[a-z]|(?<=_)[a-z])\b[)\]\"'*]*"
    r"\s+(?:is|would be)\s+"
    r"(?:\w+\s+){0,3}(?:correct|better|best|right|preferred|preferable|superior|winner)\b"
)


def extract_choice(text: str) -> str | None:
    r"""Return the letter that a text chooses, in upper case, or a comparison such as ``A>B``; None if it is unclear.

    An unmarked choice is alone in bold or on the last line, at the beginning, or called the best.

    >>> for text in ("a)", "[[A]]", "Answer: A", "The answer is (A).", "**A**", r"\boxed{A}", "model_a", "A. Because"):
    ...     assert extract_choice(text) == "A", text
    >>> extract_choice("A dog sat on it."), extract_choice("[[A>>B]]"), extract_choice("tie")
    (None, 'A>>B', 'tie')
    """
    text = re.sub(r"\\(?:text|textbf|mathrm|mathbf|mbox)\s*\{([^{}]*)\}", r" \1 ", text.strip())
    if (whole := _whole(text)) is not None:
        return whole
    if found := _BRACKETS_PATTERN.findall(text):
        return _shown(found[-1])
    for find in (_find_answer_field, _find_tagged, _find_boxed):
        if (marked := find(text)) is not None:
            return _whole(marked) or _match(_START_PATTERN, marked[:_MAX_CHARACTERS])
    for line in _find_phrases(text):
        if (chosen := _whole(line) or _match(_START_PATTERN, line[:_MAX_CHARACTERS])) is not None:
            return chosen
    for bold in _find_bold(text):
        if (chosen := _whole(bold) or _match(_HEAD_PATTERN, bold)) is not None:
            return chosen
    if (chosen := _whole(text.rpartition("\n")[2]) or _match(_HEAD_PATTERN, text)) is not None:
        return chosen
    praised = _BETTER_PATTERN.findall(text)
    return praised[-1].upper() if praised else None


def _whole(text: str) -> str | None:
    found = _WHOLE_PATTERN.fullmatch(text) if len(text) <= _MAX_CHARACTERS else None
    return _shown(found[1]) if found else None


def _match(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.match(text)
    return _shown(next(filter(None, found.groups()))) if found else None


def _shown(found: str) -> str:
    return found.casefold() if re.fullmatch(_TIE, found, re.IGNORECASE) else re.sub(r"\s+", "", found).upper()


def _find_answer_field(text: str, keys: Sequence[str] = _ANSWER_KEYS) -> str | None:
    fields = (find_field(text, key) for key in keys if "{" in text and key in text)
    return next((found for found in fields if found is not None), None)


# Numbers: "The answer is 42.", **42**, \boxed{42}, $42 and 42.0 are the same label.


_DIGITS = 12  # of a fraction with infinitely many
_MAX_EXPONENT = 30  # of a number without an exponent in its text
_NUMBERS_MAX_CHARACTERS = 1000  # of a number
_MAX_FORMULA_CHARACTERS = 200
_MAX_END_CHARACTERS = 4000  # at the end of a text that may contain its last number
_THOUSANDS_PATTERN = late_pattern(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d{1,2}(?:,\d{2})*,\d{3}(?:\.\d+)?")
_TOKEN = r"(?:\d(?:[\d.,]*\d)?|\.\d+)(?:[eE][-+]?\d{1,4}(?![\w.]))?"  # nosec B105 # of a number, not of a login
_NUMBER_PATTERN = late_pattern(
    rf"(?<![\w^_])(?<!\^\{{)(?<!_\{{)(?<!\d[.,])"
    rf"(?P<sign>(?:(?<![\w)\]}}])[-+])?)(?:[$€£¥₹]\s?)?(?P<minus>-?)"
    rf"(?:(?P<whole>\d+)\s+(?=\d+\s?/\s?\d))?(?P<top>{_TOKEN})(?:\s?/\s?(?P<below>{_TOKEN})(?!\s?/))?"
)
_PURE_PATTERN = late_pattern(r"[^\w.,]*(?:[\d.,]|[-+/]|[eE][-+]?\d)+[^\w.,]*[.]?(?:\s*[^\W\d][\w²³^°/ .-]*)?\W*")
_SYMBOLS_PATTERN = late_pattern(
    r"\\?sqrt|\\[dtc]?frac|√|\\pi\b|π|\\infty|∞|\\pm|±|\\theta|\\log|\\ln|\\sin|\\cos|\\tan"
)
_VARIABLE_PATTERN = late_pattern(r"\d\s?\*?(?:[xyzabcknpqrt]\b|\()|\b[xyzn]\s*[-+*/^]|[\d)}]\s*\^|\d\s*[-+*]\s*\d")
_LATEX = (  # notation of LaTeX and of print, and the plain one
    (late_pattern(r"[\u2010-\u2013\u2212](?=\s?[\d.$\\])"), "-"),
    (late_pattern(r"\\([$%#&])"), r"\1"),
    (late_pattern(r"(?<=\d)(?:\\[,!]|\{,\}|[\u00a0\u2009\u202f'](?=\d{3}))+(?=\d)"), ","),
    (late_pattern(r"\\(?:text|textbf|mathrm|mathbf|mbox|textit|operatorname)\s*\{([^{}]*)\}"), r" \1 "),
    (late_pattern(r"\\[dtc]?frac\s*(\d)\s*(\d)"), r"\\frac{\1}{\2}"),
    (late_pattern(r"(\d)\s*\\[dtc]?frac"), r"\1 \\frac"),
    (late_pattern(r"\\[dtc]?frac\s*\{\s*(-?[\d.,]+)\s*\}\s*\{\s*([\d.,]+)\s*\}"), r"\1/\2"),
    (
        late_pattern(
            r"(?<![\d.])([\d.]{1,40})\s*(?:\\times|\\cdot|\u00d7|\*|x)\s*10\s*\^\s*\{?\s*([-+]?\d{1,4})\s*\}?"
        ),
        r"\1e\2",
    ),
    (late_pattern(r"\\(?:left|right|quad|displaystyle|approx|[ ,;:!()\[\]])"), " "),
    (late_pattern(r"\^\s*\{?\s*\\circ\s*\}?|\\degree"), "°"),
)


def extract_number(text: str) -> str | None:
    r"""Return the number that a text gives as its answer, in its shortest form; None if there is none.

    This is the marked answer, or else the last number. A marked answer that is not a number, such as a formula, is
    returned unchanged.

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
    for find in (partial(_find_answer_field, keys=_ANSWER_KEYS[:2]), _find_tagged, _find_boxed):
        if (marked := find(text)) is not None:
            return _read_marked(marked)
    if found := re.findall(r"(?<!#)#{4,}\s*((?:[^\w\n]{0,4})[\d.][^\n]*)", text):
        return _first(_without_latex(found[-1][:_NUMBERS_MAX_CHARACTERS]))
    for line in _find_phrases(text.replace("**", "")):
        sentence = re.split(r"(?<!approx)(?<!\bca)[.!?](?=\s)", _without_latex(line), maxsplit=1)[0]
        if (number := _first(sentence)) is not None:
            return number
    plain = _without_latex(text[-_MAX_END_CHARACTERS:])
    for bold in _find_bold(plain):
        if _PURE_PATTERN.fullmatch(bold.rpartition("=")[2].strip()) and (number := _first(bold)) is not None:
            return number
    if (only := _only(plain)) is not None:
        return only
    numbers = _numbers(plain)
    return numbers[-1][1] if numbers else None


def _write_number(number: Decimal) -> str:
    """Format a number in its shortest form."""
    if not number:
        return "0"
    short = number.normalize() if len(number.as_tuple().digits) <= _NUMBERS_MAX_CHARACTERS else number
    return str(short) if abs(short.adjusted()) > _MAX_EXPONENT else f"{short:f}"


def _read_marked(text: str) -> str | None:
    """Read a marked answer: a number with words around it, or a short formula, which is returned unchanged."""
    inner = (_find_boxed(text) or text)[:_NUMBERS_MAX_CHARACTERS]
    plain = _without_latex(inner).strip().strip("$*` ")
    if (only := _only(plain)) is not None:
        return only
    value = plain.rpartition("=")[2].strip()
    several = re.fullmatch(r"[(\[{]?\s*-?[\d./]+(?:\s*[,;]\s*-?[\d./]+)+\s*[)\]}]?", value)
    is_tuple = several and not _THOUSANDS_PATTERN.fullmatch(value)
    has_variable = _VARIABLE_PATTERN.search(value) and not re.search(r"(?<!\\)[A-Za-z]{3}", value)
    if not (is_tuple or has_variable or _SYMBOLS_PATTERN.search(value)) and (number := _first(plain)) is not None:
        return number
    return inner.strip().strip("$*` ") or None if len(inner) <= _MAX_FORMULA_CHARACTERS else None


def _without_latex(text: str) -> str:
    for pattern, plain in _LATEX:
        text = pattern.sub(plain, text)
    return text


def _only(text: str) -> str | None:
    """Return the number if a text is only a number with spaces between thousands."""
    bare = text.strip().strip("$€£%.*` ")
    digits = bare.lstrip("-")
    is_spaced = re.fullmatch(r"\d{1,3}(?: \d{3})+(?:\.\d+)?", digits) is not None
    return _value(("-" if bare.startswith("-") else "") + digits.replace(" ", ",")) if is_spaced else None


def _first(text: str) -> str | None:
    """Return the number after the last equals sign, after "is" or a synonym, or else the first number."""
    behind = text.rpartition("=")[2]
    says = r"\b(?:is|are|be|equals)\s+(?:about\s+|approximately\s+|exactly\s+)?"
    starts = [place.end() for place in re.finditer(says, behind)]
    for numbers in (_numbers(behind), _numbers(text)):
        if numbers:
            return next((number for place, number in numbers if place in starts), numbers[0][1])
    return None


def _numbers(text: str) -> list[tuple[int, str]]:
    """Return the numbers of a text with their positions."""
    found = ((match.start(), _of_match(match)) for match in _NUMBER_PATTERN.finditer(text))
    return [(place, number) for place, number in found if number is not None]


def _of_match(match: re.Match[str]) -> str | None:
    sign = "-" if "-" in (match["sign"], match["minus"]) else ""
    whole, above, below = (_decimal(match[part] or "0") for part in ("whole", "top", "below"))
    if whole is None or above is None or not below:  # not a fraction, or divided by zero
        return _value(sign + match["top"])
    with localcontext(prec=_DIGITS):
        return _write_number((whole + above / below) * (-1 if sign else 1))


def _value(token: str) -> str | None:
    """Return a number in its shortest form; a token with unclear commas or points is returned unchanged."""
    if (number := _decimal(token)) is not None:
        return _write_number(number)
    is_list = token.count(",") > 1 and "." not in token
    return _value(token.rpartition(",")[2]) if is_list else token


def _decimal(token: str) -> Decimal | None:
    digits, mark, exponent = token.lstrip("-").replace("E", "e").partition("e")
    if _THOUSANDS_PATTERN.fullmatch(digits):
        digits = digits.replace(",", "")
    if not re.fullmatch(r"\d+(?:\.\d+)?|\.\d+", digits) or len(digits) > _NUMBERS_MAX_CHARACTERS:
        return None
    with suppress(InvalidOperation):
        return Decimal(("-" if token.startswith("-") else "") + digits + mark + exponent)
    return None
