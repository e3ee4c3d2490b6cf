"""Laws of all methods for all label types, found through the registries."""

import warnings
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import allalike
from allalike import METHODS, Categorical, ConvergenceWarning, Disk, Memory, Real, Result
from allalike._core.registry import make
from allalike.engines import Engine
from allalike.methods.proximity import normalise
from allalike.noise import General, OneCoin
from crowds import law_cases as cases
from crowds.errors import draw_one_coin
from crowds.law_cases import every_case, every_degenerate_case
from crowds.samples import Row, crowd, flattened, kind, rows, sparse_crowd
from running.turns import in_turn


def solve(
    answers: list[Row],
    spec: str,
    domain: str,
    *,
    engine: Engine | None = None,
    gold: list[tuple[Any, Any]] | None = None,
) -> Result:
    """Estimate labels with the first answer to each task as gold, which the oracle needs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        known = gold or first_answers(answers)
        return allalike.discover(answers, domain=kind(domain), method=spec, engine=engine, gold=known)


def first_answers(answers: list[Row]) -> list[tuple[Any, Any]]:
    return list({task: label for _, task, label in reversed(answers)}.items())


def same(left: Result, right: Result, *, disparity: float = 1.0, fault: float = 1.0) -> None:
    """Check that two results agree, with disparities and errors on another scale if necessary."""
    np.testing.assert_allclose(left.workers["weight"], right.workers["weight"], rtol=1e-7, atol=1e-12)
    for column, scale in (("disparity", disparity), ("fault", fault)):
        one, other = (getattr(result.weighing, column) for result in (left, right))
        np.testing.assert_allclose(one * scale, other, rtol=1e-7, atol=1e-12)


def same_labels(left: list[Any], right: list[Any]) -> None:
    """Check that labels are equal, and numbers up to rounding."""
    for one, other in zip(map(flattened, left), map(flattened, right), strict=True):
        if isinstance(one, dict):
            assert one.keys() == other.keys()
            same_labels([*one.values()], [other[name] for name in one])
            continue
        try:
            numbers = np.asarray(one, np.float64), np.asarray(other, np.float64)
        except ValueError:
            assert one == other
        else:
            np.testing.assert_allclose(*numbers, rtol=1e-9, atol=1e-12)


@every_case(law=0)
def test_weights_sum_to_one_and_are_never_negative(spec: str, domain: str) -> None:
    for seed, missing in ((0, 0.0), (2, 0.7)):
        weight = solve(crowd(domain, seed=seed, missing=missing), spec, domain).workers["weight"]
        assert weight.sum() == pytest.approx(1)
        assert (weight >= 0).all()


@every_case(law=1)
def test_blocks_and_the_order_of_rows_do_not_matter(spec: str, domain: str) -> None:
    answers = crowd(domain, seed=3, missing=0.4)
    first = solve(answers, spec, domain)
    other = solve(answers, spec, domain, engine=Memory(block_answers=10))
    same(first, other)
    same_labels(other.truth["label"].tolist(), first.truth["label"].tolist())
    order = np.random.default_rng(0).permutation(len(answers))
    shuffled = solve([answers[i] for i in order], spec, domain, gold=first_answers(answers))
    assert shuffled.workers.equals(first.workers)
    for column in sorted(
        {*first.truth} & {"confidence", "support", "ci_low", "ci_high", "standard_error", "tied", "changed"}
    ):
        np.testing.assert_array_equal(shuffled.truth[column], first.truth[column])
    same_labels(shuffled.truth["label"].tolist(), first.truth["label"].tolist())


@every_case(law=2)
def test_few_answers_give_the_same_on_every_engine(spec: str, domain: str) -> None:
    answers = sparse_crowd(domain, seed=zlib.crc32(f"{spec} {domain}".encode()))
    first = solve(answers, spec, domain)
    for engine in (Disk(partitions=3), Memory(block_answers=1)):
        agree(first, solve(answers, spec, domain, engine=engine), rtol=1e-3 if spec.startswith("MAS") else 1e-7)


def agree(left: Result, right: Result, *, rtol: float = 1e-7) -> None:
    """Check that two engines agree on every worker and task; iterative methods agree up to their tolerance."""
    for column in ("weight", "disparity", "fault"):
        one, other = (getattr(result.weighing, column) for result in (left, right))
        np.testing.assert_allclose(one, other, rtol=rtol, atol=1e-12)
    numbers = {*left.truth.select_dtypes(["number", "bool"])}  # intervals may contain dates
    for column in sorted(numbers & {"confidence", "support", "ci_low", "ci_high", "standard_error", "tied", "changed"}):
        np.testing.assert_allclose(left.truth[column], right.truth[column], rtol=rtol, atol=1e-9)
    for column in ("label", "unweighted"):
        for one, other in zip(left.truth[column], right.truth[column], strict=True):
            same_labels([one], [other])


@pytest.mark.parametrize(
    ("spec", "answers"),
    [
        pytest.param("iP-TD", "w0 t0 1,w1 t0 3,w4 t0 3,w1 t1 0,w2 t1 2,w3 t1 1,w0 t2 2,w4 t2 3", id="inverse of 0"),
        pytest.param("P-TD-AK(nonpositive='zero')", "w4 t0 1,w2 t0 2,w4 t1 0,w2 t1 3,w0 t1 2,w1 t2 0", id="a sign"),
    ],
)
def test_rounding_does_not_decide_who_has_weight(spec: str, answers: str) -> None:
    found = [(worker, task, float(label)) for worker, task, label in map(str.split, answers.split(","))]
    agree(solve(found, spec, "real"), solve(found, spec, "real", engine=Disk(partitions=3)))
    agree(solve(found, spec, "real"), solve(found, spec, "real", engine=Memory(block_answers=1)))


def test_who_is_at_chance_up_to_rounding_has_no_weight() -> None:
    faults = np.array([0.1 + 0.2 + 0.2, 0.5, np.nextafter(0.5, 0)])
    for weight in (OneCoin().weight(faults), General().weight(faults)):
        assert normalise(weight).tolist() == [1 / 3] * 3


def without_ties(answers: list[Row], domain: str) -> list[Row]:
    """Return answers to tasks without ties in the majority vote, because ties depend on names."""
    truth = solve(answers, "UA", domain).truth
    tied = set(truth["task"][truth["tied"]])
    return [answer for answer in answers if answer[1] not in tied]


@every_case(law=3)
def test_names_of_workers_and_tasks_do_not_matter(spec: str, domain: str) -> None:
    same_tasks = spec.startswith(cases.BY_ID)
    seed = 6 if domain == "vector" else 4  # auto samples held-out answers by ids, so its choice must be clear
    answers = without_ties(crowd(domain, seed=seed, n=7, missing=0.3), domain)
    new = dict(zip(sorted({worker for worker, _, _ in answers}), "cfbagde", strict=True))
    renamed = [(new[worker], task if same_tasks else 1000 - int(task[1:]), label) for worker, task, label in answers]
    first, second = solve(answers, spec, domain), solve(renamed, spec, domain)
    by_name = second.workers.set_index("worker").loc[[new[name] for name in first.workers["worker"]]]
    np.testing.assert_allclose(first.workers["weight"], by_name["weight"], rtol=1e-7, atol=1e-12)
    labels = second.truth["label"][:: 1 if same_tasks else -1]
    found = zip(first.truth["label"], labels, first.truth["tied"], strict=True)
    for one, other, tied in found:
        if not tied:
            same_labels([one], [other])


def matrix(seed: int, n: int = 6, m: int = 12) -> npt.NDArray[np.float64]:
    return np.random.default_rng(seed).normal(size=(n, m)).round(6)


@pytest.mark.parametrize("spec", [spec for spec, domain in cases.CASES if domain == "real"])
def test_shifting_and_scaling_numbers_does_not_matter(spec: str) -> None:
    base = matrix(6)
    first = solve(rows(base), spec, "real")
    shifts = np.random.default_rng(7).normal(0, 100, base.shape[1])
    if spec not in cases.CLIPPED:
        for scale in (1e-6, 1e-3, -1.0, 1e3):
            scaled = solve(rows(base * scale), spec, "real")
            same(first, scaled, disparity=scale**2, fault=abs(scale) ** cases.FAULT_POWERS.get(spec, 2))
            np.testing.assert_allclose(first.truth["label"] * scale, scaled.truth["label"], rtol=1e-7)
    shifted = solve(rows(base + shifts), spec, "real")
    same(first, shifted)
    np.testing.assert_allclose(first.truth["label"] + shifts, shifted.truth["label"], atol=1e-9)


@pytest.mark.parametrize(
    "spec", [spec for spec, name in cases.CASES if name == "real" and spec not in {"OA", *cases.BY_TASK}]
)
def test_rotating_numbers_does_not_matter(spec: str) -> None:
    base = matrix(8)
    rotation = np.linalg.qr(np.random.default_rng(9).normal(size=(12, 12)))[0]
    if spec == "auto":  # it searches for copies, and uses gold labels, per task
        spec = "auto(screening=False, use_gold=False)"
    first, second = solve(rows(base), spec, "real"), solve(rows(base @ rotation), spec, "real")
    np.testing.assert_allclose(first.workers["weight"], second.workers["weight"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("spec", [spec for spec, domain in cases.CASES if domain == "categorical"])
def test_names_of_labels_do_not_matter_be_they_the_same_for_all_tasks_or_not(spec: str) -> None:
    answers = without_ties(crowd("categorical", seed=10, missing=0.1), "categorical")
    first = solve(answers, spec, "categorical")
    named = [(worker, task, ("rose", "iris", "lily")[label]) for worker, task, label in answers]
    if not spec.startswith("EBCC"):  # it draws samples per class
        same(first, solve(named, spec, "categorical"))
    if spec.startswith(cases.CONFUSIONS) and not spec.startswith("DS-1"):
        return
    turned = [(worker, task, (label + int(task[1:])) % 3) for worker, task, label in answers]
    same(first, solve(turned, spec, "categorical"))


def equal(workers: int) -> Any:
    """Return equal weights, up to rounding."""
    return pytest.approx([1 / workers] * workers, rel=1e-12)


@every_degenerate_case(law=4)
def test_one_worker_is_believed_and_nothing_is_known_about_her(spec: str, domain: str, engine: Engine) -> None:
    answers = crowd(domain, seed=18, n=1, m=4)
    result = solve(answers, spec, domain, engine=engine)
    assert not result.truth["changed"].any()
    same_labels(result.truth["label"].tolist(), [label for _, _, label in answers])
    assert result.workers["weight"].tolist() == [1]
    assert np.isnan(result.workers["disparity"][0])
    if spec != "OA":
        assert np.isnan(result.weighing.fault[0])


@every_degenerate_case(law=5)
def test_two_workers_count_the_same(spec: str, domain: str, engine: Engine) -> None:
    if spec == "OA":
        return  # it knows the gold labels
    spec = "auto(use_gold=False)" if spec == "auto" else spec  # gold labels would reveal the errors
    for seed in range(2):
        answers = crowd(domain, seed=seed, n=2)
        assert solve(answers, spec, domain, engine=engine).workers["weight"].tolist() == equal(2)
    if domain in ("categorical", "real"):
        complementary: list[Row] = [(worker, task, worker) for worker in (0, 1) for task in range(4)]
        assert solve(complementary, spec, domain, engine=engine).workers["weight"].tolist() == equal(2)


@every_degenerate_case(law=6)
def test_identical_workers_count_the_same_and_have_no_fault(spec: str, domain: str, engine: Engine) -> None:
    one = crowd(domain, seed=19, n=1, m=5)
    answers = [(worker, task, label) for worker in range(4) for _, task, label in one]
    result = solve(answers, spec, domain, engine=engine)
    assert result.workers["weight"].tolist() == equal(4)
    # Nor is the variance of GTM 0, because of its prior.
    if spec not in {*cases.CLIPPED, *cases.STANDARDISED} and not spec.startswith(cases.PRIORS):
        np.testing.assert_allclose(result.weighing.fault, [0] * 4, atol=1.1e-3 if spec.startswith("DS") else 1e-9)
    assert not result.truth["changed"].any()
    same_labels(result.truth["label"].tolist(), [label for _, _, label in one])


@every_degenerate_case(law=7)
def test_a_worker_without_peers_is_like_the_mean_of_the_others(spec: str, domain: str, engine: Engine) -> None:
    lone = crowd(domain, seed=11, n=1, m=1)[0][2]
    answers = [*crowd(domain, seed=11, n=5, m=10), ("lone", "t9999", lone)]
    workers = solve(answers, spec, domain, engine=engine).workers.set_index("worker")
    others = workers.drop(index="lone")
    assert workers.loc["lone", "disparity"] == pytest.approx(others["disparity"].mean())
    assert np.isfinite(workers["weight"]).all()


@every_degenerate_case(law=8)
def test_nobody_with_peers_means_equal_weights(spec: str, domain: str, engine: Engine) -> None:
    answers = [(number, number, label) for number, (_, _, label) in enumerate(crowd(domain, seed=20, n=1, m=6))]
    result = solve(answers, spec, domain, engine=engine)
    if spec != "OA":
        np.testing.assert_allclose(result.workers["weight"], np.full(6, 1 / 6))
    same_labels(result.truth["label"].tolist(), [label for _, _, label in answers])


@pytest.mark.parametrize("domain", cases.DOMAIN_NAMES)
@pytest.mark.parametrize("spec", ["P-TD", "iP-TD"])
def test_copies_of_a_worker_gain_weight(spec: str, domain: str) -> None:
    """Show the known weakness of proximity: workers with copies look accurate."""
    answers = crowd(domain, seed=12, n=6, m=40)
    copies = [(f"copy{k}", task, label) for k in range(3) for worker, task, label in answers if worker == "w003"]
    before = solve(answers, spec, domain).workers.set_index("worker")
    after = solve(answers + copies, spec, domain).workers.set_index("worker")
    assert after["disparity"]["w003"] < before["disparity"]["w003"]
    closer = [(workers["disparity"] < workers["disparity"]["w003"] - 1e-9).sum() for workers in (before, after)]
    assert closer[1] <= closer[0]


@pytest.mark.parametrize("domain", cases.DOMAIN_NAMES)
def test_the_first_round_of_iterating_is_proximity(domain: str) -> None:
    answers = crowd(domain, seed=13, missing=0.3)
    same(solve(answers, "iP-TD(max_iter=1)", domain), solve(answers, "P-TD", domain))


@pytest.mark.parametrize("spec", cases.METHOD_NAMES)
def test_numpys_global_random_state_is_left_alone(spec: str) -> None:
    before = str(np.random.get_state())  # noqa: NPY002
    domain = next(name for name in ("categorical", "real", "binary") if METHODS[spec]().serves(kind(name)))
    solve(crowd(domain, seed=16), spec, domain)
    assert str(np.random.get_state()) == before  # noqa: NPY002


def test_ten_thousand_classes_work() -> None:
    rng = np.random.default_rng(17)
    truth = rng.permutation(10_000)
    answers = [
        (worker, task, int(truth[task]) if rng.random() > fault else int(rng.integers(10_000)))
        for worker, fault in enumerate((0.1, 0.2, 0.3, 0.6, 0.9))
        for task in range(10_000)
    ]
    result = allalike.discover(answers, domain="categorical", gold=dict(enumerate(truth.tolist())))
    assert result.summary["domain"]["classes"] > 9_900
    assert result.summary["gold"]["error"] < 0.05


# Independent problems per task give the same results as separate runs.
PROBLEMS_OF = [
    *[name for name in METHODS if name != "OA"],
    *("iP-TD(average=False)", "P-TD(per_pair=True)", "MACE(starts=1)"),
]
PROBLEMS = [
    (spec, classes)
    for spec in PROBLEMS_OF
    for classes in (None, 2, 3)
    if make(spec, METHODS, "method").serves(Categorical(classes=classes) if classes else Real())
]


@pytest.mark.parametrize(("spec", "classes"), in_turn(PROBLEMS, 4))
@pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning")
def test_each_task_is_solved_as_if_it_were_alone(spec: str, classes: int | None) -> None:
    rng = np.random.default_rng(0)
    matrix: npt.NDArray[Any] = rng.normal(size=(5, 6))
    if classes:
        matrix = draw_one_coin(np.arange(6) % classes, rng.random(5), 0, classes=classes)
        matrix[:classes] = (np.arange(classes)[:, None] + np.arange(6)) % classes  # each task has all classes
    domain = Categorical(classes=classes) if classes else Real()
    answers = allalike.read(rows(matrix), domain=domain)
    together = allalike.discover(answers.per_task(), method=spec)
    for task, workers in together.workers.groupby("task"):
        alone = allalike.discover([row for row in rows(matrix) if row[1] == task], domain=answers.domain, method=spec)
        for name in {"weight", "mean_error", "error_rate", "rmse"} & {*workers}:
            np.testing.assert_allclose(workers[name], alone.workers[name], rtol=1e-9, atol=1e-12)
        label = together.truth["label"][together.truth["task"] == task]
        np.testing.assert_allclose(label, alone.truth["label"], rtol=1e-9)
