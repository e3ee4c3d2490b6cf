"""Many independent problems in one pass give what each gives alone."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import METHODS, Categorical, Memory, Real
from allalike._core.registry import make
from allalike.noise import OneCoin
from crowds.samples import problems, rows, weigh_problems
from running.turns import in_turn

SPECS = [
    *[name for name in METHODS if name != "OA"],
    *("iP-TD(average=False)", "P-TD(per_pair=True)", "MACE(starts=1)"),
]
DRAWN = {  # measure the distance to votes, whose ties are drawn by the id of the task; or begin, or go, by this id
    *("D-TD", "CRH", "CATD", "EBCC", "LA", "MACE"),
}
CASES = [
    (spec, classes)
    for spec in SPECS
    for classes in (None, 2, 3)
    if make(spec, METHODS, "method").serves(Categorical(classes=classes) if classes else Real())
    and not (classes and spec in DRAWN)
]


@pytest.mark.parametrize(("spec", "classes"), in_turn(CASES, 4))
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_each_problem_is_solved_as_if_it_were_alone(spec: str, classes: int | None) -> None:
    rng = np.random.default_rng(0)
    matrices: npt.NDArray[Any] = rng.normal(size=(6, 5, 11))
    if classes:
        matrices = np.stack(
            [OneCoin(classes=classes).sample(np.arange(11) % classes, rng.random(5), s) for s in range(6)]
        )
    method = make(spec, METHODS, "method")
    together = weigh_problems(matrices, method, classes)
    domain = allalike.Categorical(classes=classes) if classes else "real"
    for number, matrix in enumerate(matrices):
        alone = allalike.discover(rows(matrix), domain=domain, method=method).weighing
        mine = slice(5 * number, 5 * number + 5)
        np.testing.assert_allclose(together.weight[mine], alone.weight, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(together.fault[mine], alone.fault, rtol=1e-9, atol=1e-12)


def test_blocks_know_only_their_own_workers_where_there_are_many() -> None:
    answers = problems(np.random.default_rng(1).normal(size=(50, 4, 3)))
    blocks = list(answers.blocks(24))
    assert all(block.n_workers <= 12 for block in blocks)
    assert sum(block.n_tasks for block in blocks) == 150
    whole = Memory(block_answers=10**6).load(answers).sum(answers.encoding.kernels.peer_sums, np.ones(200))
    parts = Memory(block_answers=24).load(answers).sum(answers.encoding.kernels.peer_sums, np.ones(200))
    for name in whole:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-12)
