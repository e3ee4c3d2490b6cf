"""Properties of single label types: custom distances, dates, scales, forecasts, texts, masks and sets of real data."""

import itertools
import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pandas as pd
import pytest
from nltk.translate.gleu_score import sentence_gleu
from scipy.spatial.distance import cdist

import allalike
from allalike import Custom, Date, Disk, Memory, Ordinal, Probability, Real, Set, Vector
from allalike._core.columns.column import Column
from allalike.distances import texts as split_texts
from allalike.domains.text import Text
from allalike.engines import Engine
from allalike.errors import LabelError
from crowds.label_types import distance
from crowds.label_types import draw_probability as forecasts
from crowds.samples import crowd, kind, rows

pytestmark = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")


def test_a_function_and_a_matrix_of_its_values_give_the_same() -> None:
    answers = crowd("custom", seed=4, n=6, m=7, missing=0.2)
    words = sorted({label for _, _, label in answers})
    matrix = [[distance(a, b) for b in words] for a in words]
    numbered = [(worker, task, words.index(label)) for worker, task, label in answers]
    gold = {task: words[0] for _, task, _ in answers}
    by_function = allalike.discover(answers, domain=Custom(distance=distance), gold=gold)
    by_matrix = allalike.discover(numbered, domain=Custom(distance=matrix), gold=dict.fromkeys(gold, 0))
    np.testing.assert_allclose(by_function.workers["weight"], by_matrix.workers["weight"])
    assert by_function.truth["label"].tolist() == [words[place] for place in by_matrix.truth["label"]]
    assert by_function.summary["gold"]["error"] == pytest.approx(by_matrix.summary["gold"]["error"])


def test_labels_of_distances_need_not_be_hashable_and_gold_need_not_be_among_them() -> None:
    mappings = [("a", 1, {"x": 1}), ("b", 1, {"x": 2}), ("c", 1, {"x": 9})]
    domain = Custom(distance=lambda a, b: abs(a["x"] - b["x"]))
    result = allalike.discover(mappings, domain=domain, method="UA", gold={1: {"x": 2.5}})
    assert result.truth["label"].tolist() == [{"x": 2}]
    assert result.summary["gold"]["error"] == 0.5


def test_an_unknown_distance_to_a_known_truth_does_not_count() -> None:
    matrix = [[0, 1, np.nan], [1, 0, 2], [np.nan, 2, 0]]
    labels = [(worker, task, label) for task in (1, 2) for worker, label in (("a", 0), ("b", 1), ("c", 2))]
    result = allalike.discover(labels, domain=Custom(distance=matrix), method="OA", gold={1: 2, 2: 1})
    assert result.weighing.fault.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("domain", "method"),
    [
        ("categorical", "P-TD"),
        ("real", "P-TD"),
        ("custom", "P-TD"),
        ("text", "P-TD"),
        ("real", "EXP"),
        ("real", "TOP2"),
    ],
)
def test_each_task_alone_is_what_a_run_on_its_answers_gives(domain: str, method: str) -> None:
    answers = crowd(domain, seed=4, n=9, m=15, missing=0.6)
    together = allalike.discover(allalike.read(answers, domain=kind(domain)).per_task(), method=method)
    assert (together.workers["answers"] == 1).all()
    assert together.workers.groupby("task").size().nunique() > 2
    for task, label in zip(together.truth["task"], together.truth["label"], strict=True):
        alone = allalike.discover([each for each in answers if each[1] == task], domain=kind(domain), method=method)
        mine = together.workers[together.workers["task"] == task]
        for column in {"weight", "mean_error", "error_rate", "rmse"} & {*mine}:
            np.testing.assert_allclose(mine[column], alone.workers[column], rtol=1e-12, atol=1e-12)
        [expected] = alone.truth["label"]
        assert label == (expected if domain != "real" else pytest.approx(expected))


@pytest.mark.parametrize("engine", [Memory(), Disk(partitions=2)], ids=str)
@pytest.mark.parametrize("method", ["P-TD", pytest.param("auto", marks=pytest.mark.long)])
def test_dates_are_weighed_as_their_numbers_of_days(engine: Engine, method: str) -> None:
    answers = crowd("date", seed=3, n=6, m=8, missing=0.2)
    epoch = pd.Timestamp("1970-01-01")
    days = [(worker, task, float((pd.Timestamp(label) - epoch).days)) for worker, task, label in answers]
    dated = allalike.discover(answers, domain=Date(), method=method, engine=engine)
    plain = allalike.discover(days, domain=Real(), method=method)
    pd.testing.assert_frame_equal(dated.workers, plain.workers, rtol=1e-9)
    for name in {"ci_low", "ci_high"} & {*dated.truth}:
        shown = [(pd.Timestamp(each) - epoch).days for each in dated.truth[name]]
        assert shown == pytest.approx(plain.truth[name].tolist(), abs=1.01)


def test_midnights_of_a_frame_are_dates_until_there_is_an_hour() -> None:
    frame = pd.DataFrame({"worker": ["ada", "bob"], "task": 1, "label": pd.to_datetime(["2024-01-01", "2024-01-03"])})
    dates = allalike.discover(frame, domain="date", method="UA", gold={1: "2024-01-02"})
    assert dates.summary["gold"]["error"] == 0
    more = pd.DataFrame({"worker": ["eve"], "task": 1, "label": pd.to_datetime(["2024-01-02T12:00"])})
    grown = allalike.discover(frame, domain="date", method="UA").update(more)
    whole = allalike.discover(pd.concat([frame, more]), domain="date", method="UA")
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist() == [pd.Timestamp("2024-01-02T04:00")]
    assert grown.weighing.fault.tolist() == pytest.approx(whole.weighing.fault.tolist())


@pytest.mark.parametrize("engine", [Memory(block_answers=3), Disk(partitions=2)], ids=str)
def test_instants_are_the_same_in_all_zones(engine: Engine) -> None:
    rng = np.random.default_rng(0)
    moments = [datetime(2024, 3, 31, tzinfo=UTC) + timedelta(seconds=int(x)) for x in rng.integers(0, 9999, 12)]
    zones = [timezone(timedelta(hours=int(hours))) for hours in rng.integers(-9, 9, 12)]
    elsewhere = [moment.astimezone(zone) for moment, zone in zip(moments, zones, strict=True)]
    moved, plain = (
        allalike.discover(
            [(f"w{i % 3}", i // 3, moment.isoformat()) for i, moment in enumerate(each)],
            domain="date", method="P-TD", engine=engine,
        ).truth["label"].tolist()
        for each in (elsewhere, moments)
    )  # fmt: skip
    assert moved == plain
    assert all(label.endswith("Z") for label in moved)


def test_the_worked_example_of_levels_has_the_weights_found_by_hand() -> None:
    grades = rows([[4, 2, 5], [5, 2, 4], [1, 1, 5]])
    result = allalike.discover(grades, domain="ordinal", method="P-TD", ties="first")
    np.testing.assert_allclose(result.workers["disparity"], [1 / 4, 1 / 3, 5 / 12])
    np.testing.assert_allclose(result.workers["weight"], [2 / 3, 1 / 3, 0], atol=1e-12)
    assert result.truth["label"].tolist() == [4, 2, 5]
    np.testing.assert_allclose(result.truth["confidence"], [2 / 3, 1, 2 / 3])
    plain = allalike.discover(grades, domain="ordinal", method="UA", ties="first")
    np.testing.assert_allclose(plain.truth["within_one"], [2 / 3, 1, 1])


def test_levels_that_nobody_chose_make_the_scale_longer() -> None:
    answers = rows([[1, 2], [3, 3]])
    for domain, disparity in (("ordinal", 0.75), ("ordinal(levels=[1, 2, 3, 4, 5])", 0.375)):
        found = allalike.discover(answers, domain=domain, method="UA").workers["disparity"]
        assert found.tolist() == pytest.approx([disparity] * 2)


def test_new_answers_that_make_the_scale_longer_change_all_distances() -> None:
    answers = crowd("ordinal", seed=5, missing=0.3)
    inside = [answer for answer in answers if 1 < answer[2] < 5]
    outside = [answer for answer in answers if answer[2] in (1, 5)]
    grown = allalike.discover(inside, domain="ordinal", method="iP-TD").update(outside)
    whole = allalike.discover(answers, domain="ordinal", method="iP-TD")
    np.testing.assert_allclose(grown.workers["disparity"], whole.workers["disparity"])
    assert grown.truth["label"].tolist() == whole.truth["label"].tolist()


@pytest.mark.parametrize("n_levels", [2, 5, 7])
def test_chance_is_the_mean_distance_of_two_random_levels(n_levels: int) -> None:
    place = np.arange(n_levels)
    gap = np.abs(place[:, None] - place) / (n_levels - 1)
    for name, mean in (("linear", gap.mean()), ("squared", (gap**2).mean()), ("hamming", (gap > 0).mean())):
        encoding = allalike.read(rows([place.tolist()]), domain=Ordinal(distance=name)).encoding
        assert encoding.noise.chance == pytest.approx(mean)
    assert (Vector(distance="cosine").noise.chance, Vector(distance="euclidean").noise.chance) == (1.0, None)


@pytest.mark.parametrize(("distance", "level"), [("squared", "interval"), ("hamming", "nominal")])
def test_alpha_of_levels_is_that_of_the_package_krippendorff(distance: str, level: Any) -> None:
    rng = np.random.default_rng(1)
    said = rng.integers(1, 6, (6, 30)).astype(np.float64)
    said[rng.random(said.shape) < 0.4] = np.nan
    answers = rows(np.nan_to_num(said).astype(int), present=~np.isnan(said))
    found = allalike.agreement(answers, domain=Ordinal(distance=distance))
    assert found.alpha == pytest.approx(krippendorff.alpha(said, level_of_measurement=level), abs=1e-9)
    without = krippendorff.alpha(said[1:], level_of_measurement=level)
    assert found.workers["alpha_without"][0] == pytest.approx(without, abs=1e-9)


@pytest.mark.parametrize(("name", "spec"), [("ordinal", "ordinal"), ("real", "real(distance=absolute)")])
def test_alpha_of_absolute_distances_is_that_of_all_pairs(name: str, spec: str) -> None:
    answers = crowd(name, seed=2, n=6, m=20, missing=0.5)
    codes, task = np.array([[float(label)] for _, _, label in answers]), np.array([where for _, where, _ in answers])
    _, place, size = np.unique(task, return_inverse=True, return_counts=True)
    several = size[place] > 1
    apart = cdist(codes, codes, "cityblock")[np.ix_(several, several)]
    task, sizes = task[several], size[place][several]
    within = (apart * (task[:, None] == task)).sum(axis=1) / (sizes - 1)
    expected = 1 - within.mean() / (apart.sum() / (len(apart) * (len(apart) - 1)))
    assert allalike.agreement(answers, domain=spec).alpha == pytest.approx(expected, abs=1e-9)


def test_a_lenient_worker_who_follows_the_tasks_is_no_copy_and_has_a_signal() -> None:
    rng = np.random.default_rng(0)
    said = np.clip(rng.integers(2, 6, 60) + rng.integers(-1, 2, (8, 60)), 1, 7)
    said[:3] = np.clip(said[:3] + 1, 1, 7)
    result = allalike.discover(rows(said), domain=Ordinal(levels=list(range(1, 8))))
    assert not result.workers["uninformative"].any()
    assert set(result.workers["copy_group"]) == {""}


def test_an_update_with_other_options_is_refused_and_one_with_a_new_task_is_not() -> None:
    answers = [(w, t, label) for w, t, label in forecasts(7, 4, 6, 0.0) if len(label) == 2]
    three = {"a": 0.2, "b": 0.3, "c": 0.5}
    result = allalike.discover(answers, domain=Probability(), method="P-TD")
    with pytest.raises(LabelError, match="different options"):
        result.update([("new", answers[0][1], three)])
    more = [(w, "t9", three) for w in ("w000", "w001", "w002")]
    found = result.update(more)
    expected = allalike.discover([*answers, *more], domain=Probability(), method="P-TD")
    np.testing.assert_allclose(found.workers["weight"], expected.workers["weight"], rtol=1e-9)
    assert found.truth["label"].iloc[-1] == pytest.approx(three)


def test_records_of_a_frame_have_the_options_of_their_own_task() -> None:
    each = [{"worker": w, "task": t, "label": p} for t, p in ((1, {"a": 0.5, "b": 0.5}), (2, {"c": 1.0})) for w in "xy"]
    found = allalike.discover(pd.DataFrame(each), domain="probability").truth["label"]
    assert found.tolist() == [{"a": 0.5, "b": 0.5}, {"c": 1.0}]


@pytest.mark.parametrize("method", ["UA", "OA", "D-TD"])
def test_gold_may_hold_elements_that_nobody_named(method: str) -> None:
    answers = [("ada", 1, ["x"]), ("bob", 1, ["x", "y"]), ("eve", 1, ["x"])]
    result = allalike.discover(answers, domain="set", method=method, gold={1: ["new", "x"]})
    assert result.summary["gold"]["error"] == pytest.approx(0.5)


def test_errors_of_places_are_in_kilometres() -> None:
    rng, spread = np.random.default_rng(2), [1.0, 5.0, 5.0, 20.0, 50.0]  # kilometres in each direction
    off = rng.normal(size=(5, 200, 2)) * np.array(spread)[:, None, None] / 111.2
    answers = [(f"w{i}", t, (np.array([10.0, 20.0]) + off[i, t]).tolist()) for i, t in np.ndindex(5, 200)]
    rmse = allalike.discover(answers, domain="place").workers["rmse"].to_numpy()
    assert rmse[3:] == pytest.approx(np.sqrt(2) * np.array(spread[3:]), rel=0.15)


def test_the_same_shape_elsewhere_is_another_mask() -> None:
    here = np.pad(np.ones((3, 3), np.bool_), ((1, 1), (1, 20)))
    answers = [(name, 1, np.roll(here, shift, axis=1)) for name, shift in (("ada", 0), ("bob", 12), ("eve", 0))]
    truth = allalike.discover(answers, domain="bitmap(rule=medoid)", method="UA").truth
    assert truth["confidence"][0] == pytest.approx(2 / 3)
    assert np.array_equal(truth["label"][0], here)


def test_the_longest_texts_are_compared() -> None:
    answers = [("ada", 1, "word " * 200_000), ("bob", 1, "other " * 160_000), ("eve", 1, "word " * 199_999)]
    assert allalike.discover(answers, domain=Text()).truth["label"][0] in (answers[0][2], answers[2][2])
    answers = [(worker, task, label[:12_000]) for worker, task, label in answers]
    assert allalike.discover(answers, domain="text(distance=edit)").truth["label"].tolist() == [answers[0][2]]


def load(data: Path, name: str) -> tuple[allalike.Answers, dict[str, str], dict[str, Any]]:
    """Read a part of CrowdWSA with the options under which its statistics were computed."""
    folder = data / "crowdwsa2019"
    columns = {"worker": "worker", "task": "sentence", "label": "workeranswer"}
    path = folder / "data" / f"CrowdWSA2019_{name}_label_anonymous.tsv"
    answers = allalike.read(path, columns=columns, duplicates="last", domain=Text(lower=True, tokens="words"))
    lines = (folder / "data" / f"CrowdWSA2019_{name}_gt.tsv").read_text(encoding="utf-8").splitlines()[1:]
    known = json.loads((folder / "SOURCE.json").read_text(encoding="utf-8"))["verification"][name]
    return answers, dict(line.split("\t") for line in lines), known


@pytest.mark.parametrize("name", ["T1", "T2", "J1"])
def test_the_known_statistics_of_crowdwsa(name: str, data: Path) -> None:
    answers, gold, known = load(data, name)
    sizes = np.diff(answers.starts)
    assert (len(answers.workers), len(answers.tasks)) == (known["n_workers"], known["n_sentences"])
    assert answers.n_answers + answers.notes["duplicates_removed"] == known["n_labels"]
    assert [sizes.min(), sizes.max()] == known["labels_per_sentence"]
    column = Column.of_objects("label", [gold[str(task)] for task in answers.tasks.tolist()])
    encoding, truths = answers.encoding.encode_gold(column)
    similarity = 1 - encoding.kernels.distance_between(answers.label, np.repeat(truths, sizes))
    own = np.bincount(answers.worker, similarity) / np.bincount(answers.worker)
    busy = np.bincount(answers.worker) > 10  # only with this undocumented filter, all three parts agree
    found = {
        "mean_worker_GLEU_vs_reference": similarity.mean(),
        "oracle_best_answer_mean_GLEU": np.maximum.reduceat(similarity, answers.starts[:-1]).mean(),
        "worst_worker_mean_GLEU": own.min(),
        "best_worker_mean_GLEU": own[busy].max(),
    }
    assert found == pytest.approx({key: known[key] for key in found}, abs=5.1e-5)
    lowest, highest = medoids(answers, similarity)
    assert highest - lowest < 0.004
    assert lowest - 5.1e-5 <= known["medoid_mean_GLEU"] <= highest + 5.1e-5
    truth = {task: gold[str(task)] for task in answers.tasks.tolist()}
    error = allalike.discover(answers, method="UA", gold=truth).summary["gold"]["error"]
    assert lowest - 1e-12 <= 1 - error <= highest + 1e-12


def medoids(answers: allalike.Answers, similarity: Any) -> tuple[float, float]:
    """Return the mean similarity of medoids for the worst and the best resolution of ties."""
    bounds = []
    for begin, end in itertools.pairwise(answers.starts):
        i, j = (begin + index.ravel() for index in np.indices((end - begin, end - begin)))
        apart = answers.encoding.kernels.distance_between(answers.label[i], answers.label[j])
        cost = apart.reshape(end - begin, -1).sum(1)
        tied = similarity[begin:end][cost <= cost.min() + 1e-9]
        bounds.append((tied.min(), tied.max()))
    low, high = np.mean(bounds, axis=0)
    return float(low), float(high)


def test_gleu_is_that_of_nltk_on_translations(data: Path) -> None:
    answers, _, _ = load(data, "T1")
    distinct = list(dict.fromkeys(answers.label))
    store = answers.domain._pack(distinct)  # type: ignore[attr-defined]
    i, j = np.arange(len(distinct) - 1), np.arange(1, len(distinct))
    texts = [split_texts.split_words(text.lower()) for text in distinct]
    expected = [1 - sentence_gleu([texts[a]], texts[b]) for a, b in zip(i, j, strict=True)]
    found = answers.domain._compare(store, i, store, j)  # type: ignore[attr-defined]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def matches(log: Path) -> set[tuple[str, str]]:
    """Read the pairs of terms that a matcher found similar; the last confidence of a pair counts."""
    found: dict[tuple[str, str], float] = {}
    target = ""
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        fields = [part.strip() for part in line.split("|")]
        if "setTargetTerm" in fields:
            target = fields[fields.index("setTargetTerm") + 2]
        elif "matched" in fields:
            at = fields.index("matched")
            found[fields[at + 4], target] = float(fields[at + 5])
    return {pair for pair, confidence in found.items() if confidence > 0}


def test_schema_matchers_are_as_far_from_the_truth_as_known(data: Path) -> None:
    folder = data / "schema_matching_powarematch"
    known = json.loads((folder / "SOURCE.json").read_text())["verification"]
    lines = (folder / "DataFiles" / "Excel2CIDX.csv").read_text().splitlines()
    truth = {tuple(part.strip() for part in line.split(",")[:2]) for line in lines if line.strip()}
    logs = sorted((folder / "DataFiles" / "ExperimentData").glob("*/*/report.log"))
    answers = [(log.parts[-3], "Excel - CIDX", matches(log)) for log in logs]
    assert (len(truth), len(answers)) == (known["n_truth_pairs"], 5)
    result = allalike.discover(answers, domain=Set(), method="OA", gold={"Excel - CIDX": truth})
    for worker, fault in zip(result.workers["worker"], result.weighing.fault, strict=True):
        assert 1 - fault == pytest.approx(known["per_matcher"][worker]["jaccard"], abs=5e-5)
    majority = allalike.discover(answers, domain=Set(), method="UA", gold={"Excel - CIDX": truth})
    assert len(majority.truth["label"][0]) == known["majority_3_of_5"]["n_pairs"]
    assert 1 - majority.summary["gold"]["error"] == pytest.approx(known["majority_3_of_5"]["jaccard"], abs=5e-5)
