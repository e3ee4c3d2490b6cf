"""Signal: whose answers depend on the tasks, and what is done about those whose do not."""

import numpy as np
import pytest

import allalike
from allalike.engines.sample import sample_tasks
from allalike.methods.auto.signal import DrawnPairs, find_class_signal, silence
from crowds.copiers import answer, loaded, rows_of


def with_constants(seed: int, constants: int, tasks: int = 500) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, 90])
    truth = (rng.random(tasks) < 0.1).astype(np.int64)
    return truth, np.concatenate([answer(rng, truth, 0.85, 6, k=2), np.zeros((constants, tasks), np.int64)])


def test_signal_is_how_much_more_others_agree_on_the_same_task() -> None:
    rng = np.random.default_rng(1)
    said = answer(rng, rng.integers(0, 3, 9), 0.6, 5, k=3)
    found = find_class_signal(loaded(said))
    for worker in range(5):
        others = np.delete(said, worker, axis=0)
        agree = np.array([[np.mean(others[:, there] == said[worker, here]) for there in range(9)] for here in range(9)])
        same, other = np.diag(agree).mean(), (agree.sum() - np.trace(agree)) / 72
        assert found.value[worker] == pytest.approx(same - other, rel=1e-9)


@pytest.mark.long
def test_the_standard_error_is_that_of_many_draws() -> None:
    values, errors = [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        found = find_class_signal(loaded(answer(rng, rng.integers(0, 2, 40), 0.7, 4, k=2)))
        values.append(found.value[0])
        errors.append(found.error[0])
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.25)


def test_constants_and_random_answers_have_no_signal_but_few_answers_are_no_evidence() -> None:
    found = find_class_signal(loaded(with_constants(1, 4)[1]))
    assert found.value[6:].tolist() == found.error[6:].tolist() == [0.0] * 4
    assert found.empty.tolist() == [False] * 6 + [True] * 4
    assert not find_class_signal(loaded(with_constants(5, 4, tasks=9)[1])).empty.any()
    rng = np.random.default_rng(4)
    said = np.concatenate([answer(rng, rng.integers(0, 4, 1000), 0.8, 6), rng.integers(0, 4, (3, 1000))])
    assert find_class_signal(loaded(said)).empty.tolist() == [False] * 6 + [True] * 3


def test_a_rare_class_is_found_among_constants() -> None:
    recalls = []
    for seed in range(4):
        truth, said = with_constants(seed, 4)
        label = allalike.discover(rows_of(said)).truth["label"].to_numpy()
        recalls.append(np.mean(label[truth == 1] == "b"))
    assert np.mean(recalls) > 0.92  # a vote has 0.58


def test_many_without_signal_lose_their_voice_and_few_are_only_named() -> None:
    many, few = (allalike.discover(rows_of(with_constants(3, constants)[1])) for constants in (4, 1))
    assert many.workers["weight"].tolist()[6:] == [0.0] * 4
    assert few.workers["weight"].iloc[6] > 0
    assert few.workers["no_signal"].tolist() == [False] * 6 + [True]
    assert [many.summary["trust"]["no_signal"][name] for name in ("workers", "silenced")] == [4, True]
    assert [few.summary["trust"]["no_signal"][name] for name in ("workers", "silenced")] == [1, False]


def test_a_crowd_without_any_signal_keeps_its_voices() -> None:
    run = loaded(np.tile(np.arange(5)[:, None] % 2, 30))
    found = find_class_signal(run)
    assert not silence(found, run.answer_counts, run.problems).any()


def test_pairs_are_drawn_of_the_same_tasks_and_of_others_and_never_of_her_own() -> None:
    rng = np.random.default_rng(3)
    rows = [(f"w{worker}", task, 360 * rng.random()) for task in range(900) for worker in rng.permutation(7)[:4]]
    run = allalike.Memory().load(allalike.read(rows, domain="circular"))
    drawn = DrawnPairs.of(sample_tasks(run, 10_000, with_gold=False))
    empty = np.arange(7) == 2
    pairs = drawn._draw(empty)
    worker, task = drawn.worker, drawn.task
    same = pairs.row == pairs.other_row
    assert (worker[pairs.left] != worker[pairs.right]).all()
    assert not empty[worker[pairs.right]].any()
    assert np.array_equal(task[pairs.left] == task[pairs.right], same)
    own = drawn.rows[pairs.other_row]
    assert np.array_equal(task[own], task[pairs.right])
    assert np.array_equal(worker[own], worker[pairs.left])
    assert (np.bincount(worker[pairs.left[same]]) >= np.minimum(drawn.budget, 500)).all()
