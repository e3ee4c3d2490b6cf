"""The plug-in for Inspect, with Inspect itself: panels are weighed, and their logs are read.

Inspect brings some seventy packages with it, so it is no dependency of the tests; they run where it is there.
"""

import gc
import hashlib
import math
import tomllib
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.errors import DataWarning
from files.tool_exports import opened, recognised

inspect_ai = pytest.importorskip("inspect_ai")
pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

N_SAMPLES = 60
SKILLS = {"good": 0.97, "fair": 0.9, "weak": 0.7, "poor": 0.55, "bad": 0.55}


def plugin() -> Any:
    return import_module("allalike.integrations.inspect")


def chance(*parts: Any) -> float:
    """Return a number between 0 and 1 that the parts tell, whatever the order in which samples are run."""
    return int.from_bytes(hashlib.blake2b(repr(parts).encode(), digest_size=4).digest()) / 2**32


def is_right(number: int) -> bool:
    return number % 3 > 0


def said_by(name: str, number: int, skill: float) -> str:
    right = is_right(number) == (chance(name, number) < skill)
    return "GRADE: C" if right else "GRADE: I"


def model(name: str, say: Any) -> Any:
    """Return a model that says what a function of its prompt tells."""

    def answer(messages: list[Any], *_: Any) -> Any:
        output = inspect_ai.model.ModelOutput.from_content(name, say(messages[-1].text))
        output.usage = inspect_ai.model.ModelUsage()  # otherwise tokens are counted, by a table from the network
        return output

    return inspect_ai.model.get_model(f"mockllm/{name}", custom_outputs=answer, memoize=False)


def grader(name: str, skill: float) -> Any:
    return model(name, lambda prompt: said_by(name, int(prompt.split("number ")[1].split(";")[0]), skill))


def run(folder: Path, scorer: Any, n_samples: int = N_SAMPLES, form: str = "eval", **how: Any) -> Any:
    """Run an evaluation, and return its log."""
    dataset = [
        inspect_ai.dataset.Sample(input=f"number {number}; secret", target="yes", id=number)
        for number in range(n_samples)
    ]
    task = inspect_ai.Task(dataset=dataset, scorer=scorer, **how)
    settings = {"log_dir": str(folder), "log_format": form, "display": "none"}
    log = inspect_ai.eval(task, model=model("m", lambda _: "yes"), **settings)[0]
    assert log.status == "success", log.error
    gc.collect()  # here, where warnings about streams that Inspect leaves open are ignored
    return log


def graders() -> list[Any]:
    return [grader(name, skill) for name, skill in SKILLS.items()]


def metrics(log: Any) -> dict[str, float]:
    return {name: metric.value for name, metric in log.results.scores[0].metrics.items()}


def test_inspect_finds_the_plug_in_where_it_is() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    module = import_module(project["entry-points"]["inspect_ai"]["allalike"])
    assert {"panel", "vote", "weighed"} <= set(module.__all__)


@pytest.mark.parametrize("form", ["eval", "json"])
def test_a_panel_is_weighed_and_its_log_is_read(form: str, tmp_path: Path) -> None:
    log = run(tmp_path, plugin().panel(model=graders()), form=form)
    path = next(tmp_path.glob(f"*.{form}"))
    found = metrics(log)
    assert recognised(path) == ["inspect"]
    result = allalike.discover(path)
    assert found["weighed"] == pytest.approx((result.truth["label"] == "C").mean())
    weights = dict(zip(result.workers["worker"], result.workers["weight"], strict=True))
    assert {name: found[f"weight {name}"] for name in weights} == pytest.approx(weights)
    assert set(weights) == {f"mockllm/{name}" for name in SKILLS}
    assert weights["mockllm/good"] > 3 * weights["mockllm/poor"]
    truth = result.truth
    right = {
        column: sum(
            (label == "C") == is_right(int(task)) for task, label in zip(truth["task"], truth[column], strict=True)
        )
        for column in ("label", "unweighted")
    }
    assert right["label"] > right["unweighted"]


def test_the_votes_of_each_epoch_are_weighed(tmp_path: Path) -> None:
    log = run(tmp_path, plugin().panel(model=graders()), 12, epochs=inspect_ai.Epochs(2, plugin().vote()))
    table = opened(next(tmp_path.glob("*.eval")))
    assert len(table.load(["label"])["label"]) == 12 * 2 * len(SKILLS)
    assert set(table.load(["sample"])["sample"]) == {1, 2}
    assert 0 <= metrics(log)["weighed"] <= 1


def test_graders_of_inspect_itself_are_read_and_weighed_by_the_metric(tmp_path: Path) -> None:
    scorer = inspect_ai.scorer.model_graded_qa(model=graders())
    log = run(tmp_path, scorer, 12, metrics=[plugin().weighed()])
    table = opened(next(tmp_path.glob("*.eval")))
    assert set(table.load(["worker"])["worker"]) == {f"mockllm/{name}" for name in SKILLS}
    assert {"weighed", "weight judge 1"} <= set(metrics(log))


def scored(value: Any, **panel: Any) -> Any:
    score = inspect_ai.scorer.Score(value=value, metadata={"panel": panel} if panel else None)
    return inspect_ai.scorer.SampleScore(score=score, sample_id=1)


def test_a_vote_keeps_what_each_judge_said() -> None:
    scores = [scored(value).score for value in ("I", "C", "C", math.nan)]
    reduced = plugin().vote(judges=["a", "b", "c", "d"])(scores)
    assert reduced.value == "C"
    assert reduced.metadata == {"panel": {"votes": ["I", "C", "C", None], "size": 4, "judges": ["a", "b", "c", "d"]}}
    nobody = plugin().vote()([scored(math.nan).score])
    assert math.isnan(nobody.value)


def test_scores_without_a_panel_are_not_weighed_and_no_evaluation_is_lost() -> None:
    with pytest.warns(DataWarning, match="no score has votes by several graders"):
        assert plugin().weighed()([scored("C"), scored("I")]) == {"weighed": 0.5}
    assert math.isnan(plugin().weighed()([])["weighed"])


def test_numbers_of_graders_have_a_mean() -> None:
    votes = [(1, 2, 9), (4, 5, 1), (7, 7, 2), (3, 3, 8), (9, 8, 1)]
    found = plugin().weighed()([scored(each[0], votes=list(each)) for each in votes])
    assert 1 < found["weighed"] < 9
    assert sum(weight for name, weight in found.items() if name.startswith("weight ")) == pytest.approx(1)


def test_graders_of_one_model_are_several(tmp_path: Path) -> None:
    same = [grader("twin", skill) for skill in (0.9, 0.8, 0.7)]
    found = metrics(run(tmp_path, plugin().panel(model=same), n_samples=12))
    assert {name for name in found if name.startswith("weight ")} == {
        "weight mockllm/twin",
        "weight mockllm/twin #2",
        "weight mockllm/twin #3",
    }
