"""The laws that are handed out: ours keep them, one of one's own does in a page, and what breaks them is named."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import DOMAINS, MAS, METHODS, PTD, Disk, Memory, Method
from allalike._core.blocks.block import Array, Floats
from allalike.domains import Real
from allalike.domains.real import RealEncoding, RealKernels
from allalike.engines import Run
from allalike.methods import Weighing
from allalike.testing import check_domain, check_method
from crowds.samples import Row, crowd, kind
from examples.domain_by_pairs import Paths
from running.turns import in_turn

TREE = ["animal/cat/lynx", "animal/cat", "animal/dog", "animal", "plant/rose", "plant/rose/wild"]


def paths(seed: int, n: int = 5, m: int = 12) -> list[Row]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(TREE), size=m)
    answers = np.where(rng.random((n, m)) < 0.4, rng.integers(len(TREE), size=(n, m)), truth)
    return [(f"w{i}", f"t{j:02d}", TREE[answers[i, j]]) for i, j in np.ndindex(n, m)]


def quick(name: str) -> Method:
    return MAS(starts=1) if name == "MAS" else METHODS[name]()


@pytest.mark.parametrize("name", in_turn(DOMAINS, 3))
def test_every_domain_keeps_the_laws(name: str) -> None:
    check_domain(kind(name), crowd(name, seed=1, n=5, m=9, missing=0.2))


@pytest.mark.parametrize(
    "name", ["UA", "iP-TD", "DS", pytest.param("MAS", marks=pytest.mark.long), "OA"]
)  # test_laws has them all
def test_methods_keep_the_laws(name: str) -> None:
    check_method(quick(name))


def test_a_domain_of_ones_own_is_a_page_and_keeps_the_laws_on_all_engines() -> None:
    page = Path(__file__).parents[2].joinpath("examples", "domain_by_pairs.py").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 60
    check_domain(Paths(), paths(0), engines=[Memory(block_answers=1), Disk(partitions=4)])


@pytest.mark.parametrize("method", in_turn(METHODS, 3))
def test_every_method_that_serves_any_distance_serves_a_domain_of_ones_own(method: str) -> None:
    made = quick(method)
    if made.serves(Paths()):
        check_method(made, [(Paths(), paths(1))])


def test_a_domain_of_ones_own_finds_truths_and_grows() -> None:
    result = allalike.discover(paths(2), domain=Paths(), method="P-TD")
    assert set(result.truth["label"]) <= set(TREE)
    grown = result.update(paths(3, m=15), gold={"t00": "animal/cat"})
    whole = allalike.discover([*paths(2), *paths(3, m=15)], domain=Paths(), method="P-TD", gold={"t00": "animal/cat"})
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()


@dataclass(frozen=True, kw_only=True)
class Lopsided(Real):
    """Numbers whose distance is not symmetric."""

    def learn(self, labels: Any) -> LopsidedEncoding:
        return LopsidedEncoding(domain=self)


class LopsidedEncoding(RealEncoding):
    @property
    def kernels(self) -> LopsidedKernels:
        return LopsidedKernels(domain=self.domain)


class LopsidedKernels(RealKernels):
    def distance_between(self, left: Array, right: Array) -> Floats:
        return np.asarray(np.maximum(left - right, 0.0))


def test_a_distance_that_is_none_is_named() -> None:
    with pytest.raises(AssertionError, match="A distance is symmetric: this does not hold"):
        check_domain(Lopsided(), crowd("real", seed=1))


@dataclass(frozen=True, kw_only=True)
class Doubled(PTD):
    """Weights that do not sum to 1."""

    def weigh(self, run: Run) -> Weighing:
        weighing = super().weigh(run)
        return Weighing(disparity=weighing.disparity, fault=weighing.fault, weight=2 * weighing.weight)


def test_weights_that_are_no_shares_are_named() -> None:
    with pytest.raises(AssertionError, match="Weights are never negative and sum to 1"):
        check_method(Doubled())


def test_too_few_answers_say_nothing_about_laws() -> None:
    with pytest.raises(ValueError, match="Give more answers"):
        check_domain(Real(), [("ada", 1, 2.0)])
