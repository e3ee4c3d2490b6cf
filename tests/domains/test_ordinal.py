"""Levels in an order: distances, rules, errors and what stands beside a truth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import DOMAINS, Disk, Memory, Ordinal
from allalike._core.blocks.block import Block, Ties, group_labels
from allalike._core.registry import make
from allalike.cli.options import list_notes
from allalike.distances import absolute
from allalike.domains import Categorical
from allalike.errors import GoldError, LabelError, OptionError
from allalike.rules.levels import level_mean, level_median
from allalike.telling.summary import Summary
from allalike.testing import check_domain
from crowds.samples import Row, crowd, rows

GOLDEN = rows([[4, 2, 5], [5, 2, 4], [1, 1, 5]])
WORDS = ["poor", "fair", "good", "great"]


def solve(answers: list[Row], method: str = "UA", **options: Any) -> allalike.Result:
    """Discover levels; ties take the first level, as the published figures do."""
    return allalike.discover(answers, domain=Ordinal(**options), method=method, ties="first")


def rate(answers: list[int]) -> Block:
    """Make a block of one task."""
    block = Block.of([[level] for level in answers])
    return block.keeping(group_labels(block, np.arange(max(answers) + 1, dtype=np.uint64)))


def test_the_worked_example_has_the_distances_and_weights_found_by_hand() -> None:
    kernels = solve(GOLDEN).run.kernels
    pairs = kernels.pair_sums(solve(GOLDEN).run.blocks[0])["distance"] / 3  # type: ignore[attr-defined]
    np.testing.assert_allclose([pairs[0, 1], pairs[0, 2], pairs[1, 2]], [1 / 6, 1 / 3, 1 / 2])
    weighed = solve(GOLDEN, "P-TD")
    np.testing.assert_allclose(weighed.workers["disparity"], [1 / 4, 1 / 3, 5 / 12])
    np.testing.assert_allclose(weighed.workers["weight"], [2 / 3, 1 / 3, 0], atol=1e-12)


def test_the_worked_example_has_the_medians_and_means_found_by_hand() -> None:
    assert solve(GOLDEN).truth["label"].tolist() == solve(GOLDEN, "P-TD").truth["label"].tolist() == [4, 2, 5]
    np.testing.assert_allclose(solve(GOLDEN, "P-TD").truth["confidence"], [2 / 3, 1, 2 / 3])
    assert solve(GOLDEN, rule="mean").truth["label"].tolist()[0] == 3  # of 10/3
    assert solve(GOLDEN, "P-TD", rule="mean").truth["label"].tolist()[0] == 4  # of 13/3


def test_within_one_is_the_weight_of_those_who_are_off_by_one_at_most() -> None:
    np.testing.assert_allclose(solve(GOLDEN).truth["within_one"], [2 / 3, 1, 1])


@pytest.mark.parametrize(("distance", "rule"), [("linear", "median"), ("squared", "mean"), ("hamming", "plurality")])
def test_every_distance_and_rule_keeps_the_laws_of_domains(distance: str, rule: str) -> None:
    check_domain(Ordinal(distance=distance, rule=rule), crowd("ordinal", seed=2, n=5, m=8, missing=0.2))


@pytest.mark.parametrize("n_levels", [2, 5, 17, 40])
def test_sums_of_linear_distances_are_those_of_all_pairs(n_levels: int) -> None:
    rng = np.random.default_rng(n_levels)
    block = Block.of(rng.integers(0, n_levels, (7, 20)))
    weights = rng.uniform(0, 1, 7)
    levels = block.label.reshape(20, 7)
    plain = (np.abs(levels[:, :, None] - levels[:, None]) * weights).sum(axis=2).ravel()
    for most in (1.0, 100.0):
        grouped = block.keeping(group_labels(block, np.arange(n_levels, dtype=np.uint64), most=most))
        np.testing.assert_allclose(absolute.level_distances(grouped, weights)[0], plain, atol=1e-12)


def test_linear_sums_are_right_where_tasks_have_different_numbers_of_answers() -> None:
    answers = [("a", 1, 1), ("b", 1, 5), ("a", 2, 3), ("c", 2, 3), ("b", 2, 4), ("c", 3, 2)]
    found = solve(answers).workers["disparity"].tolist()
    assert found == pytest.approx([(4 + 1) / 3 / 4, (4 + 1 + 1) / 3 / 4, (0 + 1) / 2 / 4])


def test_half_of_the_weight_between_two_levels_goes_to_the_heavier_one() -> None:
    found = level_median(rate([0, 1, 3, 3]), np.ones(4), np.zeros(4), Ties())
    assert (found.label.tolist(), found.tied.tolist(), found.confidence.tolist()) == ([3], [False], [0.5])


def test_two_levels_that_weigh_the_same_are_drawn_and_marked() -> None:
    block, draws = rate([0, 3]), set()
    for seed in range(20):
        found = level_median(block, np.ones(2), np.zeros(2), Ties(seed))
        draws.add(int(found.label[0]))
        assert found.tied.tolist() == [True]
    assert draws == {0, 3}  # never a level between them that nobody gave
    assert level_median(block, np.ones(2), np.zeros(2), Ties(first=True)).label.tolist() == [0]


def test_the_median_is_a_level_with_the_least_weighted_sum_of_distances() -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        levels, weights = rng.integers(0, 6, 6), rng.uniform(0.1, 1, 6)
        cost = (np.abs(np.arange(6)[:, None] - levels) * weights).sum(axis=1)
        label = int(level_median(rate([*levels.tolist()]), weights, np.zeros(6), Ties()).label[0])
        assert cost[label] == pytest.approx(cost.min())


def test_a_mean_between_two_levels_goes_to_the_heavier_one() -> None:
    found = level_mean(rate([0, 0, 1, 3]), np.ones(4), np.zeros(4), Ties())
    assert found.label.tolist() == [1]
    found = level_mean(
        rate([1, 2, 2, 1, 0, 3, 3, 0, 1, 2]), np.array([1, 1, 1, 1, 2, 2, 0, 0, 0.5, 0]), np.zeros(10), Ties()
    )
    assert (found.label.tolist(), found.tied.tolist()) == ([1], [False])


def test_a_mean_has_an_error_where_faults_are_variances() -> None:
    answers = crowd("ordinal", seed=1)
    assert solve(answers, "P-TD", distance="squared", rule="mean").truth["error"].notna().all()
    assert solve(answers, "P-TD", rule="mean").truth["error"].isna().all()


def test_without_the_order_levels_are_classes() -> None:
    answers = crowd("ordinal", seed=4, missing=0.3)
    for method in ("P-TD", "iP-TD", "P-TD-AK", "DS", "DS-1"):
        classes = allalike.discover(answers, domain=Categorical(), method=method, ties="first")
        levels = solve(answers, method, distance="hamming", rule="plurality")
        np.testing.assert_allclose(levels.workers["fault"], classes.workers["fault"])
        assert levels.truth["label"].tolist() == classes.truth["label"].tolist()


def test_chance_is_the_mean_distance_of_two_random_levels() -> None:
    for n_levels in (2, 5, 7):
        place = np.arange(n_levels)
        gap = np.abs(place[:, None] - place) / (n_levels - 1)
        for distance, mean in (("linear", gap.mean()), ("squared", (gap**2).mean()), ("hamming", (gap > 0).mean())):
            answers = rows([place.tolist()])
            encoding = allalike.read(answers, domain=Ordinal(distance=distance)).encoding
            assert encoding.noise.chance == pytest.approx(mean)


@pytest.mark.parametrize("method", ["UA", "P-TD", "iP-TD", "auto", "DS", "IBCC", "CRH", "CATD"])
def test_a_scale_of_one_level_is_no_trouble(method: str) -> None:
    result = solve(rows([[3, 3], [3, 3], [3, 3]]), method)
    assert result.truth["label"].tolist() == [3, 3]
    assert result.workers["disparity"].tolist() == [0, 0, 0]


@pytest.mark.parametrize("engine", [Memory(), Disk(partitions=2)])
def test_words_are_levels_in_the_order_in_which_they_are_given(engine: allalike.Engine) -> None:
    answers = [("a", 1, "great"), ("b", 1, " good "), ("c", 1, "poor"), ("a", 2, "fair"), ("b", 2, "fair")]
    result = allalike.discover(answers, domain=Ordinal(levels=WORDS), method="UA", engine=engine)
    assert result.truth["label"].tolist() == ["good", "fair"]
    assert result.summary["domain"]["levels"] == WORDS
    assert result.workers["disparity"].tolist() == pytest.approx([4 / 3 / 3, 3 / 3 / 3, 5 / 2 / 3])


def test_levels_that_nobody_chose_make_the_scale_longer() -> None:
    answers = rows([[1, 2], [3, 3]])
    assert solve(answers).workers["disparity"].tolist() == pytest.approx([0.75, 0.75])
    assert solve(answers, levels=[1, 2, 3, 4, 5]).workers["disparity"].tolist() == pytest.approx([0.375, 0.375])


def test_a_label_that_is_no_level_is_an_error_that_names_the_row() -> None:
    with pytest.raises(LabelError, match=r"row 2 .*none of the levels 'poor', .* Did you mean 'good'"):
        solve([("a", 1, "good"), ("b", 1, "god")], levels=WORDS)
    with pytest.raises(LabelError, match=r"row 3 .*no whole number.*levels=\["):
        solve([("a", 1, 1.0), ("b", 1, 2.0), ("c", 1, 2.5)])
    with pytest.raises(LabelError, match=r"from 0 to 5000, .*the domain is real"):
        solve([("a", 1, 0), ("b", 1, 5000)])


@pytest.mark.parametrize(
    ("levels", "said"),
    [([], "list all levels"), ("poor", "list all levels"), ([1, "1"], "'1' twice"), ([None], "list all levels")],
)
def test_levels_that_are_no_scale_are_refused(levels: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        Ordinal(levels=levels)


def test_the_command_line_takes_levels_with_and_without_quotes() -> None:
    for spec in ('ordinal(levels=["poor", "good"])', "ordinal(levels=[poor, good], rule=mean)"):
        domain = make(spec, DOMAINS, "domain")
        assert domain == Ordinal(levels=("poor", "good"), rule=domain.rule)


def test_a_known_truth_beyond_all_answers_asks_for_the_levels() -> None:
    with pytest.raises(GoldError, match=r"The truth 5 in row 2 .*from 1 to 4.*ordinal\(levels=\[1, 2, 3, 4, 5\]\)"):
        allalike.discover(rows([[1, 4], [2, 4]]), domain="ordinal", gold=[("t0000", 1), ("t0001", 5)])
    known = allalike.discover(
        rows([[1, 4], [2, 4]]), domain=Ordinal(levels=[1, 2, 3, 4, 5]), gold=[("t0000", 1), ("t0001", 5)], method="UA"
    )
    assert known.summary["gold"]["error"] in (1 / 8, 2 / 8)


def test_numbers_in_a_row_that_are_in_no_order_are_classes_and_ratings_are_hinted_at() -> None:
    ratings = [(f"w{i}", f"t{j}", float((i + j) % 5 + 1)) for i in range(4) for j in range(9)]
    guessed = allalike.discover(ratings)
    assert guessed.summary["domain"]["name"] == "categorical"
    [hint] = [said for said in allalike.discover(ratings, domain="real").summary["warnings"] if "ratings" in said]
    assert hint.startswith("Are these ratings? There are 5 different labels")
    measured = [(worker, task, level + 0.5) for worker, task, level in ratings]
    assert not any("ratings" in said for said in allalike.discover(measured, domain="real").summary["warnings"])


def test_it_is_said_from_where_to_where_a_scale_goes() -> None:
    assert any("from 1 to 5" in said for said in solve(GOLDEN).summary["warnings"])
    assert not any("from 1 to 5" in said for said in solve(GOLDEN, levels=[1, 2, 3, 4, 5]).summary["warnings"])


def test_new_answers_that_make_the_scale_longer_change_all_distances() -> None:
    answers = crowd("ordinal", seed=5, missing=0.3)
    inside = [answer for answer in answers if 1 < answer[2] < 5]
    outside = [answer for answer in answers if answer[2] in (1, 5)]
    grown, whole = solve(inside, "iP-TD").update(outside), solve(answers, "iP-TD")
    np.testing.assert_allclose(grown.workers["disparity"], whole.workers["disparity"])
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()


def sparse(seed: int) -> npt.NDArray[np.float64]:
    """Draw ratings of six workers, some of them missing."""
    rng = np.random.default_rng(seed)
    ratings = rng.integers(1, 6, (6, 30)).astype(np.float64)
    ratings[rng.random(ratings.shape) < 0.4] = np.nan
    return ratings


@pytest.mark.parametrize(("distance", "level"), [("squared", "interval"), ("hamming", "nominal")])
def test_alpha_is_that_of_the_package_krippendorff(distance: str, level: Any) -> None:
    said = sparse(1)
    found = allalike.agreement(
        rows(np.nan_to_num(said).astype(int), present=~np.isnan(said)), domain=Ordinal(distance=distance)
    )
    assert found.alpha == pytest.approx(krippendorff.alpha(said, level_of_measurement=level), abs=1e-9)
    without = krippendorff.alpha(said[1:], level_of_measurement=level)
    assert found.workers["alpha_without"][0] == pytest.approx(without, abs=1e-9)


def test_alpha_of_linear_distances_is_that_of_all_pairs() -> None:
    said = sparse(2)
    tasks = [column[~np.isnan(column)] for column in said.T]
    tasks = [task for task in tasks if len(task) > 1]
    together = np.concatenate(tasks)
    observed = sum(np.abs(task[:, None] - task).sum() / (len(task) - 1) for task in tasks) / len(together)
    expected = np.abs(together[:, None] - together).sum() / (len(together) * (len(together) - 1))
    found = allalike.agreement(rows(np.nan_to_num(said).astype(int), present=~np.isnan(said)), domain="ordinal")
    assert found.alpha == pytest.approx(1 - observed / expected, abs=1e-9)
    assert found.expected_from == "label totals"
    assert found.percent is None


def test_a_lenient_worker_who_follows_the_tasks_is_no_copy_and_has_a_signal() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(2, 6, 60)
    said = np.clip(truth + rng.integers(-1, 2, (8, 60)), 1, 7)
    said[:3] = np.clip(said[:3] + 1, 1, 7)
    result = allalike.discover(rows(said), domain=Ordinal(levels=list(range(1, 8))))
    assert not result.workers["no_signal"].any()
    assert set(result.workers["group"]) == {""}


def ratings(levels: int, *, near: bool) -> list[tuple[str, str, int]]:
    """Draw levels near the truth of their task, or any other class in place of it."""
    rng = np.random.default_rng(levels)
    truth = rng.integers(0, levels, 80)
    off = rng.normal(0, 0.9, (8, 80)).round().astype(int)
    other = np.where(rng.random((8, 80)) < 0.4, rng.integers(0, levels, (8, 80)), truth)
    said = np.clip(truth + off, 0, levels - 1) if near else other
    return [(f"w{i}", f"t{j}", int(said[i, j]) + 1) for i, j in np.ndindex(*said.shape)]


@pytest.mark.parametrize("levels", [5, 7, 11])
def test_whole_numbers_that_are_near_each_other_in_a_task_are_levels(levels: int) -> None:
    assert allalike.discover(ratings(levels, near=True)).summary["domain"]["name"] == "ordinal"
    assert allalike.discover(ratings(levels, near=False)).summary["domain"]["name"] == "categorical"


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_levels_that_are_guessed_are_said_with_what_overrides_them(engine: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    lines = [",".join(map(str, row)) for row in ratings(5, near=True)]
    path.write_text("\n".join(["worker,task,label", *lines]) + "\n")
    result = allalike.discover(path, engine=engine)
    assert result.summary["domain"]["name"] == "ordinal"
    [said] = [line for line in list_notes(Summary.from_dict(result.summary)) if "are levels of a scale" in line]
    assert "--domain categorical" in said
    assert "--domain real" in said
    assert set(result.truth["label"]) <= set(range(1, 6))
    as_classes = allalike.discover(path, engine=engine, domain="categorical")
    assert as_classes.summary["domain"]["name"] == "categorical"


def test_few_answers_or_few_levels_do_not_tell_a_scale() -> None:
    assert allalike.discover(ratings(4, near=True)).summary["domain"]["name"] == "categorical"
    few = [row for row in ratings(5, near=True) if row[0] in ("w0", "w1")][:60]
    assert allalike.discover(few).summary["domain"]["name"] == "categorical"
