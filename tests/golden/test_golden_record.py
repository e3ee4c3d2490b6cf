"""The public interface computes and reads what it did when the golden record was written, in memory and on disk."""

from pathlib import Path

import pytest

from allalike import Disk
from golden.methods_cases import discover, find_covering
from golden.record import CASES, compare, differences, load_cases, plain, read_stored, run

STORED = read_stored()
load_cases()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CASES)
def test_a_case_is_as_recorded(name: str, tmp_path: Path) -> None:
    if not CASES[name].is_possible:
        pytest.skip("data not here")
    assert name in STORED, "write it: python tests/golden/record.py"
    compare(name, STORED[name], run(name, tmp_path))


def test_every_stored_entry_has_a_case() -> None:
    assert set(STORED) - set(CASES) == set(), "remove it: python tests/golden/record.py"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "method"), find_covering())
def test_disk_finds_what_is_recorded_of_memory(kind: str, method: str, tmp_path: Path) -> None:
    name = f"methods/{kind}/{method}"
    compare(name, STORED[name], plain(discover(kind, method, tmp_path, engine=Disk(partitions=3))))


def test_differences_are_found_and_named() -> None:
    stored = {"truth": {"label": [1.0, 2.0, None], "tied": {"all": False}}, "gone": 1}
    now = {"truth": {"label": [1.0, 2.0 + 1e-6, "x"], "tied": [False, False, True]}, "new": [1]}
    assert [*differences(stored, now, 1e-9)] == [
        "truth.label[1]: 2.0 -> 2.000001",
        'truth.label[2]: null -> "x"',
        "truth.tied[2]: false -> true",
        "gone is gone",
        "new is new",
    ]
    assert not [*differences({"a": [1, 0.1 + 0.2]}, {"a": [True, 0.3]}, 1e-9)]
    assert [*differences([1], [1, 2], 1e-9)] == [": [1] -> [1, 2]"]
