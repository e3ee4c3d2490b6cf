"""Jobs: work under way in another process, that can be watched and cancelled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

__all__ = ["Job"]

_WORK = "from allalike.serve.work import main; main()"
_ENDED = "The work was ended from outside, perhaps for want of memory. Nothing was written."
_FOLDER_VARIABLES = ("TMPDIR", "TEMP", "TMP")


class Job:
    """Work under way.

    Parameters
    ----------
    order
        What is to be done, as `allalike.serve.work` takes it.
    folder
        Where it puts what is temporary; whoever removes the folder removes all that a cancelled job left.
    on_end
        Called with the job and what came of it, from a thread of its own, unless it was cancelled.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     job = Job({"do": "preview", "files": ["nowhere.csv"], "gold": None, "choices": {}}, Path(folder))
    ...     job.cancel()
    ...     job.progress["stage"]
    'starting'
    """

    def __init__(
        self, order: Mapping[str, Any], folder: Path, on_end: Callable[[Job, dict[str, Any]], None] | None = None
    ) -> None:
        self.order = order
        self.progress: dict[str, Any] = {"stage": "starting", "round": False, "done": 0, "total": 0}
        self._on_end, self._cancelled = on_end, False
        environment = {**os.environ, **dict.fromkeys(_FOLDER_VARIABLES, str(folder))}
        command = [sys.executable, "-P", "-c", _WORK]
        errors = None if os.environ.get("ALLALIKE_DEBUG") else subprocess.DEVNULL
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(  # nosec B603 # this Python, no shell
            command, env=environment, stdin=pipe, stdout=pipe, stderr=errors
        )
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def cancel(self) -> None:
        """End the process, whatever it does, and wait until it has ended."""
        self._cancelled = True
        self._process.kill()
        self._process.wait()

    def _watch(self) -> None:
        outcome: dict[str, Any] = {"error": {"what": _ENDED, "lines": [], "proposals": []}}
        given, said = self._process.stdin, self._process.stdout
        assert given is not None
        assert said is not None
        with said, suppress(OSError), given:  # which cannot even be closed if it was cancelled at once
            given.write(json.dumps(self.order).encode() + b"\n")
            given.flush()
            for line in said:
                with suppress(ValueError):  # a line that was cut off
                    message = json.loads(line)
                    self.progress = message.get("progress", self.progress)
                    outcome = message.get("outcome", outcome)
                    if "outcome" in message:
                        break
        self._process.kill()
        self._process.wait()
        if not self._cancelled and self._on_end is not None:
            self._on_end(self, outcome)
