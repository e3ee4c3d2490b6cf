"""Copy groups among classes: detection, false alarms, and invariance to the number of copies."""

import itertools
from collections import Counter
from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Auto
from allalike.methods.auto.copy_groups import _compare_pairs, _count_joint_errors, find_copies
from allalike.methods.fit import CopyGroup
from crowds.copiers import answer, attack, loaded, rows_of

Rows = list[tuple[str, str, str]]


def groups_in(said: np.ndarray) -> tuple[CopyGroup, ...]:
    groups = find_copies(loaded(said))
    assert groups is not None
    return groups.groups


def copies_in(said: np.ndarray) -> list[tuple[int, ...]]:
    return [group.members for group in groups_in(said) if group.copies]


def error(rows: Rows, truth: np.ndarray, *, plain: bool = False) -> float:
    labels = allalike.discover(rows, screening=not plain).truth["label"].to_numpy()
    return float(np.mean(labels != np.array(list("abcd"))[truth]))


@pytest.mark.parametrize(
    ("copiers", "how"),
    [(3, {}), (6, {}), (1, {"skill": 0.35, "fidelity": 1.0}), (1, {"skill": 0.7, "fidelity": 1.0})],
)
def test_a_ring_is_found_and_a_pair_of_identical_workers_be_they_good_or_bad(copiers: int, how: dict[str, Any]) -> None:
    for seed in range(5):
        assert copies_in(attack(seed, rings=(copiers,), **how)[1]) == [tuple(range(7, 8 + copiers))]


@pytest.mark.parametrize(("copiers", "most"), [(3, 0.06), (6, 0.08)])
def test_a_ring_does_little_harm(copiers: int, most: float) -> None:
    drawn = [(rows_of(said), truth) for truth, said in (attack(seed, rings=(copiers,)) for seed in range(2))]
    assert np.mean([error(*each) for each in drawn]) <= most
    assert np.mean([error(*each, plain=True) for each in drawn]) > 2 * most


@pytest.mark.parametrize("tasks", [30, 100])
def test_honest_workers_are_not_called_copies(tasks: int) -> None:
    for seed in range(8):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, tasks)
        decoy = (truth + rng.integers(1, 4, tasks)) % 4
        said = answer(rng, truth, 0.7, 9)
        tempted = np.where((said != truth) & (rng.random(said.shape) < 0.6), decoy, said)
        skill = 1 / (1 + np.exp(-np.log(0.7 / 0.3) - rng.standard_normal(tasks)))
        uneven = answer(rng, truth, skill, 9)
        assert copies_in(said) == copies_in(tempted) == copies_in(uneven) == []


@pytest.mark.parametrize(("experts", "others", "k"), [(3, 0.55, 2), (3, 0.55, 4), (8, 0.72, 2), (5, 0.4, 4)])
def test_experts_are_no_copies(experts: int, others: float, k: int) -> None:
    rng = np.random.default_rng(5)
    truth = rng.integers(0, k, 200)
    assert copies_in(np.concatenate([answer(rng, truth, 0.97, experts, k), answer(rng, truth, others, 12, k)])) == []


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("people", [2, 5])
def test_the_number_of_exact_copies_changes_nothing(k: int, people: int) -> None:
    """k and k + 1 copies of a worker give the same labels."""
    rng = np.random.default_rng([k, people])
    truth = rng.integers(0, k, 200)
    persons, model = answer(rng, truth, 0.75, people, k), answer(rng, truth, 0.65, 1, k)
    names = [[(f"w{who:02}", task, int(x)) for (who, task), x in np.ndenumerate(np.concatenate([persons, copies]))]
             for copies in (np.repeat(model, number, axis=0) for number in (1, 2, 3, 8, 20))]  # fmt: skip
    found = [allalike.discover(rows, domain="categorical").truth["label"].tolist() for rows in names]
    assert all(labels == found[0] for labels in found)


@pytest.mark.parametrize("fidelity", [0.95, 1.0])
@pytest.mark.parametrize("k", [2, 4])
def test_eight_copies_of_a_bad_worker_are_not_followed(k: int, fidelity: float) -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, k, 400)
    honest, leader = answer(rng, truth, 0.72, 15, k), answer(rng, truth, 0.45, 1, k)
    copies = np.where(rng.random((8, 400)) < fidelity, leader, rng.integers(0, k, (8, 400)))
    said = np.concatenate([honest, copies])
    said = np.where(rng.random(said.shape) < 0.5, said, -1)
    rows = [(who, task, int(x)) for (who, task), x in np.ndenumerate(said) if x >= 0]
    found = allalike.discover(rows, domain="categorical").truth
    right = [np.mean(found[name].to_numpy() == truth[found["task"]]) for name in ("label", "unweighted")]
    assert right[0] > right[1] + 0.05


@pytest.mark.parametrize("k", [2, 4])
def test_five_of_twelve_who_collude_are_found(k: int) -> None:
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, k, 200)
        lie = (truth + rng.integers(1, k, 200)) % k
        copies = np.where(rng.random((5, 200)) < 0.95, lie, rng.integers(0, k, (5, 200)))
        said = np.concatenate([answer(rng, truth, 0.7, 7, k), copies])
        rows = [(who, task, int(x)) for (who, task), x in np.ndenumerate(said)]
        labels = allalike.discover(rows, domain="categorical").truth["label"].to_numpy()
        assert np.mean(labels == truth) > 0.9


def test_one_model_copied_nine_times_beside_two_people_a_task_costs_little() -> None:
    rng = np.random.default_rng(77)
    truth = rng.integers(0, 4, 300)
    people, model = answer(rng, truth, 0.8, 12), answer(rng, truth, 0.7)[0]
    asked = [(person, task) for task in range(300) for person in rng.permutation(12)[:2].tolist()]
    rows = [(f"person {person}", f"t{task:04}", "abcd"[people[person, task]]) for person, task in asked]
    one, nine = (
        rows
        + [(f"model {each}", f"t{task:04}", "abcd"[label]) for each in range(n) for task, label in enumerate(model)]
        for n in (1, 9)
    )
    assert error(nine, truth) <= error(one, truth) + 0.02
    assert error(nine, truth, plain=True) > error(one, truth) + 0.1


def sparse_crowd() -> tuple[np.ndarray, np.ndarray]:
    """Return the answers of a ring of four among eleven, -1 where there is none; and groups, one by chance."""
    said = attack(1, tasks=60)[1]
    said = np.where(np.random.default_rng(3).random(said.shape) < 0.25, -1, said)
    return said, np.array([0, 1, 1, 3, 4, 5, 6, 7, 7, 7, 7])


def foretold(votes: Counter[int], label: int) -> float:
    """Tell whether a label has most votes, a tie being shared, once one vote for it is taken away."""
    left = [votes[each] - (each == label) for each in range(4)]
    ahead = [each for each in range(4) if left[each] >= max(left) - 1e-9]
    return (label in ahead) / len(ahead)


def departures_of(said: np.ndarray, members: list[int]) -> list[float]:
    """Add up, task after task, what the members of a group say."""
    sums = np.zeros(7)
    for labels in said.T:
        heard = np.flatnonzero(labels >= 0).tolist()
        mine = [int(labels[who]) for who in heard if who in members]
        others = [int(labels[who]) for who in heard if who not in members]
        if len(mine) < 2:
            continue
        top, second = [*sorted(Counter(others).values(), reverse=True), 0, 0][:2]
        winner = Counter(others).most_common(1)[0][0] if others else -1
        clear = top - second >= 2 and (top - second) >= 4 / 3 * len(others) ** 0.5 - 1e-9
        pairs = list(itertools.permutations(mine, 2))
        departs = np.mean([label != winner for label in mine])
        joint = np.mean([one == two != winner for one, two in pairs])
        one_voice, all_voices = Counter(others), Counter(others)
        for label in mine:
            one_voice[label] += 1 / len(mine)  # type: ignore[assignment]
            all_voices[label] += 1
        gain = sum(foretold(one_voice, label) - foretold(all_voices, label) for label in others)
        same = np.mean([one == two for one, two in pairs])
        sums += np.array([clear, clear * departs, clear * joint, 1, same, gain, gain**2], float)
    return sums.tolist()


@pytest.mark.parametrize("options", [{}, {"block_answers": 40}])
def test_joint_errors_are_those_added_up_task_by_task(options: dict[str, int]) -> None:
    said, number = sparse_crowd()
    found = _count_joint_errors(loaded(said, **options), number)
    assert sorted(found) == [1, 7]
    for group, seen in found.items():
        expected = departures_of(said, np.flatnonzero(number == group).tolist())
        sums = [seen.clear, seen.departs, seen.joint, seen.shared, seen.same, seen.gain, seen.squares]
        np.testing.assert_allclose(sums, expected, rtol=1e-12)
        assert 0 < seen.clear < seen.shared
        assert seen.squares > 0


def test_the_usual_disagreement_is_that_of_pairs_counted_one_by_one() -> None:
    said, _ = sparse_crowd()
    pairs = _compare_pairs(loaded(said))
    assert pairs is not None
    for one, usual in enumerate(pairs.usual):
        both = [(said[one] >= 0) & (said[other] >= 0) for other in range(11)]
        apart = [np.mean(said[one, met] != said[two, met]) for two, met in enumerate(both) if two != one]
        assert usual == pytest.approx(sorted(apart)[5])


def test_a_few_common_tasks_tell_nothing() -> None:
    rng = np.random.default_rng(2)
    said = rng.integers(0, 4, (9, 4))
    said[8] = said[7]
    assert groups_in(said) == ()


def test_a_group_is_described_by_the_tasks_it_has_in_common() -> None:
    truth, said = attack(4)
    [group] = groups_in(said)
    seen = _count_joint_errors(loaded(said), np.array([*range(7), 7, 7, 7, 7]))[7]
    assert group.common == len(truth) == 100
    assert group.rare == round(seen.joint) < seen.clear
    assert group.fidelity == pytest.approx(seen.joint / seen.departs)
    assert group.p_value < 0.01


def test_plain_is_the_method_without_any_of_it() -> None:
    _, said = attack(6)
    plain, same = (
        allalike.discover(rows_of(said), **how) for how in ({"screening": False}, {"method": Auto(screening=False)})
    )
    assert plain.truth["label"].tolist() == same.truth["label"].tolist()
    assert plain.groups.empty
    assert "copy_group" not in plain.workers
    named = allalike.discover(rows_of(said), method="iP-TD").workers
    assert list(named) == ["worker", "answers", "disparity", "mean_error", "weight", "flag", "reason"]


@pytest.mark.parametrize("domain", ["categorical", "real"])
def test_parts_without_a_common_task_are_reported(domain: str) -> None:
    rng = np.random.default_rng(9)
    said = answer(rng, rng.integers(0, 4, 40), 0.8, 4)
    one = [(worker, task, ord(label)) for worker, task, label in rows_of(said)]
    result = allalike.discover(
        [*one, *((f"other {worker}", f"other {task}", label) for worker, task, label in one[:120])], domain=domain
    )
    assert result.summary["screening"]["components"] == {"number": 2, "largest": 4}
    assert result.workers.groupby("component")["worker"].count().tolist() == [3, 4]
    assert "parts" not in allalike.discover(one, domain=domain).summary["screening"]


def test_where_pairs_are_too_many_nobody_looks_for_copies_and_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.engines.base.free_memory", lambda: 10)
    result = allalike.discover(rows_of(attack(7)[1]))
    assert result.summary["model"]["copies"] == "too many pairs of workers to compare"
    assert result.groups.empty


@pytest.mark.parametrize("n", [4, 5, 6, 7, 8])
def test_who_hands_in_her_answers_twice_counts_once_however_few_the_others_are(n: int) -> None:
    rng = np.random.default_rng(n)
    truth = rng.integers(0, 4, 120)
    said = np.concatenate([answer(rng, truth, skill) for skill in np.linspace(0.5, 0.9, n)])
    assert copies_in(np.concatenate([said, said[:1]])) == [(0, n)]
