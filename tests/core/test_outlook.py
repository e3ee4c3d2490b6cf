"""Outlooks: they come true where the work is as it was said, and say so in time where it is not."""

from __future__ import annotations

import pytest

import allalike
from allalike import Auto, Engine
from allalike._core.system.outlook import Outlook, Steps, tell_time
from allalike._core.system.progress import advance, expect, report, watching
from crowds import samples

STEPS: Steps = [("reading", 1e8, 1.0), ("signal", 1e8, 1.0), ("pairs", 5e7, 4.0), ("deciding", 1e8, 1.0)]


class Machine:
    """A machine that does the steps of a run, each so many times as slowly as usual, and an outlook that watches it."""

    def __init__(self, steps: Steps = STEPS) -> None:
        self.now, self.said = 0.0, list[tuple[float, float | None]]()
        self.outlook = Outlook(clock=lambda: self.now)
        self.outlook.expect(steps)

    def do(self, stage: str, seconds: float, answers: float = 0.0) -> None:
        """Do a step in twenty parts, and note after each what is said to be left."""
        self.outlook.note(stage)
        for _ in range(20):
            self.now += seconds / 20
            if answers:
                self.outlook.advance(answers / 20)
            self.said.append((self.now, self.outlook.left()))

    def errors(self, after: float = 0.0) -> list[float]:
        """Return by how much the time that was said to be left was wrong, as shares of the whole."""
        return [abs(now + (left or 0) - self.now) / self.now for now, left in self.said if now >= after]


def test_a_run_of_the_usual_speed_ends_when_it_was_said() -> None:
    machine = Machine()
    for stage, answers, work in STEPS:
        machine.do(stage, 1e-7 * work * answers, answers if stage != "reading" else 0.0)
    assert machine.now == pytest.approx(50.0)
    assert max(machine.errors()) < 0.1
    left = [left or 0.0 for _, left in machine.said]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 1.0


@pytest.mark.parametrize("slowness", [0.3, 5.0])
def test_the_speed_of_the_machine_is_measured(slowness: float) -> None:
    machine = Machine()
    for stage, answers, work in STEPS:
        machine.do(stage, slowness * 1e-7 * work * answers, answers if stage != "reading" else 0.0)
    assert max(machine.errors(after=0.5 * machine.now)) < 0.2


def test_writing_is_not_faster_where_many_threads_weigh() -> None:
    machine = Machine([("weighing", 1e9, 1.0), ("saving", 1e8, 1.0)])
    machine.do("weighing", 10.0, 1e9)
    machine.outlook.note("saving")
    assert machine.outlook.left() == pytest.approx(10.0, rel=0.1)


def test_what_is_said_does_not_jump_to_and_fro() -> None:
    """Parts of a step take turns in being three times as slow, and what is said changes its mind hardly ever."""
    machine = Machine()
    machine.outlook.note("signal")
    ends = set()
    for part in range(100):
        machine.now += (0.3, 0.1)[part % 2]
        machine.outlook.advance(1e6)
        left = machine.outlook.left()
        assert left is not None
        ends.add(round(machine.now + left, 6))
    assert len(ends) < 10


def test_something_is_left_as_long_as_there_is_work() -> None:
    machine = Machine()
    machine.outlook.note("deciding")
    for _ in range(100):
        machine.now += 60.0
        left = machine.outlook.left()
        assert left is not None
        assert left >= 1.0
    assert (machine.outlook.left() or 0.0) > 300.0
    assert "0 " not in tell_time(0.0)


def test_steps_that_are_skipped_are_not_waited_for() -> None:
    machine = Machine()
    machine.outlook.note("signal")
    before = machine.outlook.left()
    machine.outlook.note("deciding")
    assert machine.outlook.step == (4, 4)
    after = machine.outlook.left()
    assert before
    assert after
    assert before - after == pytest.approx(30.0)


def test_a_stage_that_comes_again_within_a_later_one_is_part_of_it() -> None:
    machine = Machine()
    machine.outlook.note("pairs")
    machine.outlook.note("signal")
    assert machine.outlook.step == (3, 4)


def test_another_run_begins_anew() -> None:
    machine = Machine()
    machine.outlook.note("deciding")
    machine.outlook.expect(STEPS)
    machine.outlook.note("reading")
    assert machine.outlook.step == (1, 4)


def test_what_reading_took_is_told_by_how_much_was_read() -> None:
    """A tenth of what was expected is read in the time of all: the machine is ten times as slow."""
    machine = Machine()
    machine.do("reading", 10.0)
    machine.outlook.expect([(stage, answers / 10, work) for stage, answers, work in STEPS], begun=2)
    slow = machine.outlook.left()
    assert slow
    assert slow > 1.5 * 4.0


def test_reading_that_takes_long_lets_all_seem_longer() -> None:
    machine = Machine()
    machine.do("reading", 100.0)
    said = [left or 0.0 for _, left in machine.said]
    assert said[1] == pytest.approx(40.0)
    assert said[-1] > 100.0


def test_a_count_without_steps_goes_on_as_it_went() -> None:
    machine = Machine(())
    for done in range(4):
        machine.outlook.note(f"comparing methods: {done}", done, 10)
        machine.now += 10.0
    assert machine.outlook.left() == pytest.approx(60.0)
    assert machine.outlook.step is None
    machine.outlook.note("something else", 3, 11)
    assert machine.outlook.left() is None


def test_a_long_count_within_a_step_is_waited_for() -> None:
    """Before the step, nobody could know how many pairs of answers there are."""
    machine = Machine()
    machine.outlook.note("signal")
    for done in (0, 1, 2):
        machine.outlook.note("comparing each two answers", done, 100)
        machine.now += 10.0
    left = machine.outlook.left()
    assert left
    assert left > 900.0


def test_only_who_watches_hears() -> None:
    outlook = Outlook(clock=lambda: 0.0)
    expect(STEPS)
    report("signal")
    advance(1.0)
    assert outlook.step is None
    with watching(lambda *_: None, outlook):
        expect(STEPS)
        report("signal")
        with watching(lambda *_: None):
            report("deciding")
    assert outlook.step == (2, 4)


class Ledger(Outlook):
    """An outlook that keeps account of the answers that each stage went over."""

    def __init__(self) -> None:
        super().__init__(clock=lambda: 0.0)
        self.stages: dict[str, float] = {"": 0.0}
        self.planned: dict[str, float] = {}

    def expect(self, steps: Steps, begun: int = 0) -> None:
        super().expect(steps, begun)
        self.planned = {stage: answers for stage, answers, _ in steps}

    def note(self, stage: str, done: int = 0, total: int = 0) -> None:
        super().note(stage, done, total)
        if self._place >= 0:
            self.stages.setdefault(self._steps[self._place][0], 0.0)

    def advance(self, answers: float) -> None:
        super().advance(answers)
        self.stages[list(self.stages)[-1]] += answers


def test_a_pass_goes_over_all_answers_once_and_pairs_are_more_work(engine: Engine) -> None:
    run = engine.load(allalike.read(samples.crowd("categorical", seed=0, n=8, m=60)))
    n_answers = run.answer_counts.sum()
    for times, pass_once in (
        (1, lambda: run.unweighted_peer_sums),
        (1, lambda: run.total(lambda block: {"answers": block.sizes.sum()})),
        (1, lambda: run.find(lambda block: {"size": block.sizes})),
        (2, lambda: run.pairs(run.kernels.pair_sums)),
    ):
        ledger = Ledger()
        with watching(lambda *_: None, ledger):
            pass_once()
        assert ledger.stages[""] == pytest.approx(times * n_answers)


@pytest.mark.parametrize("plain", [False, True])
def test_the_default_does_the_steps_that_it_says_and_about_as_much(engine: Engine, *, plain: bool) -> None:
    rows = samples.crowd("categorical", seed=0, n=12, m=400, missing=0.2)
    ledger = Ledger()
    with watching(lambda *_: None, ledger):
        allalike.discover(rows, engine=engine, domain="categorical", method=Auto(sample_answers=500), plain=plain)
    seen = [stage for stage in ledger.stages if stage in ledger.planned]
    assert seen == [stage for stage in ledger.planned if stage in seen]
    looked = [] if plain else ["signal", "pairs"]
    for stage in [*looked, "agreement", "choosing", "weighing", "deciding"]:
        assert 0.5 < ledger.stages[stage] / ledger.planned[stage] < 2.0, stage


def test_known_truths_make_the_default_weigh_twice() -> None:
    rows = samples.crowd("categorical", seed=0, n=6, m=40)
    ledger = Ledger()
    with watching(lambda *_: None, ledger):
        allalike.discover(rows, domain="categorical", gold={task: label for _, task, label in rows[:20]})
    stages = [stage for stage, _, _ in ledger._steps]
    assert [stages.count(stage) for stage in ("signal", "agreement", "saving")] == [1, 2, 1]
    assert ledger.step == (len(stages) - 1, len(stages))
