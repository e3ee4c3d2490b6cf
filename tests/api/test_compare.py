"""All methods on the same answers: errors, tests and agreement are those of one method after the other."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import allalike
from allalike import METHODS, Method
from allalike._core.blocks.block import Array
from allalike.compare import Comparison, compare
from allalike.engines import Run
from allalike.errors import GoldError
from allalike.methods import OA, Fit
from allalike.methods.base import without_gold
from allalike.methods.composed import serves
from crowds import samples
from running.program import run
from running.turns import in_turn

pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
ROWS = samples.rows(samples.RUNNING_EXAMPLE)
GOLD = {f"t{task:04d}": truth for task, truth in enumerate(samples.RUNNING_TRUTH)}


def by_method(found: Comparison) -> dict[str, dict[str, Any]]:
    return {row["method"]: row for row in found.rows}


def label_of(found: Comparison, method: str) -> Array:
    outcome = found.outcomes[method].found
    assert outcome is not None
    return outcome["label"]


@pytest.mark.parametrize("domain", in_turn([*allalike.DOMAINS, "binary"], 10))
def test_errors_and_truths_are_those_of_discover(domain: str) -> None:
    rows, kind = samples.crowd(domain, seed=3, n=7, m=16, missing=0.3), samples.kind(domain)
    gold = {task: label for worker, task, label in rows if worker == "w000" and task < "t0012"}
    found = compare(rows, domain=kind, gold=gold)
    serving = [method for method in METHODS if serves(METHODS[method](), found.run.encoding)]
    assert sorted(found.outcomes) == sorted(serving)
    assert found.summary["not_served"] == [method for method in METHODS if method not in serving]
    assert found.summary["gold"]["compared"] == len(gold)
    for method, row in by_method(found).items():
        alone = allalike.discover(rows, domain=kind, gold=gold, method=without_gold(METHODS[method]()))
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
    truth = {name: allalike.discover(rows, domain=domain, method=name).truth["label"] for name in names}
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


@dataclass(frozen=True, kw_only=True)
class Trust(Method):
    """Believe one worker only, so that a test can choose the errors; not among the known methods."""

    name: ClassVar[str] = "TRUST"
    summary: ClassVar[str] = "believe one worker"
    worker: int = 0

    def fit(self, run: Run) -> Fit:
        weight = np.eye(len(run.workers))[self.worker]
        return Fit(disparity=weight, fault=weight, weight=weight)


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


def test_a_method_that_fails_is_a_row_with_the_reason() -> None:
    found = compare(ROWS, gold=GOLD, methods="P-TD(weighting='chance'),P-TD")
    assert [row["method"] for row in found.rows] == ["P-TD", "UA", "P-TD(weighting='chance')"]
    failed = found.rows[-1]
    assert (failed["error"], failed["verdict"], failed["converged"]) == (None, "failed", None)
    assert "no chance level" in failed["note"]
    assert found.table["iterations"].tolist()[:2] == [1, 1]
    alone = compare(ROWS, methods="P-TD(weighting='chance')")
    assert [row["distance"] for row in alone.rows] == [None, None]


def test_tasks_whose_distance_to_gold_is_unknown_do_not_count() -> None:
    nan = float("nan")
    domain = allalike.Custom(distance=[[0, 1, 2], [1, 0, nan], [2, nan, 0]])
    rows = [(worker, task, label) for task, label in ((1, 0), (2, 1)) for worker in "abc"]
    found = compare(rows, domain=domain, gold={1: 1, 2: 2}, methods="P-TD")
    assert found.summary["gold"] == {"tasks": 2, "without_answers": 0, "compared": 1}
    assert [row["error"] for row in found.rows] == [1.0, 1.0]
    with pytest.raises(GoldError, match="No task has a gold label"):
        compare(rows, domain=domain, gold={2: 2}, methods="P-TD")


def check_by_hand(printed: dict[str, Any], apart: dict[str, Any]) -> None:
    """Compare what was printed with distances that were computed in another way, by the book."""
    rows = {row["method"]: row for row in printed["methods"]}
    assert rows.keys() == apart.keys()
    means = {name: float(np.mean(values)) for name, values in apart.items()}
    assert [row["error"] for row in printed["methods"]] == pytest.approx(sorted(means.values()))
    best = min((name for name in METHODS if name in means and name != "OA"), key=lambda name: round(means[name], 9))
    assert rows[best]["verdict"] == "best"
    assert printed["best"] == best
    for name, row in rows.items():
        assert row["error"] == pytest.approx(means[name])
        assert row["change"] == pytest.approx(100 * (means[name] / means["UA"] - 1))
        assert row["RI"] == pytest.approx(100 * (means[name] - means["UA"]) / (means[name] + means["UA"]))
        if name not in (best, "OA") and np.ptp(np.subtract(apart[name], apart[best])) > 1e-9:
            p = stats.ttest_rel(apart[name], apart[best]).pvalue
            assert row["p"] == pytest.approx(p)
            assert row["verdict"] == ("worse" if p < 0.05 else "tie")
    assert rows["OA"]["verdict"] == "oracle"


def by_name(printed: str) -> list[str]:
    return [row["method"] for row in json.loads(printed)["methods"]]


def test_a_quiz_on_the_command_line_by_hand(data: Path) -> None:
    answers, truth = data / "quiz_it" / "answer.csv", data / "quiz_it" / "truth.csv"
    printed, _ = run("compare", answers, "--wide", "tasks", "--gold", truth, "--json")
    known = pd.read_csv(truth, index_col="question_id")["truth"]
    read = allalike.read(answers, wide="tasks")
    results = {
        name: allalike.discover(read, method=without_gold(METHODS[name]()), gold=truth).truth
        for name in by_name(printed)
    }
    apart = {name: (known[t["task"]].to_numpy() != t["label"].to_numpy()) * 1.0 for name, t in results.items()}
    check_by_hand(json.loads(printed), apart)
    assert {"UA", "OA", "P-TD", "P-TD-AK", "iP-TD", "D-TD"} <= apart.keys()
