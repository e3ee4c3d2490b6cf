"""Published law checks: label types, methods and examples pass them, and violations are named."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import DOMAINS, MAS, METHODS, PTD, Boxes, Disk, Domain, Memory, Method
from allalike._core.blocks.block import Array, Floats
from allalike.domains import Real
from allalike.domains.real import RealEncoding, RealKernels
from allalike.engines import Run
from allalike.errors import OptionError
from allalike.methods import Fit
from allalike.testing import check_domain, check_method
from crowds.label_types import draw_boxes as boxes
from crowds.samples import RUNNING_EXAMPLE, Row, crowd, kind, rows
from examples import domain_by_pairs, domain_by_sums, method
from examples.domain_by_pairs import Paths
from examples.domain_by_sums import Colours
from examples.domain_of_things import Corners, overlap
from examples.method import Soft
from running.turns import in_turn

ENGINES = [Memory(block_answers=1), Disk(partitions=4)]
PAGES = [(domain_by_pairs, 60), (domain_by_sums, 95), (method, 40)]


@pytest.mark.parametrize(("page", "lines"), PAGES)
def test_an_example_is_a_page(page: Any, lines: int) -> None:
    assert len(Path(page.__file__).read_text(encoding="utf-8").splitlines()) <= lines


def test_the_method_of_one_file_keeps_the_laws_and_its_options_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    check_method(Soft())
    check_method(Soft(), [(kind(name), crowd(name, seed=1, n=5, m=9)) for name in ("text", "boxes", "ranking")])
    monkeypatch.setitem(METHODS, Soft.name, Soft)
    answers: list[Any] = rows(RUNNING_EXAMPLE)
    flat, sharp = (allalike.discover(answers, domain="real", method=f"soft(sharpness={s})") for s in (0, 8.5))
    np.testing.assert_allclose(flat.workers["weight"], 0.2)
    assert sharp.workers["weight"].max() > 0.5
    for wrong in ("SOFT(sharpness=-1)", "SOFT(rounds=3)"):
        with pytest.raises(OptionError, match="sharpness"):
            allalike.discover(answers, domain="real", method=wrong)


TREE = ["animal/cat/lynx", "animal/cat", "animal/dog", "animal", "plant/rose", "plant/rose/wild"]


def paths(seed: int, n: int = 5, m: int = 12) -> list[Row]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(len(TREE), size=m)
    answers = np.where(rng.random((n, m)) < 0.4, rng.integers(len(TREE), size=(n, m)), truth)
    return [(f"w{i}", f"t{j:02d}", TREE[answers[i, j]]) for i, j in np.ndindex(n, m)]


@pytest.mark.parametrize("name", in_turn(DOMAINS, 3))
def test_every_domain_keeps_the_laws(name: str) -> None:
    check_domain(kind(name), crowd(name, seed=1, n=5, m=9, missing=0.2))


@pytest.mark.parametrize("method", in_turn(METHODS, 3))
def test_every_method_that_serves_any_distance_serves_a_domain_of_ones_own(method: str) -> None:
    made: Method = MAS(starts=1) if method == "MAS" else METHODS[method]()
    if made.serves(Paths()):
        check_method(made, [(Paths(), paths(1))])


def test_a_domain_of_ones_own_finds_truths_and_grows() -> None:
    result = allalike.discover(paths(2), domain=Paths(), method="P-TD")
    assert set(result.truth["label"]) <= set(TREE)
    grown = result.update(paths(3, m=15), gold={"t00": "animal/cat"})
    whole = allalike.discover([*paths(2), *paths(3, m=15)], domain=Paths(), method="P-TD", gold={"t00": "animal/cat"})
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()


class LopsidedKernels(RealKernels):
    def distance_between(self, left: Array, right: Array) -> Floats:
        return np.asarray(np.maximum(left - right, 0.0))


class LopsidedEncoding(RealEncoding):
    @property
    def kernels(self) -> LopsidedKernels:
        return LopsidedKernels(domain=self.domain)


@dataclass(frozen=True, kw_only=True)
class Lopsided(Real):
    """Numbers whose distance is not symmetric."""

    def learn(self, labels: Any) -> LopsidedEncoding:
        return LopsidedEncoding(domain=self)


@dataclass(frozen=True, kw_only=True)
class Doubled(PTD):
    """Weights that do not sum to 1."""

    def fit(self, run: Run) -> Fit:
        weighing = super().fit(run)
        return Fit(disparity=weighing.disparity, fault=weighing.fault, weight=2 * weighing.weight)


def test_what_breaks_a_law_is_named_and_too_few_answers_say_nothing_about_laws() -> None:
    with pytest.raises(AssertionError, match="symmetric"):
        check_domain(Lopsided(), crowd("real", seed=1))
    with pytest.raises(AssertionError, match="sum to 1"):
        check_method(Doubled())
    with pytest.raises(ValueError, match="Add answers"):
        check_domain(Real(), [("ada", 1, 2.0)])


def colours(seed: int, n: int = 6, m: int = 12) -> list[Row]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 256, (m, 3))
    said = (truth + rng.normal(0, 1, (n, m, 3)) * np.linspace(2, 80, n)[:, None, None]).clip(0, 255).astype(np.uint8)
    return [(f"w{i}", f"t{j:02d}", f"#{bytes(said[i, j]).hex()}") for i, j in np.ndindex(n, m)]


def corners(box: dict[str, Any], turned: float = 0.0) -> list[Any]:
    """Return the corners of a rotated box in no particular order, and its class."""
    x, y = (box["x1"] + box["x2"]) / 2, (box["y1"] + box["y2"]) / 2
    a, b = (box["x2"] - box["x1"]) / 2, (box["y2"] - box["y1"]) / 2
    turn = np.array([[np.cos(turned), -np.sin(turned)], [np.sin(turned), np.cos(turned)]])
    around = np.array([[-a, -b], [a, b], [-a, b], [a, -b]]) @ turn.T + (x, y)
    return [*around.tolist(), box["class"]]


def test_sums_of_colours_are_those_of_vectors() -> None:
    answers = colours(1)
    numbers = [(who, task, [part / 255 for part in bytes.fromhex(label[1:])]) for who, task, label in answers]
    ours = allalike.discover(answers, domain=Colours(), method="P-TD").workers["disparity"]
    theirs = allalike.discover(numbers, domain="vector(distance='squared')", method="P-TD").workers["disparity"]
    np.testing.assert_allclose(3 * ours, theirs, rtol=1e-9)


def test_what_is_no_colour_is_said() -> None:
    with pytest.raises(allalike.AllalikeError, match="row 1 .*'#ff8800'"):
        allalike.discover([("ada", 1, "red")], domain=Colours())


TURNED = [(who, task, [corners(box, 0.3) for box in seen]) for who, task, seen in boxes(1, 5, 9, 0.2)]


@pytest.mark.parametrize(("domain", "answers"), [(Paths(), paths(0)), (Colours(), colours(0)), (Corners(), TURNED)])
def test_domains_of_ones_own_keep_the_laws_on_all_engines(domain: Domain, answers: list[Row]) -> None:
    check_domain(domain, answers, engines=ENGINES)


def test_corners_of_boxes_find_what_boxes_find() -> None:
    answers = boxes(2, 6, 12, 0.1)
    turned = [(who, task, [corners(box) for box in seen]) for who, task, seen in answers]
    mine, theirs = (
        allalike.discover(said, domain=domain, method="iP-TD")
        for said, domain in ((turned, Corners(quorum=0.5)), (answers, Boxes(quorum=0.5)))
    )
    np.testing.assert_allclose(mine.workers["weight"], theirs.workers["weight"], rtol=1e-9)
    sides = mine.objects[["x1", "y1", "x3", "y3"]].to_numpy()
    np.testing.assert_allclose(sides, theirs.objects[["x1", "y1", "x2", "y2"]].to_numpy(), rtol=1e-9)


def test_a_square_and_the_same_one_turned_have_an_octagon_in_common() -> None:
    square = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    turned = square @ np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)
    octagon = 8 * (np.sqrt(2) - 1)
    assert overlap(square, turned) == pytest.approx(octagon / (8 - octagon))
    assert overlap(square, square + 5) == 0.0
