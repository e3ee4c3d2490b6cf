"""Tables of comparisons, read all at once, are what plain loops over their rows make of them."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allalike.domains.rankings.kernels import read_ranking, read_rankings
from allalike.readers.reshaping.comparisons import Columns, write_comparisons

COLUMNS = Columns("left", "right", "winner")


def compare(left: str, right: str, winner: str | None) -> str | None:
    """Write one comparison, as the page of labels says it."""
    if winner is None or not winner.strip():
        return None
    a, b, said = left.strip(), right.strip(), winner.strip()
    strict = [a, b] if said == a else [b, a] if said == b else None
    if strict is None:
        strict = {"left": [a, b], "model_a": [a, b], "right": [b, a]}.get(said.lower())
    places: Any = strict or [[a, b]]
    if any(mark in a + b for mark in "<>=~{}[,;|"):
        return json.dumps(places, ensure_ascii=False)
    return ">".join(places) if strict else "=".join((a, b))


NAMES = ["x", " y", "left", "tie", "a>b", "[z]", "\u00e4", "10", "c,d"]


@pytest.mark.parametrize("kind", ["list", "arrow", "dictionary"])
def test_comparisons_are_written_as_a_loop_writes_them(kind: str) -> None:
    rng = np.random.default_rng(0)
    rows: list[tuple[str, str, str | None]] = []
    for _ in range(400):
        a, b = (NAMES[k] for k in rng.permutation(len(NAMES))[:2])
        said = [a, b, "Left", "RIGHT", "model_a", "tie", "Tie (bothbad)", "draw", "", " ", None][rng.integers(11)]
        rows.append((a, b, said))
    columns: list[Any] = [list(column) for column in zip(*rows, strict=True)]
    if kind != "list":
        columns = [pa.chunked_array([column[:150], column[150:]], pa.string()) for column in columns]
    if kind == "dictionary":
        columns = [column.dictionary_encode() for column in columns]
    assert write_comparisons(columns, COLUMNS, str).to_pylist() == [compare(*row) for row in rows]


def test_numbers_may_be_compared_too() -> None:
    columns = [[1, 2], [2, 10], [2, 10]]
    for given_as in (columns, [pa.array(column) for column in columns]):
        assert write_comparisons(given_as, COLUMNS, str).to_pylist() == ["2>1", "10>2"]
    assert write_comparisons([[], [], []], COLUMNS, str).to_pylist() == []


TEXTS = st.text('ab1 >=~{},;|[]<"', max_size=9)


@settings(max_examples=60)
@given(st.lists(st.one_of(TEXTS, TEXTS.map(lambda text: f"a>{text}")), max_size=8))
def test_texts_read_together_are_read_as_one_by_one(texts: list[str]) -> None:
    for text, found in zip(texts, read_rankings(pa.array(texts, pa.string())), strict=True):
        if found is not None:
            assert found == read_ranking(text)


def test_plain_rankings_are_all_read_together() -> None:
    texts = ["a", "a>b", " a > b ", "b=a", "10=9>8", "c,d>e", "a>c=b>d~e"]
    assert read_rankings(pa.array(texts)) == [read_ranking(text) for text in texts]
    assert read_rankings(pa.array(["a>", "a>b>a", "a>a=b", "a=a", "a,b", "{a,b}>c", "a<b", "[1]", ""])) == [None] * 9
    assert read_rankings(pa.array([">".join(map(str, range(1001)))])) == [None]
