"""Generated crowds: what is drawn, what is written, and that it can be read back."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from scipy import stats

import allalike
from allalike.cli.discover import discover as discover_command
from allalike.cli.simulate import simulate as simulate_command
from allalike.errors import AllalikeError, OutputError
from allalike.simulation import MODELS, Copiers, as_model, simulate
from allalike.simulation.simulated import Drawn
from crowds.estimates import improvement
from crowds.samples import weights_of
from running.turns import in_turn
from running.updates import flat

pytestmark = pytest.mark.slow

SMALL = {"masks": "masks(height=24, width=32)"}  # what would take long


def run(*arguments: str) -> Result:
    return CliRunner().invoke(simulate_command, arguments, catch_exceptions=True)


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("REAL SYN.N", "real SYN.N"),
        ("real-syn-n", "real SYN.N"),
        ("binary hs", "binary SYN.HS"),
        ("k4 SYN", "k=4 SYN"),
        ("rank HS", "ranking SYN.HS"),
        ("Gauss", "gaussian"),
        ("interval", "intervals"),
        ("mallows(items=3)", "mallows"),
    ],
)
def test_a_name_may_be_short_as_long_as_it_is_clear(asked: str, name: str) -> None:
    assert as_model(asked).name == name


def test_real_crowds_are_as_the_paper_says() -> None:
    crowd = simulate("real SYN.N", workers=2000, tasks=1000).drawn
    labels = table_of(crowd)
    assert labels.shape == (2000, 1000)
    assert stats.kstest(crowd.truth / 2, "norm").pvalue > 1e-3
    assert stats.kstest(crowd.parameters["sd"], stats.truncnorm(-2, 18, 1, 0.5).cdf).pvalue > 1e-3
    realised = (labels - crowd.truth).std(axis=1)
    np.testing.assert_allclose(realised, crowd.parameters["sd"], rtol=4.5 * np.sqrt(0.5 / 1000))
    np.testing.assert_allclose(crowd.faults, crowd.parameters["sd"] ** 2)
    text = simulate("real SYN.N(reading='variance')", workers=2000, tasks=1).drawn
    np.testing.assert_allclose(text.faults, crowd.parameters["sd"])  # the same draws, read as variances


def test_crowds_of_classes_are_as_the_paper_says() -> None:
    binary = simulate("binary SYN.N", workers=3000, tasks=10).drawn
    four = simulate("k=4 SYN", workers=3000, tasks=40).drawn
    assert stats.kstest(binary.faults, stats.truncnorm(-0.35 / 0.15, 0.65 / 0.15, 0.35, 0.15).cdf).pvalue > 1e-3
    assert np.bincount(binary.truth).tolist() == [5, 5]
    assert np.bincount(four.truth).tolist() == [10] * 4
    assert (four.faults == 1).mean() == pytest.approx(stats.norm.sf(4 / 3), abs=0.02)
    spammers = simulate("binary SYN.HS", workers=3000, tasks=2).drawn.faults
    assert (spammers == 0.2).mean() == pytest.approx(0.2, abs=0.03)
    assert set(np.unique(spammers)) == {0.2, 0.5}


def test_rankings_of_the_paper_are_one_question_about_six_items() -> None:
    crowd = simulate("ranking SYN.HS", workers=5000).drawn
    assert crowd.label.shape == (5000, 6)
    assert set(np.unique(crowd.parameters["phi"])) == {0.3, 0.99}
    clipped = simulate("ranking SYN.N", workers=5000).drawn.parameters["phi"]
    assert (clipped == 1).mean() == pytest.approx(stats.norm.sf(0.35 / 0.15), abs=0.005)


def table_of(drawn: Drawn) -> npt.NDArray[Any]:
    """Return the labels of a crowd in which everyone answers everything: a row per worker, a column per task."""
    return drawn.label.reshape(len(drawn.truth), -1).T


def samples(crowd: Drawn, repetitions: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Draw ten workers and fifteen tasks, again and again."""
    rng = np.random.default_rng(1)
    who = rng.permuted(np.tile(np.arange(len(crowd.faults)), (repetitions, 1)), axis=1)[:, :10]
    what = rng.permuted(np.tile(np.arange(len(crowd.truth)), (repetitions, 1)), axis=1)[:, :15]
    return table_of(crowd)[who[:, :, None], what[:, None]], crowd.truth[what]


@pytest.mark.parametrize(("outside", "within", "repetitions"), [("fold", 1.2, 500), ("truncate", 3.0, 200)])
def test_numbers_of_the_paper_come_out_with_its_real_crowd(outside: str, within: float, repetitions: int) -> None:
    """Its text truncates the standard deviations; its tables fit better if negative ones count by their size.

    That is what happens when nothing is truncated, because a Gaussian error of -0.3 times a draw is one of 0.3 times.
    """
    spec = f"""real SYN.N(population="normal(mean=1, sd=0.5, high=10, outside='{outside}')")"""
    answers, truth = samples(simulate(spec, workers=2000, tasks=500).drawn, repetitions)
    unweighted = np.square(answers.mean(axis=1) - truth).mean(axis=1)
    for method, printed in ((allalike.PTD(), -20), (allalike.IPTD(), -25)):
        weight = weights_of(answers, method)
        error = np.square(np.einsum("rn,rnm->rm", weight, answers) - truth).mean(axis=1)
        assert improvement(error, unweighted).mean() == pytest.approx(printed, abs=within)


@pytest.mark.parametrize(
    ("name", "method", "printed", "tasks"),
    [
        ("ranking SYN.N", "P-TD(weighting='inverse')", -4, 600),
        ("ranking SYN.HS", "P-TD(weighting='inverse')", -4, 600),
        pytest.param("ranking SYN.N", "iP-TD(weighting='inverse')", -6, 4000, marks=pytest.mark.long),
        pytest.param("ranking SYN.HS", "iP-TD(weighting='inverse')", -10, 4000, marks=pytest.mark.long),
    ],
)
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_numbers_of_the_paper_come_out_with_its_ranking_crowds(
    name: str, method: str, printed: float, tasks: int
) -> None:
    crowd = simulate(name, workers=2000, tasks=tasks, answers_per_task=10)
    result = allalike.discover(crowd.answers.per_task(), method=method, gold=crowd.truth)
    error, unweighted = (result.found.joined().found[found] for found in ("gold", "unweighted_gold"))
    assert improvement(error, unweighted).mean() == pytest.approx(printed, abs=1.2)


@pytest.mark.parametrize("copiers", [0, 4])
@pytest.mark.parametrize("name", MODELS)
def test_faults_are_the_mean_distance_to_the_truth_by_the_distance_of_the_domain(name: str, copiers: int) -> None:
    tasks = 150 if name == "masks" else 400 if name == "intervals" else 2000
    crowd = simulate(
        SMALL.get(name, name), workers=8, tasks=tasks, copiers=Copiers(number=copiers, fidelity=0.6), seed=3
    )
    oracle = allalike.discover(crowd.answers, method="OA", gold=crowd.truth).workers
    assert oracle["worker"].tolist() == list(crowd.faults)
    # four standard errors; a squared error has the spread of its mean, times the root of two
    spread = np.sqrt(2) * crowd.drawn.faults if "bias" in crowd.drawn.parameters else 0.35
    off = np.abs(oracle["mean_error"].to_numpy() - crowd.drawn.faults)
    assert (off < 4 * spread / np.sqrt(tasks) + (0.03 if tasks < 1000 else 0) + 1e-9).all()


def test_a_bias_counts_in_the_fault() -> None:
    spec = "gaussian(bias='fixed(values=(0, 3))', population='fixed(values=1)')"
    crowd = simulate(spec, workers=2, tasks=20_000).drawn
    assert crowd.faults.tolist() == [1, 10]
    np.testing.assert_allclose(np.square(table_of(crowd) - crowd.truth).mean(axis=1), crowd.faults, rtol=0.05)


@pytest.mark.parametrize("each", [1, 2, 3, 4])
def test_every_group_of_workers_is_as_likely_to_be_asked(each: int) -> None:
    drawn = simulate("binary SYN.N", workers=5, tasks=20_000, answers_per_task=each).drawn
    chosen = drawn.worker.reshape(-1, each)
    assert (np.diff(chosen, axis=1) > 0).all()
    np.testing.assert_array_equal(drawn.task.reshape(-1, each)[:, 0], np.arange(20_000))
    _, counts = np.unique(chosen, axis=0, return_counts=True)
    assert len(counts) == {1: 5, 2: 10, 3: 10, 4: 5}[each]
    assert stats.chisquare(counts).pvalue > 1e-3


def test_a_worker_is_the_same_whatever_the_number_of_tasks_and_a_seed_is_a_crowd() -> None:
    few, many = (simulate("real SYN.N", workers=6, tasks=tasks, seed=4) for tasks in (5, 50))
    assert few.faults == many.faults
    again, other = (simulate("real SYN.N", workers=6, tasks=5, seed=seed) for seed in (4, 5))
    np.testing.assert_array_equal(few.drawn.label, again.drawn.label)
    assert few.faults != other.faults


def test_copiers_agree_with_their_source_and_raise_each_others_weight() -> None:
    plain = simulate("real SYN.N", workers=12, tasks=200, seed=6)
    cloned = simulate("real SYN.N", workers=12, tasks=200, copiers=Copiers(number=5, sources=1), seed=6)
    copies = cloned.workers.set_index("worker")["copies"]
    source = (set(copies) - {""}).pop()
    labels = {w: cloned.drawn.label[cloned.drawn.worker == i] for i, w in enumerate(cloned.faults)}
    for copier in copies.index[copies != ""]:
        np.testing.assert_array_equal(labels[copier], labels[source])
        assert cloned.faults[copier] == pytest.approx(cloned.faults[source], rel=1e-12)
    weights = [
        allalike.discover(crowd.answers, method="P-TD").workers.set_index("worker")["weight"]
        for crowd in (plain, cloned)
    ]
    assert weights[1][source] > weights[0][source]


@pytest.mark.parametrize("name", in_turn(MODELS, 3))
def test_what_is_written_is_discovered_as_what_was_drawn(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = SMALL.get(name, name)
    ending = "" if name == "masks" else ".parquet" if name == "two-coin" else ".csv"
    sizes = ["--tasks", "12", "--workers", "7", "--seed", "8", "--answers-per-task", "5"]
    done = run(model, "-o", f"answers{ending}", "--truth", f"truth{ending}", *sizes)
    assert done.exit_code == 0, done.output
    (command,) = re.findall("^ +allalike discover (.*)$", done.stdout, flags=re.MULTILINE)
    found = CliRunner().invoke(discover_command, [*shlex.split(command), "--json", "--quiet"], catch_exceptions=False)
    summary = json.loads(found.stdout)
    crowd = simulate(model, workers=7, tasks=12, answers_per_task=5, seed=8)
    expected = allalike.discover(crowd.answers, gold=crowd.truth).summary
    assert flat(summary["gold"]) == pytest.approx(flat(expected["gold"]))
    assert [summary[key] for key in ("answers", "workers", "tasks", "changed")] == [60, 7, 12, expected["changed"]]


def test_the_faults_are_written_with_what_they_come_from(tmp_path: Path) -> None:
    faults = tmp_path / "faults.parquet"
    arguments = ("--workers", "9", "--copiers", "3", "--fidelity", "0.5", "--sources", "1", "--faults", str(faults))
    done = run("real HS", "-o", str(tmp_path / "a.csv"), *arguments, "--population", "fixed(values=2)")
    assert done.exit_code == 0, done.output
    table = pq.read_table(faults)
    assert table.column_names == ["worker", "fault", "sd", "bias", "copies"]
    assert table["sd"].to_pylist() == [2.0] * 9
    assert len(set(table["copies"].to_pylist())) == 2
    assert "--gold" not in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("k4 -o a.txt", ("a.txt", ".csv", ".parquet")),
        ("k4 -o a.csv --truth ./a.csv", ("twice",)),
        ("masks -o a --truth a/truth", ("folder",)),
        ("masks -o a.csv", ("folder",)),
        ("masks -o old", ("old", "not empty")),
        ("k4 -o old/kept.csv/a.csv", ("a.csv", "cannot be written")),
        ("k4 -o old/kept.csv --truth folder.csv --overwrite", ("folder.csv", "folder")),
    ],
)
def test_a_failure_is_one_message_and_leaves_everything_as_it_was(
    line: str, words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("old", "folder.csv"):
        Path(folder).mkdir()
    Path("old/kept.csv").write_text("as it was")
    before = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*"))
    done = run(*line.split())
    assert isinstance(done.exception, AllalikeError)
    assert all(word in str(done.exception) for word in words)
    assert sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*")) == before
    assert Path("old/kept.csv").read_text() == "as it was"


def test_a_file_is_replaced_if_asked_for_and_an_empty_folder_is_filled(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    (tmp_path / "masks").mkdir()
    with pytest.raises(OutputError, match=r"a\.csv.*overwrite=True"):
        simulate("k4").save(tmp_path / "b.csv", truth=tmp_path / "a.csv")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "masks"]
    assert (tmp_path / "a.csv").read_text() == "old"
    simulate("k4").save(tmp_path / "a.csv", overwrite=True)
    paths = simulate("masks(height=8, width=8)", workers=2, tasks=2).save(
        tmp_path / "masks", truth=tmp_path / "new" / "truth"
    )
    assert (tmp_path / "a.csv").read_text().startswith('"worker"')
    names = sorted(path.relative_to(tmp_path / "masks").as_posix() for path in paths[0].rglob("*.*"))
    assert names == ["manifest.csv", "t1/w1.png", "t1/w2.png", "t2/w1.png", "t2/w2.png"]
    assert not list(tmp_path.rglob(".allalike-*"))
