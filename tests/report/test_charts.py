"""Charts show the numbers they are drawn from, in the order of a tree, and stand alone as SVG."""

import itertools
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.cluster.hierarchy import ClusterNode, leaves_list, linkage, to_tree
from scipy.spatial.distance import squareform

import allalike
from allalike.report.charts import chart_bins, chart_gold, chart_intervals, chart_map
from allalike.report.drawing import Axis
from allalike.report.plot import Chart
from allalike.report.workers import order_leaves
from allalike.result.result import Result

SVG = "{http://www.w3.org/2000/svg}"


def drawn(svg: str | None) -> ElementTree.Element:
    assert svg is not None
    return ElementTree.fromstring(svg)


def crowd(n: int, seed: int = 0) -> list[dict[str, Any]]:
    """Return rows of workers, with all that charts show of them."""
    rng = np.random.default_rng(seed)
    return [
        {
            **dict(zip(("x", "y", "disparity", "error", "value"), rng.random(5).tolist(), strict=True)),
            "alias": f"W{number}",
            "answers": int(rng.integers(1, 90)),
            "group": 1 if number < 2 else "",
            "low": 0.1,
            "high": None if number == 3 else 0.9,
        }
        for number in range(n)
    ]


def marks(svg: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {str(mark.get("aria-label")): mark for mark in svg.iter() if mark.get("aria-label")}


def middle(mark: ElementTree.Element) -> tuple[float, float]:
    """Return the middle of a circle, from its left end and its diameter."""
    x, y, wide = re.findall(r"M([-.\d]+),([-.\d]+)a[-.\d]+,[-.\d]+,0,1,0,([-.\d]+),", str(mark.get("d")))[0]
    return float(x) + float(wide) / 2, float(y)


def test_every_worker_has_a_mark_that_is_seen_on_her_chart() -> None:
    rows = crowd(30)
    for svg in map(drawn, (chart_map(rows, "fault"), chart_gold(rows, "error"))):
        left, top, width, height = (float(part) for part in str(svg.get("viewBox")).split())
        assert set(marks(svg)) == {row["alias"] for row in rows}
        for mark in marks(svg).values():
            points = re.findall(r"[ML]([-.\d]+),([-.\d]+)", str(mark.get("d")))
            assert all(left <= float(x) <= left + width and top <= float(y) <= top + height for x, y in points)


def test_dots_lie_as_the_numbers_do() -> None:
    rows = crowd(12)
    placed = marks(drawn(chart_gold(rows, "error")))
    x, y = np.array([middle(placed[row["alias"]]) for row in rows]).T
    assert np.corrcoef(x, [row["disparity"] for row in rows])[0, 1] == pytest.approx(1, abs=1e-4)
    assert np.corrcoef(y, [row["error"] for row in rows])[0, 1] == pytest.approx(-1, abs=1e-4)


def test_bars_are_as_high_as_there_are_values_and_say_so() -> None:
    values = np.random.default_rng(0).random(200)
    bars = marks(drawn(chart_bins(values, "fault", "workers")))
    counts = [int(label.split(": ")[1].removesuffix(" workers")) for label in bars]
    assert sum(counts) == 200
    heights = np.array([float(bar.get("height", "nan")) for bar in bars.values()])
    assert np.allclose(heights / heights.max(), np.array(counts) / max(counts), atol=1e-3)


def test_intervals_go_from_limit_to_limit_the_best_worker_above() -> None:
    rows = crowd(40)
    svg = drawn(chart_intervals(rows, "error rate"))
    shown = sorted(rows, key=lambda row: row["value"])
    shown = [*shown[:12], *shown[-12:]]
    assert list(marks(svg)) == [row["alias"] for row in shown]
    dots = [middle(mark) for mark in marks(svg).values()]
    assert [y for _, y in dots] == sorted(y for _, y in dots)
    limits = [line for line in svg.iter(f"{SVG}line") if line.get("stroke-width") == "2"]
    assert len(limits) == sum(row["high"] is not None for row in shown)
    slope, start = np.polyfit([row["value"] for row in shown], [x for x, _ in dots], 1)
    ends = np.array([[float(line.get(name, "nan")) for name in ("x1", "x2")] for line in limits])
    assert np.allclose(ends, start + slope * np.array([0.1, 0.9]), atol=0.05)


@pytest.mark.parametrize("low", [0.0, -3.0, 1e6, 1e-9])
@pytest.mark.parametrize("width", [0.0, 1e-7, 0.03, 1.0, 730.0, 1e9])
def test_numbers_of_an_axis_are_different_and_within_it(low: float, width: float) -> None:
    for axis in (Axis.over([low, low + width], 300, ""), Axis.around([low, low + width], 300, "")):
        assert axis.low <= low <= low + width <= axis.high
        assert 2 <= len(axis.ticks) <= 8
        assert len(set(axis.numbers)) == len(axis.numbers)
        assert all(-1e-6 <= axis.place(tick) <= 300 + 1e-6 for tick in axis.ticks)


@pytest.mark.parametrize("number", [1e-320, 1e300, -1e308])
def test_numbers_beyond_drawing_are_drawn_all_the_same(number: float) -> None:
    rows = [{**row, "value": number, "disparity": -number, "error": number} for row in crowd(3)]
    assert drawn(chart_intervals(rows, "rmse")) is not None
    assert drawn(chart_gold(rows, "squared error")) is not None
    assert drawn(chart_bins(np.array([number, 0.0]), "rmse", "workers")) is not None


def distances(n: int, seed: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    places = np.random.default_rng(seed).normal(size=(n, 3))
    return np.asarray(np.sqrt(((places[:, None] - places) ** 2).sum(axis=-1)))


def length(apart: np.ndarray[tuple[int, int], np.dtype[np.float64]], order: list[int]) -> float:
    return float(sum(apart[one, other] for one, other in itertools.pairwise(order)))


def orders(tree: ClusterNode) -> list[list[int]]:
    """List all orders of the leaves of a tree."""
    if tree.left is None or tree.right is None:
        return [[tree.id]]
    both = list(itertools.product(orders(tree.left), orders(tree.right)))
    return [*(one + other for one, other in both), *(other + one for one, other in both)]


@pytest.mark.parametrize("seed", range(5))
def test_the_best_of_all_orders_of_the_tree_is_found(seed: int) -> None:
    apart = distances(8, seed)
    order = order_leaves(apart).tolist()
    possible = orders(to_tree(linkage(squareform(apart), "average")))
    assert order in possible
    assert length(apart, order) == pytest.approx(min(length(apart, each) for each in possible))


def test_no_library_finds_a_better_one() -> None:
    apart = distances(60, 0)
    theirs = leaves_list(linkage(squareform(apart), "average", optimal_ordering=True)).tolist()
    assert length(apart, order_leaves(apart).tolist()) <= length(apart, theirs) + 1e-9


def discover(*, gold: bool = False) -> Result:
    skills = np.linspace(0.95, 0.4, 9)
    rng = np.random.default_rng(3)
    truth = rng.integers(4, size=60)
    answers = np.where(rng.random((9, 60)) < skills[:, None], truth, (truth + rng.integers(1, 4, (9, 60))) % 4)
    rows = [(f"<{name}>", task, "abcd"[label]) for name, row in enumerate(answers) for task, label in enumerate(row)]
    return allalike.discover(rows, gold={task: "abcd"[label] for task, label in enumerate(truth)} if gold else None)


@pytest.mark.parametrize("name", ["workers", "map", "confidence", "errors", "gold"])
def test_a_picture_is_an_svg_that_needs_no_style_sheet(name: str, tmp_path: Path) -> None:
    picture: Chart = getattr(discover(gold=True).plot, name)()
    tree = ElementTree.parse(picture.save(tmp_path / "picture.svg"))
    assert tree.getroot().tag.endswith("svg")
    assert "var(--" not in picture.svg
    assert picture._repr_svg_() == picture.svg


def test_workers_have_their_names_and_not_aliases() -> None:
    texts = {element.text for element in ElementTree.fromstring(discover().plot.workers().svg).iter() if element.text}
    assert {f"<{name}>" for name in range(9)} <= texts
