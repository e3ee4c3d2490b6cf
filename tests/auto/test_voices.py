"""Voices: groups count as one and the silent not at all, for every kind of label."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import allalike
from allalike import DOMAINS, Memory
from allalike._core.blocks.block import AnswerWeights, Ties
from allalike.engines.memory import MemoryRun
from allalike.methods.auto.decisions import decide_by_groups
from allalike.methods.auto.distances import distance_sums
from allalike.methods.auto.voices import give_voices, peer_distances
from allalike.methods.fit import CopyGroups
from crowds.distance_weights import all_distances, weigh
from crowds.samples import Row, crowd, kind

if TYPE_CHECKING:
    import numpy.typing as npt

every_domain = pytest.mark.parametrize("domain", list(DOMAINS))
COPIES = ("w000 a", "w000 b")


def load(rows: list[Row], domain: str) -> MemoryRun:
    return Memory().load(allalike.read(rows, domain=kind(domain)))


def with_copies(rows: list[Row]) -> list[Row]:
    """Add two workers who say what the first one says, on some of her tasks."""
    mine = {task: label for worker, task, label in rows if worker == "w000"}
    some = {*list(mine)[:4], *list(mine)[::2]}
    return rows + [(name, task, label) for name in COPIES for task, label in mine.items() if task in some]


def grouped(run: MemoryRun) -> CopyGroups:
    """Put the first worker and her copies in one group."""
    ids = run.workers.tolist()
    first = ids.index("w000")
    number = np.array([first if name in COPIES else place for place, name in enumerate(ids)])
    return CopyGroups(number)


@every_domain
def test_distances_to_other_groups_are_those_of_all_pairs(domain: str) -> None:
    run = load(crowd(domain, seed=3, n=7, m=6, missing=0.3), domain)
    rng = np.random.default_rng(4)
    weights = rng.uniform(0.2, 1.0, 7)
    number = np.array([0, 1, 0, 3, 1, 5, 0])
    [block] = give_voices(run, CopyGroups(number)).blocks
    found, weight = peer_distances(block, weights, kernels=run.kernels)
    _, task, apart = all_distances(run)
    code = run.kernels.restore_answers(block, np.arange(len(task)))
    group = number[block.worker]
    voice = 1 / np.array([((task == t) & (group == g)).sum() for t, g in zip(task, group, strict=True)])
    np.testing.assert_allclose(block[AnswerWeights].weight, voice)
    for i in range(len(task)):
        peers = np.flatnonzero((task == task[i]) & (group != group[i]))
        fields = run.encoding.fields
        shared = 1.0 if fields is None else fields.shared(code[np.full(len(peers), i)], code[peers])
        share = shared * voice[peers] * weights[block.worker[peers]]
        assert found[i] == pytest.approx(share @ apart[i, peers], abs=1e-9)
        assert weight[i] == pytest.approx(share.sum(), abs=1e-12)


@every_domain
def test_copies_change_neither_the_faults_of_others_nor_the_truths(domain: str) -> None:
    rows = crowd(domain, seed=5, n=6, m=12)
    alone, copied = load(rows, domain), load(with_copies(rows), domain)
    groups = grouped(copied)
    names = [name.rsplit(" ", 1)[0] for name in copied.workers.tolist()]
    place = np.array([alone.workers.tolist().index(name) for name in names])
    honest = np.array([name not in COPIES for name in copied.workers.tolist()])
    weight, fault = np.linspace(0.5, 1.0, 6), np.linspace(0.1, 0.4, 6)

    def sums(run: Any, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        found = run.sum(partial(distance_sums, kernels=run.kernels), weights)
        return np.asarray(found["fault"])

    np.testing.assert_allclose(
        sums(give_voices(copied, groups), weight[place])[honest], sums(alone, weight), rtol=1e-9, atol=1e-12
    )
    kernels, ties = copied.kernels, Ties()
    [block], [plain] = copied.blocks, alone.blocks
    number = groups.number.astype(np.float64)
    found = decide_by_groups(block, weight[place], fault[place], number, kernels=kernels, ties=ties)
    expected = alone.kernels.aggregate(plain, weight, fault, ties=ties)
    scatter = np.zeros(plain.n_tasks)
    assert (kernels.distance_between(found["label"], expected["label"]) < 1e-12).all()
    assert not kernels.differs(found["label"], expected["label"], scatter + 1e3).any()
    np.testing.assert_allclose(found["error"], expected["error"], rtol=1e-9)


@every_domain
def test_nothing_changes_where_nobody_copies(domain: str) -> None:
    run = load(crowd(domain, seed=6, n=6, m=9), domain)  # too few tasks to tell
    found, plain = weigh(run), weigh(run, plain=True)
    assert found.copy_groups is not None
    assert not found.copy_groups.has_copies
    assert plain.copy_groups is None
    assert plain.uncertainty is None
    for name in ("disparity", "fault", "weight"):
        assert np.array_equal(getattr(found, name), getattr(plain, name), equal_nan=True)
