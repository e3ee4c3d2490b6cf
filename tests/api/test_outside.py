"""What a saved result names outside of its folder is opened for whoever saved it, and for others only with leave."""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import allalike
from allalike.api.load import find_strange, load
from allalike.errors import InputError
from allalike.serve.desk import Desk
from allalike.serve.work import perform
from running.program import call

ROWS = "worker,task,label\nada,1,x\nbob,1,x\neve,1,y\nada,2,y\nbob,2,y\neve,2,x\n"
END = "(nothing more is written)"
EXPLAIN = ("explain", "out", "task", "1")


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Save a result beside its answers, as people do."""
    (tmp_path / "answers.csv").write_text(ROWS)
    done = call("discover", "answers.csv", "-o", "out", "--no-report", "--no-answers", "-q", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    return tmp_path / "out"


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Become another user, or come to another machine, from now on."""
    return lambda: monkeypatch.setenv("ALLALIKE_STATE", str(tmp_path / "other"))


def read(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "summary.json").read_text(encoding="utf-8"))
    return found


def write(out: Path, summary: dict[str, Any]) -> None:
    (out / "summary.json").write_text(json.dumps(summary), encoding="utf-8")


def test_ones_own_result_is_opened_without_a_question_wherever_it_is_moved(out: Path, tmp_path: Path) -> None:
    assert call(*EXPLAIN, folder=tmp_path).returncode == 0
    (tmp_path / "deep").mkdir()
    out.rename(tmp_path / "deep" / "moved")
    assert find_strange(tmp_path / "deep" / "moved") == []
    assert load(tmp_path / "deep" / "moved").summary["answers"] == 6


def test_a_result_has_the_same_proof_each_time(out: Path, tmp_path: Path) -> None:
    before = (out / "summary.json").read_bytes()
    allalike.discover(tmp_path / "answers.csv").save(out, answers=False)
    assert read(out)["proof"] == json.loads(before)["proof"]


def test_the_result_of_another_is_refused_with_the_command_that_opens_it(
    out: Path, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    elsewhere()
    done = call(*EXPLAIN, folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"  {tmp_path / 'answers.csv'}\n" in done.stderr
    command = shlex.split(done.stderr.splitlines()[-1])
    assert command == ["allalike", *EXPLAIN, "--open-inputs"]
    done = call(*command[1:], folder=tmp_path)
    assert (done.returncode, done.stdout.startswith("Task 1: 'x'")) == (0, True)


def test_in_python_it_is_an_error_that_names_the_argument(out: Path, elsewhere: Callable[[], None]) -> None:
    elsewhere()
    with pytest.raises(InputError, match=r"Say it with open_inputs=True\.$"):
        load(out)
    assert load(out, open_inputs=True).truth["label"].tolist() == ["x", "y"]


def test_a_proof_is_one_of_what_was_saved_and_of_nothing_else(out: Path, tmp_path: Path) -> None:
    own = read(out)
    for name in (f"{tmp_path}/secret.csv", f"{out}/../secret.csv", f"file://{tmp_path}/secret.csv", "s3://a/b.csv"):
        for forged in (
            {**own, "inputs": [*own["inputs"], name]},
            *({**own, "read": {**own["read"], place: name}} for place in ("gold", "label_map", "history")),
            {**own, "read": {**own["read"], "gold": [name]}},
        ):
            write(out, forged)
            assert name in find_strange(out)
            with pytest.raises(InputError, match="outside of that folder"):
                load(out)


def test_what_is_in_the_folder_is_opened_for_everybody(
    out: Path, tmp_path: Path, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere()
    (tmp_path / "answers.csv").rename(out / "answers.csv")
    write(out, {**read(out), "inputs": [str(out / "answers.csv")]})
    assert load(out).summary["answers"] == 6
    monkeypatch.chdir(out)
    assert find_strange(".") == []
    (tmp_path / "link").symlink_to(out, target_is_directory=True)
    assert find_strange(tmp_path / "link") == []


def test_a_link_in_the_folder_that_leads_out_of_it_is_outside(out: Path, tmp_path: Path) -> None:
    (out / "answers.csv").symlink_to(tmp_path / "answers.csv")
    (out / "parts").mkdir()
    (out / "parts" / "a.csv").symlink_to(tmp_path / "answers.csv")
    for name in ("answers.csv", "parts"):
        write(out, {**read(out), "inputs": [str(out / name)]})
        assert find_strange(out) == [str(out / name)]


def test_nothing_outside_is_even_looked_at_before_there_is_leave(
    out: Path, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere()
    seen: list[str] = []

    def watched(real: Callable[..., Any]) -> Callable[..., Any]:
        def watch(path: Any = ".", *arguments: Any, **options: Any) -> Any:
            seen.append(str(path))
            return real(path, *arguments, **options)

        return watch

    for name in ("stat", "lstat", "open", "scandir", "listdir"):
        monkeypatch.setattr(os, name, watched(getattr(os, name)))
    with pytest.raises(InputError):
        load(out)
    monkeypatch.undo()
    assert seen
    assert not [path for path in seen if path.endswith("answers.csv")]


def test_a_result_that_names_nothing_or_nonsense_asks_nothing(out: Path, tmp_path: Path) -> None:
    summary = read(out)
    write(out, {**summary, "inputs": ["standard input"]})
    assert find_strange(out) == []
    assert "came from standard input" in call(*EXPLAIN, folder=tmp_path).stderr
    for odd in ({**summary, "inputs": "x"}, {**summary, "read": []}, {}):
        write(out, odd)
        assert find_strange(out) == []
        assert call(*EXPLAIN, folder=tmp_path).returncode == 2
    write(out, {**summary, "inputs": [f"{out}/a\0b"]})
    assert call(*EXPLAIN, folder=tmp_path).returncode == 2
    assert call(*EXPLAIN, "--open-inputs", folder=tmp_path).returncode == 2


def test_without_a_secret_results_are_saved_and_asked_about(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ALLALIKE_STATE", str(tmp_path / "file"))
    (tmp_path / "answers.csv").write_text(ROWS)
    allalike.discover(tmp_path / "answers.csv").save(tmp_path / "out", answers=False)
    assert "proof" not in read(tmp_path / "out")
    assert find_strange(tmp_path / "out") == [str(tmp_path / "answers.csv")]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no terminals of this kind")
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1)])
def test_at_a_terminal_a_question_is_asked(
    out: Path, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    elsewhere()
    keyboard, terminal = os.openpty()  # type: ignore[attr-defined,unused-ignore]
    with (
        os.fdopen(keyboard, "rb", buffering=0) as screen,
        os.fdopen(terminal, "r", encoding="utf-8") as stdin,
        os.fdopen(os.dup(terminal), "w", encoding="utf-8") as stderr,
    ):
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stderr", stderr)
        os.write(keyboard, f"{answer}\n".encode())
        done = call(*EXPLAIN, folder=out.parent, terminal=True)
        monkeypatch.undo()
        stderr.write(END)
        stderr.flush()
        said = ""
        while END not in said:  # a terminal hands over in pieces what was written to it
            said += screen.read(1 << 16).decode()
    assert done.returncode == code
    assert done.stdout.startswith("Task 1: 'x'") == (code == 0)
    assert "Open them? [y/N]" in said


def test_serving_the_result_of_another_is_refused_unless_it_has_its_report(
    out: Path, tmp_path: Path, elsewhere: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere()
    done = call("serve", "out", "--no-browser", folder=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "  allalike serve out --no-browser --open-inputs"
    shown: list[tuple[Path, bool]] = []

    def show(desk: Desk, folder: Path, *, open_inputs: bool) -> None:
        shown.append((folder, open_inputs))
        raise InputError("That is enough.")

    monkeypatch.setattr(Desk, "show", show)
    call("serve", "out", "--no-browser", "--open-inputs", folder=tmp_path)
    (out / "report.html").touch()
    write(out, {**read(out), "files": [*read(out)["files"], "report.html"]})
    call("serve", "out", "--no-browser", folder=tmp_path)
    assert shown == [(Path("out"), True), (Path("out"), False)]


def test_the_report_that_is_served_is_written_only_with_leave(
    out: Path, tmp_path: Path, elsewhere: Callable[[], None]
) -> None:
    elsewhere()
    order = {"do": "revisit", "folder": str(out), "page": str(tmp_path / "page.html"), "open_inputs": False}
    assert perform(order)["error"]["proposals"][0]["settles"] == {"open_inputs": True}
    assert not (tmp_path / "page.html").exists()
    assert perform({**order, "open_inputs": True}) == {"notes": []}
    assert (tmp_path / "page.html").exists()
