"""Record what the public interface computes and reads, and compare later versions with the stored files.

``python tests/golden/record.py [--only PATTERN]`` runs the cases and writes ``stored/AREA.json``, one line per case.
``test_golden_record.py`` runs them again and compares. A case is a function that returns tables, numbers and labels,
never sentences. A capability that is removed takes its case and its stored lines along: run the script with the area.
"""

import argparse
import fnmatch
import hashlib
import json
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from allalike.errors import UnsupportedError

HERE = Path(__file__).parent
STORED = HERE / "stored"
SHARED = Path(__file__).parents[3] / "shared"  # real data, which are not part of the project
MODULES = ("methods_cases", "results_cases", "panel_cases", "text_cases", "reading_cases", "real_cases")
TOLERANCE = 1e-9

# Name of a column or key today -> its name in the stored files. A rename changes a line here, and no stored file.
NAMES = {
    "low": "ci_low",
    "high": "ci_high",
    "few": "few_answers",
    "signal": "informativeness",
    "signal_error": "informativeness_se",
    "uninformative": "uninformative",
    "shared_tasks": "shared",
    "mean_error": "fault",
    "standard_error": "error",
    "component": "part",
    "components": "parts",
    "copy_group": "group",
    "is_gold": "known",
    "effective_answers": "voices",
    "effective_answers_per_task": "voices_per_task",
    "common_tasks": "common",
    "p_value": "probability",
    "n_workers": "supporters",
    "flagged": "look_at",
    "disparity_error_correlation": "disparity_predicts",
    "together": "shared_error_group",
    "needed": "in_smallest_panel",
    "decides": "pivotal_tasks",
    "adds_voices": "added_effective_judges",
    "question": "tag",
    "duplicates": "repeats",
    "abstain_label": "abstain",
    "na_values": "na",
    "include": "only",
    "exclude": "skip",
}
# Phrases that name a choice of the program, and may be worded otherwise later -> what is stored.
CHOICES = {
    "everyone the same": "equal",
    "majority vote": "vote",
    "knows or guesses": "knows",
    "confusion matrices": "confusion",
}
# Keys whose values are sentences, times, versions or a repetition.
UNSTORED = {
    "versions",
    "warnings",
    "messages",
    "why",
    "seconds",
    "note",
    "reason",
    "coefficients",
    "options",
    "suggestions",
}


@dataclass(frozen=True)
class Case:
    """What is run, how close its numbers must be, and the real data that it needs."""

    run: Callable[[Path], Any]
    tolerance: float = TOLERANCE
    data: Path | None = None

    @property
    def is_possible(self) -> bool:
        return self.data is None or self.data.exists()


SHOWN = 8  # differences of a case
CASES: dict[str, Case] = {}  # "area/name" -> case, filled by the modules of cases


def add(name: str, run: Callable[[Path], Any], *, tolerance: float = TOLERANCE, data: Path | None = None) -> None:
    """Add a case, which is run with an empty folder."""
    if name in CASES:
        raise ValueError(f"Two cases are called {name}.")
    CASES[name] = Case(run, tolerance, data)


def case(name: str) -> Callable[[Callable[[Path], Any]], Callable[[Path], Any]]:
    """Make a case of a function."""

    def register(run: Callable[[Path], Any]) -> Callable[[Path], Any]:
        add(name, run)
        return run

    return register


def load_cases() -> dict[str, Case]:
    """Import the modules of cases."""
    for module in MODULES:
        __import__(f"golden.{module}")
    return CASES


def run(name: str, folder: Path) -> Any:
    """Run a case, and return plain data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return plain(CASES[name].run(folder))


def plain(value: Any) -> Any:
    """Turn tables, arrays and labels into what JSON holds; numbers have 11 digits."""
    if isinstance(value, pd.DataFrame):
        kept = [name for name in value.columns if name not in UNSTORED]
        return rename({name: pack(value[name].tolist()) for name in kept})
    if isinstance(value, Mapping):
        return rename({key: plain(each) for key, each in value.items() if key not in UNSTORED})
    if isinstance(value, np.ndarray) and value.ndim > 1:
        places = np.flatnonzero(value)
        return f"{'x'.join(map(str, value.shape))}: {len(places)} on, {int(places @ value.ravel()[places].astype(int))}"
    if isinstance(value, set | frozenset):
        return sorted(map(plain, value))
    if isinstance(value, list | tuple | np.ndarray | pd.Series):
        return columns_of([plain(each) for each in value])
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, float):
        return None if math.isnan(value) else str(value) if math.isinf(value) else float(f"{value:.11g}") + 0.0
    if isinstance(value, date):  # also datetime
        return value.isoformat()
    return value if value is None or isinstance(value, bool | int | str) else repr(value)


def rename(mapping: Mapping[Any, Any]) -> dict[str, Any]:
    """Give keys their stored names."""
    renamed = {NAMES.get(str(key), str(key)): value for key, value in mapping.items()}
    if len(renamed) < len(mapping):
        raise ValueError(f"NAMES gives two of these one name: {[*mapping]}")
    return renamed


def pack(column: list[Any]) -> Any:
    """Write a column of one value that recurs as ``{"all": value}``."""
    values = [plain(value) for value in column]
    return {"all": values[0]} if len(values) > 1 and all(value == values[0] for value in values) else values


def columns_of(values: list[Any]) -> Any:
    """Write records with the same keys as the columns of a table."""
    if len(values) < 2 or not all(isinstance(each, dict) and each.keys() == values[0].keys() for each in values):
        return values
    return {name: pack([each[name] for each in values]) for name in values[0]}


def facts(value: Any) -> Any:
    """Keep the numbers of a summary, and names in one word; sentences go."""
    if isinstance(value, Mapping):
        kept = {key: facts(each) for key, each in value.items() if key not in UNSTORED}
        return {key: each for key, each in kept.items() if each is not ...}
    if isinstance(value, list | tuple):
        return [each for each in map(facts, value) if each is not ...]
    if isinstance(value, str):
        word = CHOICES.get(value, value)
        return word if re.fullmatch(r"[\w.+-]*", word) else ...
    return value


def attempt(compute: Callable[[], Any]) -> Any:
    """Return what is computed, or that it is not supported for such labels."""
    try:
        return compute()
    except UnsupportedError:
        return {}


def digest(rows: Any) -> str:
    """Return a hash of rows in any order."""
    lines = sorted(json.dumps(plain(row), ensure_ascii=False) for row in rows)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]


def compare(name: str, stored: Any, now: Any) -> None:
    """Fail with the first differences between the stored record of a case and what is computed now."""
    found = [*differences(stored, now, CASES[name].tolerance)]
    more = [f"and {len(found) - SHOWN} more"] if len(found) > SHOWN else []
    assert not found, "\n  ".join([f"{name}: recorded -> now", *found[:SHOWN], *more])


def differences(stored: Any, now: Any, tolerance: float, where: str = "") -> Iterator[str]:
    """Yield where two records differ, and how."""
    if isinstance(stored, dict) and isinstance(now, list):
        stored = [stored.get("all")] * len(now)
    elif isinstance(stored, list) and isinstance(now, dict):
        now = [now.get("all")] * len(stored)
    if isinstance(stored, dict) and isinstance(now, dict):
        for key in dict.fromkeys([*stored, *now]):
            if key in stored and key in now:
                yield from differences(stored[key], now[key], tolerance, f"{where}.{key}".lstrip("."))
            else:
                yield f"{where}.{key}".lstrip(".") + (" is gone" if key in stored else " is new")
    elif isinstance(stored, list) and isinstance(now, list) and len(stored) == len(now):
        for place, (old, new) in enumerate(zip(stored, now, strict=True)):
            yield from differences(old, new, tolerance, f"{where}[{place}]")
    elif not same(stored, now, tolerance):
        yield f"{where}: {_short(stored)} -> {_short(now)}"


def same(stored: Any, now: Any, tolerance: float) -> bool:
    """Return whether two values are equal, numbers within the tolerance."""
    if isinstance(stored, int | float) and isinstance(now, int | float):
        return math.isclose(stored, now, rel_tol=tolerance, abs_tol=tolerance)
    return bool(stored == now)


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) < 80 else f"{text[:60]}... ({len(text)} characters)"


def read_stored() -> dict[str, Any]:
    """Return the stored record of all cases."""
    areas = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(STORED.glob("*.json"))]
    return {name: entry for area in areas for name, entry in area.items()}


def write_stored(entries: Mapping[str, Any]) -> None:
    """Write the record, a file per area and a line per case."""
    areas: dict[str, list[str]] = {}
    for name, entry in sorted(entries.items()):
        text = json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        areas.setdefault(name.partition("/")[0], []).append(f"{json.dumps(name)}: {text}")
    for path in STORED.glob("*.json"):
        path.unlink()
    for area, lines in areas.items():
        (STORED / f"{area}.json").write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


def main() -> None:
    """Run the cases, and write what is recorded of them; those without their data keep their stored lines."""
    parser = argparse.ArgumentParser(description="Write the golden record.")
    parser.add_argument("--only", default="*", help="Pattern of the cases to run, such as 'panels/*' (default: all).")
    parser.add_argument("--times", action="store_true", help="Print the ten slowest cases.")
    options, write = parser.parse_args(), sys.stdout.write
    cases, entries, seconds = load_cases(), read_stored(), {}
    entries = {name: entry for name, entry in entries.items() if name in cases}
    for name in fnmatch.filter(cases, options.only):
        if not cases[name].is_possible:
            write(f"{name}: data not here\n")
            continue
        begun = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            now = run(name, Path(folder))
        seconds[name] = time.perf_counter() - begun
        if name not in entries or any(differences(entries[name], now, cases[name].tolerance)):
            write(f"{name}: {'changed' if name in entries else 'new'}\n")
            entries[name] = now
    write_stored(entries)
    size = sum(path.stat().st_size for path in STORED.glob("*.json"))
    write(f"{len(seconds)} cases in {sum(seconds.values()):.0f} s, {len(entries)} stored in {size // 1000} KB\n")
    if options.times:
        for name in sorted(seconds, key=seconds.__getitem__)[:-11:-1]:
            write(f"{seconds[name]:6.2f} s  {name}\n")


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parent))
    from golden.record import main as record  # the module that the cases know

    with tempfile.TemporaryDirectory() as state:
        os.environ["ALLALIKE_STATE"] = state  # what the program remembers stays out of the user's home
        record()
