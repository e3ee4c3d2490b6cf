"""Figures: what is drawn is what the experiments found, and the files are the same every time."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure as Canvas

from allalike.datasets import DATASETS
from allalike.errors import DataError, OutputError, UnsupportedError
from crowd_data import load
from crowds.samples import RUNNING_EXAMPLE
from paper.experiments import Results, Sampler, Setting, run
from paper.experiments.settings import CHUNK
from paper.figures import FIGURES, Figure, save
from paper.figures.faults import disparities
from paper.figures.lines import draw_lines
from paper.figures.matrices import pair_matrix
from paper.figures.panels import SYNTHETIC, VARIANTS
from paper.figures.style import look_of
from paper.reported_tables import TABLES, interpret_row

pytestmark = pytest.mark.slow


@pytest.fixture
def here(data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let data sets be found."""
    monkeypatch.setenv("ALLALIKE_DATA", str(data))
    return data


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let no data set be found but those of an empty folder."""
    monkeypatch.setenv("ALLALIKE_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "data"


def made_up(settings: list[Setting]) -> Results:
    """Make up errors, for tests of drawing alone."""
    rng = np.random.default_rng(0)
    return Results({setting: {method: rng.random(CHUNK) for method in setting.methods} for setting in settings})


def drawn(figure: Figure, results: Results) -> Canvas:
    canvas = Canvas()
    figure.draw(results, canvas)
    return canvas


def write_own(folder: Path, workers: int, tasks: int) -> None:
    """Write a data set that everyone brings herself."""
    folder.mkdir(parents=True)
    rows = [f"w{worker},t{task},{(worker + task) % 2}" for worker in range(workers) for task in range(tasks)]
    (folder / "answers.csv").write_text("\n".join(["worker,task,label", *rows]))
    (folder / "truth.csv").write_text("\n".join(["task,label", *(f"t{task},{task % 2}" for task in range(tasks))]))


def test_a_figure_says_what_it_shows() -> None:
    for name, figure in FIGURES.items():
        assert name == figure.name
        assert name not in TABLES
        assert figure.title
        assert figure.caption.endswith(".")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.long if "all" in name or place % 3 else ())
        for place, name in enumerate(FIGURES)
        if "disparity" not in name
    ],
)
def test_every_figure_is_drawn_with_a_panel_for_each_crowd(name: str, here: Path) -> None:
    figure = FIGURES[name]
    settings = figure.settings()
    canvas = drawn(figure, made_up(settings))
    panels = [axes for axes in canvas.get_axes() if axes.get_visible() and axes.axison]
    assert len(panels) >= len({setting.source for setting in settings})
    assert all(axes.has_data() for axes in panels)


def test_every_sample_of_a_figure_can_be_drawn_from_its_data(here: Path) -> None:
    asked = [(setting, figure.repetitions) for figure in FIGURES.values() for setting in figure.settings()]
    asked = [(setting, repetitions) for setting, repetitions in asked if setting.source in DATASETS]
    crowds = {source: load(source).answers for source in {setting.source for setting, _ in asked}}
    for setting, repetitions in asked:
        answers = crowds[setting.source]
        assert setting.tasks <= len(answers.gold_task)
        if setting.workers <= np.diff(answers.starts)[answers.gold_task].min():
            continue
        # More than answered some tasks: how many answered any of those that are drawn depends on the draw.
        for chunk in range(repetitions // CHUNK):
            rng = np.random.default_rng([setting.seed, chunk])
            sampler = Sampler(answers)
            assert sampler.draw(workers=setting.workers, tasks=setting.tasks, samples=CHUNK, rng=rng)


def test_lines_and_tables_come_from_the_same_samples() -> None:
    rows = [row for row in TABLES["table-2"].rows if row.dataset.startswith("SYN")]
    of_tables = {interpret_row(row).setting(["P-TD-D", "iP-TD"]).key for row in rows}
    of_lines = {setting.key for sweep in SYNTHETIC for setting in sweep.settings()}
    assert len(of_tables) == 4
    assert of_tables <= of_lines


def test_a_line_goes_through_the_mean_errors() -> None:
    settings = VARIANTS[0].over_tasks()
    results = made_up(settings)
    axes = Canvas().subplots()
    draw_lines(axes, results, settings, along="tasks")
    (oracle,) = [line for line in axes.lines if line.get_marker() == look_of("OA").mark]
    assert np.array_equal(oracle.get_xdata(), VARIANTS[0].tasks)
    means = [results.errors[setting]["OA"].mean() for setting in settings]
    np.testing.assert_allclose(np.asarray(oracle.get_ydata(), float), means)


def test_a_relative_line_goes_through_shares_of_the_error_of_ua() -> None:
    settings = VARIANTS[0].over_tasks()
    results = made_up(settings)
    axes = Canvas().subplots()
    draw_lines(axes, results, settings, along="tasks", relative=True)
    lines = {line.get_marker(): np.asarray(line.get_ydata(), float) for line in axes.lines}
    np.testing.assert_allclose(lines[look_of("UA").mark], 1.0)
    shares = [results.errors[setting]["OA"].mean() / results.errors[setting]["UA"].mean() for setting in settings]
    np.testing.assert_allclose(lines[look_of("OA").mark], shares)


def test_ridges_are_good_for_few_tasks_and_none_for_many() -> None:
    few, many = VARIANTS[0].over_tasks()[1], VARIANTS[0].over_tasks()[-1]
    results = run([few, many], repetitions=100, jobs=1)
    error = {setting: {score.method: score for score in results.scores(setting)} for setting in (few, many)}
    zero, four = (f"P-TD-AK(ridge={ridge}, nonpositive='clip')" for ridge in (0, 4))
    assert error[few][four].error < error[few][zero].error
    assert error[many]["OA"].error < error[many][zero].error < error[many][four].error
    # The variance of a worker is the square of |N(1, 0.5)|, 1.25 on average, and the mean of five has a fifth of it.
    # The pool has 500 workers, which adds to the error of the estimate.
    assert abs(error[many]["UA"].error - 1.25 / 5) < 3 * error[many]["UA"].error_se + 0.02


def test_methods_in_one_panel_look_different() -> None:
    for figure in FIGURES.values():
        for setting in figure.settings():
            looks = [look_of(method) for method in setting.methods]
            assert len({(look.colour, look.dashes) for look in looks}) == len(looks)
            assert len({(look.colour, look.mark) for look in looks}) == len(looks)


def test_disparities_are_those_of_all_pairs(here: Path) -> None:
    _, disparity, fault = disparities("IT")
    answers = load("IT").answers
    table = np.empty((len(answers.workers), len(answers.tasks)))
    table[answers.worker, np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))] = answers.label
    apart = (table[:, None] != table[None]).mean(axis=2)
    np.testing.assert_allclose(disparity, apart.sum(axis=1) / (len(table) - 1))
    np.testing.assert_allclose(fault, (table != answers.gold_label).mean(axis=1))


def test_points_of_workers_who_are_alike_grow(here: Path) -> None:
    canvas = drawn(FIGURES["figure-disparity"], Results({}))
    rankings: Any = canvas.get_axes()[2].collections[0]
    assert rankings.get_offsets().shape == (24, 2)
    assert np.ptp(rankings.get_sizes()) > 10


def test_the_pairs_of_workers_solve_to_the_faults_of_the_running_example() -> None:
    apart = np.square(RUNNING_EXAMPLE[:, None] - RUNNING_EXAMPLE[None]).mean(axis=2)
    distances = [apart[i, j] for i in range(5) for j in range(5) if i != j]
    faults = np.linalg.lstsq(pair_matrix(5), np.array(distances), rcond=None)[0]
    np.testing.assert_allclose(faults, [-25.9583, 121.0417, 365.9583, 137.2917, 268.7917], atol=5e-5)


def test_the_example_shows_the_answers_of_the_table() -> None:
    axes = drawn(FIGURES["figure-example"], Results({})).get_axes()
    collections: list[Any] = [panel.collections for panel in axes]
    shown = [{dots.get_label(): dots.get_offsets()[0] for dots in panel} for panel in collections]
    np.testing.assert_allclose(shown[0]["unweighted (UA)"], [82, 2.2])
    np.testing.assert_allclose(shown[1]["unweighted (UA)"], [47, -9])
    np.testing.assert_allclose(shown[0]["oracle (OA)"], [83.6657, 0.9133], atol=5e-5)
    np.testing.assert_allclose(shown[1]["P-TD-AK"], [43.554, -11.391], atol=5e-4)


def test_equal_results_give_equal_files(tmp_path: Path) -> None:
    figure = FIGURES["figure-variants"]
    results = made_up(figure.settings())
    before = dict(matplotlib.rcParams)
    once, again = (save(figure, results, tmp_path / name) for name in ("once", "again"))
    assert [path.suffix for path in once] == [".png", ".svg"]
    assert [path.read_bytes() for path in once] == [path.read_bytes() for path in again]
    assert sorted(path.name for path in (tmp_path / "once").iterdir()) == [path.name for path in once]
    assert dict(matplotlib.rcParams) == before


@pytest.mark.long
def test_figures_need_neither_matplotlib_nor_pyplot_before_they_are_drawn() -> None:
    code = (
        "import sys; from paper.experiments import Results; from paper.figures import FIGURES, save;"
        "early = 'matplotlib' in sys.modules; import tempfile;"
        "save(FIGURES['figure-matrices'], Results({}), tempfile.mkdtemp());"
        "print(early, 'matplotlib.pyplot' in sys.modules)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.split() == ["False", "False"]


def test_without_matplotlib_one_is_told_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UnsupportedError, match=r"pip install matplotlib"):
        save(FIGURES["figure-matrices"], Results({}), tmp_path)


def test_data_that_are_not_here_are_left_out(nowhere: Path) -> None:
    assert FIGURES["figure-real"].settings() == []
    figure = FIGURES["figure-categorical-all"]
    settings = figure.settings()
    assert {setting.source for setting in settings} == {"binary SYN.N", "binary SYN.HS", "k=4 SYN"}
    assert {"Chinese", "Pred.T1", "GG"} <= set(figure.missing())
    panels = [axes for axes in drawn(figure, made_up(settings)).get_axes() if axes.get_visible()]
    assert len(panels) == 6


def test_a_figure_without_any_data_is_refused(nowhere: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="figure-rules shows DOTS3, .*allalike datasets fetch"):
        save(FIGURES["figure-rules"], Results({}), tmp_path / "figures")
    assert not (tmp_path / "figures").exists()


def test_own_data_are_drawn_in_the_sizes_that_they_have(nowhere: Path) -> None:
    write_own(nowhere / "GG", workers=12, tasks=16)
    figure = FIGURES["figure-categorical-all"]
    settings = [setting for setting in figure.settings() if setting.source == "GG"]
    assert max(setting.workers for setting in settings) == 10
    assert max(setting.tasks for setting in settings) == 15
    titles = [axes.get_title(loc="left") for axes in drawn(figure, made_up(figure.settings())).get_axes()]
    assert "GG, m = 15" in titles


def test_own_data_that_are_too_few_leave_an_empty_panel(nowhere: Path) -> None:
    write_own(nowhere / "GG", workers=4, tasks=3)
    figure = FIGURES["figure-categorical-all"]
    settings = figure.settings()
    assert "GG" not in {setting.source for setting in settings}
    off = [axes.get_title(loc="left") for axes in drawn(figure, made_up(settings)).get_axes() if not axes.axison]
    assert off == ["GG, m = 15", "GG, n = 10"]


def test_a_place_that_cannot_be_written_to_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="file.figure-matrices.png cannot be written"):
        save(FIGURES["figure-matrices"], Results({}), tmp_path / "file")


@pytest.mark.long
def test_voting_rules_are_compared_on_real_rankings(here: Path) -> None:
    figure = FIGURES["figure-rules"]
    results = run(figure.settings(), repetitions=200, jobs=1)
    axes = drawn(figure, results).get_axes()[0]
    rules = [text.get_text() for text in axes.get_yticklabels()]
    means = {
        setting.rule: results.errors[setting]["UA"].mean() for setting in figure.settings() if setting.rule in rules
    }
    assert set(means) == set(rules)
    # A random worker is the best worker of UA: its error is the mean fault, which is that of all rankings.
    fault = disparities("DOTS3")[2].mean()
    assert abs(means["best worker"] - fault) < 0.06
    assert means["borda"] < means["best worker"]
