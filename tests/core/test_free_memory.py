"""Free memory is what the machine has, and no more than what the limits of a container leave."""

from pathlib import Path

import psutil
import pytest

from allalike._core.system.memory import free_memory

AVAILABLE = 8_000_000


@pytest.fixture(autouse=True)
def a_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a machine with 8 MB to give."""
    real = psutil.virtual_memory()
    monkeypatch.setattr(psutil, "virtual_memory", lambda: real._replace(available=AVAILABLE))


def own_groups(root: Path, lines: str) -> None:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(lines)


def a_group(root: Path, place: str, limit: str, used: int, cached: int = 0) -> None:
    """Write the files of a control group."""
    folder = root / "sys/fs/cgroup" / place
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cached}\nfile 1\n")


def test_without_control_groups_the_machine_counts(tmp_path: Path) -> None:
    assert free_memory(tmp_path) == AVAILABLE


def test_linux_says_itself_what_it_has(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal:       9000 kB\nMemFree:        10 kB\nMemAvailable:   7000 kB\n")
    assert free_memory(tmp_path) == 7_000 * 1024
    (tmp_path / "proc/meminfo").write_text("MemTotal:       9000 kB\n")  # as kernels of before 2014 have it
    assert free_memory(tmp_path) == AVAILABLE


@pytest.mark.parametrize(
    ("lines", "folder", "limit", "used", "cached", "free"),
    [
        ("0::/\n", ".", "max", 10**9, 0, AVAILABLE),
        ("0::/\n", ".", "5000000", 3_000_000, 1_000_000, 3_000_000),  # files that can be dropped are free
        ("0::/\n", ".", "5000000", 6_000_000, 0, 0),
    ],
)
def test_a_container_has_what_its_limit_leaves_and_files_that_can_be_dropped(
    tmp_path: Path, lines: str, folder: str, limit: str, used: int, cached: int, free: int
) -> None:
    own_groups(tmp_path, lines)
    a_group(tmp_path, folder, limit, used, cached)
    assert free_memory(tmp_path) == free


@pytest.mark.parametrize("inner", ["5000000", "2000000"])
def test_the_smallest_rest_of_a_group_and_those_above_counts(tmp_path: Path, inner: str) -> None:
    own_groups(tmp_path, "0::/a/b\n")
    a_group(tmp_path, "a/b", inner, 1_000_000)
    a_group(tmp_path, "a", "3000000", 1_000_000)
    assert free_memory(tmp_path) == min(int(inner), 3_000_000) - 1_000_000
