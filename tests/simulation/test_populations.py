"""Where workers come from, and who copies from whom."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from allalike.simulation import Copiers, HammerSpammer, Normal, Uniform


@pytest.mark.parametrize(
    ("population", "reference"),
    [
        *(
            (
                Normal(mean=mean, sd=sd, low=low, high=high),
                stats.truncnorm((low - mean) / sd, (high - mean) / sd, mean, sd),
            )
            for mean, sd, low, high in [
                (1, 0.5, 0, 10),
                (0.35, 0.15, 0, 1),
                (0, 1, 9, 10),
                (0, 1, -12, -9),
                (5, 1, 0, 1),
            ]
        ),
        (Normal(mean=1.0, sd=0.5, high=10.0, outside="fold"), stats.foldnorm(2, scale=0.5)),
        (Uniform(low=50, high=200), stats.uniform(50, 150)),
    ],
)
def test_a_population_is_that_of_scipy(population: Any, reference: Any) -> None:
    drawn = population.draw(50_000, seed=1)
    low, high = reference.support()
    assert ((drawn >= low) & (drawn <= high)).all()
    assert stats.kstest(drawn, reference.cdf).pvalue > 1e-3
    assert drawn.mean() == pytest.approx(reference.mean(), abs=4 * reference.std() / np.sqrt(50_000))


def test_a_clipped_normal_population_has_its_tails_at_the_bounds() -> None:
    drawn = Normal(mean=0.6, sd=0.3, outside="clip").draw(100_000, seed=2)
    for bound, share in ((0.0, stats.norm.cdf(-2)), (1.0, stats.norm.sf(4 / 3))):
        assert (drawn == bound).mean() == pytest.approx(share, abs=4 * np.sqrt(share / 100_000))
    inner = drawn[(drawn > 0) & (drawn < 1)]
    assert stats.kstest(inner, stats.truncnorm(-2, 4 / 3, 0.6, 0.3).cdf).pvalue > 1e-3


def test_a_normal_population_is_folded_at_its_upper_bound_too() -> None:
    high = Normal(mean=0.0, sd=0.5, low=-10.0, high=1.0, outside="fold").draw(50_000, seed=9)
    assert stats.kstest(1 - high, stats.foldnorm(2, scale=0.5).cdf).pvalue > 1e-3


def test_every_worker_is_a_hammer_for_herself_so_that_some_crowds_have_none() -> None:
    crowds = HammerSpammer(good=0.2, bad=0.5, share=0.2).draw(200_000, seed=3).reshape(-1, 10)
    assert set(np.unique(crowds)) == {0.2, 0.5}
    hammers = (crowds == 0.2).sum(axis=1)
    assert (hammers == 0).mean() == pytest.approx(0.8**10, abs=0.01)  # 11 %
    assert hammers.var() == pytest.approx(10 * 0.2 * 0.8, rel=0.05)


def test_copiers_copy_from_workers_who_do_not_copy() -> None:
    for seed in range(50):
        source = Copiers(number=12).appoint(20, seed)
        assert (source >= 0).sum() == 12
        assert (source[source[source >= 0]] == -1).all()
    clones = Copiers(number=12, sources=2).appoint(20, seed=1)
    assert len(np.unique(clones[clones >= 0])) == 2
    assert (Copiers().appoint(5) == -1).all()


@pytest.mark.parametrize("fidelity", [0.0, 0.3, 1.0])
def test_answers_are_copied_at_the_given_rate_and_others_are_left_alone(fidelity: float) -> None:
    task, worker = np.divmod(np.arange(40_000), 4)
    label = np.random.default_rng(6).random(40_000)
    source = np.array([2, -1, -1, 2])
    answers, chance = Copiers(number=2, fidelity=fidelity).copy(worker, task, label, source, seed=7)
    before, after = label.reshape(-1, 4), answers.reshape(-1, 4)
    np.testing.assert_array_equal(after[:, 1:3], before[:, 1:3])
    assert set(np.unique(chance)) == {0.0, fidelity}
    for copier in (0, 3):
        copied = after[:, copier] == before[:, 2]
        assert copied.mean() == pytest.approx(fidelity, abs=4 * np.sqrt(0.25 / 10_000))
        np.testing.assert_array_equal(after[~copied, copier], before[~copied, copier])


def test_what_the_source_did_not_answer_cannot_be_copied() -> None:
    worker, task = np.array([0, 1, 0, 0, 1, 1]), np.array([0, 0, 1, 2, 2, 3])
    answers, chance = Copiers(number=1).copy(worker, task, np.arange(6), np.array([1, -1]))
    assert answers.tolist() == [1, 1, 2, 4, 4, 5]
    assert chance.tolist() == [1, 0, 0, 1, 0, 0]
