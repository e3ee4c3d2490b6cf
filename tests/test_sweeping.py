"""Sweeping: what killed processes left goes away when its owner is surely gone, and nothing else does."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path

import pytest

from allalike.system.claims import CLAIM, claim_folder
from allalike.system.journal import NEW
from allalike.system.output import Output

NAME = f".allalike-{'0123456789abcdef' * 2}"


def left_stage(parent: Path, *, host: str | None, old: bool) -> Path:
    """Make what a process leaves that was killed while it wrote, on a machine of this name, or without locks."""
    stage = parent / NAME
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


def write_beside(folder: Path) -> None:
    with Output(folder=folder / "out", overwrite=True).staged() as stage:
        (stage / "note.txt").write_text("done")


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


def test_a_journal_that_another_machine_left_is_completed(tmp_path: Path) -> None:
    stage = left_stage(tmp_path, host="another machine", old=False)
    plan = {"folder": "earlier", "new": ["truth.csv"], "old": []}
    (stage / "journal.json").write_text(json.dumps(plan))
    (tmp_path / "earlier").mkdir()
    make_old(stage, old=True)
    write_beside(tmp_path)
    assert (tmp_path / "earlier" / "truth.csv").read_text() == "half"
    assert not stage.exists()


def test_half_files_go_after_a_week_and_files_of_others_stay(tmp_path: Path) -> None:
    half, other = tmp_path / f"{NAME}.json", tmp_path / ".allalike-notes.txt"
    half.write_text("{")
    other.write_text("mine")
    write_beside(tmp_path)
    assert half.exists()
    os.utime(half, (0, 0))
    os.utime(other, (0, 0))
    write_beside(tmp_path)
    assert not half.exists()
    assert other.read_text() == "mine"


def test_what_a_link_leads_to_stays(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "note.txt").write_text("mine")
    make_old(mine, old=True)
    (tmp_path / NAME).symlink_to(mine)
    write_beside(tmp_path)
    assert (mine / "note.txt").read_text() == "mine"
