"""crowd-kit's aggregators beside those of `allalike.compat.crowdkit`, on real answers."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import crowdkit.aggregation
import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal, assert_series_equal

import allalike
import allalike.compat.crowdkit as ours
from allalike.errors import GoldError, InputError, NameWarning, OptionError, UnknownNameError, UnsupportedError
from files.parsed_data_sets import parsed
from running.program import call

pytestmark = [
    pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The (inplace|copy) keyword"),  # crowd-kit uses what pandas will drop
]

theirs: Any = crowdkit.aggregation

TWO, FOUR = "two classes", "four classes"
ALL = [pytest.param((name, None), marks=pytest.mark.long, id=f"{name}, all tasks") for name in (TWO, FOUR)]
LONG = pytest.param("DawidSkene", 100, marks=pytest.mark.long)


@pytest.fixture(scope="module", params=[pytest.param((FOUR, 60), id=FOUR), *ALL])
def answers(request: pytest.FixtureRequest, data: Path) -> pd.DataFrame:
    name, n_tasks = request.param
    if name == TWO:
        frame = pd.read_csv(data / "snow_rte" / "rte.standardized.tsv", sep="\t")
        names = {"!amt_worker_ids": "worker", "orig_id": "task", "response": "label"}
    else:
        frame = pd.read_csv(data / "bench_dog" / "answer.csv").sample(frac=1, random_state=0)
        names = {"worker": "worker", "question": "task", "answer": "label"}
    frame = frame.rename(columns=names)[list(names.values())]
    return frame[frame["task"].isin(frame["task"].unique()[:n_tasks])]


def check(found: Any, expected: Any) -> None:
    """Compare numbers to eight digits; crowd-kit's columns come in an order that depends on pandas' version."""
    if isinstance(expected, pd.Series):
        assert_series_equal(found, expected, rtol=1e-8, atol=1e-9)
    else:
        assert_frame_equal(
            found, expected[list(found.columns)], rtol=1e-8, atol=1e-9, check_column_type=False, check_names=False
        )


def find_tied(votes: pd.DataFrame) -> pd.Series[bool]:
    near = np.isclose(votes, votes.max(axis=1).to_numpy()[:, None])
    return pd.Series(near.sum(axis=1) > 1, index=votes.index)


@pytest.mark.parametrize(("name", "rounds"), [("DawidSkene", 3), ("OneCoinDawidSkene", 2), LONG])
def test_confusions_posteriors_and_rounds_are_those_of_crowd_kit(answers: pd.DataFrame, name: str, rounds: int) -> None:
    expected = getattr(theirs, name)(n_iter=rounds).fit(answers.copy())
    found = getattr(ours, name)(n_iter=rounds).fit(answers)
    for part in ("labels_", "probas_", "errors_"):
        check(getattr(found, part), getattr(expected, part))
    check(found.priors_, expected.priors_.loc[found.priors_.index])
    np.testing.assert_allclose(found.loss_history_, expected.loss_history_, rtol=1e-10)
    if name == "OneCoinDawidSkene":
        check(found.skills_, expected.skills_)


def test_labels_that_are_known_stay_as_crowd_kit_leaves_them(answers: pd.DataFrame) -> None:
    known = answers.drop_duplicates("task").set_index("task")["label"].iloc[::5]
    expected = theirs.DawidSkene(n_iter=5).fit(answers.copy(), true_labels=known)
    found = ours.DawidSkene(n_iter=5).fit(answers, true_labels=known)
    check(found.labels_, expected.labels_)
    check(found.probas_, expected.probas_)
    assert (found.labels_.loc[known.index] == known).all()


def test_a_vote_is_crowd_kits_but_for_ties_which_here_go_to_the_smallest_label(answers: pd.DataFrame) -> None:
    expected, found = theirs.MajorityVote().fit(answers.copy()), ours.MajorityVote().fit(answers)
    check(found.probas_, expected.probas_.sort_index())
    tied = find_tied(found.probas_)
    assert tied.any()
    check(found.labels_[~tied], expected.labels_.sort_index()[~tied])
    assert (found.labels_ == found.probas_.idxmax(axis=1)).all()
    assert found.skills_.index.equals(expected.skills_.index)


@pytest.mark.parametrize("on_missing", ["error", "ignore", "value"])
def test_a_vote_with_skills_is_crowd_kits(answers: pd.DataFrame, on_missing: str) -> None:
    skills = theirs.MajorityVote().fit(answers.copy()).skills_
    skills = skills if on_missing == "error" else skills.iloc[::2]
    answers = answers[answers["task"].isin(answers.loc[answers["worker"].isin(skills.index), "task"])]
    options: dict[str, Any] = {"on_missing_skill": on_missing, "default_skill": 0.3 if on_missing == "value" else None}
    expected = theirs.MajorityVote(**options).fit(answers.copy(), skills)
    found = ours.MajorityVote(**options).fit(answers, skills)
    check(found.probas_, expected.probas_)
    tied = find_tied(found.probas_)
    check(found.labels_[~tied], expected.labels_[~tied])


def test_skills_without_truths_are_crowd_kits(answers: pd.DataFrame) -> None:
    """Wawa's come from votes, whose ties differ; those of zero-based skills forget them."""
    expected = theirs.ZeroBasedSkill(n_iter=5).fit(answers.copy()).skills_
    found = ours.ZeroBasedSkill(n_iter=5).fit(answers)
    check(found.skills_, expected.sort_index())
    vote = theirs.MajorityVote().fit(answers.copy(), expected)
    check(found.predict_proba(answers), vote.probas_)
    clear = answers[~answers["task"].map(find_tied(ours.MajorityVote().fit_predict_proba(answers)))]
    check(ours.Wawa().fit(clear).skills_, theirs.Wawa().fit(clear.copy()).skills_)


def test_skills_on_known_truths_are_crowd_kits(answers: pd.DataFrame) -> None:
    known = answers.drop_duplicates("task").set_index("task")["label"].iloc[::3]
    found = ours.GoldMajorityVote().fit(answers, known)
    check(found.skills_, theirs.GoldMajorityVote().fit(answers.copy(), known).skills_)
    met = answers[answers["worker"].isin(found.skills_.index)]
    check(found.predict_proba(met), theirs.MajorityVote().fit_predict_proba(met.copy(), found.skills_))


def test_strengths_are_those_to_which_crowd_kit_comes_in_many_rounds(data: Path) -> None:
    """With a tolerance above 0, theirs ends after two rounds: it compares an array with itself."""
    build = parsed(data, "BUILD.ranking").answers
    rankings = build.encoding.decode(build.label).tolist()
    rows = [(*sorted(pair), pair[0]) for ranking in rankings for pair in combinations(ranking, 2) if min(pair) > 8]
    frame = pd.DataFrame(rows, columns=["left", "right", "label"])
    found = ours.BradleyTerry(n_iter=100).fit_predict(frame)
    check(found, theirs.BradleyTerry(n_iter=1000, tol=0.0).fit_predict(frame))
    early = theirs.BradleyTerry(n_iter=1000).fit_predict(frame)
    assert_series_equal(early, theirs.BradleyTerry(n_iter=2, tol=0.0).fit_predict(frame))


def test_pixels_of_masks_are_crowd_kits_also_where_half_of_the_workers_drew_them() -> None:
    random = np.random.default_rng(0)
    rows = [(task, worker, random.random((7, 9)) < 0.5) for task in ("b", "a") for worker in range(4)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "segmentation"])
    for skills in (None, pd.Series([0.5, 0.25, 0.25, 1.0])):
        compare_masks(frame, skills)


@pytest.mark.long
def test_pixels_of_real_masks_are_crowd_kits(data: Path) -> None:
    answers = parsed(data, "bubil_crowd_segmentation/1").answers
    masks = [np.asarray(mask) for mask in answers.encoding.decode(answers.label).tolist()]
    tasks = np.repeat(answers.tasks.tolist(), np.diff(answers.starts))
    frame = pd.DataFrame({"task": tasks, "worker": answers.worker, "segmentation": masks})
    compare_masks(frame, None)


def compare_masks(frame: pd.DataFrame, skills: pd.Series[float] | None) -> None:
    expected = theirs.SegmentationMajorityVote().fit_predict(frame.copy(), skills)
    found = ours.SegmentationMajorityVote().fit_predict(frame, skills)
    assert found.index.equals(expected.index)
    assert found.name == expected.name
    for mask, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mask, other)


@pytest.mark.long
def test_lists_of_labels_are_crowd_kits() -> None:
    random = np.random.default_rng(0)
    rows = [
        (task, worker, [label for label in "xyz" if random.random() < 0.6]) for task in (3, 1, 2) for worker in range(5)
    ]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    for base in ("MajorityVote", "DawidSkene"):
        expected = theirs.BinaryRelevance(getattr(theirs, base)()).fit_predict(frame.copy())
        found = ours.BinaryRelevance(getattr(ours, base)()).fit_predict(frame)
        assert found.sort_index().to_dict() == expected.sort_index().to_dict()
        assert (found.name, found.index.name) == (expected.name, expected.index.name)


def test_ids_and_labels_of_any_kind_come_back_in_their_type() -> None:
    rows = [(pd.Timestamp("2024-02-01"), 7, True), (pd.Timestamp("2024-01-01"), 7, False)]
    frame = pd.DataFrame(rows, columns=["task", "worker", "label"])
    for name in ("MajorityVote", "DawidSkene"):
        labels = getattr(ours, name)().fit_predict(frame)
        assert labels.dtype == bool
        assert labels.index.dtype == frame["task"].dtype
        assert labels[pd.Timestamp("2024-02-01")]


LISTS: Any = [[1], [1], [2]]
FRAME = pd.DataFrame({"task": [1, 1, 2], "worker": ["ada", "bob", "ada"], "label": ["x", "y", "x"]})


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (
            lambda: ours.MajorityVote().fit([1, 2]),  # type: ignore[arg-type]
            InputError,
            "a list. Give a pandas frame",
        ),
        (lambda: ours.MajorityVote().fit(FRAME.drop(columns="worker")), InputError, "no column 'worker'"),
        (lambda: ours.MajorityVote().fit(FRAME.iloc[:0]), InputError, "no rows"),
        (lambda: ours.MajorityVote().fit(pd.concat([FRAME, FRAME[:1]])), InputError, "'ada' answers task 1 more than"),
        (lambda: ours.MajorityVote().fit(FRAME, pd.Series({"ada": 1.0})), InputError, "skill of worker 'bob'"),
        (lambda: ours.MajorityVote().fit(FRAME, pd.Series({"ada": 1.0, "bob": -1.0})), InputError, "negative"),
        (lambda: ours.MajorityVote().fit(FRAME.assign(label=LISTS)), InputError, "A label cannot be told"),
        (lambda: ours.MajorityVote().fit(FRAME, {"ada": 1.0}), InputError, "skills is a dict"),  # type: ignore[arg-type]
        (
            lambda: ours.MajorityVote().fit(FRAME, pd.Series([1.0, 2.0], index=["ada", "ada"])),
            InputError,
            "skills has 'ada' more than once",
        ),
        (lambda: ours.MajorityVote(on_missing_skill="drop").fit(FRAME), OptionError, "error, ignore, value"),
        (lambda: ours.MajorityVote(default_skill=0.5).fit(FRAME), UnsupportedError, "default_skill is 0.5"),
        (
            lambda: ours.MajorityVote(on_missing_skill="ignore").fit(FRAME, pd.Series({"bob": 1.0})),
            InputError,
            "Nobody who answered task 2",
        ),
        (lambda: ours.Wawa().predict(FRAME), UnsupportedError, "Call fit before"),
        (lambda: ours.GoldMajorityVote().fit(FRAME, pd.Series({9: "x"})), InputError, "Nobody answered a task"),
        (lambda: ours.DawidSkene(n_iter=0).fit(FRAME), OptionError, "n_iter is 0"),
        (lambda: ours.DawidSkene().fit(FRAME, pd.Series({1: "z"})), GoldError, "task 1 is 'z', which no worker"),
        (lambda: ours.DawidSkene().fit(FRAME, initial_error=FRAME), UnsupportedError, "history"),
        (lambda: ours.DawidSkene(initial_error_strategy="assign").fit(FRAME), UnsupportedError, "'assign'"),
        (lambda: ours.BinaryRelevance("vote"), OptionError, "base_aggregator is 'vote'"),
        (lambda: ours.BinaryRelevance().fit(FRAME), InputError, "In row 0 the label is 'x'"),
        (
            lambda: ours.BradleyTerry(9).fit(pd.DataFrame({"left": ["a"], "right": ["b"], "label": ["a"]})),
            UnsupportedError,
            "fall into 2 parts",
        ),
        (
            lambda: ours.BradleyTerry(9).fit(pd.DataFrame({"left": ["a"], "right": ["b"], "label": ["c"]})),
            InputError,
            "In row 0, 'c' won",
        ),
    ],
)
def test_what_cannot_be_done_is_said_in_a_line(act: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        act()


@pytest.mark.parametrize("kind", ["category", "object", "string"])
def test_columns_of_any_type_of_pandas_are_told_apart(kind: Any) -> None:
    labels = ours.DawidSkene().fit_predict(FRAME.astype({"label": kind}))
    assert (labels.tolist(), labels.dtype) == (["x", "x"], FRAME["label"].astype(kind).dtype)


def test_one_answer_is_enough() -> None:
    for name in ("MajorityVote", "Wawa", "ZeroBasedSkill", "DawidSkene", "OneCoinDawidSkene"):
        assert getattr(ours, name)().fit_predict(FRAME[:1]).tolist() == ["x"]


def test_every_aggregator_of_crowd_kit_is_in_the_table_and_here_or_has_a_nearest() -> None:
    page = (Path(__file__).parents[2] / "docs" / "guide" / "CROWDKIT.md").read_text(encoding="utf-8")
    for name in set(theirs.__all__) - {"base"}:
        assert f"| `{name}` |" in page
        if name not in vars(ours):
            with pytest.raises(ImportError, match=f"has no {name}. Nearest here"):
                getattr(ours, name)


@pytest.mark.long
def test_the_import_needs_neither_crowd_kit_nor_pandas() -> None:
    code = (
        "import sys; sys.modules['crowdkit'] = None\n"
        "import allalike.compat.crowdkit; print([m for m in ('pandas', 'pyarrow', 'scipy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_names_of_crowd_kit_work_as_ours_and_say_so() -> None:
    with pytest.warns(NameWarning, match="DawidSkene is called DS here"):
        result = allalike.discover(FRAME, method="DawidSkene(max_iter=3)")
    assert result.summary["method"]["name"] == "DS"
    assert [remark.partition(" (")[0] for remark in result.summary["remarks"]] == ["DawidSkene is called DS here"]
    with pytest.warns(NameWarning):
        compared = allalike.compare(FRAME, methods="majority_vote, P-TD")
    assert set(compared.table["method"]) == {"UA", "P-TD"}
    assert compared.summary["remarks"] == ["MajorityVote is called UA here."]


@pytest.mark.parametrize("name", ["majority", "MV", "dawid_skene", "Dawid-Skene", "OneCoinDawidSkene", "KOS"])
def test_names_match_in_any_spelling(name: str) -> None:
    with pytest.warns(NameWarning, match="is called (UA|DS|DS-1|IBP) here"):
        allalike.discover(FRAME, method=name, domain="categorical")


def test_a_name_of_something_else_is_refused_with_what_is_nearest() -> None:
    with pytest.raises(UnknownNameError, match="No method is called 'wawa'. Nearest here: method=\"D-TD\""):
        allalike.discover(FRAME, method="wawa")


def test_the_program_notes_what_a_method_is_called_here(tmp_path: Path) -> None:
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    done = call("discover", "a.csv", "--method", "majorityvote", "--no-report", "--force", folder=tmp_path)
    assert done.returncode == 0
    assert done.stderr.count("MajorityVote is called UA here.") == 1
