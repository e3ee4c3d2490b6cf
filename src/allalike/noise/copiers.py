"""Copiers: workers who take over the answers of another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from allalike._core.options import Options, share, whole
from allalike.errors import OptionError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats
    from allalike.noise.base import Seed

__all__ = ["Copiers"]

Numbers = npt.NDArray[np.integer]


@dataclass(frozen=True, kw_only=True)
class Copiers(Options):
    """Some workers who copy from others, who all answer for themselves.

    Parameters
    ----------
    number
        How many workers copy.
    fidelity
        How likely a copier takes over an answer that her source gave; otherwise she answers for herself.
    sources
        From how many workers they copy; from any, each copier from one, if this is not given.

    >>> import numpy as np
    >>> copiers = Copiers(number=2, sources=1)
    >>> source = copiers.appoint(4)
    >>> source
    array([ 1, -1,  1, -1])
    >>> task, worker = np.divmod(np.arange(8), 4)
    >>> copiers.copy(worker, task, np.arange(8), source)[0]
    array([1, 1, 1, 3, 5, 5, 5, 7])
    """

    number: int = whole(0, least=0, called="copiers")
    fidelity: float = share(1.0)
    sources: int | None = whole(None, least=1)

    def appoint(self, workers: int, seed: Seed = 0) -> npt.NDArray[np.int64]:
        """Return, for each worker, whom she copies from, or -1."""
        own = workers - self.number
        if self.number and own < max(self.sources or 1, 1):
            raise OptionError(
                f"Of {workers} workers {self.number} copy, which leaves {max(own, 0)} to copy from. Take fewer copiers"
                " or fewer sources."
            )
        rng = np.random.default_rng(seed)
        order = rng.permutation(workers)
        source = np.full(workers, -1)
        if self.number:
            source[order[: self.number]] = rng.choice(order[self.number :][: self.sources], self.number)
        return source

    def copy(
        self, worker: Numbers, task: Numbers, label: Array, source: Numbers, seed: Seed = 0
    ) -> tuple[Array, Floats]:
        """Return the answers with copies in place, and how likely each was to be one.

        The answers are sorted by task and worker, and none is there twice. Only what the source answered can be copied.
        """
        place = task.astype(np.int64) * len(source) + worker
        rows = np.flatnonzero(source[worker] >= 0)
        wanted = place[rows] + source[worker[rows]] - worker[rows]
        origin = np.minimum(np.searchsorted(place, wanted), len(place) - 1)
        chance = np.zeros(len(place))
        chance[rows] = np.where(place[origin] == wanted, self.fidelity, 0.0)
        copied = np.random.default_rng(seed).random(len(rows)) < chance[rows]
        answers = label.copy()
        answers[rows[copied]] = label[origin[copied]]
        return answers, chance
