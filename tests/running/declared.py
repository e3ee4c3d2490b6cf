"""Environments that hold the wheel of this checkout and only the packages that it declares, without a network.

Packages are those of the environment that runs the tests: links to their folders and files.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from uv import find_uv_bin

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "README.md", "LICENSE", "src")
KEPT = ("HOME", "JAVA_HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")


@cache
def find_environment(*extras: str) -> Path:
    """Return the folder with the programs of an environment, which is made once."""
    environment = Path(_home().name, "-".join(["declared", *extras]))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
    uv = [find_uv_bin(), "--quiet", "pip", "install", "--offline", "--no-deps", "--python"]
    subprocess.run([*uv, environment, _build()], check=True)
    [packages] = [path.parent for path in environment.rglob("allalike") if (path / "__init__.py").exists()]
    declared = Distribution.at(next(packages.glob("allalike-*.dist-info")))
    for package in _closure(declared.requires or [], extras):
        _link(package, packages)
    return environment / ("Scripts" if os.name == "nt" else "bin")


def remove_environments() -> None:
    """Remove all that were made; processes of xdist end without doing so by themselves."""
    if _home.cache_info().currsize:
        _home().cleanup()
    for each in (find_environment, _build, _home):
        each.cache_clear()


def run_in(
    programs: Path, *words: str, folder: Path, code: tuple[int, ...] = (0,), text: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a program of an environment in a folder, with nothing of the environment that runs the tests."""
    program = shutil.which(words[0], path=str(programs)) or words[0]
    done = subprocess.run(
        [program, *words[1:]], cwd=folder, env=variables(programs, folder), input=text, capture_output=True, text=True
    )
    assert done.returncode in code, f"{' '.join(words)}\n{done.stdout}\n{done.stderr}"
    return done


def variables(programs: Path, folder: Path) -> dict[str, str]:
    """Return what a program is told about its surroundings."""
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    path = os.pathsep.join([str(programs), kept["PATH"]])
    return {**kept, "PATH": path, "PYTHONUTF8": "1", "ALLALIKE_STATE": str(folder / ".state"), "COLUMNS": "120"}


@cache
def _home() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="declared-", ignore_cleanup_errors=True)


@cache
def _build() -> Path:
    """Build the wheel of this checkout from a copy, so that nothing is written into the checkout."""
    source, wheels = Path(_home().name, "source"), Path(_home().name, "wheels")
    source.mkdir()
    for name in BUILT_FROM:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
        copy(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", wheels, source], check=True)
    [wheel] = wheels.iterdir()
    return wheel


def _closure(requirements: list[str], extras: tuple[str, ...]) -> list[Distribution]:
    """Return the distributions that requirements ask for, and those that these ask for, and so on."""
    found: dict[str, Distribution] = {}
    waiting = [(requirement, extras) for requirement in requirements]
    seen = set()
    while waiting:
        text, asked = waiting.pop()
        need = Requirement(text)
        if (need.marker and not any(need.marker.evaluate({"extra": extra}) for extra in ("", *asked))) or (
            (need.name, *sorted(need.extras)) in seen
        ):
            continue
        seen.add((need.name, *sorted(need.extras)))
        name = re.sub(r"[-_.]+", "-", need.name).lower()
        found[name] = distribution(need.name)
        waiting += [(each, tuple(need.extras)) for each in found[name].requires or []]
    return list(found.values())


def _link(package: Distribution, target: Path) -> None:
    """Link what a package consists of into another folder of packages; its programs are left out."""
    source, parts = (
        Path(str(package.locate_file(""))),
        {_find_whole(package, file.parts) for file in package.files or []},
    )
    for part in parts:
        if ".." not in part.parts and (source / part).exists() and not (place := target / part).exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.symlink_to(source / part)


def _find_whole(package: Distribution, parts: tuple[str, ...]) -> Path:
    """Return the folder that belongs to a package as a whole and has a file, or the file itself."""
    for length in range(1, len(parts)):
        folder = Path(*parts[:length])
        if folder.suffix == ".dist-info" or Path(str(package.locate_file(folder / "__init__.py"))).exists():
            return folder
    return Path(*parts)
