"""Rankings that scatter around the truth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from allalike._core.limits import MAX_ITEMS
from allalike._core.options import whole
from allalike.domains import Domain, Encoding, Ranking
from allalike.errors import OptionError
from allalike.noise import Mallows, Population
from allalike.noise.base import check_within
from allalike.noise.populations import drawn_from
from allalike.simulation.base import Model, Parameters
from allalike.simulation.columns import item_names, ranking_column

if TYPE_CHECKING:
    from allalike._core.blocks.block import Array, Floats

__all__ = ["MallowsModel"]


@dataclass(frozen=True, kw_only=True)
class MallowsModel(Model):
    """Orders of some items, around which workers' rankings scatter.

    Parameters
    ----------
    population
        Mallows' phi of the workers, from 0 (the truth) to 1 (any order).
    items
        How many items are ranked in each task.

    >>> from allalike.simulation import simulate
    >>> simulate(MallowsModel(items=4), workers=3, tasks=1).answers.n_answers
    3
    """

    name: ClassVar[str] = "mallows"
    summary: ClassVar[str] = "rankings that scatter around the truth; options population (of phi), items"
    population: Population | str = drawn_from("normal(mean=0.65, sd=0.15, outside='clip')")
    items: int = whole(6, least=2)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.items > MAX_ITEMS:
            raise OptionError(f"items is {self.items}. At most {MAX_ITEMS} can be ranked.")

    @property
    def domain(self) -> Domain:
        """Rankings."""
        return Ranking()

    @property
    def size(self) -> int:
        """One item at each place."""
        return self.items

    @property
    def encoding(self) -> Encoding:
        """Know the items."""
        from allalike._core.columns.column import Column

        return self.domain.learn(Column("label", [item_names(self.items)]))

    def truths(self, tasks: int, rng: np.random.Generator) -> Array:
        """Shuffle the items of each task."""
        return rng.permuted(np.tile(np.arange(self.items, dtype=np.int16), (tasks, 1)), axis=1)

    def parameters(self, workers: int, rng: np.random.Generator) -> Parameters:
        """Draw Mallows' phi."""
        return {"phi": check_within(self.draw(self.population, workers, rng), 1, "The phi of a worker")}

    def answers(self, truth: Array, parameters: Parameters, rng: np.random.Generator) -> Array:
        """Draw rankings."""
        return Mallows().draw(truth, parameters["phi"], rng)

    def faults(self, parameters: Parameters) -> Floats:
        """Return the expected Kendall tau distance."""
        return Mallows().expected_distance(parameters["phi"], self.items)

    def column(self, labels: Array) -> Any:
        """Return rankings as text."""
        return ranking_column(labels, self.items)
