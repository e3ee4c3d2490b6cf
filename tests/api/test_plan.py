"""What to do next: which tasks to ask, whom with some money, what it brings, and when to stop."""

import itertools
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import allalike
from allalike import Disk
from allalike.methods.auto.next_labels import expect_gains
from allalike.result.plan import Offers, TaskUncertainty, assign, keep_likeliest
from crowds.asking import Crowd, find_saved
from crowds.copiers import attack, rows_of
from crowds.samples import crowd
from running.program import call

ROWS = crowd("categorical", seed=0, missing=0.6, m=40)


@pytest.fixture(scope="module")
def result() -> allalike.Result:
    return allalike.discover(ROWS)


def expect_right(q: np.ndarray, rates: list[float]) -> float:
    """Return how probably the likeliest class is right after one answer of each worker, by all that may be said."""
    k = len(q)
    total = 0.0
    for said in itertools.product(range(k), repeat=len(rates)):
        chances = [np.where(np.arange(k) == label, 1 - e, e / (k - 1)) for label, e in zip(said, rates, strict=True)]
        total += (q * np.prod(chances, axis=0)).max()
    return float(total)


@pytest.mark.parametrize("q", [[0.55, 0.45], [0.5, 0.3, 0.2], [0.9, 0.06, 0.04]])
def test_what_a_plan_expects_is_the_mean_over_all_that_may_be_answered(q: list[float]) -> None:
    rates = [0.2, 0.35, 0.1, 0.25]
    stakes = TaskUncertainty(keep_likeliest(np.array([q])), len(q))
    for number, rate in enumerate(rates, 1):
        stakes.add_answer(0, rate)
        assert 1 - stakes.errors[0] == pytest.approx(expect_right(np.array(q), rates[:number]), abs=1e-12)


def test_a_plan_is_nearly_as_good_as_the_best_of_all_plans() -> None:
    rng = np.random.default_rng(0)
    able = [(task, worker) for task in range(3) for worker in range(3) if task != worker]
    saved, most = 0.0, 0.0
    for _ in range(10):
        first, rates = rng.uniform(0.5, 0.7, 3), rng.uniform(0.1, 0.3, 3)
        likeliest = np.column_stack([first, 1 - first])
        offers = Offers(rates, np.ones(3), np.arange(3), np.full(3, 3.0))
        chosen = assign(TaskUncertainty(likeliest, 2), offers, [{task} for task in range(3)], 3)
        best = 0.0
        for pairs in itertools.combinations(able, 3):
            asked = [[rates[worker] for task, worker in pairs if task == each] for each in range(3)]
            right = [expect_right(q, each) for q, each in zip(likeliest, asked, strict=True)]
            best = max(best, float(np.sum(right) - first.sum()))
        assert len(chosen) == 3
        saved, most = saved + sum(each.saved for each in chosen), most + best
    assert saved >= 0.9 * most


def test_nobody_is_asked_again_and_no_copy_of_one_who_has_answered() -> None:
    rows = [row for row in rows_of(attack(1)[1]) if row[0] not in ("w000", "w009") or int(row[1][1:]) % 2]
    found = allalike.discover(rows)
    group = found.workers.set_index("worker")["copy_group"]
    assert (group != "").any()
    prices = dict.fromkeys(group.index, 1.0)
    table = found.plan(400, prices=prices, max_per_worker=100).table
    voice = {worker: group[worker] or worker for worker in group.index}
    heard = {(task, voice[worker]) for worker, task, _ in rows}
    asked = [(task, voice[worker]) for task, worker in zip(table["task"], table["worker"], strict=True)]
    assert len(table)
    assert not heard & set(asked)
    assert len(set(asked)) == len(asked)


def test_good_workers_are_asked_first_as_often_as_they_may_and_the_cheaper_of_two_alike(
    result: allalike.Result,
) -> None:
    workers = result.workers.set_index("worker")
    left = workers["error_rate"][workers["answers"] < 40]  # the others have answered everything
    prices = dict.fromkeys(workers.index, 1.0)
    table = result.plan(12, prices=prices, max_per_worker=3).table
    assert table["worker"][:3].tolist() == [left.idxmin()] * 3
    assert table["worker"].value_counts().max() == 3
    assert table["worker"].nunique() > 3
    dear = result.plan(12, prices=prices | {left.idxmin(): 50.0}, max_per_worker=3).table
    assert left.idxmin() not in dear["worker"].tolist()


def test_who_is_asked_as_often_as_she_may_is_asked_again_in_the_next_batch(result: allalike.Result) -> None:
    prices = dict.fromkeys(result.workers["worker"], 1.0)
    for batch in (None, 50):
        plan = result.plan(100, prices=prices, max_per_worker=1, batch=batch)
        assert plan.summary["all"]["answers"] > len(prices) >= plan.summary["next"]["answers"]
        assert plan.table["worker"].is_unique


def test_more_money_brings_more_until_it_is_not_worth_it(result: allalike.Result) -> None:
    told = [result.plan(budget).summary for budget in (1, 5, 20, 80)]
    after = [each["all"]["after"]["expected"] for each in told]
    assert after == sorted(after, reverse=True)
    assert after[-1] < told[0]["before"]["expected"] == pytest.approx(1 - result.truth["confidence"].mean(), abs=1e-6)
    for each in told:
        assert each["all"]["after"]["ci_low"] <= each["all"]["after"]["expected"] <= each["all"]["after"]["ci_high"]
    plan = result.plan(80, min_gain=0.05)
    assert plan.summary["stop"]
    assert (plan.table["gain"] > 0.05 * plan.table["price"]).all()
    assert 0 < plan.summary["all"]["cost"] < 80
    nothing = result.plan(80, min_gain=1.0)
    assert nothing.table.empty
    assert "Stop: further answers are expected to prevent less than 1 error" in repr(nothing)


def test_a_batch_is_the_beginning_of_a_plan_and_engines_agree(result: allalike.Result) -> None:
    whole, batch = result.plan(20, max_per_worker=30).table, result.plan(20, batch=6, max_per_worker=30)
    pd.testing.assert_frame_equal(batch.table, whole[:6])
    assert (batch.summary["next"]["answers"], batch.summary["all"]["answers"]) == (6, 20)
    on_disk = allalike.discover(ROWS[::-1], engine=Disk()).plan(20, max_per_worker=30).table
    pd.testing.assert_frame_equal(on_disk, whole)


def test_open_labels_are_planned_by_their_confidence() -> None:
    rng = np.random.default_rng(0)
    rows = [
        (f"w{worker}", task, f"n{task}" if rng.random() < 0.7 else f"n{rng.integers(40)}")
        for task in range(40)
        for worker in rng.choice(8, 2 + task % 3, replace=False)
    ]
    found = allalike.discover(rows, domain="categorical")
    assert found.posteriors is None
    plan = found.plan(10)
    sure = found.truth.set_index("task")["confidence"]
    assert sure[plan.table["task"]].mean() < sure.mean()
    assert plan.summary["next"]["after"]["expected"] < plan.summary["before"]["expected"]


def test_a_plan_says_that_a_crowd_does_not_see_errors_that_it_shares_unless_truths_tell() -> None:
    rng = np.random.default_rng(5)
    truth, skill = rng.integers(3, size=300), rng.uniform(0.5, 0.95, 20)
    rows = [
        (f"w{worker}", task, int(truth[task] if rng.random() < skill[worker] else rng.integers(3)))
        for task in range(300)
        for worker in rng.choice(20, 3, replace=False)
    ]
    alone = allalike.discover(rows).plan(20)
    assert alone.summary["known"] == 0
    assert "misses errors that most workers share" in repr(alone)
    told = allalike.discover(rows, gold={task: int(truth[task]) for task in range(100)}).plan(20)
    assert told.summary["known"] == 100
    assert "misses errors" not in repr(told)


def test_nothing_is_asked_where_all_truths_are_known() -> None:
    truth = allalike.discover(ROWS).truth
    known = allalike.discover(ROWS, gold=dict(zip(truth["task"], truth["label"], strict=True)))
    plan = known.plan(5)
    assert plan.table.empty
    assert plan.summary["stop"]


def test_a_price_makes_the_budget_money(result: allalike.Result, tmp_path: Path) -> None:
    plan, counted = result.plan(1.0, price=0.05), result.plan(20)
    assert plan.table[["task", "worker"]].equals(counted.table[["task", "worker"]])
    assert set(plan.table["price"]) == {0.05}
    assert plan.summary["all"]["cost"] == pytest.approx(counted.summary["all"]["cost"] * 0.05)
    both = result.plan(1.0, price=0.05, prices={plan.table["worker"][0]: 0.04})
    assert set(both.table.loc[both.table["worker"] == plan.table["worker"][0], "price"]) == {0.04}
    assert set(both.table["price"]) == {0.04, 0.05}
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv(tmp_path / "in.csv", index=False)
    call("discover", "in.csv", "-o", "out", "-q", folder=tmp_path)
    done = call("plan", "out", "--budget", "1", "--price", "0.05", folder=tmp_path)
    assert done.stdout.startswith(repr(plan).splitlines()[0])
    assert "--price" not in done.stdout
    assert "--price 0.05" in call("plan", "out", folder=tmp_path).stdout
    failed = call("plan", "out", "--price", "0", folder=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "price above 0" in failed.stderr


def test_the_program_plans_and_writes_the_same(result: allalike.Result, tmp_path: Path) -> None:
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv(tmp_path / "in.csv", index=False)
    workers = result.workers["worker"].tolist()
    prices = {**dict.fromkeys(workers, 2.0), "anyone": 1.0}
    pd.DataFrame({"worker": prices.keys(), "price": prices.values()}).to_csv(tmp_path / "prices.csv", index=False)
    assert call("discover", "in.csv", "-o", "out", "-q", folder=tmp_path).returncode == 0
    words = ("plan", "out", "--budget", "20", "--prices", "prices.csv", "--batch", "5", "-o", "plan.csv")
    done = call(*words, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    expected = result.plan(20, prices=prices, batch=5)
    assert done.stdout.startswith(repr(expected).splitlines()[0])
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "plan.csv"), expected.table, check_dtype=False)
    told = json.loads(call(*words, "--json", folder=tmp_path).stdout)
    assert [each["task"] for each in told["answers"]] == expected.table["task"].tolist()
    before = (tmp_path / "plan.csv").read_bytes()
    failed = call("plan", "out", "--prices", "nowhere.csv", "-o", "plan.csv", folder=tmp_path)
    assert (failed.returncode, failed.stdout) == (2, "")
    assert "The prices cannot be read. There is no file" in failed.stderr
    assert (tmp_path / "plan.csv").read_bytes() == before
    failed = call("plan", "out", "-o", "in.csv", "--overwrite", folder=tmp_path)
    assert failed.returncode == 2
    assert "in.csv is an input" in failed.stderr
    assert (tmp_path / "in.csv").read_text(encoding="utf-8").startswith("worker,task,label")


@pytest.mark.parametrize("number", [2, pytest.param(4, marks=pytest.mark.long)])
def test_asking_the_least_sure_saves_a_fifth_of_the_answers(number: int) -> None:
    crowds = [(2, 0.0, seed) for seed in range(number)]
    assert find_saved(crowds, 2, 4, tasks=100, share=0.2) > 0.19


def test_a_gain_is_largest_where_nothing_is_known_and_none_where_workers_guess() -> None:
    table = np.array([[0.25, 0.25, 0.25, 0.25], [0.4, 0.3, 0.2, 0.1], [0.9, 0.1, 0, 0], [1, 0, 0, 0]])
    gains = expect_gains(table, np.full(4, 1.5))
    assert (np.diff(gains) < 0).all()
    assert gains[-1] == pytest.approx(0, abs=1e-12)
    assert expect_gains(table, np.zeros(4)) == pytest.approx(0, abs=1e-12)


def test_the_least_sure_come_first_and_what_is_known_is_not_asked() -> None:
    rows = crowd("categorical", seed=0, missing=0.2)
    result = allalike.discover(rows)
    table = result.next_tasks(1000)
    assert list(table) == ["task", "confidence", "answers", "gain"]
    assert table["confidence"].round(9).is_monotonic_increasing
    assert set(table["task"]) == set(result.truth["task"])
    assert result.next_tasks(0).empty
    assert result.next_tasks(3)["task"].tolist() == table["task"][:3].tolist()
    assert (table["gain"] >= 0).all()
    first = table["task"][0]
    known = allalike.discover(rows, gold={first: result.truth["label"][0]}, min_confidence=0.99)
    assert first not in known.next_tasks(1000)["task"].tolist()
    assert len(known.next_tasks(1000)) == len(table) - 1


@pytest.mark.parametrize("domain", ["real", "ranking"])
def test_other_labels_are_asked_by_support_and_answers(domain: str) -> None:
    table = allalike.discover(crowd(domain, seed=0, missing=0.3)).next_tasks(1000)
    assert table["gain"].isna().all()
    order = table[["support", "answers"]].fillna(0).round(9)
    assert order.equals(order.sort_values(["support", "answers"], kind="stable"))


def test_the_tasks_are_the_same_on_disk_and_in_a_file(tmp_path: Path) -> None:
    rows = crowd("categorical", seed=1, missing=0.2)
    expected = allalike.discover(rows).next_tasks(1000)
    pd.testing.assert_frame_equal(allalike.discover(rows, engine=Disk()).next_tasks(1000), expected)
    allalike.discover(rows).save(tmp_path)
    assert pd.read_csv(tmp_path / "details" / "next_tasks.csv")["task"].tolist() == expected["task"].tolist()


def test_more_answers_are_expected_to_make_truths_better_and_do_so_even_more() -> None:
    drawn = Crowd(3, 0.0, seed=2, tasks=300, workers=9)
    rows = drawn.begin(9)
    result = allalike.discover(rows, domain="categorical")
    curve = result.learning_curve().set_index("answers_per_task")["expected_accuracy"]
    assert curve.index.tolist() == list(range(1, 10))
    assert curve.is_monotonic_increasing
    assert curve[9] == pytest.approx(result.truth["confidence"].mean(), abs=1e-3)
    thirds = (rows[first : first + 900] for first in (0, 900, 1800))
    few = [drawn.accuracy(allalike.discover(third, domain="categorical")) for third in thirds]
    assert curve[1] > 1 / 3
    assert np.mean(few) - 0.15 < curve[3] < np.mean(few)  # cautious, for errors may be shared
    assert curve[9] < drawn.accuracy(result)
