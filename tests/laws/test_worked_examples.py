"""Worked examples with values known to several digits."""

import numpy as np
import pytest

import allalike
from allalike import CATD, CRH, DS, DS1, DTD, GLAD, GTM, IPTD, MACE, OA, PTD, PTDAK, UA, Categorical, Method, Result
from allalike.engines import Engine
from crowds.samples import BINARY, RUNNING_EXAMPLE, RUNNING_TRUTH, THREE_CLASSES, rows

VARIANCES = (55, 80, 100, 120, 165)


def running(method: Method, engine: Engine) -> Result:
    gold = {f"t{j:04d}": z for j, z in enumerate(RUNNING_TRUTH)}
    return allalike.discover(rows(RUNNING_EXAMPLE), domain="real", method=method, gold=gold, engine=engine)


def check(
    result: Result, *, answer: list[float] | None = None, error: float | None = None, weight: list[float] | None = None
) -> None:
    if answer is not None:
        np.testing.assert_allclose(result.truth["label"], answer, atol=6e-4)
    if error is not None:
        assert result.summary["gold"]["error"] == pytest.approx(error, abs=6e-3)
    if weight is not None:
        np.testing.assert_allclose(result.workers["weight"], weight, atol=6e-5)


def test_the_unweighted_answer_of_the_running_example(engine: Engine) -> None:
    result = running(UA(), engine)
    check(result, answer=[82, 2.2, 47, -9], error=14.71)
    np.testing.assert_allclose(result.workers["disparity"], [197.3125, 307.5625, 491.25, 319.75, 418.375])


def test_the_oracle_of_type_weighs_by_the_variances(engine: Engine) -> None:
    method = OA(faults={f"w{i:03d}": t for i, t in enumerate(VARIANCES)})
    check(running(method, engine), answer=[83.6657, 0.9133, 44.3232, -8.3356], error=8.9331)


def test_the_realised_oracle_sees_the_workers_errors(engine: Engine) -> None:
    fault = running(OA(), engine).weighing.fault
    np.testing.assert_allclose(fault, [13.5, 84.5, 243.75, 177.25, 248.25])


@pytest.mark.parametrize(
    ("ridge", "fault"),
    [
        (0, [-25.9583, 121.0417, 365.9583, 137.2917, 268.7917]),
        (2, [4.6181, 114.8681, 298.5556, 127.0556, 225.6806]),
        (4, [19.11, 107.31, 254.26, 117.06, 195.96]),
    ],
)
def test_faults_of_the_running_example(ridge: float, fault: list[float], engine: Engine) -> None:
    np.testing.assert_allclose(running(PTDAK(ridge=ridge), engine).weighing.fault, fault, atol=6e-5)


def test_answers_of_the_proximity_family_on_the_running_example(engine: Engine) -> None:
    check(running(PTD(weighting="max"), engine), answer=[78.534, 5.073, 46.178, -9.076], error=16.724)
    check(running(PTD(weighting="printed"), engine), answer=[78.534, 5.073, 46.178, -9.076], error=16.724)
    check(running(PTD(), engine), answer=[81.047, 3.163, 46.212, -9.274], error=12.555)
    check(running(PTDAK(nonpositive="clip"), engine), answer=[81, 6, 41, -14], error=13.5)
    check(
        running(PTDAK(), engine),
        answer=[80.951, 5.707, 41.519, -13.420],
        error=11.870,
        weight=[0.92911, 0.02662, 0.00881, 0.02347, 0.01199],
    )
    check(running(PTDAK(ridge=4), engine), answer=[80.829, 4.622, 43.554, -11.391], error=9.155)
    check(running(DTD(), engine), answer=[80.829, 4.622, 43.554, -11.391], error=9.155)


def test_iterating_on_the_running_example(engine: Engine) -> None:
    with pytest.warns(allalike.ConvergenceWarning):  # the printed digits need all 15 rounds; the default stops at 9
        result = running(IPTD(weighting="max", tol=0), engine)
    np.testing.assert_allclose(result.weighing.fault, [163.153, 360.717, 535.882, 169.061, 205.337], atol=6e-4)
    check(result, error=57.54, weight=[0.2993, 0.1407, 0, 0.2946, 0.2654])
    check(running(IPTD(), engine), error=35.52)


def test_crh_catd_and_gtm_on_the_running_example(engine: Engine) -> None:
    with pytest.warns(allalike.ConvergenceWarning):
        result = running(CRH(), engine)
    weight = [0.40559, 0.16277, 0.08107, 0.19756, 0.15302]
    check(result, answer=[79.537, 4.836, 46.611, -10.468], weight=weight)
    with pytest.warns(allalike.ConvergenceWarning):
        check(running(CRH(max_iter=1), engine), answer=[80.810, 3.533, 45.803, -9.565])
    check(running(CATD(), engine), answer=[81, 6, 41, -14], weight=[1, 0, 0, 0, 0])
    with pytest.warns(allalike.ConvergenceWarning):
        check(running(CATD(n_iter=1), engine), answer=[80.829, 4.622, 43.554, -11.391])
    check(running(GTM(), engine), answer=[81.637, 3.259, 45.439, -9.296])
    check(running(GTM(beta=10), engine), answer=[81.596, 3.015, 45.994, -9.265])


def binary(method: Method, engine: Engine) -> Result:
    return allalike.discover(rows(BINARY), domain=Categorical(classes=2), method=method, engine=engine)


def test_the_binary_example(engine: Engine) -> None:
    result = binary(PTD(), engine)
    np.testing.assert_allclose(result.workers["disparity"], [0.34375, 0.375, 0.46875, 0.5625, 0.625])
    check(result, weight=[0.375, 0.33333, 0.20833, 0.08333, 0])
    result = binary(PTDAK(), engine)
    np.testing.assert_allclose(result.weighing.fault, [0.20238, 0.26190, 0.44048, 0.61905, 0.73810], atol=6e-6)
    check(result, weight=[0.51816, 0.39145, 0.09038, 0, 0])
    assert "".join(map(str, binary(UA(), engine).truth["label"])) == "10110100"


def test_rivals_on_the_binary_example(engine: Engine) -> None:
    result = binary(DS1(), engine)
    np.testing.assert_allclose(1 - result.weighing.fault, [0.999, 0.87507, 0.74985, 0.62478, 0.37517], atol=6e-6)
    for rival, fault in (
        (GLAD(tol=1e-10), [0.02359, 0.11201, 0.26398, 0.39760, 0.61030]),
        (MACE(starts=1), [0.00449, 0.12370, 0.25245, 0.37857, 0.62201]),
        (MACE(form="em", starts=1), [0.00015, 0.12498, 0.25008, 0.37510, 0.62490]),
    ):
        np.testing.assert_allclose(binary(rival, engine).weighing.fault, fault, atol=6e-6)
    for method in (DS1(), DS(), CRH(), GLAD(), MACE()):
        assert "".join(map(str, binary(method, engine).truth["label"])) == "10110100"


def test_iterating_on_the_binary_example_stops_after_seven_rounds(engine: Engine) -> None:
    result = binary(IPTD(), engine)
    assert (result.summary["iterations"], result.summary["converged"]) == (7, True)
    np.testing.assert_allclose(result.weighing.fault, [0.21146, 0.26586, 0.35241, 0.48185, 0.60021], atol=6e-6)
    check(result, weight=[0.35690, 0.30695, 0.22749, 0.10866, 0])


def test_the_example_with_three_classes(engine: Engine) -> None:
    result = allalike.discover(rows(THREE_CLASSES), domain="categorical", method="P-TD-AK", engine=engine)
    np.testing.assert_allclose(result.workers["disparity"], [0.33333, 0.38889, 0.44444, 0.72222], atol=6e-6)
    np.testing.assert_allclose(result.weighing.fault, [0.15054, 0.23656, 0.32258, 0.75269], atol=6e-6)
    check(result, weight=[0.42344, 0.32582, 0.25074, 0])


def test_the_exact_mean_fault_of_the_example_with_three_classes(engine: Engine) -> None:
    mu, c = 0.306626, 1.5
    disparity = np.array([2, 7 / 3, 8 / 3, 13 / 3]) / 6
    method = PTDAK(mu="exact")
    result = allalike.discover(rows(THREE_CLASSES), domain="categorical", method=method, engine=engine)
    np.testing.assert_allclose(result.weighing.fault, (disparity - mu) / (1 - c * mu), atol=3e-6)
