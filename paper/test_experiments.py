"""Experiments: what is drawn, that all methods see the same, and what errors say about methods."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

import allalike
from allalike import Domain, Real, Record
from allalike._core.system.progress import progress_callback
from allalike.answers import Answers
from allalike.errors import GoldError, OptionError, OutputError, UnknownNameError
from allalike.readers import read_gold
from paper.experiments import Sampler, Setting, improvements, run, score_all, settings
from paper.experiments.settings import CHUNK, solve

pytestmark = pytest.mark.slow

N, M = 12, 9


def telling(*, known: int = M) -> Answers:
    """Return answers that say who gave them to which task."""
    rows = [(worker, task, 100.0 * worker + task) for worker in range(N) for task in range(M)]
    return read_gold({task: float(task) for task in range(known)}, allalike.read(rows, domain="real"))


def draw(answers: Answers, *, workers: int, tasks: int, samples: int, seed: int = 0) -> list[Answers]:
    return Sampler(answers).draw(workers=workers, tasks=tasks, samples=samples, rng=np.random.default_rng(seed))


def labels_of(samples: list[Answers]) -> npt.NDArray[np.float64]:
    return np.concatenate([sample.label for sample in samples])


def test_workers_and_tasks_are_drawn_without_repetition() -> None:
    samples = draw(telling(), workers=5, tasks=4, samples=200)
    labels = labels_of(samples).reshape(200, 4, 5)  # task by task, worker by worker
    worker, task = np.divmod(labels.astype(int), 100)
    assert (worker == worker[:, :1, :]).all()
    assert (task == task[:, :, :1]).all()
    assert all(len(set(row)) == 5 for row in worker[:, 0])
    assert all(len(set(row)) == 4 for row in task[:, :, 0])
    np.testing.assert_array_equal([sample.gold_label for sample in samples], task[:, :, 0])


def test_every_worker_and_every_place_is_as_likely() -> None:
    worker = labels_of(draw(telling(), workers=5, tasks=1, samples=6000)).reshape(6000, 5) // 100
    for place in worker.T:
        assert stats.chisquare(np.bincount(place.astype(int), minlength=N)).pvalue > 1e-4


def test_only_tasks_with_a_known_truth_are_drawn() -> None:
    samples = draw(telling(known=3), workers=2, tasks=3, samples=50)
    assert set(labels_of(samples) % 100) == {0, 1, 2}


def test_missing_answers_stay_missing_and_nobody_is_drawn_who_answered_none_of_the_tasks() -> None:
    given = {(worker, task) for worker in range(N) for task in range(M) if (worker * task) % 3 != 1 and worker != task}
    rows = [(worker, task, 100.0 * worker + task) for worker, task in sorted(given)]
    answers = read_gold({task: float(task) for task in range(M)}, allalike.read(rows, domain="real"))
    samples = draw(answers, workers=3, tasks=2, samples=300)
    drawn = {(int(label) // 100, int(label) % 100) for label in labels_of(samples)}
    assert drawn <= given
    assert sum(len(sample.tasks) for sample in samples) < 600  # of some drawn tasks, nobody who was drawn knew anything
    for sample in samples:
        inside = sample.label
        workers, tasks = set(inside // 100), set(inside % 100)
        assert len(workers) == 3
        assert len(inside) == sum((worker, task) in given for worker in workers for task in tasks)


def test_more_than_there_is_cannot_be_drawn() -> None:
    with pytest.raises(OptionError, match="13 workers cannot be drawn: there are 12"):
        draw(telling(), workers=13, tasks=1, samples=1)
    with pytest.raises(OptionError, match="4 tasks with gold cannot be drawn: there are 3"):
        draw(telling(known=3), workers=1, tasks=4, samples=1)
    few = read_gold({1: 0.0, 2: 0.0}, allalike.read([("a", 1, 1.0), ("b", 2, 2.0), ("c", 2, 2.0)], domain="real"))
    with pytest.raises(OptionError, match="3 workers cannot be drawn: some 1 tasks were answered by fewer"):
        draw(few, workers=3, tasks=1, samples=5)
    with pytest.raises(GoldError, match="Give gold"):
        Sampler(allalike.read([("a", 1, 1.0), ("b", 1, 2.0)], domain="real"))


def test_the_errors_of_a_chunk_are_those_of_discover_on_each_problem() -> None:
    setting = Setting(source="real SYN.N", workers=5, tasks=6, methods=("P-TD", "GTM"), pool=40)
    errors = solve(setting, chunk=2)
    crowd = allalike.simulate("real SYN.N", workers=40, tasks=40)
    sampler = Sampler(read_gold(crowd.truth, crowd.answers))
    samples = sampler.draw(workers=5, tasks=6, samples=CHUNK, rng=np.random.default_rng([0, 2]))
    labels = labels_of(samples).reshape(CHUNK, 6, 5)
    truth = np.stack([sample.gold_label for sample in samples])
    np.testing.assert_allclose(errors["UA"], np.square(labels.mean(axis=2) - truth).mean(axis=1))
    for number in (0, 7, 99):
        rows = [(worker, task, label) for (task, worker), label in np.ndenumerate(labels[number])]
        for method in ("P-TD", "GTM"):
            found = allalike.discover(rows, domain="real", method=method).truth["label"]
            assert errors[method][number] == pytest.approx(np.square(found - truth[number]).mean())


def test_all_methods_see_the_same_samples() -> None:
    both = [
        solve(Setting(source="k=4 SYN", workers=4, tasks=5, methods=methods, pool=50), 1)
        for methods in (("P-TD", "iP-TD"), ("iP-TD", "CRH"))
    ]
    for method in ("UA", "iP-TD"):
        np.testing.assert_array_equal(both[0][method], both[1][method])


def test_chunks_seeds_and_sources_have_samples_of_their_own() -> None:
    first = Setting(source="real SYN.N", workers=4, tasks=5, methods=(), pool=50)
    other = Setting(source="real SYN.N", workers=4, tasks=5, methods=(), pool=50, seed=1)
    errors = [solve(setting, chunk)["UA"] for setting, chunk in ((first, 0), (first, 1), (other, 0))]
    assert all((left != right).mean() > 0.9 for left, right in combinations(errors, 2))


def test_equal_gaussian_workers_err_as_the_closed_form_says() -> None:
    source = "real SYN.N(population='fixed(values=2)')"
    setting = Setting(source=source, workers=8, tasks=6, methods=(), pool=1000)
    [score] = run([setting], repetitions=1000, jobs=1).scores(setting)
    assert score.error == pytest.approx(2**2 / 8, abs=4 * score.error_se)
    assert score.error_se == pytest.approx(np.sqrt(2 / 6) * (2**2 / 8) / np.sqrt(1000), rel=0.15)


SETTINGS = [
    Setting(source="binary SYN.HS", workers=6, tasks=7, methods=("P-TD", "iP-TD"), pool=60),
    Setting(source="ranking SYN.N", workers=5, tasks=1, methods=("P-TD", "EXP"), rule="kemeny", pool=60),
]


@pytest.mark.long
def test_results_do_not_depend_on_the_number_of_processes() -> None:
    one, two = (run(SETTINGS, repetitions=200, jobs=jobs) for jobs in (1, 2))
    assert one.table().equals(two.table())


@pytest.mark.long
def test_a_script_without_a_guard_may_use_several_processes(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from paper.experiments import Setting, run\nprint('once')\n"
        "setting = Setting(source='binary SYN.HS', workers=6, tasks=7, methods=('P-TD',), pool=60)\n"
        "print(len(run([setting], repetitions=200, jobs=2).table()))\n"
    )
    paths = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True, env=paths)
    assert done.stdout.split() == ["once", "400"]


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.long
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, jobs: int) -> None:
    def interrupt(stage: str, done: int, total: int) -> None:
        if stage.startswith("running experiments") and done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), progress_callback(interrupt):
        run(SETTINGS, repetitions=200, jobs=jobs, folder=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    assert len(kept) == 3
    resumed = run(SETTINGS, repetitions=200, jobs=jobs, folder=tmp_path)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert resumed.table().equals(run(SETTINGS, repetitions=200, jobs=1).table())


def test_more_methods_and_repetitions_are_added_and_a_broken_file_is_made_again(tmp_path: Path) -> None:
    [setting, _] = SETTINGS
    run([setting], repetitions=100, jobs=1, folder=tmp_path)
    more = Setting(source=setting.source, workers=6, tasks=7, methods=("P-TD", "CRH"), pool=60)
    assert (
        run([more], repetitions=200, jobs=1, folder=tmp_path)
        .table()
        .equals(run([more], repetitions=200, jobs=1).table())
    )
    for path in tmp_path.iterdir():
        path.write_text(path.read_text(encoding="utf-8")[:50], encoding="utf-8")
    assert (
        run([more], repetitions=200, jobs=1, folder=tmp_path)
        .table()
        .equals(run([more], repetitions=200, jobs=1).table())
    )


def test_progress_says_how_much_is_done_and_how_long_it_will_take() -> None:
    events = []
    with progress_callback(lambda *event: events.append(event)):
        run(SETTINGS[:1], repetitions=300, jobs=1)
    stages = [event for event in events if event[0].startswith("running experiments")]
    assert [event[1:] for event in stages] == [(1, 3), (2, 3), (3, 3)]
    assert stages[-1][0] == "running experiments, about 0 s left"


def test_a_slow_method_may_run_less_often() -> None:
    [setting, _] = SETTINGS
    results = run([setting], repetitions=300, fewer={"iP-TD": 200}, jobs=1)
    scores = {score.method: score for score in results.scores(setting)}
    assert [scores[name].repetitions for name in ("UA", "P-TD", "iP-TD")] == [300, 300, 200]
    errors = results.errors[setting]
    ua, weighted = errors["UA"][:200], errors["iP-TD"][:200]
    assert scores["iP-TD"].change == pytest.approx(weighted.mean() / ua.mean() - 1)
    assert len(results.table()) == 800


def test_results_that_cannot_be_kept_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be written"):
        run(SETTINGS[:1], repetitions=100, jobs=1, folder=tmp_path / "file")


def test_wrong_settings_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'P-TD'"):
        Setting(source="binary SYN.N", workers=3, tasks=3, methods=("P-T",))
    with pytest.raises(OptionError, match="workers is 0"):
        Setting(source="binary SYN.N", workers=0, tasks=3, methods=())
    with pytest.raises(UnknownNameError, match="No crowd or data set is called 'Chinees'. Did you mean 'Chinese'"):
        solve(Setting(source="Chinees", workers=3, tasks=3, methods=()), 0)
    with pytest.raises(OptionError, match="repetitions is 0"):
        run(SETTINGS, repetitions=0)


ERRORS = {
    "UA": np.array([0.0, 0.5, 0.25, 0.0, 1.0, 0.5]),
    "A": np.array([0.0, 0.25, 0.25, 0.5, 0.5, 0.0]),
    "B": np.array([0.0, 0.0, 0.5, 0.0, 0.25, 0.25]),
}


def test_relative_improvement_by_hand() -> None:
    found = improvements(ERRORS["A"], ERRORS["UA"])
    np.testing.assert_allclose(found, [np.nan, -1 / 3, 0, 1, -1 / 3, -1])
    np.testing.assert_allclose(improvements(ERRORS["B"], ERRORS["UA"], zero="zero"), [0, -1, 1 / 3, 0, -0.6, -1 / 3])


def test_repetitions_without_errors_are_dropped_and_counted() -> None:
    scores = {score.method: score for score in score_all(ERRORS)}
    assert [scores[name].dropped for name in ERRORS] == pytest.approx([2 / 6, 1 / 6, 2 / 6])
    assert scores["A"].ri == pytest.approx((-1 / 3 + 0 + 1 - 1 / 3 - 1) / 5)
    assert scores["B"].ri == pytest.approx((-1 + 1 / 3 - 0.6 - 1 / 3) / 4)
    kept = {score.method: score for score in score_all(ERRORS, zero="zero")}
    assert kept["B"].ri == pytest.approx((-1 + 1 / 3 - 0.6 - 1 / 3) / 6)
    assert kept["B"].dropped == 0


def test_means_standard_errors_and_tests_are_those_of_scipy() -> None:
    rng = np.random.default_rng(3)
    ua = rng.gamma(2.0, size=400)
    errors = {"UA": ua, "A": ua * rng.uniform(0.2, 1.2, 400), "B": ua * rng.uniform(0.3, 1.2, 400), "C": 0.7 * ua}
    for by in ("ri", "error"):
        scores = {score.method: score for score in score_all(errors, by=by)}
        values = {name: (e - ua) / (e + ua) if by == "ri" else e for name, e in errors.items()}
        best = min(values, key=lambda name: values[name].mean())
        assert scores[best].verdict == "best"
        for name, score in scores.items():
            ri = (errors[name] - ua) / (errors[name] + ua)
            assert (score.ri, score.ri_se) == pytest.approx((ri.mean(), stats.sem(ri)))
            assert (score.error, score.error_se) == pytest.approx((errors[name].mean(), stats.sem(errors[name])))
            if name != best:
                p = stats.ttest_rel(values[name], values[best]).pvalue
                assert score.p == pytest.approx(p)
                assert score.verdict == ("worse" if p < 0.05 else "tie")


def test_the_standard_error_of_a_change_is_that_of_a_jackknife() -> None:
    rng = np.random.default_rng(4)
    ua = rng.gamma(2.0, size=300)
    error = ua * rng.uniform(0.2, 1.4, 300)
    [_, score] = score_all({"UA": ua, "A": error})
    without = (error.sum() - error) / (ua.sum() - ua)
    jackknife = np.sqrt(299 / 300 * np.square(without - without.mean()).sum())
    assert score.change == pytest.approx(error.mean() / ua.mean() - 1)
    assert score.change_se == pytest.approx(jackknife, rel=0.01)


def test_equal_errors_do_not_differ_and_an_oracle_is_never_the_best() -> None:
    ua = np.array([0.5, 1.0, 0.25])
    scores = {score.method: score for score in score_all({"UA": ua, "A": ua.copy(), "OA": 0 * ua}, aside=("OA",))}
    assert (scores["UA"].verdict, scores["A"].verdict, scores["OA"].verdict) == ("best", "tie", "")


@pytest.mark.parametrize("domain", [Real(bias=True), Record("x:real, y:categorical")])
def test_what_is_measured_is_what_discover_finds(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    truth, bias, noise = rng.normal(50, 9, 12), rng.normal(0, 4, 6), rng.uniform(0.5, 5, 6)
    said = truth + bias[:, None] + noise[:, None] * rng.normal(size=(6, 12))
    label = (lambda x: x) if domain.record is None else (lambda x: {"x": x, "y": "high" if x > 50 else "low"})
    rows = [(f"w{i}", j, label(float(said[i, j]))) for i in range(6) for j in range(12)]
    gold = {j: label(float(truth[j])) for j in range(12)}
    monkeypatch.setattr(
        settings, "_open", lambda source, pool, seed: read_gold(gold, allalike.read(rows, domain=domain))
    )
    monkeypatch.setattr(settings, "CHUNK", 1)
    names = ("P-TD", "iP-TD", "D-TD")
    found = settings.solve(Setting(source=domain.name, workers=6, tasks=12, methods=names, pool=6), 0)
    for name in names:
        expected = allalike.discover(rows, domain=domain, method=name, gold=gold).summary["gold"]["error"]
        assert found[name].item() == pytest.approx(expected, abs=1e-6)
