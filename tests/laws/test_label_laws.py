"""Laws of label types: options keep the laws of domains, and transformed labels give transformed estimates."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.stats import ortho_group

import allalike
from allalike import DOMAINS, Bitmap, Ranking, Result, Tree
from allalike._core.registry import make
from allalike.testing import check_domain
from crowds.gaps import ranked
from crowds.label_types import disc
from crowds.label_types import draw_bitmap as masks
from crowds.label_types import draw_probability as forecasts
from crowds.samples import Row, crowd, flattened

FORMS: list[Callable[[dict[str, float]], Any]] = [lambda p: p["a"], lambda p: list(p.values())]
OPTIONS = [  # in addition to the defaults, which the laws of methods cover
    *("real(distance=absolute)", "ordinal(distance=squared, rule=mean)", "ordinal(distance=hamming, rule=plurality)"),
    "points(radius=6, form=hard, distance=jaccard)",
    *("spans(distance=exact)", "spans(distance=characters)", "boxes(distance=jaccard)", "bitmap(distance=dice)"),
    *("vector(distance=cosine)", "vector(distance=euclidean, rule='geometric median')", "text(distance=edit)"),
    *("probability(rule=mean)", "probability(rule=median)", "ranking(distance=footrule)", "set(rule=medoid)"),
    *("points(radius=6, distance=count)", "place(distance=euclidean)", "date(rule=median)", "interval(rule=medoid)"),
]


@pytest.mark.parametrize("spec", [
    pytest.param(spec, marks=() if place % 2 else pytest.mark.long) for place, spec in enumerate(OPTIONS)
])  # fmt: skip
def test_options_keep_the_laws_of_domains(spec: str) -> None:
    check_domain(make(spec, DOMAINS, "domain"), crowd(spec.partition("(")[0], seed=1, n=5, m=6, missing=0.2))


SPECIAL: dict[str, tuple[Any, list[Row]]] = {
    "far from 0": ("real(distance=absolute)", [(w, t, 1e8 + x) for w, t, x in crowd("real", seed=2, n=4, m=6)]),
    "single chances": ("probability", [(w, t, FORMS[0](p)) for w, t, p in forecasts(1, 4, 7, 0.2)]),
    "lists of chances": ("probability", [(w, t, FORMS[1](p)) for w, t, p in forecasts(1, 4, 7, 0.2)]),
    "sure forecasts": ("probability", [(w, t, float((w * t) % 3 == 0)) for w in range(4) for t in range(6)]),
    "single spans": ("spans(rule=positions)", [(w, t, s[:1]) for w, t, s in crowd("spans", seed=5, n=5, m=5)]),
    "top lists": ("ranking(gaps=last)", ranked(seed=1, n=5, m=4)),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_labels_keep_the_laws_of_domains(name: str) -> None:
    spec, answers = SPECIAL[name]
    check_domain(make(spec, DOMAINS, "domain"), answers)


TURN, SHIFT = ortho_group.rvs(3, random_state=0), np.array([1e3, -50.0, 0.3])


def each(*axes: str, scale: float = 1, shift: float = 0) -> Callable[[Any], Any]:
    def move(label: Any) -> Any:
        return [{k: scale * v + shift if k in axes else v for k, v in thing.items()} for thing in label]

    return move


# Crowd -> label type, transformation of each label, label type of the transformed labels.
MOVES: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "vector": ("vector", lambda x: (TURN @ np.array(x) + SHIFT).tolist(), "vector"),
    "interval": ("interval", lambda label: [[3 * a - 7, 3 * b - 7] for a, b in label], "interval"),
    "boxes": ("boxes", each("x1", "x2", "y1", "y2", scale=3, shift=-7), "boxes"),
    "spans": ("spans(quorum=0.4)", each("start", "end", shift=90), "spans(quorum=0.4)"),
    "points": ("points(radius=6)", each("x", "y", scale=4, shift=-8), "points(radius=24)"),
    "circular": ("circular", lambda angle: (angle + 77.5) % 360, "circular"),
    "place": ("place", lambda p: [p[0], (p[1] + 100 + 180) % 360 - 180], "place"),
    "set": ("set", lambda label: [element.replace("e", "x") for element in label], "set"),
}


@pytest.mark.parametrize("method", ["P-TD", "iP-TD"])
@pytest.mark.parametrize("name", MOVES)
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_moving_all_labels_moves_the_truth(name: str, method: str) -> None:
    spec, move, moved = MOVES[name]
    answers = crowd(name, seed=3, n=5, m=10, missing=0.2)
    one = allalike.discover(answers, domain=spec, method=method)
    other = allalike.discover([(w, t, move(label)) for w, t, label in answers], domain=moved, method=method)
    np.testing.assert_allclose(one.workers["weight"], other.workers["weight"], rtol=1e-6, atol=1e-9)
    for label, found, tied in zip(one.truth["label"], other.truth["label"], one.truth["tied"], strict=True):
        if not tied:  # a random choice depends on the labels
            same(move(label), found)


def same(one: Any, other: Any) -> None:
    if isinstance(one, list) and one and isinstance(one[0], str):
        assert one == other
    else:
        np.testing.assert_allclose(flattened(one), flattened(other), rtol=1e-7, atol=1e-5)


@pytest.mark.parametrize(
    "spec", ["boxes(quorum=0.5)", "spans(quorum=0.5)", "points(radius=6, quorum=0.5)", "set", "interval", "bitmap"]
)
def test_every_worker_twice_changes_no_truth(spec: str) -> None:
    answers = crowd(spec.partition("(")[0], seed=5, n=5, m=6, missing=0.2)
    twice = [(f"{worker}{copy}", task, label) for worker, task, label in answers for copy in "ab"]
    one, other = (allalike.discover(each, domain=spec, method="UA", ties="first") for each in (answers, twice))
    for label, found in zip(one.truth["label"], other.truth["label"], strict=True):
        same(label, found)


@pytest.mark.parametrize("rule", [rule.name for rule in Bitmap.rules])
def test_background_around_masks_changes_nothing(rule: str) -> None:
    answers = masks(seed=3, n=6, m=8, missing=0.2)
    answers += [(f"w{i:03d}", "tied", np.roll(disc(12, 40, (5, 5), 3), 5 * i, axis=1)) for i in range(5)]
    wide = [(worker, task, np.pad(mask, ((int(task[-1:] == "1"), 70), (13, 2)))) for worker, task, mask in answers]
    plain, padded = (allalike.discover(each, domain=Bitmap(rule=rule), method="P-TD") for each in (answers, wide))
    assert plain.workers.equals(padded.workers)
    for here, there in zip(plain.truth["label"], padded.truth["label"], strict=True):
        assert np.array_equal(*(mask[np.ix_(mask.any(axis=1), mask.any(axis=0))] for mask in (here, there)))


METHODS = ["UA", "OA", "P-TD", "P-TD-AK", "P-TD-AK(ridge=4)", "iP-TD", "D-TD(rounds=3)"]


def alike(one: Result, other: Result) -> None:
    for column in ("disparity", "fault", "weight"):
        np.testing.assert_allclose(
            getattr(one.weighing, column), getattr(other.weighing, column), rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_vectors_of_one_number_are_numbers(method: str) -> None:
    answers = crowd("real", seed=5, missing=0.4)
    gold = {task: label for _, task, label in reversed(answers)}
    real = allalike.discover(answers, domain="real", method=method, gold=gold)
    lists, known = [(w, t, [x]) for w, t, x in answers], {t: [x] for t, x in gold.items()}
    vector = allalike.discover(lists, domain="vector", method=method, gold=known)
    alike(real, vector)
    np.testing.assert_allclose(real.truth["label"], [label[0] for label in vector.truth["label"]], rtol=1e-9)
    np.testing.assert_allclose(real.truth["standard_error"], vector.truth["standard_error"], rtol=1e-9)
    assert vector.summary["gold"]["error"] == pytest.approx(real.summary["gold"]["error"])


def test_geometric_medians_of_a_line_are_weighted_medians() -> None:
    answers = crowd("real", seed=1, missing=0.2)
    real = allalike.discover(answers, domain="real(rule=median)", method="UA")
    lists = [(w, t, [x]) for w, t, x in answers]
    found = allalike.discover(lists, domain="vector(rule='geometric median')", method="UA")
    np.testing.assert_allclose([label[0] for label in found.truth["label"]], real.truth["label"], rtol=0, atol=1e-10)


@pytest.mark.parametrize("method", ["P-TD", "iP-TD", "P-TD-AK", "DS", "DS-1"])
def test_levels_without_their_order_are_classes(method: str) -> None:
    answers = crowd("ordinal", seed=4, missing=0.3)
    domains = ("categorical", "ordinal(distance=hamming, rule=plurality)")
    classes, levels = (allalike.discover(answers, domain=each, method=method, ties="first") for each in domains)
    np.testing.assert_allclose(levels.weighing.fault, classes.weighing.fault)
    assert levels.truth["label"].tolist() == classes.truth["label"].tolist()


def test_names_with_parents_are_the_same_as_paths() -> None:
    paths = {"owl": "animal/bird/owl", "swan": "animal/bird/swan", "bird": "animal/bird", "cat": "animal/cat"}
    parents = {"owl": "bird", "swan": "bird", "bird": "animal", "cat": "animal"}
    drawn = np.random.default_rng(2).choice(list(paths), (5, 12))
    answers = [(w, t, str(drawn[w, t])) for w, t in np.ndindex(5, 12)]
    named = allalike.discover(answers, domain=Tree(parents=parents), method="P-TD")
    written = allalike.discover([(w, t, paths[name]) for w, t, name in answers], domain="tree", method="P-TD")
    alike(named, written)
    paths["animal"] = "animal"
    assert [paths[label] for label in named.truth["label"]] == written.truth["label"].tolist()


def test_lengths_of_vectors_do_not_matter_under_cosine() -> None:
    rng, answers = np.random.default_rng(0), crowd("vector", seed=6, n=6, m=20, missing=0.3)
    stretched = [(w, t, (rng.uniform(1e-3, 1e3) * np.array(x)).tolist()) for w, t, x in answers]
    domain = "vector(distance=cosine, rule=medoid)"
    alike(*(allalike.discover(each, domain=domain, method="iP-TD") for each in (answers, stretched)))


def test_a_large_offset_of_vectors_costs_no_digits() -> None:
    near = [(w, t, [float(8 * round(k)) for k in x]) for w, t, x in crowd("vector", seed=7, n=6, m=20, missing=0.3)]
    far = [(w, t, [k + 2.0**40 for k in x]) for w, t, x in near]
    alike(*(allalike.discover(each, domain="vector", method="D-TD") for each in (near, far)))


@pytest.mark.parametrize("gaps", ["unknown", "last"])
def test_rankings_that_come_later_are_added_up_too(gaps: str) -> None:
    answers = ranked(seed=6, m=4, repeated=True)
    later = allalike.discover(answers[:20], domain=Ranking(gaps=gaps), method="iP-TD").update(answers[20:])
    whole = allalike.discover(answers, domain=Ranking(gaps=gaps), method="iP-TD")
    alike(later, whole)
    assert later.truth["label"].tolist() == whole.truth["label"].tolist()
