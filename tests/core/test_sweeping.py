"""Sweeping: what killed processes of this user left goes away, and nothing else is ever touched."""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import allalike
from allalike._core.system import journal, moves
from allalike._core.system.claims import CLAIM, claim_folder, draw_name
from allalike._core.system.journal import NEW, STAGE_PREFIX, replace_files
from allalike._core.system.output import Output
from allalike.errors import LeftoverWarning, OutputError

FOREIGN = f".allalike-{'0123456789abcdef' * 2}"
ROWS = [("ada", "t1", "x"), ("bob", "t1", "x"), ("eve", "t1", "y"), ("ada", "t2", "y"), ("bob", "t2", "y")]


def left_stage(parent: Path, *, host: str | None, old: bool, name: str = "") -> Path:
    """Make what a process leaves that was killed while it wrote, on a machine of this name, or without locks."""
    stage = parent / (name or draw_name(parent, STAGE_PREFIX))
    (stage / NEW).mkdir(parents=True)
    (stage / NEW / "truth.csv").write_text("half")
    if host is not None:
        (stage / CLAIM).write_bytes(host.encode())
    make_old(stage, old=old)
    return stage


def make_old(stage: Path, *, old: bool) -> None:
    for path in (stage, *stage.rglob("*")):
        if old:
            os.utime(path, (0, 0))


def begin_to_replace(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Leave the stage of a process that was killed when its journal was written."""
    stage = left_stage(folder.parent, host=platform.node(), old=False)
    with monkeypatch.context() as patched:
        patched.setattr(journal, "_complete", lambda *_: None)
        replace_files(stage, folder, ["truth.csv"], ["old.csv"])
    return stage


def write_beside(folder: Path, name: str = "out") -> None:
    with Output(folder=folder / name, overwrite=True).staged() as stage:
        (stage / "note.txt").write_text("done")


def write_mask(stage: Path) -> None:
    (stage / "labels").mkdir()
    (stage / "labels" / "t1.png").write_text("new")


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# What is ours


@pytest.mark.parametrize("host", ["another machine", None])
@pytest.mark.parametrize("inside", [True, False])
def test_what_another_machine_or_a_disk_without_locks_left_goes_after_a_week(
    tmp_path: Path, host: str | None, inside: bool
) -> None:
    parent = tmp_path / "out" if inside else tmp_path
    new = left_stage(parent, host=host, old=False)
    write_beside(tmp_path)
    assert (new / NEW / "truth.csv").exists()  # it may be at work
    make_old(new, old=True)
    write_beside(tmp_path)
    assert not new.exists()
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["note.txt", "out"]


def test_one_file_that_is_new_keeps_all_of_a_stage(tmp_path: Path) -> None:
    stage = left_stage(tmp_path, host="another machine", old=True)
    os.utime(stage / NEW / "truth.csv")
    write_beside(tmp_path)
    assert stage.exists()


def test_what_a_process_holds_stays_however_old_it_is(tmp_path: Path) -> None:
    stage = left_stage(tmp_path, host=None, old=False)
    claim = claim_folder(stage)
    assert claim is not None
    make_old(stage, old=True)
    for host in (platform.node(), "another machine, whose locks are seen here"):
        claim.seek(0)
        claim.write(host.encode())
        claim.flush()
        make_old(stage, old=True)
        write_beside(tmp_path)
        assert stage.exists()
    claim.close()
    write_beside(tmp_path)
    assert not stage.exists()


def test_an_own_journal_is_completed_by_whoever_writes_to_its_folder_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "old.csv").write_text("old")
    stage = begin_to_replace(tmp_path / "earlier", monkeypatch)
    write_beside(tmp_path, "other")
    assert (tmp_path / "earlier" / "old.csv").exists()  # another folder is nobody's business here
    write_beside(tmp_path, "earlier")
    assert content(tmp_path / "earlier") == {"truth.csv": b"half", "note.txt": b"done"}
    assert not stage.exists()


def test_a_folder_that_was_killed_right_away_goes(tmp_path: Path) -> None:
    (tmp_path / draw_name(tmp_path, STAGE_PREFIX)).mkdir()
    write_beside(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("step", range(1, 6))
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_signal_while_a_stage_is_removed_leaves_nothing(step: int, tmp_path: Path) -> None:
    program = f"""
import signal, sys
from pathlib import Path
from allalike._core.system.journal import NEW, stage_made
signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))
removed = []
def look(event, _):
    if event in ("os.remove", "os.rmdir"):
        removed.append(event)
        if len(removed) == {step}:
            signal.raise_signal(signal.SIGTERM)
with stage_made(Path({str(tmp_path.resolve())!r})) as stage:
    for name in "abc":
        (stage / NEW / name).touch()
    sys.addaudithook(look)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60, check=False).returncode == 3
    assert not list(tmp_path.iterdir())


# What is not


def test_folders_and_files_of_the_user_stay_whatever_they_are_called(tmp_path: Path) -> None:
    for name in (".allalike-mybackup", ".allalike-0123", f"{FOREIGN}0"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("mine")
    for name in (".allalike-notes.txt", f"{FOREIGN}.json"):
        (tmp_path / name).write_text("mine")
    for path in tmp_path.iterdir():
        os.utime(path, (0, 0))
    before = content(tmp_path)
    write_beside(tmp_path)
    assert content(tmp_path) == {**before, "out/note.txt": b"done"}


@pytest.mark.parametrize("kind", ["foreign name", "changed", "moved", "unsigned"])
@pytest.mark.parametrize("folder", ["../victim", "victim", "out", "."])
def test_a_journal_that_is_not_proved_to_be_ours_is_left_alone_and_named(
    kind: str, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evil, victim = tmp_path / "evil", (tmp_path / "evil" / folder).resolve()
    evil.mkdir()
    victim.mkdir(parents=True, exist_ok=True)
    (victim / ".bashrc").write_text("mine")
    stage = begin_to_replace(evil / "out", monkeypatch)
    (stage / NEW / ".bashrc").write_text("evil")
    said = json.loads((stage / "journal.json").read_text())
    plan = {"folder": folder, "new": [".bashrc"], "old": [".bashrc"]}
    if kind != "moved":
        signed = {} if kind == "unsigned" else {"signature": said["signature"]}
        (stage / "journal.json").write_text(json.dumps({**plan, **signed}))
    if kind in ("foreign name", "moved"):
        name = FOREIGN if kind == "foreign name" else draw_name(evil, STAGE_PREFIX)
        stage = stage.rename(evil / name)
    make_old(stage, old=True)
    before = content(tmp_path)
    with pytest.warns(LeftoverWarning, match=rf"Left alone: .*{stage.name}[.] Nothing proves") as told:
        write_beside(evil)
    assert len(told) == 1
    assert content(tmp_path) == {**before, "evil/out/note.txt": b"done"}


def test_the_program_says_in_one_line_what_it_left_alone(tmp_path: Path) -> None:
    stage = left_stage(tmp_path, host=None, old=True, name=FOREIGN)
    (tmp_path / "answers.csv").write_text("worker,task,label\n" + "".join(f"{','.join(row)}\n" for row in ROWS))
    program = str(Path(sys.executable).with_name("allalike"))
    command = [program, "discover", "answers.csv", "-o", "out", "--method", "UA", "--no-report"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    [line] = [line for line in done.stderr.splitlines() if "Left alone" in line]
    assert line.startswith(f"Note: Left alone: {tmp_path.resolve() / FOREIGN}. Nothing proves that a program of yours")
    assert (stage / NEW / "truth.csv").exists()


def test_without_a_secret_nothing_is_proved_and_results_are_written_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "state").write_text("a file, where there should be a folder")
    monkeypatch.setenv("ALLALIKE_STATE", str(tmp_path / "state"))
    result = allalike.discover(ROWS, method="UA")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "notes.txt").write_text("mine")
    for _ in range(2):
        result.save(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "state"]
    assert {*content(tmp_path / "out")} >= {"next.csv", "notes.txt", "summary.json", "truth.csv", "workers.csv"}
    stage = left_stage(tmp_path, host=None, old=True)
    with pytest.warns(LeftoverWarning, match="Left alone"):
        result.save(tmp_path / "out")
    assert stage.exists()


# Links


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "note.txt").write_text("mine")
    make_old(mine, old=True)
    (tmp_path / draw_name(tmp_path, STAGE_PREFIX)).symlink_to(mine)
    write_beside(tmp_path)
    assert (mine / "note.txt").read_text() == "mine"


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """Make a result with a link in it, and a summary that lists what is behind the link."""
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    for name in ("thesis.txt", "t1.png"):
        (thesis / name).write_text("mine")
    allalike.discover(ROWS, method="UA").save(tmp_path / "out")
    for name in ("labels", "truth.parquet"):
        (tmp_path / "out" / name).symlink_to(thesis)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    summary["files"] += ["labels/thesis.txt", "labels/t1.png", "truth.parquet/t1.png", "labels"]
    (tmp_path / "out" / "summary.json").write_text(json.dumps(summary))
    return thesis


@pytest.mark.parametrize("opens", [True, False])
@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_behind_a_link_in_the_output_is_neither_removed_nor_replaced(
    behind: Path, opens: bool, overwrite: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "_CAN_OPEN", opens and moves._CAN_OPEN)
    result = allalike.discover(ROWS, method="UA")
    result.save(tmp_path / "out", overwrite=overwrite)
    assert content(behind) == {"thesis.txt": b"mine", "t1.png": b"mine"}
    assert (tmp_path / "out" / "labels").is_symlink()
    output = Output(folder=tmp_path / "out", overwrite=True)
    with pytest.raises(OutputError, match=r"out/labels/t1.png is behind a link, and nothing is written through one"):
        output.check(["labels/t1.png"])
    with pytest.raises(OutputError, match="is behind a link"), output.staged() as stage:
        write_mask(stage)
    assert content(behind) == {"thesis.txt": b"mine", "t1.png": b"mine"}


@pytest.mark.parametrize("opens", [True, False])
def test_a_link_that_comes_between_looking_and_moving_is_not_followed(
    opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moves, "_CAN_OPEN", opens and moves._CAN_OPEN)
    root = tmp_path.resolve()
    for name in ("mine", "out", "stage"):
        (root / name).mkdir()
    (root / "mine" / "note.txt").write_text("mine")
    (root / "stage" / "note.txt").write_text("new")
    (root / "out" / "labels").symlink_to(root / "mine")
    for path, target in (("out/labels/note.txt", "stage/old.txt"), ("stage/note.txt", "out/labels/note.txt")):
        with pytest.raises(OSError, match="labels is a link, and nothing is written or removed through one"):
            moves.move(root / path, root / target)
    moves.remove_tree(root / "out" / "labels" / "note.txt")
    moves.remove_empty([root / "out" / "labels" / "deep"])
    with pytest.raises(OSError, match="is a link"):
        moves.make_folder(root / "out" / "labels" / "new")
    assert not moves.exchange_folders(root / "out" / "labels" / "deep", root / "stage")
    assert content(root / "mine") == {"note.txt": b"mine"}
    moves.remove_tree(root / "out")
    assert content(root / "mine") == {"note.txt": b"mine"}


def test_a_journal_is_not_completed_through_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out").mkdir()
    stage = begin_to_replace(tmp_path / "out", monkeypatch)
    shutil.rmtree(tmp_path / "out")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "old.csv").write_text("mine")
    (tmp_path / "out").symlink_to(tmp_path / "mine")
    with Output(folder=tmp_path / "mine").staged() as new:  # and so not the folder of the journal
        (new / "note.txt").write_text("done")
    assert content(tmp_path / "mine") == {"old.csv": b"mine", "note.txt": b"done"}
    assert (stage / NEW / "truth.csv").exists()


# Work folders


def start_server(temporary: Path) -> subprocess.Popen[str]:
    """Start `allalike serve`, and wait until its page is there."""
    program = [str(Path(sys.executable).with_name("allalike")), "serve", "--no-browser"]
    environment = {**os.environ, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(temporary))}
    process = subprocess.Popen(program, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "The page is at" in process.stdout.readline()
    return process


def test_uploads_of_a_server_that_was_killed_are_swept_by_the_next_and_nothing_else_is(tmp_path: Path) -> None:
    mine = [tmp_path / name for name in ("allalike-thesis", f"allalike-{'0123456789abcdef' * 2}")]
    for folder in mine:
        folder.mkdir()
        (folder / CLAIM).write_bytes(platform.node().encode())
    with start_server(tmp_path) as first:
        [left] = set(tmp_path.iterdir()) - set(mine)
        (left / "answers.csv").write_text("an upload")
        first.kill()
    assert (left / "answers.csv").exists()
    with start_server(tmp_path) as second:
        try:
            assert not left.exists()
            assert set(mine) < set(tmp_path.iterdir())
        finally:
            second.terminate()
    assert set(tmp_path.iterdir()) == set(mine)
