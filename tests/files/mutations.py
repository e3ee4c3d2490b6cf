"""Mutations: files and texts that are nearly what was meant."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

_TOKENS = (
    *(b"", b"\0", b'"', b"'", b"\\", b"\n", b"\r", b",", b";", b"\t", b"[", b"]", b"{", b"}", b"<", b"&x;", b"=1+1"),
    *(b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"\\ud800", "\u202e".encode(), b"null", b"NaN", b"-", b"1e999", b"0x1"),
    *(b"9" * 30, b"9" * 5000, b"[" * 150, b'{"a":' * 150, b" " * 2000, b"a" * 300),
)


@st.composite
def mutated(draw: st.DrawFn, files: Sequence[bytes]) -> bytes:
    """Take one of some files, and put something odd, or a piece of another, in the place of some of its bytes."""
    data = draw(st.sampled_from(files))
    for _ in range(draw(st.integers(1, 4))):
        start, size = draw(st.integers(0, len(data))), draw(st.integers(0, 40))
        other = draw(st.sampled_from(files))
        cut = draw(st.integers(0, len(other)))
        odd = st.sampled_from((*_TOKENS, other[cut : cut + 40])) | st.binary(max_size=4)
        data = data[:start] + draw(odd) + data[start + size :]
    return data


def soups(tokens: str, more: Sequence[str] = ()) -> st.SearchStrategy[str]:
    """Make texts of words, and of what is odd everywhere."""
    odd = ("\0", "\n", "\u202e", "é", "9" * 25, "9" * 5000, "1e999", "nan", " ", "\\", "\ud800", *more)
    return st.lists(st.sampled_from((*tokens.split(), *odd)), max_size=12).map("".join)


def often(few: int, many: int) -> pytest.MarkDecorator:
    """Have a test with few examples, and with many in `make long`."""
    marks = [pytest.mark.long, pytest.mark.timeout(300)]
    return pytest.mark.parametrize("examples", [few, pytest.param(many, marks=marks)])


def repeat(examples: int, check: Callable[..., Any], **strategies: Any) -> None:
    """Call a function with so many examples."""
    settings(max_examples=examples)(given(**strategies)(check))()
