"""What is left of a reproduction that is interrupted."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest


@pytest.mark.long
def test_an_interrupt_is_one_line_and_what_was_computed_stays(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "paper", "table-2", "--jobs", "2", "-o", "out", "--repetitions", "30000"]
    nowhere = dict.fromkeys(("ALLALIKE_DATA", "XDG_CACHE_HOME"), str(tmp_path))
    nowhere = {**os.environ, **nowhere, "PYTHONPATH": str(Path(__file__).parents[1])}
    with subprocess.Popen(asked, cwd=tmp_path, stderr=subprocess.PIPE, text=True, env=nowhere) as process:
        try:
            while not list(tmp_path.glob("out/chunks/*.json")) and process.poll() is None:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            _, err = process.communicate()
        finally:
            process.kill()  # if it was not ended
    assert err == "allalike: Interrupted. What was computed is in out; the same command goes on from there.\n"
    assert process.returncode == 1
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"chunks"}
