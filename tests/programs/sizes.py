"""Check the size rules: lines per file, per function and per package.

`python tests/programs/sizes.py` compares the tree with `tests/sizes.csv`, which holds the lines of each package today
and its budget; `--write` lowers the numbers in that table, and never raises one.
"""

import ast
import csv
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "sizes.csv"
MAX_FILE, MAX_FUNCTION = 600, 40
LONG_FUNCTIONS = "functions over 40 lines"  # a row of the table, as if it were a package
_FOLDERS = ("src", "tests", "benchmarks", "paper", "examples")


def list_files() -> list[Path]:
    """Return all Python files of the project."""
    return [path for folder in _FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]


def name_package(path: Path) -> str:
    """Return the package of a file: a folder below `src/allalike`, its root, or a folder beside it."""
    folder, *inside = path.relative_to(ROOT).parts
    if folder != "src":
        return folder
    return inside[1] if len(inside) > 2 else "allalike"


def count_code_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function without its docstring."""
    lines = (node.end_lineno or node.lineno) - node.lineno + 1
    if ast.get_docstring(node, clean=False) is None:
        return lines
    return lines - ((node.body[0].end_lineno or 0) - node.body[0].lineno + 1)


def list_long_functions(path: Path) -> Iterator[str]:
    """Yield the functions of a file that are too long."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and count_code_lines(node) > MAX_FUNCTION:
            yield f"{path.relative_to(ROOT).as_posix()}:{node.lineno} {node.name}, {count_code_lines(node)} lines"


def measure() -> tuple[Counter[str], list[str], list[str]]:
    """Return lines per package, files that are too long, and functions that are too long."""
    sizes: Counter[str] = Counter()
    long_files: list[str] = []
    long_functions: list[str] = []
    for path in list_files():
        lines = len(path.read_text(encoding="utf-8").splitlines())
        sizes[name_package(path)] += lines
        sizes["src"] += lines if path.is_relative_to(ROOT / "src") else 0
        if lines > MAX_FILE:
            long_files.append(f"{path.relative_to(ROOT).as_posix()}: {lines} lines")
        long_functions += list_long_functions(path)
    sizes[LONG_FUNCTIONS] = len(long_functions)
    return sizes, long_files, long_functions


def read_table() -> dict[str, tuple[int, str]]:
    """Return the most lines that each package may have now, and its budget."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["package"]: (int(row["lines"]), row["budget"]) for row in csv.DictReader(file)}


def find_faults() -> list[str]:
    """Return a line for each rule that is broken."""
    sizes, faults, long_functions = measure()
    known = read_table()
    for package, lines in sizes.items():
        most = known.get(package, (0, ""))[0]
        if lines > most:
            faults.append(f"{package}: {lines:,} lines, at most {most:,} (tests/sizes.csv)")
    if sizes[LONG_FUNCTIONS] > known[LONG_FUNCTIONS][0]:
        faults += long_functions
    return faults


def lower_table() -> None:
    """Write the table anew, with each number as it is now if that is lower."""
    sizes, known = measure()[0], read_table()
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["package", "lines", "budget"])
        for package, (most, budget) in known.items():
            writer.writerow([package, min(most, sizes[package]), budget])


if __name__ == "__main__":
    if "--write" in sys.argv:
        lower_table()
    sys.exit("\n".join(find_faults()) or None)
