"""Pictures: what is drawn, and that nothing a user has is refused."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import allalike
from allalike.api.result import Result
from allalike.api.results.plots import plot_comparison
from allalike.errors import UnsupportedError

PLOTS = ("workers", "map", "confidence", "agreement", "faults")
NAMES = ["ada", "bob", "cem", "dora", "eve", "finn", "gil"]


def draw_rows(n_workers: int, n_tasks: int = 40, numbers: bool = False, seed: int = 3) -> tuple[list[Any], list[Any]]:
    rng = np.random.default_rng(seed)
    truth = rng.integers(4, size=n_tasks)
    skill = np.linspace(0.95, 0.4, n_workers)
    rows = []
    for worker in range(n_workers):
        label = np.where(rng.random(n_tasks) < skill[worker], truth, (truth + rng.integers(1, 4, n_tasks)) % 4)
        noisy = truth + rng.normal(size=n_tasks) * (1.2 - skill[worker])
        name = NAMES[worker] if n_workers <= len(NAMES) else f"w{worker:03}"
        shown = noisy.tolist() if numbers else ["abcd"[each] for each in label]
        rows += [(name, task, said) for task, said in enumerate(shown)]
    return rows, list(enumerate(truth.tolist() if numbers else ["abcd"[each] for each in truth]))


@pytest.fixture(scope="module")
def few() -> Result:
    return allalike.discover(draw_rows(7)[0])


@pytest.fixture(scope="module")
def many() -> Result:
    return allalike.discover(draw_rows(60, 20)[0])


@pytest.fixture(scope="module")
def numbers() -> Result:
    return allalike.discover(draw_rows(7, numbers=True)[0])


def names_of(axes: Axes) -> list[str]:
    return [label.get_text() for label in axes.get_yticklabels()]


def legend_of(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_workers_are_drawn_from_the_best_to_the_worst_with_their_limits(few: Result) -> None:
    axes = few.plot.workers()
    table = few.workers.sort_values("error_rate", kind="stable")
    assert names_of(axes) == table["worker"].tolist()
    lines = axes.collections[0].get_segments()  # type: ignore[attr-defined]
    np.testing.assert_allclose([line[:, 0] for line in lines], table[["low", "high"]])
    np.testing.assert_allclose(np.asarray(axes.lines[0].get_xdata()), table["error_rate"])
    assert axes.yaxis_inverted()


def test_of_many_workers_the_best_and_the_worst_are_named_and_the_rest_counted(many: Result) -> None:
    names = names_of(many.plot.workers())
    rates = many.workers["error_rate"].to_numpy().round(12)
    order = many.workers["worker"].iloc[np.argsort(rates, kind="stable")].tolist()
    assert names == [*order[:20], "(20 more)", *order[-20:]]


def test_the_median_is_that_of_all_workers(many: Result) -> None:
    lines = {line.get_label(): line for line in many.plot.workers().lines}
    middle = many.workers["error_rate"].median()
    np.testing.assert_allclose(np.asarray(lines["median worker"].get_xdata()), middle)


def test_a_limit_far_beyond_all_others_is_cut_at_the_edge() -> None:
    import pandas as pd

    from allalike.plots import draw_workers

    table = pd.DataFrame({"worker": ["a", "b"], "value": [1.0, 2.0], "low": [0.5, 0.1], "high": [1.5, np.inf]})
    axes = draw_workers(table.assign(group="", mark="usual"), "rmse")
    assert axes.get_xlim()[1] < 7
    assert "goes on" in legend_of(axes)


def test_those_who_copy_are_ringed_with_their_group_and_lie_close_on_the_map() -> None:
    rows, _ = draw_rows(7, 80)
    copied = [("copy", task, label) for worker, task, label in rows if worker == "gil"]
    result = allalike.discover([*rows, *copied])
    [group] = set(result.workers.set_index("worker")["group"][["gil", "copy"]])
    assert group
    axes = result.plot.workers()
    assert sum(line.get_markersize() == 10 for line in axes.lines) == 2
    assert "copies, with their group" in legend_of(axes)
    on_map = {each.get_label(): np.asarray(each.get_offsets()) for each in result.plot.map().collections}
    rings = on_map["copies, with their group"]
    np.testing.assert_allclose(rings[0], rings[1], atol=1e-9)


def test_a_map_has_a_mark_for_each_worker_and_at_most_40_names(many: Result) -> None:
    axes = many.plot.map()
    assert sum(len(np.asarray(each.get_offsets())) for each in axes.collections) == 60
    assert 0 < len(axes.texts) <= 40
    assert axes.get_aspect() == 1


def test_a_map_is_the_same_for_rows_in_another_order() -> None:
    rows, _ = draw_rows(7)
    several = [allalike.discover(each, method="P-TD") for each in (rows, rows[::-1])]
    places = [np.asarray(result.plot.map().collections[0].get_offsets()) for result in several]
    np.testing.assert_allclose(places[0], places[1], atol=1e-9)


def test_confidence_counts_each_task_once_and_tells_the_mean(few: Result) -> None:
    axes = few.plot.confidence()
    assert sum(bar.get_height() for bar in axes.patches) == 40  # type: ignore[attr-defined]
    assert f"mean {few.truth['confidence'].mean():.3f}" in legend_of(axes)


def test_of_numbers_the_widths_of_limits_are_drawn(numbers: Result) -> None:
    axes = numbers.plot.confidence()
    assert sum(bar.get_height() for bar in axes.patches) == 40  # type: ignore[attr-defined]
    assert "unit of the labels" in axes.get_xlabel()
    assert "unit of the labels" in numbers.plot.workers().get_xlabel()


def test_a_matrix_has_the_distances_of_the_agreement_in_an_order_of_neighbours(few: Result) -> None:
    axes = few.plot.agreement()
    names = names_of(axes)
    assert sorted(names) == NAMES
    assert few.agreement.matrix is not None
    np.testing.assert_allclose(np.asarray(axes.images[0].get_array()), few.agreement.matrix.loc[names, names])
    assert axes.get_title().startswith(f"Krippendorff's alpha {few.agreement.alpha:.2f} (")


def test_pairs_who_never_met_are_left_open() -> None:
    axes = allalike.discover([("a", 1, "x"), ("b", 1, "y"), ("b", 2, "x"), ("c", 2, "x")]).plot.agreement()
    assert np.isnan(np.asarray(axes.images[0].get_array(), np.float64)).sum() == 2
    assert axes.patch.get_hatch()


def test_a_matrix_of_many_workers_names_none(many: Result) -> None:
    axes = many.plot.agreement()
    assert names_of(axes) == []
    assert axes.get_xlabel() == "60 workers; neighbours agree"


def test_faults_are_counted_and_where_truths_are_known_drawn_against_disparity(few: Result) -> None:
    assert sum(bar.get_height() for bar in few.plot.faults().patches) == 7  # type: ignore[attr-defined]
    rows, gold = draw_rows(7)
    known = allalike.discover(rows, gold=dict(gold), method="P-TD")
    dots = np.asarray(known.plot.faults().collections[0].get_offsets())
    wrong = [np.mean([label != dict(gold)[task] for who, task, label in rows if who == name]) for name in NAMES]
    np.testing.assert_allclose(dots, np.column_stack([known.workers["disparity"], wrong]))
    assert known.plot.faults().get_title(loc="left").startswith("rank correlation ")


def test_a_comparison_draws_each_method_with_limits_around_its_error() -> None:
    rows, gold = draw_rows(7)
    found = allalike.compare(rows, gold=dict(gold), methods=["P-TD", "DS"])
    axes = found.plot()
    assert names_of(axes) == found.table["method"].tolist()
    error = found.table["error"].to_numpy()
    for (low, high), value in zip((line[:, 0] for line in axes.collections[0].get_segments()), error, strict=True):  # type: ignore[attr-defined]
        assert low <= value <= high
    assert "best" in legend_of(axes)


def test_without_gold_a_comparison_draws_how_much_methods_agree() -> None:
    found = allalike.compare(draw_rows(5, 9)[0], methods=["P-TD"])
    assert found.plot().get_xlabel().startswith("share of truths")


def test_a_method_that_failed_is_named() -> None:
    rows: list[dict[str, Any]] = [
        {"method": "UA", "error": 0.1, "verdict": "best"},
        {"method": "DS", "error": None, "verdict": "failed"},
    ]
    axes = plot_comparison(rows, {"UA": np.array([0.0, 0.2])}, "error")
    assert names_of(axes)[-1] == "DS"
    assert [text.get_text() for text in axes.texts] == ["failed"]


def test_axes_that_are_given_are_drawn_on(few: Result) -> None:
    for plot, axes in zip(PLOTS, Figure().subplots(1, len(PLOTS)), strict=True):
        assert getattr(few.plot, plot)(ax=axes) is axes
        assert axes.has_data()


def test_pyplot_and_its_settings_are_left_alone(few: Result) -> None:
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    for plot in PLOTS:
        getattr(few.plot, plot)()
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == before


def test_a_notebook_shows_the_same_picture_twice(few: Result) -> None:
    one, two = (few.plot.map()._repr_png_() for _ in range(2))  # type: ignore[attr-defined]
    assert one.startswith(b"\x89PNG")
    assert one == two


CROWDS: dict[str, Callable[[], Result]] = {
    "one answer": lambda: allalike.discover([("a", 1, "x")], domain="categorical"),
    "one worker": lambda: allalike.discover([("a", 1, "x"), ("a", 2, "y")], domain="categorical"),
    "one task": lambda: allalike.discover([("a", 1, "x"), ("b", 1, "y"), ("c", 1, "x")]),
    "no peers": lambda: allalike.discover([("a", 1, "x"), ("b", 2, "y"), ("c", 3, "x")]),
    "equal answers": lambda: allalike.discover([(worker, task, "x") for worker in "abc" for task in range(4)]),
    "equal numbers": lambda: allalike.discover([(worker, task, 1.0) for worker in "abc" for task in range(4)]),
    "one number": lambda: allalike.discover([("a", 1, 2.0)], domain="real"),
    "UA of numbers": lambda: allalike.discover(draw_rows(3, 5, numbers=True)[0], method="UA"),
    "texts": lambda: allalike.discover([("a", 1, "a b"), ("b", 1, "a c"), ("c", 1, "a b")], domain="text"),
}


@pytest.mark.parametrize("crowd", CROWDS)
def test_every_crowd_can_be_drawn(crowd: str) -> None:
    result = CROWDS[crowd]()
    axes = Figure().subplots()
    for plot in PLOTS:
        assert getattr(result.plot, plot)(ax=axes) is axes


def test_names_that_look_like_formulas_are_written_as_they_are() -> None:
    result = allalike.discover([("$a$", 1, "x"), ("$", 1, "x"), ("", 1, "y"), ("_\n\t", 1, "y")])
    figure = Figure()
    for plot, axes in zip(("workers", "map", "agreement"), figure.subplots(1, 3), strict=True):
        getattr(result.plot, plot)(ax=axes)
    figure.draw_without_rendering()
    assert {"$a$", "$", "", "_  "} == set(names_of(figure.axes[0]))


def test_tasks_that_are_problems_of_their_own_can_be_drawn() -> None:
    rows = [(worker, task, label) for task in range(3) for worker, label in zip("abc", "xxy", strict=True)]
    result = allalike.discover(allalike.read(rows).per_task(), method="P-TD")
    assert "a (0)" in names_of(result.plot.workers())
    for plot in PLOTS:
        assert getattr(result.plot, plot)().figure is not None


def test_where_matplotlib_is_missing_it_is_said_how_to_get_it(few: Result, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("allalike.plots", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr("allalike.plots", raising=False)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'allalike\[plots\]'"):
        few.plot.workers()
