"""Comparisons: the strengths of items of which workers preferred one to another.

    P(a beats b) = p_a / (p_a + p_b),   the p that make the comparisons most probable, with sum 1

found by Newton's method (`allalike.rules.bradley_terry`), where crowd-kit repeats the MM step of Hunter (2004). Both
have the same limit; but in crowd-kit 1.4.2 a round is compared with itself, so that with any ``tol`` above 0 the second
is the last.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from allalike._core.late import pd
from allalike._core.options import check_number
from allalike.compat.crowdkit.crowd import check_frame
from allalike.errors import InputError, UnsupportedError
from allalike.rules.bradley_terry import fit_strengths

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["BradleyTerry"]


@dataclass(eq=False)
class BradleyTerry:
    """The strengths of items under which their comparisons are most probable; all workers count the same.

    Every item must be connected to every other by wins as well as by defeats; otherwise some strength has no limit.

    Parameters
    ----------
    n_iter, tol
        How many rounds, and the change below which they end. Newton's method needs about ten to be as exact as numbers
        are, whatever is asked for.

    >>> import pandas as pd
    >>> rows = [("tea", "cola", "tea"), ("tea", "cola", "tea"), ("cola", "tea", "cola")]
    >>> data = pd.DataFrame(rows, columns=["left", "right", "label"])
    >>> BradleyTerry(n_iter=100).fit_predict(data).round(3).to_dict()
    {'cola': 0.333, 'tea': 0.667}
    """

    n_iter: int
    tol: float = 1e-5
    scores_: pd.Series[Any] = field(init=False, repr=False)

    def fit(self, data: pd.DataFrame) -> Self:
        """Find the strengths of all items in a frame with the columns left, right and label, the one that won."""
        check_number(self.n_iter, "n_iter", least=1, whole=True)
        check_number(self.tol, "tol")
        wins, items = _count_wins(data)
        _check_connected(wins, items)
        strength = np.exp(fit_strengths(wins[None], ridge=0.0)[0])
        self.scores_ = pd.Series(strength / strength.sum(), index=items, name="agg_score")
        return self

    def fit_predict(self, data: pd.DataFrame) -> pd.Series[Any]:
        """Return the strengths of all items, which add up to 1."""
        return self.fit(data).scores_


def _count_wins(data: pd.DataFrame) -> tuple[Floats, Array]:
    """Return how often each item (a row) won against each other, and the items in order."""
    check_frame(data, "left", "right", "label")
    given = data[["left", "right", "label"]].to_numpy()
    place, items = pd.factorize(given.ravel(), sort=True)
    left, right, label = place.reshape(given.shape).T
    strange = (label != left) & (label != right)
    if strange.any():
        row = int(np.argmax(strange))
        one, other, winner = given[row].tolist()
        raise InputError(
            f"In row {data.index[row]}, {winner!r} won, but {one!r} and {other!r} were"
            " compared. The label is one of the two."
        )
    different = left != right
    wins = np.zeros((len(items), len(items)))
    np.add.at(wins, (label[different], np.where(label == left, right, left)[different]), 1.0)
    return wins, items


def _check_connected(wins: Floats, items: Array) -> None:
    """Refuse comparisons in which some items never lose against the rest, however many rounds are played."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n_parts, part = connected_components(csr_array(wins), directed=True, connection="strong")
    if n_parts > 1:
        sizes = np.bincount(part)
        odd = items[part == int(np.argmin(sizes))].tolist()[0]
        raise UnsupportedError(
            f"The items fall into {n_parts:,} parts, of which one never beats the other, such as {odd!r} and the rest:"
            " their strengths have no limit. allalike.discover with domain='ranking(rule=\"bradley terry\")' gives"
            " every pair a tenth of a win beforehand."
        )
