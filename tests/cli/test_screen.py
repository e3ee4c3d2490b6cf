"""What `allalike discover` prints fits into 80 columns, names whole ids, and ends with commands."""

from __future__ import annotations

import io
import json
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest

import allalike
from allalike._core.words import count
from allalike.api.agreement.coefficients import find_monotonous
from allalike.api.results.flags import list_reasons
from allalike.cli import console, main, screen
from allalike.cli.console import Line
from allalike.cli.demo import draw_crowd
from allalike.errors import DataWarning
from allalike.report.words import list_figures
from allalike.telling.remark import Remark
from allalike.telling.summary import Summary
from allalike.telling.truths import remark_reading
from crowds import samples

PATHS = [Path("out", name) for name in ("truth.csv", "next.csv", "report.html")]
TYPED = ["discover", "my answers.csv", "--domain", "categorical"]


@pytest.fixture(scope="module")
def crowd() -> allalike.Result:
    return allalike.discover(draw_crowd(0)[0])


@pytest.fixture(scope="module")
def known() -> allalike.Result:
    """Return the same crowd with fifty known truths, and with two workers who say the same."""
    answers, gold, _ = draw_crowd(0)
    said = {task: label for worker, task, label in answers if worker == "copy-12"}
    rows = [(w, task, said.get(task, label) if w == "copy-13" else label) for w, task, label in answers]
    return allalike.discover(rows, gold=dict(list(gold.items())[:50]))


def texts(result: allalike.Result, **options: object) -> list[str]:
    lines = screen.draw_screen(result, PATHS, **{"typed": TYPED, **options})  # type: ignore[arg-type]
    return [line.text + line.flags for line in lines]


def rows(said: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(worker, f"t{task}", label) for worker, labels in said.items() for task, label in enumerate(labels)]


def test_a_result_fits_on_a_screen_of_80_columns(crowd: allalike.Result) -> None:
    lines = texts(crowd)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40


def test_the_crowd_is_one_line_with_alpha_and_answers(crowd: allalike.Result) -> None:
    found = crowd.agreement
    alpha = f"alpha {found.alpha:.2f} ({found.low:.2f} to {found.high:.2f})"
    line = f"Crowd: {alpha}; 9.61 answers per task. "
    assert line in " ".join(" ".join(texts(crowd)).split())


def test_what_answers_are_worth_is_said_once_known_truths_show_how_errors_come_together(known: allalike.Result) -> None:
    worth = known.summary["confidence"]["voices_per_task"]
    assert 1 < worth < 9.61
    assert f"9.61 answers per task, worth about {worth:.2g} voices," in " ".join(" ".join(texts(known)).split())


def test_what_is_expected_of_weights_stands_beside_what_is_expected_without(crowd: allalike.Result) -> None:
    table = crowd.probabilities
    believed = [table[label][row] for row, label in enumerate(crowd.truth["unweighted"])]
    sure, plain = (f"{100 * np.mean(each):.0f} %" for each in (crowd.truth["confidence"], believed))
    expected = f"About {sure} of the truths should be right, and {plain} of the majority vote"
    assert expected in " ".join(texts(crowd)).replace("  ", " ").replace("  ", " ")


def test_flags_stand_behind_the_workers_they_are_about(known: allalike.Result) -> None:
    lines = texts(known)
    assert any(line.startswith("  same-11") and line.endswith("always cat") for line in lines)
    assert any(line.startswith("  bad-") and line.endswith("worse than the crowd") for line in lines)
    assert not any(
        word in line for word in ("crowd", "signal", "always") for line in lines if line.startswith("  good")
    )


def test_nobody_is_called_worse_than_the_crowd_whose_truths_are_unsure() -> None:
    rng = np.random.default_rng(0)
    rows = [(w, t, int(rng.random() < (0.6 if w < 6 else 0.5))) for t in range(40) for w in range(8)]
    assert not any("worse than the crowd" in line for line in texts(allalike.discover(rows, domain="categorical")))


def test_copies_and_monotony_are_flags(known: allalike.Result) -> None:
    flags = dict(
        zip(
            known.run.workers.tolist(), list_reasons(known.run, known.weighing, known.found, known.summary), strict=True
        )
    )
    assert {worker for worker, words in flags.items() if "copies (group 1)" in words} == {"copy-12", "copy-13"}
    assert flags["same-11"][:2] == ["no signal", "always cat"]
    assert flags["good-01"] == []


def test_the_least_sure_tasks_come_with_their_labels(crowd: allalike.Result) -> None:
    lines = texts(crowd)
    place = lines.index("Least sure:")
    truth = crowd.truth.set_index("task")["label"]
    for line, task in zip(lines[place + 1 : place + 4], crowd.next(3)["task"], strict=True):
        assert line.split()[:2] == [task, truth[task]]


def test_ids_are_never_cut_or_broken() -> None:
    long = "a worker whose name has spaces " * 4 + "end"
    said = {long: "xyxyxyxyxy", "bob": "xyxyxyxyxy", "eve": "xyxyxyxyxx", "kim\n": "yxyxyxyxyx"}
    lines = texts(allalike.discover(rows(said)))
    assert f"  {long}" in lines
    assert all(long in line for line in lines if "whose name" in line)
    assert any(line.startswith("  kim\\n") for line in lines)


def test_names_in_sentences_are_kept_whole_when_these_are_folded() -> None:
    name = "ada from the north"
    folded = console.fold(f"{'word ' * 14}{console.keep_whole(name)} and {console.keep_whole('x y')}")
    assert [name in line for line in folded] == [False, True]
    assert folded[1] == "ada from the north and x y"


def test_the_next_commands_are_complete(crowd: allalike.Result) -> None:
    lines = texts(crowd)
    commands = [shlex.split(line, comments=True) for line in lines[lines.index("Next:") + 1 :] if line.startswith("  ")]
    typed = ["allalike", *TYPED]
    assert any(command[1:] == ["out/report.html"] for command in commands)
    assert [*typed, "more.csv"] in commands  # for nothing was saved
    assert [*typed, "--gold", "gold.csv"] in commands
    assert not any("explain" in command for command in commands)


def test_what_was_saved_with_its_answers_is_to_be_updated_and_planned(tmp_path: Path) -> None:
    said = {"ada": "xyxyyxyxy", "bob": "xyxyyxyxx", "eve": "xxyxxyyxx"}
    for result, next_ones in (
        (allalike.discover(rows(said)), ["update", "next"]),
        (allalike.discover(rows(said), method="UA"), ["update"]),
        (allalike.discover(allalike.read(rows(said)).per_task(), method="P-TD"), []),
    ):
        paths = result.save(tmp_path / "my birds")
        lines = [line.text.strip() for line in screen.draw_screen(result, paths, typed=TYPED)]
        shown = [
            shlex.split(line, comments=True) for line in lines if line.startswith(("allalike update", "allalike next"))
        ]
        assert [command[1] for command in shown] == next_ones
        assert all(command[2] == str(tmp_path / "my birds") for command in shown)


def test_explain_is_named_once_the_program_has_it(crowd: allalike.Result) -> None:
    assert any(line.startswith("  allalike explain out worker ") for line in texts(crowd, known={"explain": None}))


@pytest.mark.parametrize("bad", [True, False])
def test_the_worker_to_explain_is_the_one_to_look_at_and_not_one_with_few_answers(bad: bool) -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 120)
    errors = [0.1] * 6 + [0.5] * bad
    said = [np.where(rng.random(120) < error, (truth + 1) % 3, truth) for error in errors]
    answers = [(f"w{i}", task, "abc"[label]) for i, labels in enumerate(said) for task, label in enumerate(labels)]
    shown = texts(allalike.discover([*answers, ("once", 0, "abc"[truth[0] - 1])]), known={"explain": None})
    assert [line for line in shown if "Look at: w6 " in line] or not bad
    explained = [shlex.split(line, comments=True) for line in shown if line.startswith("  allalike explain")]
    assert explained == ([["allalike", "explain", "out", "worker", "w6"]] if bad else [])


def test_what_needs_another_look_at_many_answers_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    result = allalike.discover(rows({"ada": "xyxyyxyxy", "bob": "xyxyyxyxx", "eve": "xxxxxxxxx"}))
    monkeypatch.setattr(screen, "_MAX_ANSWERS", 3)
    said = "\n".join(texts(result))
    assert "agreement" not in vars(result)
    assert "alpha" not in said
    assert "always" not in said


@pytest.mark.parametrize("method", ["auto", "P-TD"])
@pytest.mark.parametrize(
    "answers",
    [
        [("ada", 1, "x")],
        [("ada", 1, "x"), ("ada", 2, "y")],
        [("ada", 1, "x"), ("bob", 2, "x")],
        [("ada", 1, "x"), ("bob", 1, "x"), ("ada", 2, "x"), ("bob", 2, "x")],
    ],
)
def test_little_data_says_what_is_known_of_it(answers: list[tuple[str, int, str]], method: str) -> None:
    with pytest.warns(DataWarning):
        result = allalike.discover(answers, domain="categorical", method=method)
    lines = texts(result)
    assert lines[0].startswith(f"{count(len(answers), 'answer')} of ")
    assert not any("nan" in line for line in lines)


@pytest.mark.parametrize("method", ["auto", "P-TD"])
@pytest.mark.parametrize("domain", allalike.DOMAINS)
def test_every_kind_of_label_fits(domain: str, method: str) -> None:
    result = allalike.discover(samples.crowd(domain, seed=1, n=4, m=9), domain=samples.kind(domain), method=method)
    assert max(map(len, texts(result))) <= 80


def test_bars_are_number_signs_where_blocks_cannot_be_written(
    crowd: allalike.Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    said = "\n".join(texts(crowd))
    assert "########" in said
    assert said.isascii()


def test_long_labels_are_shortened_with_dots_that_every_terminal_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii"))
    labels = {"x": "a very long label that says little " * 3, "y": "no"}
    said = rows({"ada": "xyxyx", "bob": "xyxyy", "eve": "xxxyx"})
    lines = texts(allalike.discover([(w, t, labels[label]) for w, t, label in said], domain="categorical"))
    assert "".join(lines).isascii()
    assert max(map(len, lines)) <= 80


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    lines = [Line("Next:", bold=True), Line("ada  ", "few\x1b[2J")]

    def printed(stream: io.StringIO) -> str:
        monkeypatch.setattr(sys, "stdout", stream)
        console.show(lines)
        return stream.getvalue()

    assert printed(io.StringIO()) == "Next:\nada  few\\u001b[2J\n"
    assert printed(Terminal()) == "\x1b[1mNext:\x1b[0m\nada  \x1b[31mfew\\u001b[2J\x1b[0m\n"
    monkeypatch.setenv("NO_COLOR", "1")
    assert printed(Terminal()) == "Next:\nada  few\\u001b[2J\n"


def test_notes_are_folded_on_a_terminal_and_their_flags_stay_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    said = f"Recognised: {'some column and ' * 3}others (--columns 'worker=who is it,task=what')."

    def printed(stream: io.StringIO) -> list[str]:
        monkeypatch.setattr(sys, "stderr", stream)
        console.note(said)
        return stream.getvalue().splitlines()

    assert printed(io.StringIO()) == [said]
    assert printed(Terminal())[1] == "  (--columns 'worker=who is it,task=what')."


def test_the_commands_build_on_what_was_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = [{"worker": w, "task": t, "label": x} for w, t, x in rows({"ada": "xyxy", "bob": "xyxx", "eve": "yyxy"})]
    Path("a.jsonl").write_text("\n".join(map(json.dumps, lines)))
    with pytest.raises(SystemExit) as stop:
        main(["discover", "a.jsonl", "--no-report", "-o", "out"])
    assert stop.value.code == 0
    assert "  allalike discover a.jsonl --no-report -o out --gold gold.csv" in capsys.readouterr().out


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_only_a_worker_who_always_says_what_others_do_not_is_monotonous(engine: str) -> None:
    said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz", "kim": "zzz", "lea": "yzxxyzxyzx"}
    assert find_monotonous(allalike.discover(rows(said), engine=engine).run) == {2: "z"}
    common = {"ada": "xxxxxxxxxxxxxxxxxxxy", "bob": "xxxxxxxxxxxxxxxxxxyx", "eve": "xxxxxxxxxxxxxxxxxxxx"}
    assert find_monotonous(allalike.discover(rows(common), engine=engine).run) == {}


@pytest.mark.parametrize("ratio", [1.25e12, 1.0])
def test_a_ratio_of_which_nobody_knows_what_to_do_is_not_said(ratio: float) -> None:
    counts = {"answers": 9, "workers": 3, "tasks": 3, "domain": {"name": "real"}}
    known = {"tasks": 50, "crowd": 0.55}
    found = {"method": {"name": "auto"}, "reading": {"f_ratio": ratio, "known_truths": known}, "effective_workers": 3.0}
    said = "auto: workers are weighted, and together count like 3.0 equal ones; 50 known truths set how much the crowd"
    assert remark_reading(Summary.from_dict({**counts, **found})) == [Remark(f"{said} and each worker count.")]


def test_it_is_not_said_that_weights_change_numbers_a_bit() -> None:
    said = {"ada": range(0, 60, 3), "bob": range(1, 61, 3), "eve": [9 * n % 61 for n in range(20)]}
    answers = [(worker, task, number) for worker, numbers in said.items() for task, number in enumerate(numbers)]
    result = allalike.discover(answers, domain="real", method="P-TD")

    assert result.summary["changed"] > 10
    assert "differ from the unweighted mean" not in " ".join([*texts(result), repr(result)])


def test_a_column_of_known_truths_in_the_file_itself_is_proposed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    said = rows({"ada": "xyxyxy", "bob": "xyxxxy", "eve": "yyxyxy"})
    lines = [f"{worker},{task},{label},{'xy'[int(task[1:]) % 2]}" for worker, task, label in said]
    Path("a.csv").write_text("worker,task,label,gold\n" + "\n".join(lines))
    for command in (["discover", "a.csv", "-o", "out"], ["discover", "a.csv", "-o", "out", "--gold", "column:gold"]):
        with pytest.raises(SystemExit) as stop:
            main(command)
        assert stop.value.code == 0
        told = capsys.readouterr().out
        assert ("--gold column:gold" in told) == ("--gold" not in command)


@pytest.mark.parametrize("seed", [0, 2, 7])
def test_where_workers_are_alike_no_label_is_changed_but_ties_are_broken_and_it_is_said(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 60)
    said = np.where(rng.random((4, 60)) < 0.7, truth, 1 - truth)
    answers = [(f"w{worker}", task, "ab"[said[worker, task]]) for worker in range(4) for task in range(60)]
    result = allalike.discover(answers)
    [told, *_] = [remark.sentence for remark in remark_reading(Summary.from_dict(result.summary))]
    found = result.truth.set_index("task")
    assert (found["tied"] == (said.sum(axis=0) == 2)).all()
    assert (found["label"] != found["unweighted"]).any()
    assert not found["changed"].any()
    assert told == "auto: majority vote, because workers are alike; a tie goes to those who are closer to the others."
    ties = f"a tie was broken in {found['tied'].sum()} tasks"
    assert (result.summary["changed"], result.summary["tied"]) == (0, found["tied"].sum())
    figure = next(each for each in list_figures(result.material()) if "weights" in each["name"])
    for shown in (" ".join(texts(result)), repr(result), figure["note"]):
        assert ties in " ".join(shown.split())
    assert figure["value"] == "0"


def test_weights_that_overturn_a_tie_of_others_change_the_label() -> None:
    """Five workers vote a, a, b, b, c on the last task, and the one who votes c is the only good one."""
    said = {"ada": "abababab" * 3 + "c", "bob": "abbaabba" * 3 + "a", "cyd": "bababbab" * 3 + "a"}
    said |= {"dan": "aabbabab" * 3 + "b", "eve": "babaabba" * 3 + "b"}
    gold = {f"t{place}": label for place, label in enumerate("abababab" * 3)}
    truth = allalike.discover(rows(said), method="OA", gold=gold).truth.set_index("task")
    assert (truth["label"]["t24"], truth["changed"]["t24"], truth["tied"]["t24"]) == ("c", True, False)


def test_nothing_is_estimated_from_pairs_of_answers_where_there_are_none() -> None:
    with pytest.warns(DataWarning):
        said = " ".join(texts(allalike.discover(rows({"ada": "xyxxyyxy"}), domain="categorical")))
    assert "1 answer per task" in said
    assert "Nobody can tell how many truths are right: no task has two answers." in said
    assert "should be right" not in said


def test_known_truths_are_not_advised_to_whoever_has_given_some(known: allalike.Result) -> None:
    said = " ".join(texts(known))
    assert "of the truths should be right" in said
    assert "some known truths" not in said


def test_spellings_that_a_domain_joins_are_joined_by_a_command_that_runs() -> None:
    said = {"ada": "XyxyXyxy", "bob": "xYxyxyxy", "eve": "xyxyxyXY"}
    with pytest.warns(DataWarning):
        lines = texts(allalike.discover(rows(said)), typed=["discover", "a.csv"])
    assert "  allalike discover a.csv --domain 'categorical(lower=True)'" in lines


def test_large_numbers_are_shown_without_exponents() -> None:
    chance = np.random.default_rng(0)
    said = [(worker, task, 1e5 * task + 2e3 * chance.normal()) for task in range(20) for worker in "abcde"]
    with pytest.warns(DataWarning):
        lines = texts(allalike.discover(said))
    assert not [line for line in lines if "e+" in line]
