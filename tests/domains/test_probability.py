"""Probabilities: the distance of Brier, pools of forecasts, and what is no forecast."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import cdist
from scipy.special import expit, logit, softmax

import allalike
from allalike import Memory, Probability
from allalike.errors import GoldError, InputError, LabelError, OptionError
from allalike.testing import check_domain
from crowds.probability import answers
from crowds.samples import Row

FORMS: dict[str, Callable[[dict[str, float]], Any]] = {
    "number": lambda chances: chances["a"],
    "list": lambda chances: list(chances.values()),
    "mapping": lambda chances: chances,
    "text": json.dumps,
}
SETTLED = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning")  # one task, one worker
CHANCE = st.floats(0.0, 1.0)


def about_one(*labels: Any) -> list[Row]:
    """Let each worker say something about one task."""
    return [(f"w{number}", 1, label) for number, label in enumerate(labels)]


def solve(rows: list[Row], method: str = "UA", gold: Any = None, **options: Any) -> allalike.Result:
    return allalike.discover(rows, domain=Probability(**options), method=method, gold=gold)


def truth(*labels: Any, **options: Any) -> Any:
    return solve(about_one(*labels), **options).truth["label"][0]


@pytest.mark.parametrize(
    ("form", "rule"),
    [*((form, "log odds") for form in FORMS), ("number", "median"), ("list", "median"), ("list", "mean")],
)
def test_the_laws_of_domains_hold_in_every_form(form: str, rule: str) -> None:
    check_domain(Probability(rule=rule), [(w, t, FORMS[form](label)) for w, t, label in answers(1, 4, 7, 0.2)])


def test_numbers_that_are_sure_obey_the_laws_too() -> None:
    check_domain(Probability(), [(w, t, float((w * t) % 3 == 0)) for w in range(4) for t in range(6)])


@SETTLED
def test_the_distance_is_the_score_of_brier_from_0_to_2() -> None:
    assert solve(about_one(0.0, 1.0)).workers["disparity"].tolist() == [2.0, 2.0]
    assert solve(about_one(0.7, 0.4)).workers["disparity"].tolist() == pytest.approx([0.18, 0.18])
    assert solve(about_one([0.5, 0.3, 0.2], [0.1, 0.3, 0.6])).workers["disparity"][0] == pytest.approx(0.32)
    scored = solve(about_one(0.6, 0.6), gold={1: 1}).summary["gold"]["error"]
    assert scored == pytest.approx(0.4**2 + 0.4**2)


@SETTLED
@pytest.mark.parametrize(
    ("rule", "labels", "expected"),
    [
        ("log odds", (0.5, 0.9), 0.75),  # odds of 1 and 9: 3
        ("log odds", (0.5, 0.1), 0.25),
        ("log odds", (0.5, 1.0), 0.9086748),  # 1 counts as 0.99, whose odds are 99: their root, 9.949874
        ("log odds", (0.5, 0.0), 0.0913252),
        ("log odds", (0.0, 1.0), 0.5),
        ("mean", (0.5, 0.9), 0.7),
        ("mean", (0.0, 1.0), 0.5),
        ("median", (0.1, 0.2, 0.9), 0.2),
        ("median", (0.1, 0.2, 0.6, 0.9), 0.4),
    ],
)
def test_forecasts_are_pooled_as_by_hand(rule: str, labels: tuple[float, ...], expected: float) -> None:
    assert truth(*labels, rule=rule) == pytest.approx(expected, abs=5e-8)
    mapping = truth(*({"no": 1 - label, "yes": label} for label in labels), rule=rule)
    assert mapping == pytest.approx({"no": 1 - expected, "yes": expected}, abs=5e-8)


@SETTLED
def test_three_options_are_pooled_as_by_hand() -> None:
    labels = [0.8, 0.1, 0.1], [0.2, 0.4, 0.4]
    assert truth(*labels) == pytest.approx([0.5, 0.25, 0.25])  # roots of 0.16, 0.04 and 0.04
    assert truth(*labels, rule="mean") == pytest.approx([0.5, 0.25, 0.25])
    assert truth([0.6, 0.4, 0.0], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6], rule="median") == pytest.approx([0.2, 0.4, 0.4])


@SETTLED
def test_the_median_of_options_that_have_no_common_one_is_the_mean() -> None:
    assert truth([1, 0, 0], [0, 1, 0], [0, 0, 1], rule="median") == pytest.approx([1 / 3, 1 / 3, 1 / 3])


@SETTLED
@pytest.mark.parametrize("rule", ["log odds", "mean", "median"])
@pytest.mark.parametrize("label", [0.0, 1.0, 0.003, 0.7, [0.7, 0.2, 0.1], [1.0, 0.0, 0.0], {"a": 0.999, "b": 0.001}])
def test_what_all_say_is_the_truth_to_the_last_digit(rule: str, label: Any) -> None:
    assert truth(label, label, label, rule=rule) == label
    assert truth(label, rule=rule) == label


@SETTLED
def test_clipping_gives_no_option_more_than_anybody_did() -> None:
    assert truth(0.001, 0.0) == pytest.approx(0.001)
    assert truth([0.5, 0.5, 0.0], [0.4, 0.6, 0.0])[2] == 0.0
    many = np.full((3, 200), 1 / 250)
    many[:, :50] += 4 / 1000  # more options than 0.01 has room for
    assert truth(*(many + np.array([[0.0], [1e-5], [-1e-5]])).tolist()) == pytest.approx(many[0].tolist(), rel=0.01)


@SETTLED
@settings(max_examples=20)
@example([0.0, 1e-175])
@given(st.lists(CHANCE, min_size=2, max_size=6))
def test_the_pool_of_two_options_is_the_mean_of_logits_of_scipy(chances: list[float]) -> None:
    top, bottom = max(chances), min(chances)
    clipped = np.clip(chances, min(0.01, top), max(0.99, bottom))
    expected = chances[0] if top == bottom or top == 0 or bottom == 1 else expit(logit(clipped).mean())
    assert truth(*chances) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("block_answers", [1, 1000])
@pytest.mark.parametrize("method", ["UA", "P-TD", "D-TD(rounds=3)"])
@pytest.mark.parametrize("rule", ["log odds", "mean", "median"])
def test_weighted_pools_are_what_a_plain_loop_finds(rule: str, method: str, block_answers: int) -> None:
    rows = answers(2, 7, 15, 0.3)
    engine = Memory(block_answers=block_answers)
    result = allalike.discover(rows, domain=Probability(rule=rule), method=method, engine=engine)
    weight = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    for task, label in zip(result.truth["task"], result.truth["label"], strict=True):
        given_here = [(weight[who], list(chances.values())) for who, where, chances in rows if where == task]
        share, chances = np.array([w for w, _ in given_here]), np.array([c for _, c in given_here])
        assert list(label.values()) == pytest.approx(plain_pool(rule, share / share.sum(), chances).tolist())


def plain_pool(rule: str, share: Any, chances: Any) -> Any:
    if rule == "mean":
        return share @ chances
    if rule == "median":
        middle = np.array([plain_median(share, column) for column in chances.T])
        return middle / middle.sum()
    low, high = np.minimum(0.01, chances.max(axis=0)), np.maximum(0.99, chances.min(axis=0))
    return softmax(share @ np.log(np.clip(chances, low, high)))


def plain_median(share: Any, numbers: Any) -> float:
    """Return the middle of all numbers that have at most half of the weight on either side."""
    fits = [x for x in numbers if max(share[numbers < x].sum(), share[numbers > x].sum()) <= 0.5 + 1e-12]
    return float(min(fits) + max(fits)) / 2


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_disparity_is_the_mean_distance_of_scipy(missing: float) -> None:
    rows = answers(3, 6, 15, missing)
    found = solve(rows).workers.set_index("worker")["disparity"]
    for worker in found.index:
        peers = [
            cdist([list(label.values())], [list(other.values())], "sqeuclidean").item()
            for who, task, label in rows
            if who == worker
            for peer, same, other in rows
            if same == task and peer != who
        ]
        assert found[worker] == pytest.approx(np.mean(peers))


def test_agreement_is_what_all_pairs_of_answers_say() -> None:
    rows = answers(4, 4, 9, 0.3)
    codes = np.zeros((len(rows), 3))
    for code, (_, _, label) in zip(codes, rows, strict=True):
        code[: len(label)] = list(label.values())
    task = np.array([where for _, where, _ in rows])
    apart = cdist(codes, codes, "sqeuclidean")
    _, place, size = np.unique(task, return_inverse=True, return_counts=True)
    within = (apart * (task[:, None] == task)).sum(axis=1) / (size[place] - 1)
    expected = apart.sum() / (len(rows) * (len(rows) - 1))
    found = allalike.agreement(rows, domain="probability")
    assert found.alpha == pytest.approx(1 - within.mean() / expected)


@pytest.mark.parametrize("method", ["UA", "iP-TD", "auto"])
def test_every_form_gives_the_same_truths_and_weights(method: str) -> None:
    rows = [row for row in answers(5, 7, 30, 0.2) if len(row[2]) == 2]
    results = {form: solve([(w, t, write(label)) for w, t, label in rows], method) for form, write in FORMS.items()}
    expected = results["mapping"]
    for form, result in results.items():
        np.testing.assert_allclose(result.workers["weight"], expected.workers["weight"], rtol=1e-9)
        shown = [FORMS["mapping" if form == "text" else form](label) for label in expected.truth["label"]]
        for one, other in zip(result.truth["label"], shown, strict=True):
            assert one == pytest.approx(other)


def test_auto_weighs_good_forecasters_more_and_says_so_beside_the_plain_pool() -> None:
    rng = np.random.default_rng(1)
    logits, noise = rng.normal(0, 1.5, 60), np.array([0.3, 0.3, 0.4, 2.0, 2.0, 2.0])
    said = expit(logits + noise[:, None] * rng.standard_normal((6, 60)))
    rows = [(f"w{i}", f"t{j}", said[i, j].item()) for i in range(6) for j in range(60)]
    gold = {f"t{j}": float(expit(logits[j])) for j in range(60)}
    found = allalike.discover(rows, domain="probability")
    weight = found.workers["weight"]
    assert weight[:3].min() > 2 * weight[3:].max()
    error = {
        column: np.mean([2 * (p - gold[t]) ** 2 for t, p in zip(found.truth["task"], found.truth[column], strict=True)])
        for column in ("label", "unweighted")
    }
    assert error["label"] < 0.5 * error["unweighted"]


@SETTLED
def test_sharpening_multiplies_log_odds() -> None:
    assert truth(0.75, 0.75, sharpen=2) == pytest.approx(0.9)
    assert truth(0.75, 0.75, sharpen=0.5, rule="mean") == pytest.approx(expit(0.5 * logit(0.75)))
    assert truth([0.5, 0.3, 0.2], [0.5, 0.3, 0.2], sharpen=2) == pytest.approx([25 / 38, 9 / 38, 4 / 38])
    assert truth(1.0, 1.0, sharpen=30) == 1.0
    assert solve(about_one(0.5, 0.6), sharpen=2).summary["domain"]["sharpen"] == 2


@pytest.mark.parametrize("sharpen", [0, -1, "much", float("nan")])
def test_what_cannot_sharpen_is_refused(sharpen: Any) -> None:
    with pytest.raises(OptionError, match="sharpen"):
        Probability(sharpen=sharpen)


@SETTLED
def test_sums_that_are_off_by_rounding_are_scaled() -> None:
    assert truth([0.33, 0.33, 0.33], [0.33, 0.33, 0.33]) == pytest.approx([1 / 3] * 3)
    assert truth([0.34, 0.33, 0.34]) == pytest.approx([34 / 101, 33 / 101, 34 / 101])
    assert truth(1 + 1e-12, 1 + 1e-12) == 1.0


@pytest.mark.parametrize(
    ("label", "reason"),
    [
        (70, "if these are percent, divide them by 100"),
        ([30, 70], "if these are percent, divide them by 100"),
        ("70%", "divide percent by 100"),
        (-0.1, "-0.1 is no probability, which is between 0 and 1. "),
        (1e300, "between 0 and 1. "),
        ("nan", "nan is no probability; a missing answer is a missing row"),
        ([float("nan"), 1.0], "nan is no probability"),
        ("1e999", "inf is no probability"),
        ([0.5, 0.4], "add up to 0.9, and not to 1"),
        ({"a": 0.5, "b": 0.52}, "add up to 1.02, and not to 1"),
        ([], "it has no options"),
        ({}, "it has no options"),
        ([0.5, "half"], "a forecast is a probability"),
        ([[0.5, 0.5]], "a forecast is a probability"),
        ("likely", "a forecast is a probability"),
        (True, "a truth value is no probability"),
        ({0.5: 1.0}, "its option 0.5 is neither text nor a whole number"),
        ('{"a": 0.5, "a": 0.5}', "names an option twice"),
        ('{"a": 1.0', "no JSON"),
        ("[" * 100_000, "nested"),
        ({"\ud800": 1.0}, "it is no valid text"),
    ],
)
def test_a_label_that_is_no_forecast_is_named_with_its_row(label: Any, reason: str) -> None:
    with pytest.raises(LabelError, match="row 1") as error:
        solve(about_one(label, label))
    assert reason in str(error.value)
    assert len(str(error.value)) < 300


def test_labels_of_two_forms_are_refused_with_the_row() -> None:
    with pytest.raises(LabelError, match="row 3 is a list, but others are a number"):
        solve(about_one("0.5", "0.6", "[0.5, 0.5]"))
    with pytest.raises(InputError, match="row 2"):
        solve(about_one(0.5, [0.5, 0.5]))


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_answers_to_a_task_must_have_the_same_options(engine: str) -> None:
    two, three = [0.5, 0.5], [0.2, 0.3, 0.5]
    rows: list[Row] = [("ada", "t1", two), ("bob", "t1", two), ("ada", "t2", two), ("bob", "t2", three)]
    with pytest.raises(LabelError, match="The answers to task 't2' have different options: 2 against 3"):
        allalike.discover(rows, domain="probability", engine=engine)
    rows = [("ada", "t1", {"a": 0.5, "b": 0.5}), ("bob", "t1", {"a": 0.5, "c": 0.5})]
    with pytest.raises(LabelError, match="different options: a, b against a, c"):
        allalike.discover(rows, domain="probability", engine=engine)


def test_an_update_with_other_options_is_refused_and_one_with_a_new_task_is_not() -> None:
    rows = [(w, t, label) for w, t, label in answers(7, 4, 6, 0.0) if len(label) == 2]
    result = solve(rows, "P-TD")
    with pytest.raises(LabelError, match="Two answers to a task have different options"):
        result.update([("new", rows[0][1], {"a": 0.2, "b": 0.3, "c": 0.5})])
    more = [(w, "t9", {"a": 0.2, "b": 0.3, "c": 0.5}) for w in ("w000", "w001", "w002")]
    found, expected = result.update(more), solve([*rows, *more], "P-TD")
    np.testing.assert_allclose(found.workers["weight"], expected.workers["weight"], rtol=1e-9)
    assert found.truth["label"].iloc[-1] == pytest.approx({"a": 0.2, "b": 0.3, "c": 0.5})


def test_gold_must_have_the_options_of_its_task() -> None:
    rows = [(w, t, {"a": 0.4, "b": 0.6}) for w in "xyz" for t in (1, 2)]
    with pytest.raises(GoldError, match="A known truth and the answers to its task have different options"):
        solve(rows, gold={1: {"a": 0.0, "c": 1.0}})
    with pytest.raises(GoldError, match="row 1 is a number, but others are a mapping"):
        solve(rows, gold={1: 1})
    found = solve(rows, gold={1: {"a": 0.0, "b": 1.0}, 7: {"c": 1.0}})
    assert found.summary["gold"]["error"] == pytest.approx(0.32)


def test_records_of_a_frame_have_the_options_of_their_own_task() -> None:
    rows = [(w, t, label) for t, label in (("t1", {"a": 0.5, "b": 0.5}), ("t2", {"c": 1.0})) for w in "xy"]
    frame = pd.DataFrame(rows, columns=["worker", "task", "label"])
    assert allalike.discover(frame, domain="probability").truth["label"].tolist() == [{"a": 0.5, "b": 0.5}, {"c": 1.0}]


def test_a_saved_mapping_is_json_that_can_be_read_again(tmp_path: Path) -> None:
    rows = [(w, t, {"é": 0.25, "b": 0.75}) for w in ("ada", "bob") for t in ("t1", "t2")]
    solve(rows).save(tmp_path / "out")
    table = pd.read_csv(tmp_path / "out" / "truth.csv")
    assert table["label"].tolist() == ['{"b": 0.75, "é": 0.25}'] * 2


@SETTLED
def test_probabilities_are_never_guessed() -> None:
    rows = [(w, t, (w * 37 + t * 11) % 101 / 100) for w in range(6) for t in range(20)]
    assert allalike.read(rows).domain.name == "real"
    assert allalike.read(answers(8, 3, 4, 0.0)).domain.name == "record"
