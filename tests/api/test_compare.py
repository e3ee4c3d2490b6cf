"""All methods on the same answers: errors, tests and agreement are those of one method after the other."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import allalike
from allalike import METHODS, AllalikeError, ConvergenceWarning, Engine, Method
from allalike._core.blocks.block import Array
from allalike._core.system.progress import watching
from allalike.api.compare import compare
from allalike.api.results.comparison import Comparison
from allalike.engines import Run
from allalike.errors import GoldError, OptionError, TooLargeError, UnsupportedError
from allalike.methods import IPTD, OA, PTD, Weighing
from allalike.methods.base import without_gold
from allalike.methods.composed import serves
from crowds import samples
from running.turns import in_turn

ROWS = samples.rows(samples.RUNNING_EXAMPLE)
GOLD = {f"t{task:04d}": truth for task, truth in enumerate(samples.RUNNING_TRUTH)}


def discover(*arguments: Any, **options: Any) -> allalike.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return allalike.discover(*arguments, **options)


def by_method(found: Comparison) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in found.rows}


def crowd(domain: str) -> list[samples.Row]:
    if domain == "binary":
        return samples.rows(samples.BINARY)
    return samples.crowd(domain, seed=3, n=7, m=16, missing=0.3)


def label_of(found: Comparison, method: str) -> Array:
    outcome = found.outcomes[method].found
    assert outcome is not None
    return outcome["label"]


@pytest.mark.parametrize("domain", in_turn([*allalike.DOMAINS, "binary"], 6))
def test_errors_and_truths_are_those_of_discover(domain: str) -> None:
    rows, kind = crowd(domain), samples.kind(domain)
    gold = {task: label for worker, task, label in rows if worker == "w000" and task < "t0012"}
    found = compare(rows, domain=kind, gold=gold)
    serving = [method for method in METHODS if serves(METHODS[method](), found.run.encoding)]
    assert sorted(found.outcomes) == sorted(serving)
    assert found.summary["not_served"] == [method for method in METHODS if method not in serving]
    assert found.summary["gold"]["compared"] == len(gold)
    for method, row in by_method(found).items():
        alone = discover(rows, domain=kind, gold=gold, method=without_gold(METHODS[method]()))
        assert row["error"] == pytest.approx(alone.summary["gold"]["error"], rel=1e-12)
        assert row["converged"] == alone.summary["converged"]
        assert not found.run.encoding.kernels.distance_between(
            label_of(found, method), alone.found.joined().found["label"]
        ).any()


def test_the_errors_of_the_running_example_are_the_published_ones() -> None:
    methods = ["P-TD", "P-TD(weighting='max')", "P-TD-AK(ridge=4)", "iP-TD(weighting='max')"]
    oracle = OA(faults=dict(zip(["w000", "w001", "w002", "w003", "w004"], (55, 80, 100, 120, 165), strict=True)))
    found = by_method(compare(ROWS, gold=GOLD, methods=[*methods, oracle]))
    expected = {"UA": 14.71, "OA": 8.9331, **dict(zip(methods, (12.555, 16.724, 9.155, 57.54), strict=True))}
    for method, error in expected.items():
        assert found[method]["error"] == pytest.approx(error, abs=6e-3)
    assert found["OA"]["verdict"] == "oracle"
    assert found["P-TD-AK(ridge=4)"]["verdict"] == "best"
    assert found["P-TD"]["change"] == pytest.approx(100 * (12.555 / 14.71 - 1), abs=0.01)
    assert found["P-TD"]["RI"] == pytest.approx(100 * (12.555 - 14.71) / (12.555 + 14.71), abs=0.01)


def agreements_by_hand(rows: Any, names: list[str], domain: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    truth = {name: discover(rows, domain=domain, method=name).truth["label"] for name in names}
    squared = [[np.mean((truth[a] - truth[b]) ** 2) if domain == "real" else 0 for b in names] for a in names]
    same = [
        [
            np.mean(np.isclose(truth[a], truth[b], rtol=1e-9, atol=1e-12) if domain == "real" else truth[a] == truth[b])
            for b in names
        ]
        for a in names
    ]
    distance = squared if domain == "real" else 1 - np.array(same)
    return pd.DataFrame(same, names, names), pd.DataFrame(distance, names, names)


@pytest.mark.parametrize("domain", ["categorical", "real"])
def test_agreement_without_gold_by_hand(domain: str) -> None:
    rows = samples.crowd(domain, seed=5, n=6, m=40, missing=0.4)
    found = compare(rows, domain=domain)
    names = list(found.agreement.index)
    assert "OA" not in names
    same, distance = agreements_by_hand(rows, names, domain)
    pd.testing.assert_frame_equal(found.agreement, pd.concat({"same": same, "distance": distance}, axis=1))
    assert (distance.to_numpy() > 0).any()
    for name, row in by_method(found).items():
        assert row["same"] == pytest.approx(same.loc[name].drop(name).mean())
        assert row["distance"] == pytest.approx(distance.loc[name].drop(name).mean())
    by = "same" if domain == "categorical" else "distance"
    assert found.summary["ranked_by"] == by
    ranked = found.table[by].to_numpy()
    assert (np.diff(ranked) * (1 if by == "distance" else -1) > -1e-9).all()


@pytest.mark.parametrize("domain", ["ranking", "text", "custom"])
def test_labels_that_somebody_gave_are_ranked_by_how_often_they_are_the_same(domain: str) -> None:
    assert compare(crowd(domain), domain=samples.kind(domain), methods="P-TD").ranked_by == "same"


@pytest.mark.parametrize("domain", ["bitmap", "set", "interval", "vector"])
def test_labels_that_are_put_together_are_ranked_by_distance(domain: str) -> None:
    assert compare(crowd(domain), domain=samples.kind(domain), methods="P-TD").ranked_by == "distance"


def test_per_task_every_task_is_a_problem_of_its_own() -> None:
    answers = allalike.read(samples.crowd("real", seed=2, n=6, m=12), domain="real").per_task()
    gold = dict.fromkeys(answers.tasks.tolist(), 1.0)
    found = compare(answers, gold=gold, methods="iP-TD,P-TD-AK")
    for name, row in by_method(found).items():
        assert row["error"] == discover(answers, gold=gold, method=name).summary["gold"]["error"]
    assert found.outcomes["iP-TD"].weighing is not None
    assert found.outcomes["iP-TD"].weighing.weight.sum() == pytest.approx(12)  # in each task the weights sum to 1


@dataclass(frozen=True, kw_only=True)
class Trust(Method):
    """Believe one worker only, so that a test can choose the errors; not among the known methods."""

    name: ClassVar[str] = "TRUST"
    summary: ClassVar[str] = "believe one worker"
    worker: int = 0

    def weigh(self, run: Run) -> Weighing:
        weight = np.eye(run.problems.n_workers)[self.worker]
        return Weighing(disparity=weight, fault=weight, weight=weight)


def trust(*errors: list[float]) -> dict[str, dict[str, Any]]:
    """Compare methods with these distances to gold; the tasks are numbers, and gold is 0."""
    rows = [(w, task, float(np.sqrt(e))) for w, row in enumerate(errors) for task, e in enumerate(row)]
    gold = dict.fromkeys(range(len(errors[0])), 0.0)
    methods = [Trust(worker=worker) for worker in range(len(errors))]
    return by_method(compare(rows, domain="real", gold=gold, methods=methods))


def test_errors_that_always_differ_by_the_same_are_compared_by_their_signs() -> None:
    few, many = trust([0.0] * 3, [1.0] * 3), trust([0.0] * 6, [1.0] * 6)
    assert [few[name]["verdict"] for name in ("TRUST", "UA", "TRUST(worker=1)")] == ["best", "tie", "tie"]
    assert [many[name]["verdict"] for name in ("TRUST", "UA", "TRUST(worker=1)")] == ["best", "worse", "worse"]
    assert few["UA"]["p"] == stats.binomtest(3, 3).pvalue
    assert many["UA"]["p"] == stats.binomtest(6, 6).pvalue


@pytest.mark.parametrize("scale", [1e-120, 1.0, 1e140])
def test_the_unit_of_numbers_does_not_change_the_test(scale: float) -> None:
    rows = [(worker, task, label * scale) for worker, task, label in ROWS]
    found = compare(rows, gold={task: truth * scale for task, truth in GOLD.items()}, methods="P-TD,CATD")
    usual = compare(ROWS, gold=GOLD, methods="P-TD,CATD")
    for row, known in zip(found.rows, usual.rows, strict=True):
        assert (row["method"], row["verdict"]) == (known["method"], known["verdict"])
        assert row["p"] == (known["p"] and pytest.approx(known["p"]))


def test_equal_errors_are_a_tie_and_one_task_shows_nothing() -> None:
    equal = trust([1.0, 4.0, 9.0], [1.0, 4.0, 9.0])
    assert [(name, row["verdict"], row["p"]) for name, row in equal.items()] == [
        ("UA", "best", None),
        ("TRUST", "tie", 1.0),
        ("TRUST(worker=1)", "tie", 1.0),
    ]
    assert {row["verdict"] for row in trust([0.0], [100.0]).values()} == {"best", "tie"}


def test_no_error_at_all_is_no_change_and_a_first_error_has_no_percentage() -> None:
    none = trust([0.0, 0.0], [0.0, 0.0])
    assert [(row["change"], row["RI"]) for row in none.values()] == [(0.0, 0.0)] * 3
    rows = [("a", 1, 1.0), ("b", 1, -1.0), ("a", 2, -3.0), ("b", 2, 3.0)]
    found = by_method(compare(rows, domain="real", gold={1: 0.0, 2: 0.0}, methods=Trust()))
    assert (found["TRUST"]["error"], found["TRUST"]["change"], found["TRUST"]["RI"]) == (5.0, None, 100.0)
    assert "TRUST,5.0,,100.0,tie" in table_text(rows, {1: 0.0, 2: 0.0})


def table_text(rows: Any, gold: Any) -> str:
    text: str = compare(rows, domain="real", gold=gold, methods=Trust()).table.to_csv(index=False)
    return text


def test_the_oracle_is_never_the_best() -> None:
    rows = samples.crowd("categorical", seed=1, n=9, m=60)
    gold = {task: label for worker, task, label in rows if worker == "w003"}
    found = compare(rows, domain="categorical", gold=gold)
    assert (found.rows[0]["method"], found.rows[0]["verdict"], found.rows[0]["p"]) == ("OA", "oracle", None)
    assert [row["method"] for row in found.rows if row["verdict"] == "best"] == [found.summary["best"]] != ["OA"]


def test_equal_errors_stay_in_the_order_of_the_methods() -> None:
    rows = [(worker, task, "x") for worker in "abc" for task in range(4)]
    found = compare(rows, gold={0: "x", 3: "y"})
    order = [row["method"] for row in found.rows]
    assert order == [name for name in METHODS if name in order]
    assert {row["error"] for row in found.rows} == {0.5}
    assert [row["verdict"] for row in found.rows][:3] == ["best", "tie", "oracle"]


def test_a_method_that_fails_is_a_row_with_the_reason() -> None:
    found = compare(ROWS, gold=GOLD, methods="P-TD(weighting='chance'),P-TD")
    assert [row["method"] for row in found.rows] == ["P-TD", "UA", "P-TD(weighting='chance')"]
    failed = found.rows[-1]
    assert (failed["error"], failed["verdict"], failed["converged"]) == (None, "failed", None)
    assert "no chance level" in failed["note"]
    assert found.table["iterations"].tolist()[:2] == [1, 1]
    alone = compare(ROWS, methods="P-TD(weighting='chance')")
    assert [row["distance"] for row in alone.rows] == [None, None]


def test_without_the_unweighted_answer_nothing_is_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise TooLargeError("These sums need more memory than there is.")

    monkeypatch.setattr("allalike.engines.memory.MemoryRun.sum", full)
    with pytest.raises(TooLargeError, match="more memory"):
        compare(ROWS, methods=[])


def test_a_method_that_stops_early_is_a_row_that_says_so_and_no_warning() -> None:
    row = by_method(compare(ROWS, methods=IPTD(max_iter=1)))["iP-TD(max_iter=1)"]
    assert (row["converged"], row["iterations"]) == (False, 1)
    assert "stopped at its limit of 1 rounds" in row["note"]


def test_every_method_is_there_once_and_the_unweighted_one_always() -> None:
    found = compare(ROWS, methods=["P-TD", PTD(), "iP-TD(max_iter=3,tol=0.5)", "p-td(weighting='max')"])
    assert list(found.outcomes) == ["UA", "P-TD", "P-TD(weighting='max')", "iP-TD(max_iter=3, tol=0.5)"]
    assert list(compare(ROWS, methods=[]).outcomes) == ["UA"]


def test_all_methods_by_default_but_the_oracle_only_with_gold() -> None:
    domain = allalike.read(ROWS).domain
    serving = [name for name in METHODS if METHODS[name]().serves(domain)]
    assert list(compare(ROWS, gold=GOLD).outcomes) == serving
    assert list(compare(ROWS).outcomes) == [name for name in serving if name != "OA"]


def test_gold_once_read_is_not_remembered_where_it_is_not_given() -> None:
    answers = allalike.read(ROWS)
    assert "gold" in compare(answers, gold=GOLD, methods="P-TD").summary
    assert "gold" not in compare(answers, methods="P-TD").summary


def test_tasks_whose_distance_to_gold_is_unknown_do_not_count() -> None:
    nan = float("nan")
    domain = allalike.Custom(distance=[[0, 1, 2], [1, 0, nan], [2, nan, 0]])
    rows = [(worker, task, label) for task, label in ((1, 0), (2, 1)) for worker in "abc"]
    found = compare(rows, domain=domain, gold={1: 1, 2: 2}, methods="P-TD")
    assert found.summary["gold"] == {"tasks": 2, "without_answers": 0, "compared": 1}
    assert [row["error"] for row in found.rows] == [1.0, 1.0]
    with pytest.raises(GoldError, match="no task with gold"):
        compare(rows, domain=domain, gold={2: 2}, methods="P-TD")


def test_results_are_the_same_on_every_engine(engine: Engine) -> None:
    rows = samples.crowd("categorical", seed=4, n=6, m=30, missing=0.3)
    here, there = compare(rows, domain="categorical"), compare(rows, domain="categorical", engine=engine)
    pd.testing.assert_frame_equal(here.agreement, there.agreement)


def test_the_report_counts_methods_and_says_nothing_of_their_rounds() -> None:
    events: list[tuple[str, int, int]] = []
    with watching(lambda *event: events.append(event)):
        compare(ROWS, methods="P-TD,iP-TD")
    comparing = [event for event in events if event[0].startswith("comparing methods")]
    assert [(stage.split(": ")[1].strip(), done, total) for stage, done, total in comparing] == [
        ("UA", 0, 3),
        ("P-TD", 1, 3),
        ("iP-TD", 2, 3),
    ]
    assert len({len(stage) for stage, _, _ in comparing}) == 1  # the bar stays where it is
    assert not [event for event in events if event[0] == "round"]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"methods": "PTD"}, LookupError, "Did you mean 'P-TD'"),
        ({"methods": "P-TD,,UA"}, LookupError, "'' is not the name of a method"),
        ({"methods": [3]}, OptionError, "3 is no method"),
        ({"methods": [OA(faults={}), OA(faults={"w000": 1.0})]}, OptionError, "Two methods are called OA"),
        ({"methods": "OA"}, GoldError, "OA needs known truths"),
        ({"gold": {"t9": 1.0}}, GoldError, "None of the 1 tasks with gold was answered"),
        ({"ties": "last"}, OptionError, "Choose one of: random, first"),
        ({"engine": "memroy"}, LookupError, "Did you mean 'memory'"),
    ],
)
def test_bad_calls_are_clear_errors(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        compare(ROWS, **options)
    assert isinstance(caught.value, AllalikeError)


def test_a_named_method_that_cannot_serve_is_an_error() -> None:
    words = [("ada", 1, "one word"), ("bob", 1, "two words"), ("eve", 1, "three")]
    with pytest.raises(UnsupportedError, match="P-TD-AK cannot serve text labels"):
        compare(words, domain="text", methods="P-TD,P-TD-AK")
    assert "P-TD-AK" in compare(words, domain="text").summary["not_served"]
