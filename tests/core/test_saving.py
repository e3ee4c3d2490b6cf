"""Saving: nothing of the user is lost, no link is followed, and an interrupted result is reported as incomplete."""

import json
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import allalike
from allalike._core.system import files
from allalike._core.system.files import UNFINISHED, Output
from allalike.errors import InputError, OutputError
from allalike.result.result import Result
from running.program import run

ROWS = [("ada", "t1", "x"), ("bob", "t1", "x"), ("eve", "t1", "y"), ("ada", "t2", "y"), ("bob", "t2", "y")]

STATE = [f"details/state/{name}" for name in ("answers-1.parquet", "call.json")]
DETAILS = [f"details/{name}.csv" for name in ("confusion", "next_tasks", "quality", "workers")]
FILES = [*DETAILS[:3], *STATE, DETAILS[3], "summary.json", "truth.csv", "workers.csv"]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with answers and gold of the names that the README has."""
    pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_csv(tmp_path / "answers.csv", index=False)
    (tmp_path / "truth.csv").write_text("task,label\nt1,x\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*arguments: str) -> str:
    """Return the one line that says why the program did nothing."""
    message = run(*arguments, code=2)[1]
    assert len(message.splitlines()) == 1, message
    return message


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def result(**options: object) -> Result:
    return allalike.discover(ROWS, method="UA", **options)  # type: ignore[arg-type]


def draw_masks(folder: Path, tasks: int = 3) -> None:
    rng = np.random.default_rng(0)
    for worker in ("user1", "user2", "user3"):
        (folder / worker).mkdir(parents=True)
        for task in range(tasks):
            pixels = (rng.random((4, 4 + task)) < 0.5).astype(np.uint8) * 255
            Image.fromarray(pixels).save(folder / worker / f"t{task}.png")


# What may be replaced


def test_an_earlier_result_is_replaced_also_in_another_format(tmp_path: Path) -> None:
    result().save(tmp_path / "out")
    result().save(tmp_path / "out", format="parquet")
    assert sorted(content(tmp_path / "out")) == [each.replace(".csv", ".parquet") for each in FILES]
    result().save(tmp_path / "out")
    assert sorted(content(tmp_path / "out")) == FILES


def test_a_file_that_allalike_did_not_write_stays_unless_it_may_be_overwritten(here: Path) -> None:
    before = content(here)
    message = refused("discover", "answers.csv", "-o", ".")
    assert "truth.csv exists already, and allalike did not write it." in message
    assert "--overwrite" in message
    assert content(here) == before
    with pytest.raises(OutputError, match="overwrite=True"):
        result().save(here)
    run("discover", "answers.csv", "-o", ".", "--overwrite")
    assert (here / "truth.csv").read_text().startswith('"task","label","confidence"')
    assert (here / "answers.csv").read_bytes() == before["answers.csv"]


def test_a_summary_of_another_program_says_nothing_about_what_may_be_replaced(tmp_path: Path) -> None:
    others: list[object] = [{"files": ["truth.csv", "notes.txt"]}, {"files": 3, "versions": {"allalike": "0"}}, [], "x"]
    for summary in others:
        (tmp_path / "summary.json").write_text(json.dumps(summary))
        with pytest.raises(OutputError, match="summary.json exists already"):
            result().save(tmp_path)
    result().save(tmp_path, overwrite=True)
    listed = json.loads((tmp_path / "summary.json").read_text())
    listed["files"] += ["notes.txt", "../other.txt", str(tmp_path.parent / "other.txt"), "labels/../notes.txt", ""]
    (tmp_path / "summary.json").write_text(json.dumps(listed))
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path.parent / "other.txt").write_text("mine")
    result().save(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == (tmp_path.parent / "other.txt").read_text() == "mine"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no pipes in folders")
@pytest.mark.parametrize("more", [[], ["--overwrite"]])
def test_a_device_or_a_pipe_is_never_replaced(more: list[str], here: Path) -> None:
    os.mkfifo(here / "pipe")
    told = refused("compare", "answers.csv", "-o", "pipe", *more)
    assert "is a device or a pipe and is never replaced" in told
    assert (here / "pipe").is_fifo()


@pytest.mark.parametrize(
    ("option", "name", "written"),
    [
        ("answers", "truth.csv", "worker,task,label\na,1,x\nb,1,y\n"),
        ("--gold", "truth.csv", ""),
        ("--history", "workers.csv", ""),
        ("--label-map", "details/next_tasks.csv", "from,to\nX,x\n"),
    ],
)
@pytest.mark.parametrize("link", [None, "symlink_to", "hardlink_to"])
def test_an_input_is_never_replaced_not_even_if_allalike_wrote_it(
    option: str, name: str, written: str, link: str | None, here: Path
) -> None:
    (here / "truth.csv").unlink()
    allalike.discover(ROWS).save(here / "out")
    (here / "out" / name).write_text(written or (here / "out" / name).read_text())
    given = f"out/{name}" if link is None else "linked.csv"
    if link is not None:
        getattr(here / given, link)(here / "out" / name)
    before = content(here)
    called = [given] if option == "answers" else ["answers.csv", option, given]
    for flags in ([], ["--overwrite"], ["--format", "parquet"]):
        message = refused("discover", *called, "-o", "out", *flags)
        assert f"out/{name} is an input of this run, and inputs are never replaced" in message
    assert content(here) == before


@pytest.mark.parametrize("how", ["read", "scan", "list", "glob", "gold", "update", "json"])
def test_inputs_are_known_in_python_too(how: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "truth.csv").write_bytes((here / "answers.csv").read_bytes())
    if how == "json":
        (here / "summary.json").write_text(
            json.dumps(pd.DataFrame(ROWS, columns=["worker", "task", "label"]).to_dict("records"))
        )
    found = {
        "read": lambda: allalike.discover(allalike.read("truth.csv").per_task()),
        "scan": lambda: allalike.discover(allalike.scan(Path("truth.csv")), engine="disk"),
        "list": lambda: allalike.discover(["answers.csv", "truth.csv"]),
        "glob": lambda: allalike.discover("tr*.csv"),
        "gold": lambda: allalike.discover(ROWS, gold="truth.csv"),
        "update": lambda: allalike.discover(ROWS).update("truth.csv"),
        "json": lambda: allalike.discover("summary.json"),
    }
    if how == "gold":
        (here / "truth.csv").write_text("task,label\nt1,x\n")
    saved = found[how]()
    monkeypatch.chdir("/")  # relative paths lead elsewhere now
    with pytest.raises(OutputError, match="is an input of this run"):
        saved.save(here, overwrite=True)


def test_masks_that_are_the_input_stay(here: Path) -> None:
    draw_masks(here / "ds" / "labels")
    before = content(here)
    for flags in ([], ["--overwrite"]):
        for folder in ("ds", "ds/labels"):
            message = refused("discover", "ds/labels", "-o", folder, *flags)
            assert "ds/labels is an input of this run. Nothing is written into it" in message
    assert content(here) == before


def test_a_folder_of_the_names_of_masks_stays_with_all_that_is_in_it(here: Path) -> None:
    draw_masks(here / "ds")
    for name in ("labels", "unweighted"):
        (here / "out" / name).mkdir(parents=True)
        (here / "out" / name / "notes.txt").write_text("mine")
    found = allalike.discover("ds")
    found.save("out")
    found.save("out")
    assert (here / "out" / "labels" / "notes.txt").read_text() == "mine"
    assert (here / "out" / "labels" / "t0.png").exists()
    result().save("out")  # whose labels are no masks
    assert sorted(content(here / "out")) == sorted([*FILES, "labels/notes.txt", "unweighted/notes.txt"])
    (here / "out" / "labels" / "t0.png").write_text("mine")
    with pytest.raises(OutputError, match="labels/t0.png exists already"):
        found.save("out")
    assert (here / "out" / "labels" / "t0.png").read_text() == "mine"


def test_masks_that_a_manifest_names_stay_and_what_it_does_not_name_may_go(here: Path) -> None:
    draw_masks(here / "ds")
    found = allalike.discover("ds")
    found.save("out")
    rows = [f"w{number},t0,labels/t0.png" for number in range(3)]
    (here / "out" / "manifest.csv").write_text("\n".join(["worker,task,path", *rows]))
    found_again = allalike.discover("out", domain="bitmap")
    with pytest.raises(OutputError, match="out/labels/t0.png is an input of this run"):
        found_again.save("out", overwrite=True)
    found_again.save("out/inner")
    found_again.save("out/inner")
    assert (here / "out" / "inner" / "labels" / "t0.png").exists()


def test_a_table_of_a_comparison_is_replaced_and_another_file_is_not(here: Path) -> None:
    compare = ["compare", "answers.csv", "--methods", "UA", "-q"]
    run(*compare, "-o", "table.csv")
    run(*compare, "-o", "table.csv")
    before = content(here)
    assert "truth.csv exists already" in refused(*compare, "-o", "truth.csv")
    for called in (["-o", "answers.csv"], ["-o", "truth.csv", "--gold", "truth.csv"]):
        assert "is an input of this run" in refused(*compare, *called, "--overwrite")
    assert content(here) == before
    run(*compare, "-o", "truth.csv", "--overwrite")
    assert (here / "truth.csv").read_text().startswith("method,")


@pytest.mark.parametrize(
    "command", [["discover", "answers.csv"], ["compare", "answers.csv"], ["demo"], ["simulate", "k4"]]
)
def test_no_name_is_no_folder(command: list[str], here: Path) -> None:
    before = content(here)
    assert "is ''. Name a" in refused(*command, "-o", "")
    assert content(here) == before


def test_a_run_that_could_not_be_saved_does_not_begin(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("allalike.discover"), "discover", lambda *_, **__: pytest.fail("It began."))
    assert "truth.csv exists already" in refused("discover", "answers.csv", "-o", ".")
    assert "is a file, not a folder" in refused("discover", "answers.csv", "-o", "truth.csv/out")


# Whole or not at all


@pytest.mark.parametrize(
    "cases",
    [
        ["own:SIGKILL", "shared:SIGKILL"],
        pytest.param(["new:SIGKILL", "shared:SIGTERM", "shared:both"], marks=pytest.mark.long),
        pytest.param(["own masks:SIGKILL", "stepwise masks:SIGKILL", "own:SIGTERM"], marks=pytest.mark.long),
        pytest.param(["shared:SIGINT", "own:both", "stepwise:both"], marks=pytest.mark.long),
    ],
    ids="; ".join,
)
@pytest.mark.timeout(300)
@pytest.mark.skipif(sys.platform == "win32", reason="forks and signals")
def test_the_old_or_the_new_result_is_there_whenever_it_ends_and_when_two_save_at_once(
    cases: list[str], tmp_path: Path
) -> None:
    program = Path(__file__).parents[1] / "programs" / "killed_saves.py"
    command = [sys.executable, str(program), str(tmp_path), *cases]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(done.stdout.splitlines()) == 2 * len(cases)


@pytest.mark.parametrize("fails", [0, 3, 9])
def test_a_failure_while_files_are_replaced_is_an_incomplete_result_until_the_next_run(
    fails: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    result().save(out, format="parquet")
    (out / "notes.txt").write_text("mine")
    moves = iter(range(100))
    opened = files._opened

    def fail_once(place: Path, name: str, *, make: bool = False) -> Any:
        if next(moves) == fails:
            raise PermissionError(13, "The file is open in another program")
        return opened(place, name, make=make)

    monkeypatch.setattr(files, "_opened", fail_once)
    with pytest.raises(OutputError, match="cannot be written to .*out: The file is open in another program."):
        result(gold={"t1": "x"}).save(out)
    for call in (allalike.load, lambda out: allalike.update(out, [("zoe", "t1", "x")])):
        with pytest.raises(InputError, match=r"is incomplete.*: allalike discover answers.csv -o"):
            call(out)
    result().save(out)
    assert sorted(content(out)) == sorted([*FILES, "notes.txt"])
    assert allalike.load(out).summary["answers"] == len(ROWS)


@pytest.mark.parametrize("shared", [False, True])
def test_a_folder_of_parts_and_a_file_take_each_others_place(shared: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    written: list[str] = []
    for names in (["truth.parquet/part-0"], ["truth.parquet"], ["truth.parquet/part-0", "truth.parquet/part-1"]):
        with Output(folder=out, find_own=lambda _: written).staged() as stage:  # noqa: B023
            for name in names:
                (stage / name).parent.mkdir(exist_ok=True)
                (stage / name).write_text(name)
        written = names
        if shared:
            (out / "notes.txt").write_text("mine")
        assert sorted(content(out)) == ["notes.txt"] * shared + names


def test_what_a_running_process_writes_stays(tmp_path: Path) -> None:
    with Output(folder=tmp_path / "out").staged() as stage:
        (stage / "notes.txt").write_text("mine")
        result().save(tmp_path / "out")
        result().save(tmp_path / "other")
        assert (stage / "notes.txt").exists()
    assert sorted(content(tmp_path / "out")) == sorted([*FILES, "notes.txt"])


def test_a_folder_in_which_somebody_works_and_its_rights_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result().save(tmp_path / "out")
    (tmp_path / "link").symlink_to("out")
    monkeypatch.chdir(tmp_path / "out")
    number = (tmp_path / "out").stat().st_ino
    result().save(".")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out").chmod(0o700)
    result().save("link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "out").stat().st_ino == number
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o700
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "out"]


@pytest.mark.parametrize("name", ["file/out", "file", "out\0", "read-only/deep/out", "n" * 300])
def test_a_place_that_cannot_be_is_one_message_and_nothing_is_left(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "read-only").mkdir()
    monkeypatch.setattr(os, "access", lambda path, _: Path(path).name != "read-only")  # as root may write everywhere
    with pytest.raises(OutputError, match="The result cannot be written to"):
        result().save(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "read-only"]


def test_a_full_disk_leaves_what_was_there_and_no_new_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result().save(tmp_path / "out")
    before = content(tmp_path)

    def full(_: Path) -> None:
        raise OSError(28, "Error writing bytes to file. Detail: [errno 28] No space left on device")  # in Arrow's words

    monkeypatch.setattr(files, "flush_files", full)
    for folder in (tmp_path / "out", tmp_path / "deep" / "new"):
        with pytest.raises(OutputError, match="cannot be written to .*: No space left on device[.]"):
            result().save(folder)
    assert content(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


# What belongs to others


def write(target: Output, *names: str) -> None:
    with target.staged() as stage:
        for name in names:
            (stage / name).parent.mkdir(exist_ok=True)
            (stage / name).write_text("done")


def write_note(folder: Path) -> None:
    write(Output(folder=folder, overwrite=True), "note.txt")


def test_folders_and_files_of_the_user_stay_whatever_they_are_called(tmp_path: Path) -> None:
    for name in (".allalike-mybackup", f".allalike-{'0123456789abcdef' * 2}"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("mine")
    (tmp_path / ".allalike-notes.txt").write_text("mine")
    before = content(tmp_path)
    write_note(tmp_path / "out")
    assert content(tmp_path) == {**before, "out/note.txt": b"done"}


def test_a_list_of_an_incomplete_result_that_somebody_else_wrote_replaces_nothing(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "thesis.txt").write_text("mine")
    for name in ("truth.csv", "notes.txt"):
        (out / name).write_text("mine")
    status = (tmp_path / "thesis.txt").stat()
    marks = {"truth.csv": [1, 2], "notes.txt": [3, 4], "../thesis.txt": [status.st_ino, status.st_mtime_ns]}
    for told in (json.dumps(marks), "[]", "[" * 100_000, '{"truth.csv": null}'):
        (out / UNFINISHED).write_text(told)
        with pytest.raises(OutputError, match="truth.csv exists already"):
            result().save(out)
        write_note(out)
    (out / "truth.csv").unlink()
    result().save(out)
    assert (out / "notes.txt").read_text() == (tmp_path / "thesis.txt").read_text() == "mine"
    assert not (out / UNFINISHED).exists()


# Links


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """Make a result with a link in it, and a summary that lists what is behind the link."""
    thesis = tmp_path / "thesis"
    thesis.mkdir()
    for name in ("thesis.txt", "t1.png"):
        (thesis / name).write_text("mine")
    result().save(tmp_path / "out")
    for name in ("labels", "truth.parquet"):
        (tmp_path / "out" / name).symlink_to(thesis)
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    summary["files"] += ["labels/thesis.txt", "labels/t1.png", "truth.parquet/t1.png", "labels"]
    (tmp_path / "out" / "summary.json").write_text(json.dumps(summary))
    return thesis


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_is_behind_a_link_in_the_output_is_neither_removed_nor_replaced(
    behind: Path, overwrite: bool, tmp_path: Path
) -> None:
    result().save(tmp_path / "out", overwrite=overwrite)
    assert (tmp_path / "out" / "labels").is_symlink()
    target = Output(folder=tmp_path / "out", overwrite=True)
    with pytest.raises(OutputError, match=r"out/labels/t1.png is behind a link, and allalike does not write through"):
        target.check(["labels/t1.png"])
    with pytest.raises(OutputError, match="is behind a link"):
        write(target, "labels/t1.png")
    assert content(behind) == {"thesis.txt": b"mine", "t1.png": b"mine"}


@pytest.mark.parametrize("opens", [True, False])
def test_a_link_that_comes_between_looking_and_moving_is_not_followed(
    opens: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_CAN_OPEN", opens and files._CAN_OPEN)
    mine, out = tmp_path / "mine", tmp_path / "out"
    for folder in (mine, out):
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
    look = Output._find_replaced

    def look_and_link(self: Output, names: list[str]) -> list[str]:
        found = look(self, names)
        if names:
            (out / "labels").symlink_to(mine)
        return found

    monkeypatch.setattr(Output, "_find_replaced", look_and_link)
    with pytest.raises(OutputError):
        write(Output(folder=out, overwrite=True), "labels/notes.txt", "other.txt")
    assert content(mine) == {"notes.txt": b"mine"}


@pytest.mark.parametrize("exchanges", [True, False])
def test_folders_change_places_also_where_that_takes_two_steps(
    exchanges: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not exchanges:
        monkeypatch.setattr(sys, "platform", "aix")
    result().save(tmp_path / "out")
    number = (tmp_path / "out").stat().st_ino
    result().save(tmp_path / "out")
    assert (tmp_path / "out").stat().st_ino != number
    assert sorted(content(tmp_path / "out")) == FILES
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
