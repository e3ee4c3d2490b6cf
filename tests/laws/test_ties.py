"""Ties: broken at random, marked, and independent of the order of rows, the engine and the number of blocks."""

import numpy as np
import pytest

import allalike
from allalike.engines import Engine

TASKS = 2000
TIED = [(worker, f"task{task}", "yes" if worker else "no") for worker in (0, 1) for task in range(TASKS)]


def test_ties_are_drawn_fairly_and_by_the_seed() -> None:
    draws = np.array([allalike.discover(TIED, seed=seed).truth["label"] == "yes" for seed in range(5)])
    assert abs(draws.mean() - 0.5) < 0.03
    agreement = (draws[0] == draws[1:]).mean()
    assert abs(agreement - 0.5) < 0.03


def test_a_draw_depends_on_the_task_and_not_on_its_neighbours() -> None:
    whole = allalike.discover(TIED).truth.set_index("task")["label"]
    part = allalike.discover([row for row in TIED if row[1].endswith("7")]).truth.set_index("task")["label"]
    assert (whole.loc[part.index] == part).all()


def test_tied_tasks_are_marked_and_no_others() -> None:
    rows = [*TIED, (2, "task3", "yes"), (2, "task5", "maybe")]
    truth = allalike.discover(rows, method="UA").truth.set_index("task")
    assert not truth.loc["task3", "tied"]
    assert truth.loc["task5", "tied"]
    assert truth.loc["task5", "label"] in ("yes", "no", "maybe")
    assert truth["tied"].sum() == TASKS - 1


@pytest.mark.parametrize(("difference", "tied"), [(1e-12, True), (1e-6, False)])
def test_scores_within_a_billionth_are_equal(difference: float, tied: bool) -> None:
    rows = [(0, "t", "a"), (1, "t", "b"), (2, "u", "a"), (0, "u", "a"), (1, "u", "a")]
    noise = allalike.Categorical(classes=2).noise
    weight = noise.weight(np.array([0.2, 0.2 + difference]))
    assert (abs(weight[0] - weight[1]) < 1e-9 * weight[0]) == tied
    faults = {0: 0.2, 1: 0.2 + difference, 2: 0.4}
    result = allalike.discover(rows, domain="categorical", method=allalike.OA(faults=faults))
    assert result.found.joined().found["drawn"].tolist() == [tied, False]
    assert result.truth["tied"].tolist() == [True, False]


EQUALS = {"ada": "xxxz", "bob": "xyyz", "eve": "yyxz"}  # each pair agrees on two of four tasks


@pytest.mark.parametrize("method", ["TOP2", "TOP2(method='pair')", "EXP"])
def test_truths_that_the_order_of_workers_may_decide_are_marked(engine: Engine, method: str) -> None:
    rows = [(worker, task, label) for worker, labels in EQUALS.items() for task, label in enumerate(labels)]
    found = allalike.discover(rows, method=method, engine=engine).truth["tied"]
    if method == "EXP":  # keeps all three in any order
        assert not found.any()
        return
    assert found.tolist() == [True, True, True, False]
    better = [*rows, *(("ada", task, "x") for task in (4, 5)), *(("bob", task, "x") for task in (4, 5))]
    tied = allalike.discover(better, method=method, engine=engine).truth["tied"]  # for the labels of ada and bob
    assert tied.tolist() == [False, True, True, False, False, False]


@pytest.mark.parametrize("names", [("ada", "bob", "eve", "joe"), ("joe", "eve", "bob", "ada")])
def test_a_geometric_median_does_not_depend_on_names_where_many_points_would_do(names: tuple[str, ...]) -> None:
    points = {1: [(0.0, 0.0), (4.0, 2.0)], 2: [(0.0, 0.0), (2.0, 1.0), (4.0, 2.0), (8.0, 4.0)]}
    rows = [(name, task, point) for task, some in points.items() for name, point in zip(names, some, strict=False)]
    result = allalike.discover(rows, domain="vector(rule='geometric median')", method="UA")
    assert [list(label) for label in result.truth["label"]] == [[2.0, 1.0], [3.0, 1.5]]
    assert not result.truth["tied"].any()


def test_whoever_has_no_weight_does_not_bend_a_line() -> None:
    rows = [("ada", 1, (0.0, 0.0)), ("bob", 1, (4.0, 2.0)), ("eve", 1, (9.0, 0.0))]
    faults = allalike.OA(faults={"ada": 1.0, "bob": 1.0, "eve": 1e15})
    result = allalike.discover(rows, domain="vector(rule='geometric median')", method=faults)
    np.testing.assert_allclose(list(result.truth["label"][0]), [2.0, 1.0])


@pytest.mark.parametrize("rule", ["medoid", "best worker"])
def test_whose_answer_is_taken_among_equal_workers_is_drawn_by_the_seed_and_marked(engine: Engine, rule: str) -> None:
    rows = [(worker, task, [float(worker), 1.0]) for worker in (0, 1) for task in range(40)]
    domain = f"vector(rule='{rule}')"
    found = [allalike.discover(rows, domain=domain, method="UA", engine=engine, seed=seed).truth for seed in (1, 2)]
    assert found[0]["tied"].all()
    taken = [[label[0] for label in truth["label"]] for truth in found]
    assert 0 < sum(taken[0]) < 40
    assert taken[0] != taken[1]
