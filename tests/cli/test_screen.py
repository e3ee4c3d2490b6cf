"""What `allalike discover` prints fits into 80 columns, names whole ids, and ends with commands."""

from __future__ import annotations

import io
import shlex
import sys
from pathlib import Path

import pytest

import allalike
from allalike._core.words import count
from allalike.api.agreement.monotony import find_monotonous
from allalike.cli import console, screen
from allalike.cli.console import Line
from allalike.cli.demo import draw_crowd
from allalike.errors import DataWarning
from crowds import samples

PATHS = [Path("out", name) for name in ("truth.csv", "next.csv", "report.html")]
TYPED = ["discover", "my answers.csv", "--domain", "categorical"]


@pytest.fixture(scope="module")
def crowd() -> allalike.Result:
    return allalike.discover(draw_crowd(0)[0])


def texts(result: allalike.Result, **options: object) -> list[str]:
    lines = screen.draw_screen(result, PATHS, **{"typed": TYPED, **options})  # type: ignore[arg-type]
    return [line.text + line.flags for line in lines]


def rows(said: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(worker, f"t{task}", label) for worker, labels in said.items() for task, label in enumerate(labels)]


def test_a_result_fits_on_a_screen_of_80_columns(crowd: allalike.Result) -> None:
    lines = texts(crowd)
    assert max(map(len, lines)) <= 80
    assert len(lines) <= 40


def test_ids_are_never_cut_or_broken() -> None:
    long = "a worker whose name has spaces " * 4 + "end"
    said = {long: "xyxyxyxyxy", "bob": "xyxyxyxyxy", "eve": "xyxyxyxyxx", "kim\n": "yxyxyxyxyx"}
    lines = texts(allalike.discover(rows(said)))
    assert f"  {long}" in lines
    assert all(long in line for line in lines if "whose name" in line)
    assert any(line.startswith("  kim\\n") for line in lines)


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


@pytest.mark.parametrize("method", ["auto", "P-TD"])
@pytest.mark.parametrize("said", ["ada1x", "ada1x ada2y", "ada1x bob2x", "ada1x bob1x ada2x bob2x"])
def test_little_data_says_what_is_known_of_it(said: str, method: str) -> None:
    answers = [(each[:3], each[3], each[4]) for each in said.split()]
    with pytest.warns(DataWarning):
        lines = texts(allalike.discover(answers, domain="categorical", method=method))
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


@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_only_a_worker_who_always_says_what_others_do_not_is_monotonous(engine: str) -> None:
    said = {"ada": "xyzxyzxyzx", "bob": "xyzxyzxyzz", "eve": "zzzzzzzzzz", "kim": "zzz", "lea": "yzxxyzxyzx"}
    assert find_monotonous(allalike.discover(rows(said), engine=engine).run) == {2: "z"}
    common = {"ada": "xxxxxxxxxxxxxxxxxxxy", "bob": "xxxxxxxxxxxxxxxxxxyx", "eve": "xxxxxxxxxxxxxxxxxxxx"}
    assert find_monotonous(allalike.discover(rows(common), engine=engine).run) == {}
