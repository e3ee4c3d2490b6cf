"""Work: what is done in a process of its own, so that it can be ended at any time, and the page stays awake.

An order comes as a line of JSON on standard input, and what is said goes back as lines of JSON: how far it has come,
and at last what came of it. Standard input stays open as long as somebody waits; once it is closed, as it is when the
parent ends in whatever way, the process ends in the middle of its work.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import warnings
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import TYPE_CHECKING, Any

from allalike._core.system.progress import STAGES, report, watching
from allalike.errors import AllalikeError, ConvergenceWarning, DataWarning, ReportWarning
from allalike.serve.choices import Choices
from allalike.serve.preview import describe_error, preview

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["main", "perform"]

_SECONDS_BETWEEN = 0.05  # signs of progress in the same stage


def perform(order: Mapping[str, Any]) -> dict[str, Any]:
    """Do what is ordered, and return what came of it, or what is wrong.

    >>> perform({"do": "preview", "files": ["nowhere.csv"], "gold": None, "choices": {}})["question"]["what"]
    'There is no file nowhere.csv.'
    """
    try:
        return _ORDERS[order["do"]](order)
    except DataWarning as doubt:
        return {"error": {"what": str(doubt), "lines": [], "settles": {"force": True}}}
    except AllalikeError as error:
        return {"error": describe_error(error)}
    except MemoryError:
        return {"error": {"what": "There is not enough memory for this.", "lines": [], "settles": {}}}
    except Exception as error:
        if os.environ.get("ALLALIKE_DEBUG"):
            raise
        what = f"Something unexpected happened: {type(error).__name__}: {error}."
        return {"error": {"what": what, "lines": [], "settles": {}}}


def _preview(order: Mapping[str, Any]) -> dict[str, Any]:
    report("reading")
    return preview(order["files"], order["gold"], Choices.of(order["choices"]))


def _run(order: Mapping[str, Any]) -> dict[str, Any]:
    """Find the truths, and write them with their page."""
    from allalike.api.discover import discover

    choices = Choices.of(order["choices"])
    with warnings.catch_warnings(record=True) as caught:
        for kind in (ConvergenceWarning, ReportWarning):
            warnings.simplefilter("always", kind)
        warnings.simplefilter("ignore" if choices.force else "error", DataWarning)
        source, gold = choices.name(order["files"]), choices.name_gold(order["gold"])
        result = discover(source, method=choices.method, gold=gold, gold_columns=choices.gold_columns or None)
        report("saving")
        result.save(order["folder"], report=True)
    return {"notes": [str(each.message) for each in caught]}


def _revisit(order: Mapping[str, Any]) -> dict[str, Any]:
    """Write the page of a result that has none."""
    from allalike.api.revisit import revisit

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # all of it was said when the result was found
        result = revisit(order["folder"], open_inputs=order["open_inputs"])
    report("saving")
    result.report(Path(order["page"]))
    return {"notes": []}


_ORDERS: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "preview": _preview,
    "run": _run,
    "revisit": _revisit,
}


class _Watcher:
    """Who tells how far the work has come, not too often."""

    def __init__(self, send: Callable[[dict[str, Any]], None]) -> None:
        self._send, self._stage, self._time = send, "", 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        now = monotonic()
        if stage != self._stage or now - self._time > _SECONDS_BETWEEN:
            self._stage, self._time = stage, now
            self._send({"stage": STAGES.get(stage, stage), "round": stage == "round", "done": done, "total": total})


def main() -> None:
    """Do the work that is ordered on standard input; no longer than that is open."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is the parent's to say what an interrupt ends
    back = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what is printed here must not get among what is said
    order = json.loads(sys.stdin.buffer.readline())
    Thread(target=_end_with_parent, daemon=True).start()

    def send(**said: Any) -> None:
        back.write(json.dumps(said) + "\n")
        back.flush()

    with watching(_Watcher(lambda progress: send(progress=progress))):
        send(outcome=perform(order))


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)
