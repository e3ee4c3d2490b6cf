"""Voting rules on weighted rankings, compared with pref_voting (slow import) and brute force."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from allalike._core.blocks.block import Block, Floats, Ties
from allalike._core.columns.column import Column
from allalike.domains.rankings import kemeny as kemeny_module
from allalike.domains.rankings.codes import unpack
from allalike.domains.rankings.ranking import VOTING, Ranking

if TYPE_CHECKING:
    from allalike.rules import Decision

pytestmark = pytest.mark.slow

Order = tuple[int, ...]


@dataclass(frozen=True)
class Votes:
    """Orders of items 0..q-1, and the number of voters per order."""

    orders: list[Order]
    counts: list[int]

    @property
    def n_items(self) -> int:
        return len(self.orders[0])

    @property
    def profile(self) -> Any:
        from pref_voting.profiles import Profile

        return Profile([list(order) for order in self.orders], self.counts)

    @property
    def before(self) -> Floats:
        counts = np.zeros((self.n_items, self.n_items))
        for order, count in zip(self.orders, self.counts, strict=True):
            for a, b in combinations(order, 2):
                counts[a, b] += count
        return counts


@cache
def votes(sizes: tuple[int, ...] = (3, 4, 5, 6, 7), each: int = 40, seed: int = 0, largest: int = 4) -> list[Votes]:
    """Simulate profiles of random orders with different levels of agreement."""
    rng = np.random.default_rng(seed)
    drawn = []
    for q in sizes:
        for _ in range(each):
            n, noise = int(rng.integers(1, 9)), rng.uniform(0.5, 6)
            orders = [tuple(np.argsort(np.arange(q) + rng.normal(0, noise, q)).tolist()) for _ in range(n)]
            drawn.append(Votes(orders, rng.integers(1, largest + 1, n).tolist()))
    return drawn


def decide(rule: str, profiles: list[Votes], ties: Ties | None = None) -> Decision:
    """Apply a rule to all profiles, as tasks of one block in which every answer has its own worker."""
    sizes = np.array([len(profile.orders) for profile in profiles])
    domain = Ranking(rule=rule)
    labels = Column.of_objects("label", [list(order) for profile in profiles for order in profile.orders])
    encoding = domain.learn(labels)
    encoded = encoding.encode(labels)
    block = Block(
        starts=np.cumsum(sizes) - sizes,
        sizes=sizes,
        worker=np.arange(len(encoded)),
        label=encoded,
        workers=slice(None),
        n_workers=len(encoded),
        task_hash=np.arange(len(profiles), dtype=np.uint64),
        gold_task=np.empty(0, np.int64),
        gold_label=encoded[:0],
    )
    weights = np.concatenate([profile.counts for profile in profiles]) / 7.0
    return encoding.kernels.decide(encoding.prepare(block), weights, np.zeros(len(encoded)), ties or Ties())


def orders(found: Decision) -> list[Order]:
    return [tuple(unpack(found.label[place : place + 1]).item.tolist()) for place in range(len(found.label))]


def check_levels(found: Decision, levels: list[dict[int, Any]]) -> None:
    """Check that orders sort items by level, the smallest first, and that draws are among equal levels."""
    for order, tied, level in zip(orders(found), found.tied, levels, strict=True):
        assert sorted(order) == sorted(level)
        along = [level[item] for item in order]
        assert along == sorted(along)
        assert tied == (len(set(along)) < len(along))


@pytest.mark.parametrize(
    ("rule", "module", "name"),
    [
        ("borda", "scoring_methods", "borda_ranking"),
        ("plurality", "scoring_methods", "plurality_ranking"),
        ("veto", "scoring_methods", "anti_plurality_ranking"),
        ("copeland", "c1_methods", "copeland_ranking"),
    ],
)
@pytest.mark.long
def test_a_rule_by_score_ranks_as_pref_voting_does(rule: str, module: str, name: str) -> None:
    theirs = getattr(import_module(f"pref_voting.{module}"), name)
    check_levels(decide(rule, votes()), [theirs(profile.profile).rmap for profile in votes()])


@pytest.mark.long
def test_maximin_has_the_scores_of_pref_voting() -> None:
    from pref_voting.margin_based_methods import minimax_scores

    theirs = [minimax_scores(profile.profile, score_method="pairwise_opposition") for profile in votes()]
    check_levels(decide("maximin", votes()), [{a: -s for a, s in scores.items()} for scores in theirs])


@pytest.mark.long
def test_schulze_respects_all_defeats_of_pref_voting() -> None:
    from pref_voting.margin_based_methods import beat_path, beat_path_defeat

    found = decide("schulze", votes(each=60))
    beaten = []
    for order, profile in zip(orders(found), votes(each=60), strict=True):
        defeats = beat_path_defeat(profile.profile)
        assert all(order.index(a) < order.index(b) for a, b in defeats.edges)
        assert order[0] in beat_path(profile.profile)
        beaten.append({a: -defeats.out_degree(a) for a in defeats.nodes})
    check_levels(found, beaten)


@pytest.mark.long
def test_ranked_pairs_draws_exactly_where_there_are_several_stacks() -> None:
    from pref_voting.margin_based_methods import is_stack

    profiles = votes(sizes=(3, 4), each=60)
    found = decide("ranked pairs", profiles)
    for order, tied, profile in zip(orders(found), found.tied, profiles, strict=True):
        theirs = profile.profile
        stacks = [other for other in permutations(range(profile.n_items)) if is_stack(theirs, list(other))]
        assert order in stacks
        assert tied == (len(stacks) > 1)


@pytest.mark.long
def test_bucklin_has_the_winner_of_pref_voting_and_ranks_by_depth() -> None:
    from pref_voting.other_methods import bucklin

    found = decide("bucklin", votes())
    levels = []
    for order, profile in zip(orders(found), votes(), strict=True):
        assert order[0] in bucklin(profile.profile)
        levels.append({item: _depth(item, profile) for item in order})
    check_levels(found, levels)


def _depth(item: int, profile: Votes) -> tuple[int, int]:
    half = sum(profile.counts) / 2
    for depth in range(1, profile.n_items + 1):
        named = sum(c for o, c in zip(profile.orders, profile.counts, strict=True) if item in o[:depth])
        if named > half:
            return depth, -named
    raise AssertionError


@pytest.mark.long
def test_stv_strikes_out_the_weakest_and_has_the_winner_of_pref_voting() -> None:
    from pref_voting.iterative_methods import instant_runoff_put, instant_runoff_ranking

    found = decide("stv", votes(each=100))
    for order, tied, profile in zip(orders(found), found.tied, votes(each=100), strict=True):
        left, drawn = set(order), False
        for item in reversed(order):
            tops = Counter(dict.fromkeys(left, 0))
            for ballot, count in zip(profile.orders, profile.counts, strict=True):
                tops[next(a for a in ballot if a in left)] += count
            assert tops[item] == min(tops.values())
            drawn |= list(tops.values()).count(tops[item]) > 1
            left.remove(item)
        assert tied == drawn
        if drawn:
            assert order[0] in instant_runoff_put(profile.profile)
        else:
            ranks = instant_runoff_ranking(profile.profile).rmap
            assert order == tuple(sorted(ranks, key=lambda item: int(ranks[item])))


def cost(order: Order, against: Floats) -> float:
    return float(sum(against[b, a] for a, b in combinations(order, 2)))


def against(rule: str, profile: Votes) -> Floats:
    before = profile.before
    return before if rule == "kemeny" else (before > before.T).astype(np.float64)


@pytest.mark.parametrize("rule", ["kemeny", "slater"])
@pytest.mark.parametrize("listed", [True, False])
def test_kemeny_and_slater_have_the_least_cost(rule: str, listed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not listed:
        monkeypatch.setattr(kemeny_module, "MAX_LISTED_ITEMS", 0)  # the dynamic programme
    profiles = votes(sizes=(2, 5, 6, 7), each=8)
    found = decide(rule, profiles)
    for order, tied, profile in zip(orders(found), found.tied, profiles, strict=True):
        every = np.array(list(permutations(range(profile.n_items))))
        before, after = np.triu_indices(profile.n_items, 1)
        costs = against(rule, profile)[every[:, after], every[:, before]].sum(axis=1)
        assert cost(order, against(rule, profile)) == pytest.approx(costs.min(), rel=1e-12)
        assert tied == (np.isclose(costs, costs.min(), rtol=1e-9).sum() > 1)


def test_the_dynamic_programme_takes_sixteen_items_at_once() -> None:
    profiles = votes(sizes=(9, 16), each=2)
    for rule in ("kemeny", "slater"):
        exact = decide(rule, profiles)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(kemeny_module, "MOST_EXACT", 0)
            searched = decide(rule, profiles)
        for best, near, profile in zip(orders(exact), orders(searched), profiles, strict=True):
            assert cost(best, against(rule, profile)) <= cost(near, against(rule, profile))
            assert _cannot_be_improved(best, against(rule, profile))
            assert _cannot_be_improved(near, against(rule, profile))


def _cannot_be_improved(order: Order, against: Floats) -> bool:
    least = cost(order, against)
    for i in range(len(order)):
        rest = order[:i] + order[i + 1 :]
        moved = [(*rest[:j], order[i], *rest[j:]) for j in range(len(order))]
        if min(cost(other, against) for other in moved) < least:
            return False
    return True


def test_the_modal_ranking_is_the_most_frequent() -> None:
    rng = np.random.default_rng(3)
    few = [tuple(order) for order in permutations(range(3))]
    profiles = [Votes([few[k] for k in rng.integers(0, 6, 8)], rng.integers(1, 4, 8).tolist()) for _ in range(200)]
    found = decide("modal", profiles)
    for order, tied, profile in zip(orders(found), found.tied, profiles, strict=True):
        total: Counter[Order] = Counter()
        for ballot, count in zip(profile.orders, profile.counts, strict=True):
            total[ballot] += count
        assert total[order] == max(total.values())
        assert tied == (list(total.values()).count(total[order]) > 1)


def kendall(left: Order, right: Order) -> int:
    return sum(right.index(a) > right.index(b) for a, b in combinations(left, 2))


def test_minimax_is_least_wrong_in_the_worst_case() -> None:
    cycle = Votes([(0, 1, 2), (1, 2, 0), (2, 0, 1)], [1, 1, 1])  # no ranking is close enough to all of these
    profiles = [*votes(sizes=(1, 2, 3, 4), each=60), *votes(sizes=(5,), each=6), cycle]
    found = decide("minimax", profiles)
    empty = 0
    for order, tied, profile in zip(orders(found), found.tied, profiles, strict=True):
        every = list(permutations(range(profile.n_items)))
        radius = max(kendall(a, b) for a in profile.orders for b in profile.orders) / 2
        mean = {r: cost(r, profile.before) / sum(profile.counts) for r in every}
        possible = [r for r in every if mean[r] <= radius + 1e-9]
        empty += not possible
        worst = {r: max((kendall(r, b) for b in possible), default=mean[r]) for r in every}
        best = [r for r in every if worst[r] <= min(worst.values()) + 1e-9]
        assert order in best
        assert tied == (len(best) > 1)
    assert empty == 1


def test_minimax_takes_eight_items() -> None:
    swapped = Votes([tuple(range(8)), (1, 0, 2, 3, 4, 5, 6, 7)], [2, 1])
    assert orders(decide("minimax", [swapped])) == [tuple(range(8))]


GOLDEN = Votes([(0, 1, 2, 3), (0, 2, 1, 3), (1, 0, 2, 3), (3, 2, 1, 0), (0, 1, 3, 2)], [30, 25, 20, 15, 10])


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        *((rule, (0, 1, 2, 3)) for rule in ("borda", "copeland", "kemeny", "slater", "modal", "best worker")),
        ("plurality", (0, 1, 3, 2)),
        ("veto", (1, 2, 0, 3)),
    ],
)
def test_rules_rank_the_worked_example_as_by_hand(rule: str, expected: Order) -> None:
    found = decide(rule, [GOLDEN])
    assert orders(found) == [expected]
    assert not found.tied[0]
    if rule == "borda":
        assert found.confidence[0] == pytest.approx((0.65 + 0.85 + 0.85 + 0.6 + 0.85 + 0.75) / 6)


@pytest.mark.parametrize("rule", VOTING)
def test_one_order_by_all_is_found_without_a_doubt(rule: str) -> None:
    alone = [Votes([order], [2]) for order in [(0,), (1, 0), (2, 0, 1), (3, 1, 0, 2)]]
    found = decide(rule, [*alone, *[Votes(profile.orders * 3, [1, 2, 3]) for profile in alone]])
    if rule in ("plurality", "veto", "maximin", "stv"):  # these distinguish only the first or the last item
        place = -1 if rule == "veto" else 0
        assert [order[place] for order in orders(found)] == [profile.orders[0][place] for profile in alone] * 2
    else:
        assert orders(found) == [profile.orders[0] for profile in alone] * 2
        assert not found.tied.any()
        assert np.all(found.confidence == 1)


@pytest.mark.parametrize("rule", VOTING)
def test_opposite_orders_are_drawn_fairly(rule: str) -> None:
    opposite = [Votes([(0, 1), (1, 0)], [1, 1])] * 400
    found = decide(rule, opposite)
    assert found.tied.all()
    assert 150 < sum(order == (0, 1) for order in orders(found)) < 250
    assert set(orders(decide(rule, opposite, Ties(first=True)))) == {(0, 1)}


@pytest.mark.parametrize("rule", VOTING)
def test_neither_a_common_factor_of_all_weights_nor_other_tasks_change_anything(rule: str) -> None:
    profiles = votes(sizes=(2, 3, 4, 5, 6), each=8)
    together = decide(rule, profiles)
    larger = [replace(profile, counts=[count * 1000 for count in profile.counts]) for profile in profiles]
    assert orders(together) == orders(decide(rule, larger))
    first_alone = decide(rule, profiles[:1])  # same task number, so same hash
    assert orders(first_alone) == orders(together)[:1]
    assert first_alone.tied[0] == together.tied[0]
