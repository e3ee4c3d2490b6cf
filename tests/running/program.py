"""The program, called in the process of a test."""

import contextlib
import io
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pytest

from allalike.cli import main


def call(*arguments: str, folder: Path, terminal: bool = False) -> subprocess.CompletedProcess[str]:
    """Run the program in this process, in a folder; standard error is caught, or is the terminal that it is already."""
    out, err, before = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    with (
        contextlib.chdir(folder),
        redirect_stdout(out),
        redirect_stderr(sys.stderr if terminal else err),
        pytest.raises(SystemExit) as stop,
    ):
        main(arguments)
    signal.signal(signal.SIGTERM, before)
    assert isinstance(stop.value.code, int)
    return subprocess.CompletedProcess(arguments, stop.value.code, out.getvalue(), err.getvalue())


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    """Return what the program prints in the current folder, and what it notes; it must end with this code."""
    done = call(*map(str, arguments), folder=Path())
    assert done.returncode == code, done
    return done.stdout, done.stderr
