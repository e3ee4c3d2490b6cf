"""`result.plot` returns the report's charts as SVG that stands alone."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

import allalike
from allalike.api.result import Result
from allalike.report.plot import Chart


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
    tree = ET.parse(picture.save(tmp_path / "picture.svg"))
    assert tree.getroot().tag.endswith("svg")
    assert "var(--" not in picture.svg
    assert picture._repr_svg_() == picture.svg


def test_workers_have_their_names_and_not_aliases() -> None:
    texts = {element.text for element in ET.fromstring(discover().plot.workers().svg).iter() if element.text}
    assert {f"<{name}>" for name in range(9)} <= texts
