"""Copy groups and uninformative workers among numbers, rankings, texts and other labels with a distance."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import Memory
from allalike._core.blocks.block import Ties
from allalike.methods.auto.copies.similarity import find_groups
from allalike.methods.auto.copies.worker_pairs import find_worker_pairs
from allalike.methods.auto.copy_groups import collapse, decide_collapsed
from allalike.methods.auto.screening import measure_informativeness
from allalike.methods.fit import CopyGroups
from crowds.copiers import HONEST, attacks_on_numbers
from crowds.distance_weights import all_distances, weigh
from crowds.public_data import load_from
from crowds.samples import Row, answers_of, crowd, kind, rows
from running.turns import in_turn

Table = npt.NDArray[np.float64]
FEW_LABELS = {"categorical", "ordinal"}  # many agree by chance: `test_copies` is about these
MANY_LABELS = [name for name in allalike.DOMAINS if name not in FEW_LABELS]
RANKINGS = "mallows(items=5, population='fixed(values=0.3)')"


def number_groups(said: Table) -> npt.NDArray[np.int64]:
    """Return the number of each worker's group within her crowd."""
    numbers = []
    for matrix in said:
        groups = find_groups(Memory().load(answers_of(matrix)), np.inf, np.zeros(len(matrix), bool))
        assert groups is not None
        numbers.append(groups.number)
    return np.array(numbers)


def run_of(given: list[Row], domain: str) -> Any:
    return Memory().load(allalike.read(given, domain=kind(domain)))


def plant(given: list[Row], leader: str, names: tuple[str, ...], other: str) -> list[Row]:
    """Let workers copy what the leader says, but for every sixth task, where they say what another one does."""
    labels = {(worker, task): label for worker, task, label in given}
    tasks = [task for worker, task, _ in given if worker == leader and (other, task) in labels]
    return given + [
        (name, task, labels[other if (place + len(name)) % 6 == 0 else leader, task])
        for name in names
        for place, task in enumerate(tasks)
    ]


@pytest.mark.parametrize("sizes", [(4,), (7,), (3, 3)])
@pytest.mark.parametrize("tasks", [100, 30])
def test_rings_of_numbers_are_found_and_nobody_else_is_in_them(sizes: tuple[int, ...], tasks: int) -> None:
    number = number_groups(attacks_on_numbers(1, *sizes, tasks=tasks)[1])
    begin, right = HONEST, np.arange(HONEST + sum(sizes))
    for size in sizes:
        right[begin : begin + size] = begin
        begin += size
    assert (number[:, :HONEST] == np.arange(HONEST)).all()
    assert (number == right).all(axis=1).mean() >= (1.0 if tasks == 100 else 0.9)


def test_rings_are_found_where_half_of_the_answers_are_missing() -> None:
    said = attacks_on_numbers(2, 4)[1][0]
    present = np.random.default_rng(3).random(said.shape) < 0.5
    found = weigh(run_of(rows(said, present=present), "real"))
    [group] = [group for group in found.copy_groups.groups if group.copies]  # type: ignore[union-attr]
    assert group.members == (7, 8, 9, 10)
    assert 0.4 < group.fidelity < 0.9
    assert group.p_value < 0.01
    assert group.common == (present[7:].sum(axis=0) > 1).sum()
    same = sum(((said[i] == said[j]) & present[i] & present[j]).sum() for i in range(7, 11) for j in range(7, i))
    assert group.rare == same


@pytest.mark.parametrize("noise", ["normal", "heavy", "scales", "bias", "unequal"])
def test_honest_workers_are_hardly_ever_taken_for_copies(noise: str) -> None:
    rng, tasks = np.random.default_rng(4), 30
    shape = (100, 11, tasks)
    error = rng.standard_t(2.5, shape) if noise == "heavy" else rng.normal(size=shape)
    if noise == "scales":
        error *= np.exp(rng.normal(0, 0.7, (100, 1, tasks)))
    elif noise == "bias":
        error += rng.normal(size=(100, 1, tasks))
    elif noise == "unequal":
        error *= np.exp(rng.uniform(np.log(0.2), np.log(3), (100, 11, 1)))
    number = number_groups(error + rng.normal(0, 3, (100, 1, tasks)))
    assert (number != np.arange(11)).any(axis=1).sum() <= 1


@pytest.mark.parametrize("experts", [3, 5])
def test_experts_who_know_most_numbers_exactly_are_no_copies(experts: int) -> None:
    rng = np.random.default_rng(experts)
    truth = rng.integers(10, 200, 60).astype(float)
    said = np.round(truth + 20 * rng.normal(size=(10, 60)))
    known = (rng.random(said.shape) < 0.8) & (np.arange(10) < experts)[:, None]
    given = Memory().load(answers_of(np.where(known, truth, said)))
    groups = find_groups(given, np.inf, np.zeros(10, bool))
    assert groups is not None
    assert not groups.has_copies


@pytest.mark.parametrize("domain", in_turn(MANY_LABELS, 2))
def test_copies_of_every_kind_of_label_are_found(domain: str) -> None:
    honest = crowd(domain, seed=8, n=9, m=30)
    clean = weigh(run_of(honest, domain))
    assert clean.copy_groups is not None
    assert not clean.copy_groups.has_copies
    leader, other = np.argsort(clean.fault)[[5, 4]].tolist()  # the best are close to each other anyway
    found = weigh(run_of(plant(honest, f"w{leader:03}", ("x", "yy"), f"w{other:03}"), domain))
    assert found.copy_groups is not None
    assert [group.members for group in found.copy_groups.groups if group.copies] == [(leader, 9, 10)]


@pytest.mark.parametrize("domain", ["real", "ranking", "text"])
def test_meetings_are_those_of_all_pairs(domain: str) -> None:
    run = run_of(crowd(domain, seed=10, n=6, m=12, missing=0.3), domain)
    met = find_worker_pairs(run)
    assert met is not None
    worker, task, between = all_distances(run)
    apart: dict[tuple[int, int], list[float]] = {}
    left, right = np.nonzero(np.triu(task[:, None] == task, 1))
    distance = between[left, right]
    if domain == "real":
        distance = np.sqrt(distance)
        scale = np.array([np.median(distance[task[left] == t]) for t in range(task.max() + 1)])
        usual = np.sort(scale)[len(scale) // 2]
        distance = np.minimum(distance / np.maximum(scale, 0.1 * usual)[task[left]], 5.0)
    for i, j, d in zip(worker[left], worker[right], distance, strict=True):
        apart.setdefault((min(i, j), max(i, j)), []).append(d)
    assert sorted(apart) == list(zip(met.left.tolist(), met.right.tolist(), strict=True))
    for k, pair in enumerate(sorted(apart)):
        assert met.common[k] == len(apart[pair])
        assert met.mean[k] == pytest.approx(np.mean(apart[pair]))
        assert met.spread[k] == pytest.approx(
            np.std(apart[pair], ddof=1) if len(apart[pair]) > 1 else np.nan, nan_ok=True
        )


@pytest.mark.parametrize("model", ["gaussian", RANKINGS, "intervals", "one-coin(classes=30)"])
def test_a_constant_and_answers_to_other_tasks_are_uninformative(model: str) -> None:
    drawn = allalike.simulate(model, workers=8, tasks=400, seed=11).answers
    place = np.arange(3200).reshape(400, 8)
    place[:, 6] = place[np.random.default_rng(1).permutation(400), 6]
    place[:, 7] = place[0, 7]
    found = measure_informativeness(Memory().load(replace(drawn, label=drawn.label[place.ravel()])))
    assert found.uninformative.tolist() == [False] * 6 + [True] * 2
    assert (found.informativeness[:6] > 4 * found.informativeness_se[:6]).all()


def test_a_crowd_in_which_the_truth_never_changes_has_no_uninformative_worker() -> None:
    rng = np.random.default_rng(12)
    said = np.vstack([5 + rng.normal(size=(6, 40)), np.full((3, 40), 5.0)])
    assert not measure_informativeness(run_of(rows(said), "real")).uninformative.any()


@pytest.mark.parametrize("domain", MANY_LABELS)
def test_crowds_of_which_nothing_can_be_told_have_no_groups(domain: str) -> None:
    drawn = crowd(domain, seed=13, n=4, m=12)
    first = {task: label for _, task, label in reversed(drawn)}
    same = [(worker, task, drawn[0][2]) for worker in "abc" for task in range(20)]
    for few in (
        drawn[:1],
        [row for row in drawn if row[0] == "w000"],
        [(worker, task, label) for worker in "abcd" for task, label in first.items()],
        same if domain != "ranking" else drawn[:3],
    ):
        found = weigh(run_of(few, domain))
        assert found.copy_groups is not None
        assert not found.copy_groups.has_copies


def test_two_people_who_are_a_little_close_everywhere_are_alike_and_count_both() -> None:
    rng = np.random.default_rng(14)
    said = rng.normal(size=(9, 60)) + rng.normal(0, 3, 60)
    said[8] = said[7] + 0.25 * rng.normal(size=60)
    groups = weigh(run_of(rows(said), "real")).copy_groups
    assert groups is not None
    assert [(group.members, group.copies) for group in groups.groups] == [((7, 8), False)]
    assert not groups.has_copies


def test_double_accounts_of_translators_are_found_and_nobody_else(data: Path) -> None:
    result = allalike.discover(load_from(data, "TRANSL"))
    groups = [members.split("; ") for members in result.groups["members"]]
    assert len(groups) >= 4
    assert all(second == f"{first} (2)" for first, second in groups)
    assert {"worker24", "worker44", "worker71", "worker81"} <= {first for first, _ in groups}


@pytest.mark.parametrize("part", ["T1", "T4"])
def test_forecasters_who_always_say_about_one_half_are_no_copies(part: str, data: Path) -> None:
    answers = load_from(data, f"predict_mandal2020/{part}")
    found = weigh(Memory().load(answers))
    assert found.copy_groups is not None
    for group in found.copy_groups.groups:
        if group.copies:
            for member in group.members:
                assert np.mean(np.abs(answers.label[answers.worker == member] - 0.5)) > 0.2


@pytest.mark.parametrize("domain", allalike.DOMAINS)
def test_the_number_of_copies_changes_no_label(domain: str) -> None:
    answers = crowd(domain, seed=5, n=6, m=30)
    copies = [
        (f"{worker} {each}", task, label) for worker, task, label in answers if worker == "w000" for each in "abc"
    ]
    alone, copied = (run_of(each, domain) for each in (answers, answers + copies))
    names = [name.split()[0] for name in copied.workers.tolist()]
    groups = CopyGroups(np.array([names.index(name) for name in names]))
    first = [names.index(name) for name in alone.workers.tolist()]
    merged = collapse(copied, groups)
    for sums in ("distance", "weight"):
        np.testing.assert_allclose(
            merged.unweighted_peer_sums[sums][first], alone.unweighted_peer_sums[sums], rtol=1e-9
        )
    weight = np.linspace(0.5, 1, 6)
    [plain], [block] = alone.blocks, copied.blocks
    expected = alone.kernels.aggregate(plain, weight, weight, ties=Ties())
    everyone = weight[[alone.workers.tolist().index(name) for name in names]]
    decide = partial(copied.kernels.aggregate, ties=Ties())
    found = decide_collapsed(block, everyone, everyone, number=groups.number, encoding=copied.encoding, decide=decide)
    scatter = np.full(plain.n_tasks, 1e3)
    assert not alone.kernels.differs(found["label"], expected["label"], scatter).any()
    np.testing.assert_allclose(found["error"], expected["error"], rtol=1e-9)


@pytest.mark.parametrize("domain", allalike.DOMAINS)
def test_nothing_changes_where_nobody_copies(domain: str) -> None:
    run = run_of(crowd(domain, seed=6, n=6, m=9), domain)  # too few tasks to tell
    found, plain = weigh(run), weigh(run, plain=True)
    assert found.copy_groups is not None
    assert not found.copy_groups.has_copies
    assert plain.copy_groups is None
    assert plain.uncertainty is None
    for name in ("disparity", "fault", "weight"):
        assert np.array_equal(getattr(found, name), getattr(plain, name), equal_nan=True)
