"""Judges: pairs of answers that language models, or people, compared.

Where a judge saw a pair twice, in both orders, she has one answer: what she said both times, or the one decision where
she was undecided the other time; a tie where she contradicted herself. With the tag `ORDERS` each order is an answer of
its own, and the column ``order`` numbers them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from allalike.readers.tools.collection import Collection
    from allalike.readers.tools.trees import Node

__all__ = ["ORDERS", "add_votes", "combine", "read_sign"]

ORDERS = "orders"
_SIGNS = {"A>B": 1, "B>A": -1, "A=B": 0, "A<B": -1, "B<A": 1, "B=A": 0}


def combine(votes: Sequence[int]) -> int:
    """Return the sign of the votes, of which each is 1 for the first of a pair, -1 for the second and 0 for neither.

    >>> combine([1, 1]), combine([1, 0]), combine([1, -1])
    (1, 1, 0)
    """
    total = sum(votes)
    return (total > 0) - (total < 0)


def read_sign(decision: Node) -> int:
    """Return the vote in a decision such as ``A>B``; one that is much better is better.

    >>> from allalike.readers.tools.trees import Node
    >>> read_sign(Node("[[B>>A]]", "judgments.jsonl: line 1"))
    -1
    """
    text = decision.text().replace(" ", "").strip("[]").replace(">>", ">").replace("<<", "<")
    if text not in _SIGNS:
        raise decision.refused("A>B, B>A or A=B")
    return _SIGNS[text]


def add_votes(
    found: Collection,
    worker: Any,
    task: Any,
    votes: Sequence[int | None],
    labels: Mapping[int, str],
    *,
    question: str = "",
    **more: Any,
) -> None:
    """Add what a judge said of a pair in each order, as one answer or as several; nothing where she decided nothing.

    >>> from pathlib import Path
    >>> from allalike.readers.formats.files import Files
    >>> from allalike.readers.tools import TOOLS
    >>> from allalike.readers.tools.collection import Collection
    >>> found = Collection(TOOLS["arena-hard"](), [Path("m.jsonl")], Files(tag="orders"))
    >>> add_votes(found, "gpt-4", "q1", [1, -1], {1: "a", -1: "b", 0: "tie"})
    >>> found.table().load(["label", "order"])
    {'label': ['a', 'b'], 'order': [1, 2]}
    """
    given = [(order, vote) for order, vote in enumerate(votes, start=1) if vote is not None]
    if found.files.tag == ORDERS:
        for order, vote in given:
            found.add(worker, task, labels[vote], question=ORDERS, kind="classes", order=order, **more)
        return
    label = labels[combine([vote for _, vote in given])] if given else None
    found.add(worker, task, label, question=question, kind="classes", **more)
