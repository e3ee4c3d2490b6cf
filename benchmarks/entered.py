"""Count the files and functions that `discover` enters for 60 rows in the first run of a method."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "allalike"
ROWS = [(f"w{worker}", f"t{task}", "abc"[task % 3 if worker < 4 else 0]) for task in range(12) for worker in range(5)]


def count_entered(method: str) -> list[int]:
    """Run a method, and return the files, functions and calls that it enters, and the modules imported."""
    import allalike

    calls: Counter[tuple[str, str, int]] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        ours = code.co_filename.startswith(str(SOURCE)) and code.co_flags & inspect.CO_NEWLOCALS
        if event == "call" and ours and code.co_name[0] != "<":  # neither modules nor bodies of classes
            calls[code.co_filename, code.co_qualname, code.co_firstlineno] += 1

    sys.setprofile(note)
    try:
        allalike.discover(ROWS, method=method).truth  # noqa: B018 (computed on access)
    finally:
        sys.setprofile(None)
    modules = sum(name.partition(".")[0] == "allalike" for name in sys.modules)
    return [len({file for file, *_ in calls}), len(calls), calls.total(), modules]


def main() -> None:
    """Print a row per method; each runs in a separate process."""
    if len(sys.argv) > 1:
        print(*count_entered(sys.argv[1]))
        return
    print(f"{'60 rows':<8}" + "".join(f"{head:>10}" for head in ("files", "functions", "calls", "modules")))
    for name in ("P-TD", "auto"):
        counts = subprocess.check_output([sys.executable, __file__, name], text=True).split()
        print(f"{name:<8}" + "".join(f"{int(count):>10,}" for count in counts))


if __name__ == "__main__":
    main()
