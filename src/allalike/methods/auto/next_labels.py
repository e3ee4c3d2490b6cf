"""Next labels: the tasks that benefit most from another answer.

A task has class z with probability q_z, and a typical worker gives the true class with odds exp(w) against any other
one. An answer l then has probability P[l|z], and

    E max q after h more answers = sum over their counts n of max_z q_z P[n|z].

The **gain** of an answer is the largest (E max q after h answers - max q) / h for h in {1, 3, 5}: three answers may
change a decision that one cannot.

Tasks are ordered by confidence, the least confident first. In trials, this is as good as the order by gain, and it does
not depend on the model of a typical worker. With more than three classes, only the three most probable ones are
distinguished, which makes a gain slightly too small.
"""

from collections import Counter
from collections.abc import Iterable
from functools import cache
from itertools import product
from math import factorial, prod

import numpy as np

from allalike._core.blocks.block import Array, Floats
from allalike.engines.sums import Piece

_STEPS = (1, 3, 5)  # further answers
_N_CLASSES = 3  # the most probable classes
_NEEDED = {"confidence", "gain", "gold", "label"}


def expect_gains(table: Floats, odds: Floats, k: int | None = None) -> Floats:
    """Return the expected increase in the probability that a label is right per further answer, for each task.

    >>> expect_gains(np.array([[0.5, 0.5], [0.99, 0.01]]), np.log([4.0, 4.0])).round(3)
    array([0.3  , 0.001])
    """
    k = table.shape[1] if k is None else k
    best = np.sort(table, axis=1)[:, : -_N_CLASSES - 1 : -1].T.copy()
    gains = np.zeros(len(table))
    for each in sorted(set(odds.tolist())):
        some = odds == each
        right = np.exp(each) / (np.exp(each) + k - 1)
        gains[some] = np.max([_gain(best[:, some], right, k, answers) / answers for answers in _STEPS], axis=0)
    return gains


def _gain(best: Floats, right: float, k: int, answers: int) -> Floats:
    """Return the expected increase of the largest class probability after this many answers.

    Answers increase it if they change the decision: if class z gets d more of them than the likeliest class 0, and

        q_z (right / wrong)^d > q_0.
    """
    wrong, gain = (1 - right) / (k - 1), np.zeros(best.shape[1])
    for leads, ways in _outcomes(answers, len(best), k - len(best)).items():
        turned = np.zeros_like(gain)
        for z, lead in enumerate(leads, 1):
            if lead:
                np.maximum(turned, (right / wrong) ** lead * best[z] - best[0], out=turned)
        gain += turned * sum(number * right**hits * wrong ** (answers - hits) for hits, number in ways.items())
    return gain


@cache
def _outcomes(answers: int, told: int, others: int) -> dict[tuple[int, ...], Counter[int]]:
    """List the leads of classes over the likeliest one, with the number of answer orders per count of the likeliest."""
    found: dict[tuple[int, ...], Counter[int]] = {}
    for first, *rest in product(range(answers + 1), repeat=told):
        left = answers - first - sum(rest)
        if left >= 0:
            orders = factorial(answers) // prod(map(factorial, (first, *rest, left)))
            found.setdefault(tuple(max(n - first, 0) for n in rest), Counter())[first] += orders * others**left
    return found


def rank_tasks(pieces: Iterable[Piece], n: int) -> Piece:
    """Return the n tasks to ask next: by confidence, then by gain, then by number of answers.

    Tasks with gold are excluded. Without confidences, tasks with the fewest answers come first.

    >>> from allalike._core.columns.values import Values
    >>> found = {"confidence": np.array([0.9, 0.6, 0.6]), "gain": np.array([0.0, 0.1, 0.2])}
    >>> rank_tasks([Piece(Values(["t1", "t2", "t3"]), np.array([3, 3, 3]), found)], 2).tasks.tolist()
    ['t3', 't2']
    """
    best: Piece | None = None
    for piece in pieces:
        found: dict[str, Array] = {"gain": np.full(len(piece.answers), np.nan)}
        found |= {name: column for name, column in piece.found.items() if name in _NEEDED}
        part = Piece(piece.tasks, piece.answers, found)
        joined = part if best is None else Piece.join([best, part])
        best = _first(joined, n)
    assert best is not None
    return best


def _first(piece: Piece, n: int) -> Piece:
    gain, sure = (np.nan_to_num(piece.found[name], nan=0.0) for name in ("gain", "confidence"))
    order = np.lexsort((piece.answers, -gain.round(9), sure.round(9)))
    if "gold" in piece.found:
        order = order[np.isnan(piece.found["gold"][order])]
    order = order[:n]
    found = {name: column[order] for name, column in piece.found.items()}
    return Piece(piece.tasks.take(order), piece.answers[order], found)
