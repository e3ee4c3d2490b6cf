"""The paragraph for a paper: the method and model that were used, with their own papers and no others."""

from __future__ import annotations

import re
import sys
from dataclasses import replace

import numpy as np
import pytest

import allalike
from allalike.methods.citations import CITATIONS, MODELS
from allalike.report.words import cite
from allalike.telling.summary import Summary
from crowds import samples
from textbook import method_pages, page_of

METHODS = [name for name in allalike.METHODS if name != "auto"]
NUMBERS = ("GTM", "KDE")


def rows_of(errors: list[float], *, tasks: int, seed: int = 0) -> list[samples.Row]:
    """Draw answers of two classes by workers who err this often."""
    rng = np.random.default_rng(seed)
    wrong = rng.random((len(errors), tasks)) < np.array(errors)[:, None]
    truth = rng.random(tasks) < 0.5
    return [(f"w{i}", j, "xy"[int(truth[j] ^ wrong[i, j])]) for i in range(len(errors)) for j in range(tasks)]


@pytest.mark.filterwarnings("ignore::allalike.errors.ConvergenceWarning")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_described_with_its_own_papers(method: str) -> None:
    domain = "real" if method in NUMBERS else "categorical"
    rows: list[samples.Row] = rows_of([0.1, 0.2, 0.2, 0.3, 0.4], tasks=20)
    gold = {task: "x" for _, task, _ in rows} if method == "OA" else None
    if domain == "real":
        rows = samples.crowd("real", seed=1, n=5, m=20)
    text, *references = cite(allalike.discover(rows, domain=domain, method=method, gold=gold).material())
    own = CITATIONS[method]
    assert references == [paper.full for paper in own]
    assert f"method {method}:" in text
    assert all(paper.short in text for paper in own)
    others = {paper.short for papers in CITATIONS.values() for paper in papers} - {paper.short for paper in own}
    assert not [short for short in others if short in text]


@pytest.mark.parametrize(
    ("taken", "errors", "tasks"), [("vote", [0.2] * 3, 30), ("reading", [0.05] * 3 + [0.45] * 6, 200)]
)
def test_of_auto_the_model_that_it_chose_is_described(taken: str, errors: list[float], tasks: int) -> None:
    result = allalike.discover(rows_of(errors, tasks=tasks))
    assert result.summary["reading"]["taken"] == taken
    for each, (model, papers) in MODELS.items():
        reading = {} if each == taken else {"reading": {"taken": each}}
        summary = Summary.from_dict({**result.summary, **reading})
        text, *references = cite(replace(result.material(), summary=summary))
        assert model in text
        assert references == [paper.full for paper in papers]


def test_every_method_has_papers_that_its_page_and_its_docstring_name() -> None:
    assert set(CITATIONS) == set(allalike.METHODS)
    pages = method_pages()
    for name, papers in CITATIONS.items():
        module = sys.modules[allalike.METHODS[name].__module__].__doc__ or ""
        for paper in papers:
            assert paper.full in pages[page_of("methods", name)]
            author, year = re.split(r"\W", paper.short)[0], paper.short[-4:]
            assert name == "auto" or (author in module and year in module), (name, paper.short)
