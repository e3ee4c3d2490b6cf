"""Copeland's rule as the tables have it: a draw counts against the true order."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest

import allalike
from allalike.errors import GoldError, UnsupportedError
from paper.biased_copeland import BIASED
from paper.experiments import Setting, run
from paper.experiments.settings import solve


def biased_scores(rankings: list[tuple[int, ...]], weights: tuple[float, ...]) -> list[int]:
    """Count, for items in their true order, the pairs that they win; the first of a pair needs more than half."""
    wins = [0] * len(rankings[0])
    for a, b in combinations(range(len(wins)), 2):
        before = sum(w for ranking, w in zip(rankings, weights, strict=True) if ranking.index(a) < ranking.index(b))
        wins[a if before > sum(weights) / 2 else b] += 1
    return wins


def test_the_biased_rule_of_copeland_by_brute_force() -> None:
    rng = np.random.default_rng(5)
    orders = list(permutations(range(4)))
    rows, gold, profiles = [], {}, {}
    for task in range(60):
        profiles[task] = [orders[k] for k in rng.integers(24, size=4)]
        truth = rng.permutation(4)  # names of the items in their true order
        rows += [(w, task, [int(truth[i]) for i in ranking]) for w, ranking in enumerate(profiles[task])]
        gold[task] = truth.tolist()
    found = allalike.discover(rows, domain=allalike.Ranking(rule=BIASED), method="UA", gold=gold).truth
    for task, label, tied in zip(found["task"], found["label"], found["tied"], strict=True):
        wins = biased_scores(profiles[task], (1.0,) * 4)
        got = [wins[gold[task].index(item)] for item in label]
        assert got == sorted(wins, reverse=True)
        assert tied == (len(set(wins)) < 4)


def test_the_biased_rule_makes_even_crowds_of_equals_worse() -> None:
    both = [
        run([setting], repetitions=200, jobs=1).scores(setting)
        for rule in ("copeland", BIASED)
        for setting in [Setting(source="ranking SYN.N", workers=10, tasks=1, methods=("P-TD",), rule=rule)]
    ]
    (fair_ua, fair), (biased_ua, biased) = both
    assert biased_ua.error > 1.2 * fair_ua.error
    assert biased.error == pytest.approx(fair.error, rel=0.1)  # weights hardly ever tie


def test_the_biased_rule_is_for_rankings_whose_truth_is_known() -> None:
    with pytest.raises(UnsupportedError, match="for rankings, and for no other labels"):
        solve(Setting(source="binary SYN.N", workers=3, tasks=3, methods=(), rule=BIASED, pool=20), 0)
    with pytest.raises(GoldError, match="needs the truth of every task"):
        allalike.discover([("a", 1, "x>y"), ("b", 1, "y>x")], domain=allalike.Ranking(rule=BIASED))
