"""What can be asked of a panel, what cannot, and what is said of pairs that were seen in one order only."""

from __future__ import annotations

import pytest

import allalike
from allalike.errors import OptionError, UnsupportedError


def test_what_cannot_be_asked_is_said_before_anything_is_weighed() -> None:
    rows = {"judge": [*"aabb"], "item": [1] * 4, "verdict": [*"xyxx"], "shown": [*"pqpq"]}
    with pytest.raises(OptionError, match="No label is one of the verdicts 'A', 'B'. There are: 'x', 'y'"):
        allalike.jury(rows, verdicts="A,B")
    with pytest.raises(OptionError, match="good names every label, x, y"):
        allalike.jury(rows, repeats="first", good=["x", "y"])
    with pytest.raises(OptionError, match="gold_drawn is about the rate"):
        allalike.jury(rows, repeats="first", gold_drawn="truth")
    many = {"judge": ["a"] * 24, "item": [*range(12)] * 2, "score": [*range(24)], "shown": ["p", "q"] * 12}
    with pytest.raises(UnsupportedError, match="24 different labels"):
        allalike.jury(many, columns={"label": "score"}, order="shown")


def test_pairs_that_a_judge_saw_in_one_order_only_are_counted() -> None:
    rows = {"judge": [*"aabbcc"] * 2, "item": [1] * 6 + [2] * 6, "verdict": [*"xxxxxxxyxyyy"], "shown": [*"pq"] * 6}
    whole = allalike.jury(rows, order="shown", about="answers").summary["panel"]["orders"]
    part = {name: values[:-1] for name, values in rows.items()}
    panel = allalike.jury(part, order="shown", about="answers")
    assert (whole["pairs"], whole["one_order"]) == (6, 0)
    assert [panel.summary["panel"]["orders"][name] for name in ("pairs", "one_order")] == [5, 1]
    assert panel.orders["one_order"].tolist() == [0, 0, 1]
