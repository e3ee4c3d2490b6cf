"""Rankings with ties and gaps, comparisons, and Bradley-Terry: against plain loops and other libraries."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike._core.columns.column import Column
from allalike.domains.rankings.kernels import list_items, read_ranking
from allalike.engines import Disk, Engine, Memory
from allalike.errors import InputError, LabelError, OptionError, UnsupportedError
from allalike.rules.bradley_terry import fit_strengths, standard_errors
from allalike.testing import check_domain

Row = tuple[str, str, Any]


def crowd(seed: int = 0, n: int = 6, m: int = 8, repeated: bool = False) -> list[Row]:
    """Draw rankings of some of five items, of which neighbours may be tied; some workers answer a task twice."""
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    for task in range(m):
        for worker in range(n):
            for _ in range(1 + (repeated and bool(rng.random() < 0.4))):
                seen = rng.permutation(5)[: rng.integers(2, 6)]
                noisy = seen + rng.normal(0, 0.3 + worker / 2, len(seen))
                ranks = {f"i{item}": round(place) for item, place in zip(seen, noisy, strict=True)}
                rows.append((f"w{worker}", f"t{task}", ranks))
    return rows


def shares(rankings: list[Any]) -> dict[tuple[str, str], tuple[float, int]]:
    """Return, by plain loops, a worker's share for the first of each pair that she compared, and how often she did."""
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


def by_worker(rows: list[Row]) -> dict[str, dict[str, dict[tuple[str, str], tuple[float, int]]]]:
    given: dict[str, dict[str, list[Any]]] = {}
    for worker, task, label in rows:
        given.setdefault(task, {}).setdefault(worker, []).append(label)
    return {task: {who: shares(said) for who, said in answers.items()} for task, answers in given.items()}


def apart(left: Any, right: Any, **options: Any) -> float:
    domain = allalike.Ranking(**options)
    column = Column("label", [left, right])
    encoding = domain.learn(column)
    codes = encoding.fit_tasks(encoding.encode(column), np.zeros(2, np.int64), allalike.read([("a", 1, 2)]).tasks)
    return float(encoding.kernels.distance_between(codes[:1], codes[1:])[0])


def test_distances_are_the_golden_ones() -> None:
    assert apart("a>b=c", "a>c>b") == pytest.approx(1 / 6)
    assert apart("a>b", "c>a>b") == 0.0
    assert apart("a>b", "c>a>b", gaps="last") == pytest.approx(2 / 3)
    assert apart("a>b=c", "b=c>a") == pytest.approx(2 / 3)
    assert np.isnan(apart("a>b", "c>d"))


@pytest.mark.parametrize(
    "label", ["a>b=c>d", "a > b ~ c > d", "a>{b,c}>d", [["a"], ["c", "b"], ["d"]], {"d": 9, "b": 2, "a": 1.5, "c": 2}]
)
def test_a_ranking_with_ties_may_be_written_in_many_ways(label: Any) -> None:
    assert read_ranking(label) == ("a", ("b", "c"), "d")
    found = allalike.discover([("ada", 1, label), ("bob", 1, label)], domain=allalike.Ranking(ties="keep"))
    assert found.truth["label"].tolist() == [["a", ["b", "c"], "d"]]
    assert not found.truth["tied"].any()


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("a>b={c", "are written as a>b=c, or as a>{b,c}"),
        ("a>{b,b}", "it ranks 'b' twice"),
        ('{"a": 1, "b": "x"}', "the rank of 'b' is 'x', which is no number"),
        ('{"a": 1,', "it looks like ranks, but is no JSON"),
        ("a=>b", "a place has no item"),
        ("[[], [1]]", "a place has no item"),
    ],
)
def test_a_label_that_is_no_ranking_says_why(label: str, message: str) -> None:
    with pytest.raises(LabelError) as error:
        allalike.discover([("ada", 1, "a>b"), ("bob", 1, label)], domain="ranking")
    assert message in str(error.value)
    assert "row 2" in str(error.value)


@pytest.mark.parametrize("repeated", [False, True])
def test_sums_over_peers_are_pooled_over_pairs_of_items(repeated: bool, engine: Engine) -> None:
    rows = crowd(seed=3, repeated=repeated)
    weights = np.random.default_rng(0).random(6)
    run = engine.load(allalike.read(rows, domain="ranking"))
    sums = run.sum(run.kernels.peer_sums, weights)
    expected = np.zeros((2, 6))
    for answers in by_worker(rows).values():
        unit = np.mean([len(own) for own in answers.values()])
        for who, own in answers.items():
            for other, theirs in answers.items():
                common = [pair for pair in own if pair in theirs] if who != other else []
                missed = sum(abs(own[pair][0] - theirs[pair][0]) for pair in common)
                expected[:, int(who[1:])] += weights[int(other[1:])] * np.array([missed, len(common)]) / unit
    assert sums["distance"] == pytest.approx(expected[0])
    assert sums["weight"] == pytest.approx(expected[1])
    pairs = run.pairs(run.kernels.pair_sums)
    alone = run.sum(run.kernels.peer_sums, np.ones(6))
    assert alone["distance"] == pytest.approx(np.asarray(pairs["distance"].sum(axis=1)))
    assert alone["weight"] == pytest.approx(np.asarray(pairs["common"].sum(axis=1)))


@pytest.mark.long
def test_top_lists_keep_the_laws_of_domains() -> None:
    check_domain(allalike.Ranking(gaps="last"), crowd(seed=1, n=5, m=4))


def test_complete_orders_are_the_same_with_and_without_one_tie_elsewhere() -> None:
    rows = [(f"w{w}", t, list(np.random.default_rng([w, t]).permutation(4))) for w in range(5) for t in range(6)]
    plain = allalike.discover(rows, domain="ranking", method="P-TD").workers
    loose = allalike.discover([*rows, ("w0", 9, [[1, 2], 3])], domain="ranking", method="P-TD").workers
    assert loose["disparity"].tolist() == pytest.approx(plain["disparity"].tolist())


@pytest.mark.parametrize("rule", ["borda", "copeland", "maximin", "schulze", "ranked pairs", "kemeny", "slater"])
def test_rules_read_pairs_as_they_read_positions(rule: str) -> None:
    """A complete order is cut into comparisons of two items, all of which are added up again."""
    rng = np.random.default_rng(4)
    orders = {f"w{k}": rng.permutation(["a", "b", "c", "d", "e"]).tolist() for k in range(7)}
    whole = [(who, 1, order) for who, order in orders.items()]
    parts = [(who, 1, list(pair)) for who, order in orders.items() for pair in combinations(order, 2)]
    domain = allalike.Ranking(rule=rule)
    one, other = (allalike.discover(rows, domain=domain, method="P-TD", ties="first") for rows in (whole, parts))
    assert one.truth["label"].tolist() == other.truth["label"].tolist()
    assert one.workers["disparity"].tolist() == pytest.approx(other.workers["disparity"].tolist())
    assert one.truth.iloc[0, 2] == pytest.approx(other.truth.iloc[0, 2])


@pytest.mark.long
@pytest.mark.parametrize(
    ("rule", "module", "name"), [("copeland", "c1_methods", "copeland"), ("maximin", "margin_based_methods", "minimax")]
)
def test_the_winner_among_rankings_with_ties_and_gaps_is_that_of_pref_voting(rule: str, module: str, name: str) -> None:
    import importlib

    from pref_voting.profiles_with_ties import ProfileWithTies

    theirs = getattr(importlib.import_module(f"pref_voting.{module}"), name)
    for seed in range(25):
        rows = crowd(seed, n=7, m=1)
        found = allalike.discover(rows, domain=allalike.Ranking(rule=rule), method="UA").truth["label"][0]
        ranks = [{int(item[1:]): rank for item, rank in label.items()} for _, _, label in rows]
        profile = ProfileWithTies(ranks, candidates=list(range(5)))
        if len({item for each in ranks for item in each}) == 5:
            assert int(found[0][1:]) in theirs(profile)


@pytest.mark.parametrize("rule", ["plurality", "veto", "stv", "bucklin", "minimax"])
def test_rules_that_count_places_refuse_gaps(rule: str) -> None:
    with pytest.raises(UnsupportedError, match="count places, so every answer must rank all items"):
        allalike.discover([("ada", 1, "a>b"), ("bob", 1, "a>c")], domain=allalike.Ranking(rule=rule), method="UA")


def test_the_footrule_refuses_ties() -> None:
    domain = allalike.Ranking(distance="footrule")
    with pytest.raises(UnsupportedError, match="The distance 'footrule' needs complete rankings without ties"):
        allalike.discover([("ada", 1, "a>b=c"), ("bob", 1, "a>c>b")], domain=domain)


def test_three_comparisons_have_the_golden_strengths_and_share() -> None:
    rows = [("ada", 1, "a>b"), ("ada", 1, "a>b"), ("ada", 1, "b>a"), ("bob", 1, "a>b")]
    assert shares([label for _, _, label in rows[:3]])["a", "b"] == pytest.approx((2 / 3, 3))
    answers = allalike.read(rows, domain="ranking")
    assert answers.notes["repeats_added"] == 2
    assert answers.encoding.kernels.distance_between(answers.label[:1], answers.label[1:]) == pytest.approx([1 / 3])
    score = fit_strengths(np.array([[[0.0, 2.0], [1.0, 0.0]]]), ridge=0.0)[0]
    assert np.exp(score[0] - score[1]) == pytest.approx(2)


def wins(seed: int, items: int, games: int) -> tuple[list[tuple[int, int]], Any]:
    rng = np.random.default_rng(seed)
    strength = rng.normal(0, 1, items)
    played = []
    for _ in range(games):
        a, b = rng.choice(items, 2, replace=False).tolist()
        first = rng.random() < 1 / (1 + np.exp(strength[b] - strength[a]))
        played.append((a, b) if first else (b, a))
    table = np.zeros((1, items, items))
    for winner, loser in played:
        table[0, winner, loser] += 1
    return played, table


def test_strengths_are_those_of_choix_and_evalica() -> None:
    import choix
    import evalica

    played, table = wins(seed=1, items=8, games=400)
    found = fit_strengths(table, ridge=0.0)[0]
    assert found == pytest.approx(choix.ilsr_pairwise(8, played, alpha=0.0, max_iter=1000, tol=1e-12), abs=1e-6)
    won, lost = ([str(game[side]) for game in played] for side in (0, 1))
    result = evalica.bradley_terry(won, lost, [evalica.Winner.X] * len(played), tolerance=1e-14, limit=100_000)
    theirs = np.log([result.scores[str(item)] for item in range(8)])
    assert found == pytest.approx(theirs - theirs.mean(), abs=1e-6)


def test_strengths_and_their_errors_come_from_the_likelihood() -> None:
    from scipy.optimize import minimize

    _, table = wins(seed=2, items=5, games=60)
    with_ridge = table[0] + 0.1 * (table[0] + table[0].T > 0)

    def surprise(score: Any) -> float:
        return float((with_ridge * np.logaddexp(0, score[None, :] - score[:, None])).sum() + score.mean() ** 2)

    best = minimize(surprise, np.zeros(5), method="BFGS", options={"gtol": 1e-9})
    found = fit_strengths(table)
    assert found[0] == pytest.approx(best.x - best.x.mean(), abs=1e-5)
    step, curvature = 1e-3 * np.eye(5), np.zeros((5, 5))
    for a in range(5):
        for b in range(5):
            corners = (step[a] + step[b], step[a] - step[b], step[b] - step[a], -step[a] - step[b])
            signs = (1, -1, -1, 1)
            total = sum(
                s * (surprise(best.x + c) - (best.x + c).mean() ** 2) for s, c in zip(signs, corners, strict=True)
            )
            curvature[a, b] = total / 4e-6
    assert standard_errors(table, found)[0] == pytest.approx(
        np.sqrt(np.diag(np.linalg.pinv(curvature, rcond=1e-6))), rel=1e-3
    )


def test_items_that_no_comparison_connects_have_scores_around_zero_each() -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "c>d"), ("eve", 1, "e")]
    scores = allalike.discover(rows, domain=allalike.Ranking(rule="bradley terry"), method="UA").objects
    by_item = scores.set_index("item")["score"]
    assert by_item["a"] + by_item["b"] == pytest.approx(0)
    assert by_item["c"] - by_item["d"] == pytest.approx(np.log(11))
    assert np.isnan(scores.set_index("item")["standard_error"]["e"])


@pytest.mark.parametrize("rule", ["borda", "bradley terry", "schulze", "best worker", "modal"])
def test_rows_engines_and_blocks_do_not_matter(rule: str) -> None:
    rows = crowd(seed=5, repeated=True)
    domain = allalike.Ranking(rule=rule)
    first = allalike.discover(rows, domain=domain, method="P-TD")
    others = (
        allalike.discover(rows[::-1], domain=domain, method="P-TD"),
        allalike.discover(rows, domain=domain, method="P-TD", engine=Memory(block_answers=7)),
        allalike.discover(allalike.scan(rows, domain=domain), method="P-TD", engine=Disk(partitions=3)),
    )
    for other in others:
        assert other.truth["label"].tolist() == first.truth["label"].tolist()
        assert other.workers["weight"].tolist() == pytest.approx(first.workers["weight"].tolist())
        assert other.summary["repeats_added"] == first.summary["repeats_added"]


@pytest.mark.parametrize("gaps", ["unknown", "last"])
def test_answers_that_come_later_are_added_up_too(gaps: str) -> None:
    rows = crowd(seed=6, m=4, repeated=True)
    domain = allalike.Ranking(gaps=gaps)
    later = allalike.discover(rows[:20], domain=domain, method="iP-TD").update(rows[20:])
    whole = allalike.discover(rows, domain=domain, method="iP-TD")
    assert later.truth["label"].tolist() == whole.truth["label"].tolist()
    assert later.workers["disparity"].tolist() == pytest.approx(whole.workers["disparity"].tolist())
    assert later.summary["repeats_added"] == whole.summary["repeats_added"]


def test_repeats_may_be_set_aside_and_only_rankings_are_added_up() -> None:
    rows = [("ada", 1, "a>b"), ("ada", 1, "b>a"), ("bob", 1, "a>b")]
    assert allalike.read(rows, domain="ranking", repeats="first").notes["repeats_set_aside"] == 1
    assert (
        allalike.read(rows, domain="ranking", repeats="last").label[0] != allalike.read(rows, domain="ranking").label[0]
    )
    with pytest.raises(InputError, match="answered task 1 more than once"):
        allalike.read(rows, domain="ranking", repeats="error")
    with pytest.raises(OptionError, match="categorical labels cannot be added up"):
        allalike.read(rows, domain="categorical", repeats="add")


@pytest.mark.parametrize("method", ["auto", "P-TD", "D-TD", "OA"])
def test_a_worker_whom_nobody_can_be_compared_with_is_like_the_others(method: str) -> None:
    rows = [("ada", 1, "a>b"), ("bob", 1, "a>b"), ("eve", 1, "b>a"), ("joe", 1, "c"), ("kim", 1, "d>e")]
    result = allalike.discover(rows, domain="ranking", method=method, gold={1: "a>b>c>d>e"})
    assert np.isfinite(result.workers["weight"]).all()
    assert sorted(result.truth["label"][0]) == ["a", "b", "c", "d", "e"]


def test_truths_may_have_ties_and_gaps() -> None:
    rows = [("ada", 1, "a>b>c"), ("bob", 1, "c>b>a"), ("ada", 2, "a>b"), ("bob", 2, "b>c")]
    result = allalike.discover(rows, domain="ranking", method="OA", gold={1: "a>b=c", 2: "c>a>b>x"})
    assert result.workers["fault"].tolist() == pytest.approx([(1 / 6 + 0) / 2, (5 / 6 + 1) / 2])


def test_all_that_is_told_of_a_result_can_be_told_of_gaps(tmp_path: Path) -> None:
    result = allalike.discover(crowd(seed=7, repeated=True), domain=allalike.Ranking(rule="bradley terry"))
    assert 0 < result.agreement.alpha < 1
    assert "Task t0" in str(result.explain(task="t0"))
    assert "Worker w0" in str(result.explain(worker="w0"))
    result.save(tmp_path / "out")
    lines = (tmp_path / "out" / "objects.csv").read_text().splitlines()
    assert lines[0] == '"task","item","rank","score","standard_error"'
    assert len(lines) == 1 + sum(len(list_items(tuple(label))) for label in result.truth["label"])
    assert allalike.compare(crowd(), domain="ranking", methods=["UA", "P-TD", "D-TD"]).table is not None


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_a_table_of_comparisons_is_one_task(tmp_path: Path) -> None:
    text = "judge,model_a,model_b,winner\nada,x,y,model_a\nbob,y,x,tie (bothbad)\nada,y,z,y\neve,z,x,model_b\n"
    result = allalike.discover(written(tmp_path / "a.csv", text), method="UA")
    assert result.truth["label"].tolist() == [["x", "y", "z"]]
    assert result.summary["domain"]["name"] == "ranking"
    answers = allalike.read(tmp_path / "a.csv")
    assert answers.encoding.decode(answers.label).tolist() == ["x>y; y>z", [["x", "y"]], ["x", "z"]]


def test_comparisons_may_have_tasks_and_be_crowd_kits(tmp_path: Path) -> None:
    text = "worker,left,right,label,topic\nada,x,y,x,1\nbob,x,y,y,1\neve,y,x,y,2\n"
    path = written(tmp_path / "a.csv", text)
    assert allalike.read(path).tasks.tolist() == ["x | y"]
    assert allalike.read(path, domain="ranking").tasks.tolist() == ["all"]
    found = allalike.read(path, domain="ranking", columns={"task": "topic"})
    assert [str(task) for task in found.tasks.tolist()] == ["1", "2"]
    assert found.encoding.decode(found.label).tolist() == [["x", "y"], ["y", "x"], ["y", "x"]]
    streamed = allalike.discover(allalike.scan(path, domain="ranking"), engine="disk")
    assert streamed.truth["label"].tolist() == allalike.discover(path, domain="ranking").truth["label"].tolist()


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("ada,x,y,w", "row 2: the winner is 'w', which is neither 'x' nor 'y'"),
        ("ada,x,x,x", "row 2 compares 'x' with 'x'"),
    ],
)
def test_a_comparison_that_cannot_be_is_named(row: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        allalike.read(written(tmp_path / "a.csv", f"worker,left,right,winner\nada,x,y,x\n{row}\n"))


def test_preflib_files_with_ties_and_gaps_are_rankings(tmp_path: Path) -> None:
    head = "".join(f"# ALTERNATIVE NAME {k}: {name}\n" for k, name in enumerate(("tea", "milk", "ale"), 1))
    path = written(tmp_path / "drinks.toi", f"{head}2: {{1,2}},3\n1: 3\n1: 2\n")
    for gaps, best in (("unknown", {"tea", "milk"}), ("last", {"milk"})):
        truth = allalike.discover(path, domain=allalike.Ranking(gaps=gaps), method="UA").truth
        assert truth["label"][0][0] in best
    assert allalike.discover(path, method="UA").summary["guessed"]["domain"] == "ranking"
