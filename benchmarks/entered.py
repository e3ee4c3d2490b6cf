"""Count files and functions that `discover` enters for 60 rows, and the size of every package and of the tests.

The first run of a method counts, without what runs on import; lambdas and comprehensions are no functions here.
"""

from __future__ import annotations

import ast
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
        allalike.discover(ROWS, method=method).truth  # noqa: B018 (a table that is made when it is asked for)
    finally:
        sys.setprofile(None)
    modules = sum(name.partition(".")[0] == "allalike" for name in sys.modules)
    return [len({file for file, *_ in calls}), len(calls), calls.total(), modules]


def count_code(folder: Path) -> list[int]:
    """Return lines, files, statements and functions of a folder or of a module."""
    files = [folder] if folder.is_file() else sorted(folder.rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    functions = sum(isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) for node in nodes)
    return [sum(len(text.splitlines()) for text in texts), len(files), statements, functions]


def show(heads: tuple[str, ...], rows: list[tuple[str, list[int]]]) -> None:
    """Print a table."""
    print(f"{heads[0]:<16}" + "".join(f"{head:>12}" for head in heads[1:]))
    for name, counts in rows:
        print(f"{name:<16}" + "".join(f"{number:>12,}" for number in counts))


def main() -> None:
    """Print both tables; each method runs in a process of its own."""
    if len(sys.argv) > 1:
        print(*count_entered(sys.argv[1]))
        return
    runs = [(name, subprocess.check_output([sys.executable, __file__, name], text=True)) for name in ("P-TD", "auto")]
    show(("60 rows", "files", "functions", "calls", "modules"), [(n, [*map(int, out.split())]) for n, out in runs])
    packages = [path for path in sorted(SOURCE.iterdir()) if path.is_dir() or path.suffix == ".py"]
    sizes = [(path.stem, count_code(path)) for path in packages if path.name != "__pycache__"]
    others = [(name, count_code(ROOT / name)) for name in ("tests", "benchmarks", "paper")]
    tests = sum(file.read_text(encoding="utf-8").count("\ndef test_") for file in (ROOT / "tests").rglob("*.py"))
    print(f"\n{tests:,} functions of tests\n")
    show(("", "lines", "files", "statements", "functions"), [*sizes, ("src", count_code(SOURCE)), *others])


if __name__ == "__main__":
    main()
