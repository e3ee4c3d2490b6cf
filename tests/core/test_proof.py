"""Proof: only this user's own program can sign, and whoever lacks a safe secret proves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from allalike._core.system.proof import is_signed, sign, state_folder

posix = pytest.mark.skipif(sys.platform == "win32", reason="Windows has neither modes nor owners of this kind")


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "deep" / "state"
    monkeypatch.setenv("ALLALIKE_STATE", str(folder))
    return folder


def test_what_was_signed_is_known_again_and_nothing_else_is(state: Path) -> None:
    signature = sign(b"one")
    assert is_signed(b"one", signature)
    assert signature == sign(b"one")
    for other in ("", signature[:-1], signature.upper(), f"{signature} ", "é" * 64, "\ud800"):
        assert not is_signed(b"one", other)
    assert not is_signed(b"two", signature)


def test_another_secret_knows_nothing_of_it(state: Path) -> None:
    signature = sign(b"one")
    (state / "secret").unlink()
    assert not is_signed(b"one", signature)
    assert sign(b"one") != signature


def test_asking_for_a_proof_makes_no_secret(state: Path) -> None:
    assert not is_signed(b"one", "0" * 64)
    assert not state.exists()


@posix
def test_a_secret_is_for_its_user_alone(state: Path) -> None:
    before = os.umask(0)
    try:
        assert sign(b"one")
    finally:
        os.umask(before)
    assert [path.name for path in state.iterdir()] == ["secret"]
    assert (state / "secret").stat().st_mode & 0o777 == 0o600
    assert state.stat().st_mode & 0o777 == 0o700
    assert (state / "secret").stat().st_size == 32


@posix
@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_secret_that_others_can_open_proves_nothing(state: Path, mode: int) -> None:
    signature = sign(b"one")
    (state / "secret").chmod(mode)
    assert not is_signed(b"one", signature)
    assert sign(b"one") == ""


@posix
@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_secret_where_others_can_put_one_proves_nothing(state: Path, mode: int) -> None:
    signature = sign(b"one")
    state.chmod(mode)
    assert not is_signed(b"one", signature)


@posix
def test_a_secret_behind_a_link_proves_nothing(state: Path) -> None:
    signature = sign(b"one")
    (state / "secret").rename(state / "other")
    (state / "secret").symlink_to("other")
    assert not is_signed(b"one", signature)
    assert sign(b"one") == ""


@posix
def test_a_pipe_in_the_place_of_the_secret_is_not_waited_for(state: Path) -> None:
    state.mkdir(parents=True, mode=0o700)
    os.mkfifo(state / "secret", 0o600)  # type: ignore[attr-defined,unused-ignore]
    assert sign(b"one") == ""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a file away")
def test_a_secret_of_somebody_else_proves_nothing(state: Path) -> None:
    signature = sign(b"one")
    os.chown(state / "secret", 12345, -1)
    assert not is_signed(b"one", signature)
    assert sign(b"one") == ""


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give a folder away")
def test_root_leaves_no_secret_at_the_home_of_another(state: Path) -> None:
    state.parent.mkdir()
    os.chown(state.parent, 12345, -1)
    assert sign(b"one") == ""
    assert not state.exists()


@pytest.mark.parametrize("content", [b"", b"short", b"x" * 33])
def test_a_secret_of_another_length_proves_nothing_and_stays(state: Path, content: bytes) -> None:
    sign(b"one")
    (state / "secret").write_bytes(content)
    assert sign(b"one") == ""
    assert (state / "secret").read_bytes() == content


def test_where_no_folder_can_be_made_nothing_is_signed(state: Path) -> None:
    state.parent.parent.mkdir(exist_ok=True)
    state.parent.write_text("a file where a folder should be")
    assert sign(b"one") == ""
    assert not is_signed(b"one", "")


def test_a_place_that_depends_on_the_working_folder_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLALIKE_STATE", "state")
    assert state_folder() is None
    assert sign(b"one") == ""


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other places")
def test_the_secret_is_where_states_of_programs_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ALLALIKE_STATE")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", "")
    assert state_folder() == tmp_path / ".local/state/allalike"
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "own"))
    assert state_folder() == tmp_path / "own/allalike"


def test_processes_that_need_a_secret_at_once_have_the_same(state: Path) -> None:
    code = "import sys; from allalike._core.system.proof import sign; sys.stdin.read(1); print(sign(b'one'))"
    started = [
        subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for process in started:  # all have been started before the first may begin
        assert process.stdin is not None
        process.stdin.write("x")
        process.stdin.flush()
    said = {process.communicate()[0] for process in started}
    assert said == {f"{sign(b'one')}\n"}
    assert [path.name for path in state.iterdir()] == ["secret"]
