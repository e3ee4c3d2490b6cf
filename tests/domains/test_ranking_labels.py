"""Rankings with ties and gaps, comparisons, and Bradley-Terry, compared with plain loops and other libraries."""

import importlib
from itertools import combinations, product
from pathlib import Path
from typing import Any

import choix
import evalica
import numpy as np
import pytest
from scipy.optimize import minimize

import allalike
from allalike import Ranking
from allalike._core.columns.column import Column
from allalike.domains.rankings.codes import fill_gaps
from allalike.domains.rankings.ranking import VOTING
from allalike.domains.rankings.text import list_items, read_ranking
from allalike.engines import Disk, Engine, Memory
from allalike.errors import InputError
from allalike.rules.strengths import fit_strengths
from crowds.gaps import ranked
from crowds.label_types import draw_ranking
from running.turns import in_turn

GOLDEN = [(f"w{i}", "t", ">".join(order)) for i, order in enumerate(["0123", "0213", "1023", "3210", "0132"])]
DISPARITY = np.array([0.375, 5 / 12, 5 / 12, 0.875, 5 / 12])


def test_the_worked_example_has_its_disparities_and_faults() -> None:
    result = allalike.discover(GOLDEN, domain="ranking", method="P-TD")
    assert result.workers["disparity"].tolist() == pytest.approx(DISPARITY.tolist())
    assert result.truth["label"].tolist() == [["0", "1", "2", "3"]]
    half = DISPARITY.mean() / 2
    fault = allalike.discover(GOLDEN, domain="ranking", method="P-TD-AK").weighing.fault
    assert fault.tolist() == pytest.approx(((DISPARITY - half) / (1 - 2 * half)).tolist())


@pytest.mark.parametrize(("rule", "distance"), in_turn(product(VOTING, Ranking.distances), 5))
def test_every_rule_works_with_every_distance_on_every_engine(rule: str, distance: str, engine: Engine) -> None:
    rows = draw_ranking(seed=3, n=6, m=12, missing=0.3)
    domain = Ranking(rule=rule, distance=distance)
    result = allalike.discover(rows, domain=domain, engine=engine)
    expected = allalike.discover(rows[::-1], domain=domain)
    assert result.truth["label"].tolist() == expected.truth["label"].tolist()
    assert result.truth["tied"].tolist() == expected.truth["tied"].tolist()
    assert result.workers["weight"].tolist() == pytest.approx(expected.workers["weight"].tolist())
    for task, label in zip(result.truth["task"], result.truth["label"], strict=True):
        assert sorted(label) == sorted(next(said for _, other, said in rows if other == task))


def test_more_than_a_hundred_items_can_be_ranked() -> None:
    rng, truth = np.random.default_rng(0), [f"i{k}" for k in range(140)]
    rows = [(f"w{i}", "t", [truth[k] for k in np.argsort(np.arange(140) + rng.normal(0, 20, 140))]) for i in range(9)]
    result = allalike.discover(rows, domain="ranking", method="P-TD", gold={"t": truth})
    assert result.summary["gold"]["error"] < 0.1
    searched, exact = (allalike.discover(each, domain="ranking(rule=kemeny)", method="UA") for each in (rows, GOLDEN))
    assert (searched.summary["domain"]["exact"], exact.summary["domain"]["exact"]) == (False, True)


@pytest.mark.parametrize(("truth", "error"), [("c>d", 0.0), ("d>c", 1.0)])
def test_a_truth_is_compared_with_the_items_of_its_task(truth: str, error: float) -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "b>a"), ("ada", 2, "c>d"), ("bob", 2, "c>d")]
    found = allalike.discover(rows, domain="ranking", gold={2: truth, 7: "x>y>z"})
    assert found.summary["gold"]["error"] == error
    numbered = [("ada", 1, [1, 2]), ("bob", 1, [1, 2])]
    assert allalike.discover(numbered, domain="ranking", gold={1: "2>1"}).summary["gold"]["error"] == 1.0


def shares(rankings: list[Any]) -> dict[tuple[str, str], tuple[float, int]]:
    """Return, by plain loops, a worker's share for the first item of each pair, and how often they compared it."""
    votes: dict[tuple[str, str], list[float]] = {}
    for ranking in rankings:
        level = {
            item: place
            for place, items in enumerate(read_ranking(ranking))
            for item in (items if isinstance(items, tuple) else (items,))
        }
        for a, b in combinations(sorted(level), 2):
            votes.setdefault((a, b), []).append(1.0 if level[a] < level[b] else 0.5 if level[a] == level[b] else 0.0)
    return {pair: (float(np.mean(said)), len(said)) for pair, said in votes.items()}


@pytest.mark.parametrize(
    ("left", "right", "gaps", "expected"),
    [("a>b=c", "a>c>b", "unknown", 1 / 6), ("a>b", "c>a>b", "unknown", 0), ("a>b", "c>a>b", "last", 2 / 3),
     ("a>b=c", "b=c>a", "unknown", 2 / 3), ("a>b", "c>d", "unknown", np.nan)],
)  # fmt: skip
def test_distances_with_ties_and_gaps_are_those_found_by_hand(
    left: str, right: str, gaps: str, expected: float
) -> None:
    column = Column("label", [left, right])
    encoding = Ranking(gaps=gaps).learn(column)
    codes = encoding.encode(column)
    codes = fill_gaps(codes, np.zeros(2, np.int64), 1) if gaps == "last" else codes
    found = encoding.kernels.distance_between(codes[:1], codes[1:])[0]
    assert found == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("repeated", [False, True])
def test_sums_over_peers_are_pooled_over_pairs_of_items(repeated: bool, engine: Engine) -> None:
    rows = ranked(seed=3, repeated=repeated)
    weights = np.random.default_rng(0).random(6)
    run = engine.load(allalike.read(rows, domain="ranking"))
    sums = run.sum(run.kernels.peer_sums, weights)
    given: dict[str, dict[str, list[Any]]] = {}
    for worker, task, label in rows:
        given.setdefault(task, {}).setdefault(worker, []).append(label)
    expected = np.zeros((2, 6))
    for said in given.values():
        answers = {who: shares(rankings) for who, rankings in said.items()}
        unit = np.mean([len(own) for own in answers.values()])
        for who, other in product(answers, answers):
            own, theirs = answers[who], answers[other]
            common = [pair for pair in own if pair in theirs] if who != other else []
            missed = sum(abs(own[pair][0] - theirs[pair][0]) for pair in common)
            expected[:, int(who[1:])] += weights[int(other[1:])] * np.array([missed, len(common)]) / unit
    assert sums["distance"] == pytest.approx(expected[0])
    assert sums["weight"] == pytest.approx(expected[1])
    pairs = run.pairs(run.kernels.pair_sums)
    alone = run.sum(run.kernels.peer_sums, np.ones(6))
    assert alone["distance"] == pytest.approx(np.asarray(pairs["distance"].sum(axis=1)))
    assert alone["weight"] == pytest.approx(np.asarray(pairs["common"].sum(axis=1)))


def test_complete_orders_are_the_same_with_and_without_one_tie_elsewhere() -> None:
    rows = [(f"w{w}", t, list(np.random.default_rng([w, t]).permutation(4))) for w in range(5) for t in range(6)]
    plain = allalike.discover(rows, domain="ranking", method="P-TD").workers
    loose = allalike.discover([*rows, ("w0", 9, [[1, 2], 3])], domain="ranking", method="P-TD").workers
    assert loose["disparity"].tolist() == pytest.approx(plain["disparity"].tolist())


@pytest.mark.parametrize("rule", ["borda", "copeland", "maximin", "schulze", "ranked pairs", "kemeny", "slater"])
def test_an_order_that_is_cut_into_comparisons_is_added_up_again(rule: str) -> None:
    rng = np.random.default_rng(4)
    orders = {f"w{k}": rng.permutation(["a", "b", "c", "d", "e"]).tolist() for k in range(7)}
    whole = [(who, 1, order) for who, order in orders.items()]
    parts = [(who, 1, list(pair)) for who, order in orders.items() for pair in combinations(order, 2)]
    one, other = (
        allalike.discover(rows, domain=Ranking(rule=rule), method="P-TD", ties="first") for rows in (whole, parts)
    )
    assert one.truth["label"].tolist() == other.truth["label"].tolist()
    assert one.workers["disparity"].tolist() == pytest.approx(other.workers["disparity"].tolist())
    assert one.truth.iloc[0, 2] == pytest.approx(other.truth.iloc[0, 2])


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "module", "name"), [("copeland", "c1_methods", "copeland"), ("maximin", "margin_based_methods", "minimax")]
)
def test_the_winner_among_rankings_with_ties_and_gaps_is_that_of_pref_voting(rule: str, module: str, name: str) -> None:
    profiles = importlib.import_module("pref_voting.profiles_with_ties")  # slow import
    theirs = getattr(importlib.import_module(f"pref_voting.{module}"), name)
    for seed in range(25):
        rows = ranked(seed, n=7, m=1)
        found = allalike.discover(rows, domain=Ranking(rule=rule), method="UA").truth["label"][0]
        ranks = [{int(item[1:]): rank for item, rank in label.items()} for _, _, label in rows]
        if len({item for each in ranks for item in each}) == 5:
            assert int(found[0][1:]) in theirs(profiles.ProfileWithTies(ranks, candidates=list(range(5))))


def wins(seed: int, items: int, games: int) -> tuple[list[tuple[int, int]], Any]:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, items)
    table, played = np.zeros((1, items, items)), []
    for _ in range(games):
        a, b = rng.choice(items, 2, replace=False).tolist()
        first = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
        played.append((a, b) if first else (b, a))
        table[0][played[-1]] += 1
    return played, table


def test_strengths_are_those_of_choix_and_evalica() -> None:
    played, table = wins(seed=1, items=8, games=400)
    found = fit_strengths(table, ridge=0.0)[0][0]
    assert found == pytest.approx(choix.ilsr_pairwise(8, played, alpha=0.0, max_iter=1000, tol=1e-12), abs=1e-6)
    won, lost = ([str(game[side]) for game in played] for side in (0, 1))
    result = evalica.bradley_terry(won, lost, [evalica.Winner.X] * len(played), tolerance=1e-14, limit=100_000)
    theirs = np.log([result.scores[str(item)] for item in range(8)])
    assert found == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_strengths_and_their_errors_come_from_the_likelihood() -> None:
    _, table = wins(seed=2, items=5, games=60)
    with_ridge = table[0] + 0.1 * (table[0] + table[0].T > 0)

    def surprise(score: Any) -> float:
        return float((with_ridge * np.logaddexp(0, score[None, :] - score[:, None])).sum())

    def anchored(score: Any) -> float:
        return surprise(score) + float(score.mean()) ** 2

    best = minimize(anchored, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    found, errors = fit_strengths(table)
    assert found[0] == pytest.approx(best.x - best.x.mean(), abs=1e-5)
    step, curvature = 1e-3 * np.eye(5), np.zeros((5, 5))
    for a, b in np.ndindex(5, 5):
        up, down = step[a] + step[b], step[a] - step[b]
        corners = ((1, up), (-1, down), (-1, -down), (1, -up))
        curvature[a, b] = sum(sign * surprise(best.x + corner) for sign, corner in corners) / 4e-6
    expected = np.sqrt(np.diag(np.linalg.pinv(curvature, rcond=1e-6)))
    assert errors[0] == pytest.approx(expected, rel=1e-3)


def test_items_that_no_comparison_connects_have_scores_around_zero_each() -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "c>d"), ("eve", 1, "e")]
    scores = allalike.discover(rows, domain=Ranking(rule="bradley terry"), method="UA").objects.set_index("item")
    assert scores["score"]["a"] + scores["score"]["b"] == pytest.approx(0)
    assert scores["score"]["c"] - scores["score"]["d"] == pytest.approx(np.log(11))
    assert np.isnan(scores["standard_error"]["e"])


@pytest.mark.parametrize("rule", ["borda", "bradley terry", "schulze", "best worker", "modal"])
def test_rows_engines_and_blocks_do_not_matter(rule: str) -> None:
    rows, domain = ranked(seed=5, repeated=True), Ranking(rule=rule)
    first = allalike.discover(rows, domain=domain, method="P-TD")
    others = (
        allalike.discover(rows[::-1], domain=domain, method="P-TD"),
        allalike.discover(rows, domain=domain, method="P-TD", engine=Memory(block_answers=7)),
        allalike.discover(allalike.scan(rows, domain=domain), method="P-TD", engine=Disk(partitions=3)),
    )
    for other in others:
        assert other.truth["label"].tolist() == first.truth["label"].tolist()
        assert other.workers["weight"].tolist() == pytest.approx(first.workers["weight"].tolist())
        assert other.summary["duplicates_added"] == first.summary["duplicates_added"]


def test_repeats_are_added_up_unless_they_are_set_aside() -> None:
    rows = [("ada", 1, "a>b"), ("ada", 1, "a>b"), ("ada", 1, "b>a"), ("bob", 1, "a>b")]
    answers = allalike.read(rows, domain="ranking")
    assert answers.notes["duplicates_added"] == 2
    assert answers.encoding.kernels.distance_between(answers.label[:1], answers.label[1:]) == pytest.approx([1 / 3])
    assert allalike.read(rows, domain="ranking", duplicates="first").notes["duplicates_removed"] == 2
    assert allalike.read(rows, domain="ranking", duplicates="last").label[0] != answers.label[0]


@pytest.mark.parametrize("method", ["auto", "P-TD", "D-TD", "OA"])
def test_a_worker_whom_nobody_can_be_compared_with_is_like_the_others(method: str) -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>a"), ("joe", 1, "c"), ("kim", 1, "d>e")]
    result = allalike.discover(rows, domain="ranking", method=method, gold={1: "a>b>c>d>e"})
    assert np.isfinite(result.workers["weight"]).all()
    assert sorted(result.truth["label"][0]) == ["a", "b", "c", "d", "e"]


def test_truths_may_have_ties_and_gaps() -> None:
    rows = [("ada", 1, "a>b>c"), ("bob", 1, "c>b>a"), ("ada", 2, "a>b"), ("bob", 2, "b>c")]
    result = allalike.discover(rows, domain="ranking", method="OA", gold={1: "a>b=c", 2: "c>a>b>x"})
    assert result.weighing.fault.tolist() == pytest.approx([(1 / 6 + 0) / 2, (5 / 6 + 1) / 2])


def test_all_that_is_told_of_a_result_can_be_told_of_gaps(tmp_path: Path) -> None:
    result = allalike.discover(ranked(seed=7, repeated=True), domain=Ranking(rule="bradley terry"))
    assert 0 < result.agreement.alpha < 1
    assert "t0" in str(result.explain(task="t0"))
    assert "w0" in str(result.explain(worker="w0"))
    result.save(tmp_path / "out")
    lines = (tmp_path / "out" / "details" / "objects.csv").read_text().splitlines()
    assert len(lines) == 1 + sum(len(list_items(tuple(label))) for label in result.truth["label"])


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_table_of_comparisons_is_one_task(tmp_path: Path) -> None:
    text = "judge,model_a,model_b,winner\nada,x,y,model_a\nbob,y,x,tie (bothbad)\nada,y,z,y\neve,z,x,model_b\n"
    answers = allalike.read(written(tmp_path / "a.csv", text))
    assert answers.domain.name == "ranking"
    assert answers.encoding.decode(answers.label).tolist() == ["x>y; y>z", [["x", "y"]], ["x", "z"]]


def test_comparisons_may_have_tasks_and_be_crowd_kits(tmp_path: Path) -> None:
    text = "worker,left,right,label,topic\nada,x,y,x,1\nbob,x,y,y,1\neve,y,x,y,2\n"
    path = written(tmp_path / "a.csv", text)
    assert allalike.read(path).tasks.tolist() == ["x | y"]
    assert allalike.read(path, domain="ranking").tasks.tolist() == ["all"]
    found = allalike.read(path, domain="ranking", columns={"task": "topic"})
    assert [str(task) for task in found.tasks.tolist()] == ["1", "2"]
    assert found.encoding.decode(found.label).tolist() == [["x", "y"], ["y", "x"], ["y", "x"]]


@pytest.mark.parametrize(("row", "words"), [("ada,x,y,w", ("row 2", "'w'")), ("ada,x,x,x", ("row 2", "'x' with 'x'"))])
def test_a_comparison_that_cannot_be_is_named(row: str, words: tuple[str, str], tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        allalike.read(written(tmp_path / "a.csv", f"worker,left,right,winner\nada,x,y,x\n{row}\n"))
    assert all(word in str(caught.value) for word in words)


def test_preflib_files_with_ties_and_gaps_are_rankings(tmp_path: Path) -> None:
    head = "".join(f"# ALTERNATIVE NAME {k}: {name}\n" for k, name in enumerate(("tea", "milk", "ale"), 1))
    path = written(tmp_path / "drinks.toi", f"{head}2: {{1,2}},3\n1: 3\n1: 2\n")
    for gaps, best in (("unknown", {"tea", "milk"}), ("last", {"milk"})):
        assert allalike.discover(path, domain=Ranking(gaps=gaps), method="UA").truth["label"][0][0] in best
    assert allalike.read(path).domain.name == "ranking"
