"""Copies among classes: who is found, who is not, and what one voice does to the truths."""

from __future__ import annotations

import itertools
import math
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import allalike
from allalike import Auto, Disk, Memory
from allalike.blocks.ties import Ties
from allalike.blocks.voices import find_voices
from allalike.datasets import load
from allalike.trust import copies
from allalike.trust.copies import find_copies
from allalike.trust.evidence import weigh_pairs
from allalike.trust.groups import Groups, with_voices
from allalike.trust.surprise import Follow, Slots, find_follow, keep_slots, label_frequencies, slope_sums
from allalike.trust.verdict import collision_bound, group_sums
from rings import answer, attack, loaded, rows_of


def copies_in(said: np.ndarray) -> list[tuple[int, ...]]:
    groups = find_copies(loaded(said), np.zeros(len(said), bool))
    assert groups is not None
    return [group.members for group in groups.found if group.copies]


def error(said: np.ndarray, truth: np.ndarray, *, plain: bool = False) -> float:
    result = allalike.discover(rows_of(said), plain=plain)
    return float(np.mean(result.truth["label"].to_numpy() != np.array(list("abcd"))[truth]))


@pytest.mark.parametrize("copiers", [3, 6])
def test_a_ring_is_found_and_does_little_harm(copiers: int) -> None:
    drawn = [attack(seed, rings=(copiers,)) for seed in range(3)]
    assert all(copies_in(said) == [tuple(range(7, 8 + copiers))] for _, said in drawn)
    assert np.mean([error(said, truth) for truth, said in drawn]) < 0.08
    assert np.mean([error(said, truth, plain=True) for truth, said in drawn]) > 0.2


def test_two_rings_are_both_found() -> None:
    assert all(copies_in(attack(seed, rings=(2, 2))[1]) == [(7, 8, 9), (10, 11, 12)] for seed in range(3))


def test_a_loose_pair_is_found_with_a_hundred_common_tasks() -> None:
    assert sum(copies_in(attack(seed, rings=(1,), fidelity=0.8)[1]) == [(7, 8)] for seed in range(5)) >= 4


@pytest.mark.parametrize("tasks", [30, 100])
def test_honest_workers_are_not_called_copies(tasks: int) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, tasks)
        decoy = (truth + rng.integers(1, 4, tasks)) % 4
        said = answer(rng, truth, 0.7, 9)
        tempted = np.where((said != truth) & (rng.random(said.shape) < 0.6), decoy, said)
        assert copies_in(said) == copies_in(tempted) == []


def test_experts_among_guessers_are_only_alike() -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, 4, 200)
    said = np.concatenate([answer(rng, truth, 0.97, 3), answer(rng, truth, 0.5, 9)])
    groups = find_copies(loaded(said), np.zeros(12, bool))
    assert groups is not None
    assert not any(group.copies for group in groups.found)


def test_evidence_is_the_formula_pair_by_pair() -> None:
    _, said = attack(1, tasks=12)
    said = said.copy()
    run = loaded(said)
    number = np.array([0, 1, 2, 3, 4, 5, 6, 7, 7, 9, 10])
    frequency = label_frequencies(run)
    assert frequency is not None
    heard = run.map(lambda block: keep_slots(block, frequency=frequency)).map(
        lambda block: with_voices(block, groups=Groups(number, np.zeros(11, bool)))
    )
    follow = Follow(np.linspace(0.5, 2.0, 11), 0.3)
    matrix = weigh_pairs(heard, follow, (0.7,))[0.7].matrix.toarray()
    share = np.bincount(said.ravel(), minlength=4) / said.size
    voice = np.where((number == 7), 0.5, 1.0)

    def says(worker: int, task: int) -> float:
        others = np.array([voice[(said[:, task] == label)].sum() for label in range(4)])
        others[said[worker, task]] -= voice[worker]
        power = (others + 0.3 * np.maximum(4 * share, 0.05)) ** follow.slope[worker]
        own = said[worker, task]
        probability = max(power[own] / power.sum(), others[own] / others.sum(), 0.01)
        return math.log(0.3 + 0.7 / probability)

    for one, two in itertools.permutations(range(11), 2):
        both = [
            (says(one, task) + says(two, task)) / 2 if said[one, task] == said[two, task] else math.log(0.3)
            for task in range(12)
        ]
        assert matrix[one, two] == pytest.approx(sum(both), rel=1e-9)


def test_rates_of_agreement_are_those_counted_pair_by_pair() -> None:
    _, said = attack(2, tasks=6)
    number = np.array([0, 1, 2, 2, 4, 5, 6, 7, 7, 7, 10])
    run = loaded(said).map(lambda block: keep_slots(block, frequency=np.ones(4)))
    heard = run.map(lambda block: with_voices(block, groups=Groups(number, np.zeros(11, bool))))
    sums = heard.sum(group_sums, (number == 7).astype(float))["sums"].sum(axis=0)
    groups = [np.flatnonzero(number == each) for each in np.unique(number)]
    rates = []
    for task in range(6):
        shares = {tuple(g): np.bincount(said[g, task], minlength=4) / len(g) for g in groups}
        mine = shares.pop((7, 8, 9))
        inside = np.mean([said[i, task] == said[j, task] for i, j in itertools.combinations((7, 8, 9), 2)])
        between = np.mean([mine @ other for other in shares.values()])
        outside = np.mean([one @ two for one, two in itertools.combinations(shares.values(), 2)])
        rates.append((1.0, inside, between, outside))
    np.testing.assert_allclose(sums[:4], np.sum(np.array(rates, float), axis=0), rtol=1e-12)


def test_slope_and_curvature_are_those_of_the_likelihood() -> None:
    run = loaded(attack(3, tasks=20)[1])
    prepared = run.map(lambda block: keep_slots(block, frequency=label_frequencies(run)))
    kernel, slope, step = partial(slope_sums, prior_voices=0.3), np.linspace(0.2, 3.0, 11), 1e-4
    less, here, more = (prepared.sum(kernel, slope + move) for move in (-step, 0.0, step))
    first = (more["likelihood"] - less["likelihood"]) / (2 * step)
    second = (more["likelihood"] - 2 * here["likelihood"] + less["likelihood"]) / step**2
    np.testing.assert_allclose(here["gradient"], first, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(-here["curvature"], second, rtol=1e-3, atol=1e-4)


def test_good_workers_follow_the_others_more_closely_than_bad_ones() -> None:
    run = loaded(attack(3)[1])
    follow = find_follow(run.map(lambda block: keep_slots(block, frequency=label_frequencies(run))))
    guesser = loaded(np.concatenate([attack(3)[1], np.random.default_rng(0).integers(0, 4, (1, 100))]))
    beside = find_follow(guesser.map(lambda block: keep_slots(block, frequency=label_frequencies(guesser))))
    assert beside.slope[-1] < beside.slope[:-1].min()
    assert follow.slope.min() > 0.2


def test_the_bound_of_skill_is_worst_for_two_classes() -> None:
    bounds = [collision_bound(k) for k in (2, 3, 4, 10, 50)]
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[0] == 0.5


@pytest.mark.parametrize("engine", [Memory(block_answers=7), Disk()])
def test_groups_are_the_same_on_every_engine_and_in_any_order(engine: Memory | Disk) -> None:
    _, said = attack(4)
    rows = rows_of(said)
    expected = allalike.discover(rows).groups
    shuffled = [rows[place] for place in np.random.default_rng(0).permutation(len(rows))]
    found = allalike.discover(shuffled, engine=engine).groups
    assert found["members"].tolist() == expected["members"].tolist() == ["w007; w008; w009; w010"]
    np.testing.assert_allclose(found["fidelity"], expected["fidelity"], rtol=1e-9)


def test_a_group_has_one_voice_on_a_task_however_many_of_it_answered() -> None:
    run = loaded(attack(5, tasks=3)[1])
    number = np.array([0, 1, 2, 3, 4, 5, 6, 7, 7, 7, 7])
    block = with_voices(run.blocks[0], groups=Groups(number, np.zeros(11, bool)))
    assert find_voices(block).voice.reshape(3, 11).sum(axis=1).tolist() == [8.0, 8.0, 8.0]


def test_where_only_silent_workers_answered_they_are_heard() -> None:
    rows = [("ada", 1, "x"), ("bob", 1, "y"), ("ada", 2, "x"), ("ada", 3, "y"), ("bob", 3, "y")]
    run = Memory().load(allalike.read(rows), Ties())
    block = with_voices(run.blocks[0], groups=Groups(np.arange(2), np.array([True, False])))
    assert find_voices(block).voice.tolist() == [0.0, 1.0, 1.0, 0.0, 1.0]


def test_open_labels_have_a_slot_for_what_nobody_said() -> None:
    rows = [(worker, task, f"{task}-{worker % 2}-{'x' * 60}") for worker in range(4) for task in range(40)]
    run = Memory().load(allalike.read(rows, domain="categorical"), Ties())
    assert label_frequencies(run) is None
    slots = keep_slots(run.blocks[0], frequency=None)[Slots]
    assert slots.frequency.shape[1] == 3
    assert set(slots.slot.tolist()) == {0, 1}


def test_plain_is_the_method_without_any_of_it() -> None:
    _, said = attack(6)
    plain = allalike.discover(rows_of(said), plain=True)
    assert (
        plain.truth["label"].tolist()
        == allalike.discover(rows_of(said), method=Auto(plain=True)).truth["label"].tolist()
    )
    assert plain.groups.empty
    assert "group" not in plain.workers
    assert allalike.discover(rows_of(said), method="iP-TD").workers.columns.tolist() == [
        "worker",
        "answers",
        "disparity",
        "fault",
        "weight",
    ]


def test_a_crowd_without_copies_is_read_as_plainly() -> None:
    rng = np.random.default_rng(8)
    said = answer(rng, rng.integers(0, 4, 60), 0.7, 8)
    one, two = (allalike.discover(rows_of(said), plain=plain).workers for plain in (False, True))
    np.testing.assert_array_equal(one["weight"], two["weight"])
    np.testing.assert_array_equal(one["error_rate"], two["error_rate"])


@pytest.mark.slow
def test_copied_sources_of_a_real_crowd_cost_no_truth(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_DATA", str(data))
    found = allalike.discover(load("bench_zencrowd_all").answers, method=Auto(use_gold=False))
    assert found.summary["gold"]["error"] <= 0.12
    assert found.summary["trust"]["n_groups"]["copies"] == 1


def test_parts_without_a_common_task_are_reported() -> None:
    rng = np.random.default_rng(9)
    said = answer(rng, rng.integers(0, 4, 40), 0.8, 4)
    rows = rows_of(said) + [(f"other {worker}", f"other {task}", label) for worker, task, label in rows_of(said)[:120]]
    result = allalike.discover(rows)
    assert result.summary["trust"]["parts"] == {"number": 2, "largest": 4}
    assert result.workers.groupby("part")["worker"].count().tolist() == [3, 4]
    assert "parts" not in allalike.discover(rows_of(said)).summary["trust"]


def test_where_pairs_are_too_many_nobody_looks_for_copies_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(copies, "free_memory", lambda: 10)
    result = allalike.discover(rows_of(attack(7)[1]))
    assert result.summary["reading"]["copies"] == "too many pairs of workers to look at"
    assert result.groups.empty
