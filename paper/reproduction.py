"""Reproduction: the experiments behind the paper's tables and figures, run again, and what comes out written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.options import check_number
from allalike._core.registry import find
from allalike._core.system.files import Output, list_files
from allalike._core.system.progress import report
from paper.cells import fill, settings_of
from paper.experiments.runner import Results, run
from paper.figures import FIGURES, save
from paper.figures.base import matplotlib
from paper.markup import to_latex, to_markdown, to_records
from paper.page import Page, count_close, counted
from paper.reported_tables import TABLES

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

    from paper.cells import Section
    from paper.experiments.settings import Setting
    from paper.figures import Figure
    from paper.reported_tables import Table

__all__ = ["ITEMS", "Reproduction", "reproduce"]

FEWER = {"MAS": 200}
_EXAMPLE = "table-1"
_PAGES = "evidence"  # as in docs, so that what is written can be copied there

ITEMS: dict[str, str] = {
    _EXAMPLE: "the running example",
    **{name: table.title for name, table in TABLES.items()},
    **{name: figure.title for name, figure in FIGURES.items()},
}


@dataclass(frozen=True, kw_only=True)
class Reproduction:
    """What was written, and how close it is to the paper.

    Parameters
    ----------
    page
        The path of the page.
    files
        All files, by path.
    counts
        Of each table: how many numbers are compared, and how many are within some points of the paper.
    missing
        Labels of rows and data sets of figures for which there are no data here.

    >>> made = Reproduction(page=Path("out", "REPRODUCTION.md"), files=[], counts={}, missing=["GG"])
    >>> made.missing
    ['GG']
    """

    page: Path
    files: list[Path]
    counts: dict[str, dict[str, Any]]
    missing: list[str]


def reproduce(
    names: Iterable[str] = (),
    *,
    folder: str | os.PathLike[str] = "reproduction",
    repetitions: int = 1000,
    jobs: int | None = None,
    as_labelled: bool = False,
) -> Reproduction:
    """Make tables and figures of the paper again, beside what it prints.

    Parameters
    ----------
    names
        Names of `ITEMS`; all if none is given.
    folder
        Where the files go: ``evidence/`` (the page and ``results.csv``) and ``pictures/``, as ``docs/`` has them;
        ``tables/``; and in ``chunks/`` all that was computed, from which an interrupted run goes on.
    repetitions
        How often experiments are repeated, in whole hundreds. Figures have at most their own number, MAS 200.
    jobs
        How many processes; by default one for each core.
    as_labelled
        Whether to take the labels of the paper as they are, and not to put its slips right.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     made = reproduce(["table-1", "figure-matrices"], folder=folder)
    ...     sorted(path.name for path in made.files)
    ['REPRODUCTION.md', 'figure-matrices.png', 'figure-matrices.svg']
    """
    check_number(repetitions, "repetitions", least=1, whole=True)
    chosen = [find(name, {item: item for item in ITEMS}, "table or figure") for name in names] or list(ITEMS)
    tables = [TABLES[name] for name in chosen if name in TABLES]
    figures = [FIGURES[name] for name in chosen if name in FIGURES]
    if figures:
        matplotlib()
    target = Path(folder)
    output = Output(folder=target, overwrite=True, failure=f"{target} cannot be written to")
    output.check([])  # before hours of work
    batches = _batches(tables, figures, repetitions, as_labelled=as_labelled)
    results = _run(batches, jobs, target / "chunks")
    filled = {table.name: fill(table, results, as_labelled=as_labelled) for table in tables}
    shown = [figure for figure in figures if not figure.sources or len(figure.missing()) < len(figure.sources)]
    page = Page(
        example=_EXAMPLE in chosen,
        tables=filled,
        figures=shown,
        repetitions=repetitions,
        fewer=FEWER,
        as_labelled=as_labelled,
    )
    end = "-as-labelled" if as_labelled else ""
    files = _write(output, page, results, end)
    counts = {name: count_close(cell for _, cell in counted({name: sections})) for name, sections in filled.items()}
    return Reproduction(
        page=target / _PAGES / f"REPRODUCTION{end}.md", files=files, counts=counts, missing=_missing(page)
    )


def _batches(
    tables: Sequence[Table], figures: Sequence[Figure], repetitions: int, *, as_labelled: bool
) -> dict[int, list[Setting]]:
    """Put experiments together that are repeated equally often."""
    batches: dict[int, list[Setting]] = {}
    for table in tables:
        batches.setdefault(repetitions, []).extend(settings_of(table, as_labelled=as_labelled))
    for figure in figures:
        batches.setdefault(min(repetitions, figure.repetitions), []).extend(figure.settings())
    return batches


def _run(batches: dict[int, list[Setting]], jobs: int | None, folder: Path) -> Results:
    """Run the batches; where two have the same experiment, that with more repetitions counts."""
    errors: dict[Setting, Any] = {}
    for repetitions, settings in sorted(batches.items()):
        errors |= run(settings, repetitions=repetitions, fewer=FEWER, jobs=jobs, folder=folder).errors
    return Results(errors)


def _missing(page: Page) -> list[str]:
    lines = [line for sections in page.tables.values() for section in sections for line in section.lines]
    absent = [line.row.dataset for line in lines if not any(cell.score for cell in line.cells)]
    return list(dict.fromkeys([*absent, *(name for figure in page.figures for name in figure.missing())]))


def _write(output: Output, page: Page, results: Results, end: str) -> list[Path]:
    report("writing tables and figures")
    with output.staged() as stage:
        records = []
        for name, sections in page.tables.items():
            some = to_records(TABLES[name], sections)
            _write_table(stage / "tables" / f"{name}{end}", TABLES[name], sections, some)
            records += some
        for figure in page.figures:
            save(figure, results, stage / "pictures")
        pages = stage / _PAGES
        pages.mkdir()
        if records:
            _write_csv(pages / f"results{end}.csv", records)
        (pages / f"REPRODUCTION{end}.md").write_text(page.write(), encoding="utf-8")
        names = list_files(stage)
    return [output.folder / name for name in names]


def _write_table(stem: Path, table: Table, sections: Sequence[Section], records: list[dict[str, Any]]) -> None:
    stem.parent.mkdir(exist_ok=True)
    stem.with_suffix(".md").write_text(f"{to_markdown(sections)}\n", encoding="utf-8")
    stem.with_suffix(".tex").write_text(to_latex(table, sections), encoding="utf-8")
    _write_csv(stem.with_suffix(".csv"), records)


def _write_csv(path: Path, records: list[dict[str, Any]]) -> None:
    import pandas as pd

    pd.DataFrame(records).to_csv(path, index=False, float_format="%.6g", lineterminator="\n")
