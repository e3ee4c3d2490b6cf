"""Numbers whose squares underflow never result in equal weights without an error."""

from itertools import product

import numpy as np
import pytest

import allalike
from allalike import Disk, Memory, Real, Vector
from allalike.engines import Engine
from allalike.errors import LabelError
from crowds.samples import Row, crowd
from running.turns import in_turn

PLACES = (Memory(), Memory(block_answers=1), Disk(partitions=3))
ENGINES = pytest.mark.parametrize("engine", PLACES, ids=str)
SMALL = 2.0**-660  # about 2e-199


def scaled(answers: list[Row], scale: float) -> list[Row]:
    return [(worker, task, (np.asarray(label) * scale).tolist()) for worker, task, label in answers]


REFUSED = [
    *(("real", name) for name in ("UA", "iP-TD", "P-TD(per_pair=True)", "CRH", "GTM", "TOP2")),
    ("vector", "auto"),
]


@ENGINES
@pytest.mark.parametrize(("domain", "method"), REFUSED)
def test_numbers_whose_squares_vanish_are_refused(domain: str, method: str, engine: Engine) -> None:
    answers = scaled(crowd(domain, seed=1, n=5, m=6), SMALL)
    with pytest.raises(LabelError, match="less than 1e-145.*Rescale the labels"):
        allalike.discover(answers, domain=domain, method=method, engine=engine)


@pytest.mark.parametrize(
    ("distance", "rule", "engine"),
    in_turn(product(("cosine", "euclidean"), ("mean", "geometric median", "medoid"), PLACES), 4),
    ids=str,
)
def test_other_distances_of_vectors_do_not_depend_on_their_size(distance: str, rule: str, engine: Engine) -> None:
    answers, domain = crowd("vector", seed=1, n=5, m=6), Vector(distance=distance, rule=rule)
    large, small = (allalike.discover(rows, domain=domain, engine=engine) for rows in (answers, scaled(answers, SMALL)))
    np.testing.assert_allclose(small.workers["weight"], large.workers["weight"], rtol=1e-12)
    labels = [np.array(found.truth["label"].tolist()) for found in (small, large)]
    np.testing.assert_allclose(labels[0] / SMALL, labels[1], rtol=1e-9)


@ENGINES
def test_small_numbers_beside_large_ones_change_nothing(engine: Engine) -> None:
    answers = crowd("real", seed=1, n=5, m=6)
    small = [(worker, f"small {task}", label) for worker, task, label in scaled(answers, SMALL)]
    alone, both = (
        allalike.discover(rows, domain=Real(), method="iP-TD", engine=engine) for rows in (answers, answers + small)
    )
    np.testing.assert_allclose(both.workers["weight"], alone.workers["weight"], rtol=1e-9)


@ENGINES
def test_numbers_that_are_all_the_same_are_welcome_however_small(engine: Engine) -> None:
    answers = [(worker, task, SMALL * task) for worker in "abc" for task in range(3)]
    assert allalike.discover(answers, domain="real", engine=engine).workers["weight"].nunique() == 1


@ENGINES
def test_numbers_of_1e_minus_140_keep_their_digits(engine: Engine) -> None:
    answers = crowd("real", seed=1, n=5, m=6)
    large, small = (
        allalike.discover(rows, domain="real", engine=engine) for rows in (answers, scaled(answers, 1e-140))
    )
    np.testing.assert_allclose(small.workers["weight"], large.workers["weight"], rtol=1e-9)
