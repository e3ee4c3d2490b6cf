"""Environments that hold the wheel of this checkout and only the packages that it declares, without a network.

Packages are those of the environment that runs the tests: a tree of hard links, as a fresh installation has them.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement
from uv import find_uv_bin

__all__ = ["find_environment", "run_in"]

ROOT = Path(__file__).parents[2]
BUILT_FROM = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "src")
KEPT = ("HOME", "JAVA_HOME", "LANG", "LD_LIBRARY_PATH", "PATH", "SYSTEMROOT", "TEMP", "TMP", "TMPDIR")


@cache
def find_environment(*extras: str) -> Path:
    """Return the folder with the programs of an environment, which is made if the sources changed."""
    home = Path(sys.prefix) / "declared"
    folder = home / "-".join([_fingerprint(), *extras])
    if not folder.exists():
        home.mkdir(exist_ok=True)
        for other in home.iterdir():
            if re.match(r"[0-9a-f]{16}", other.name) and not other.name.startswith(_fingerprint()):  # of other sources
                shutil.rmtree(other, ignore_errors=True)
        _make(folder, extras)
    return folder / ("Scripts" if os.name == "nt" else "bin")


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
def _fingerprint() -> str:
    """Return letters that change with the sources, and with the packages beside them."""
    digest = hashlib.sha256()
    for path in sorted(path for name in BUILT_FROM for path in (ROOT / name, *(ROOT / name).rglob("*"))):
        if path.is_file() and path.suffix in (".py", ".pyi", ".toml", ".md", ".c", ".h", ".html", ".css", ".js"):
            digest.update(path.read_bytes())
    digest.update(repr(sorted((each.name, each.version) for each in distributions())).encode())
    return digest.hexdigest()[:16]


def _make(folder: Path, extras: tuple[str, ...]) -> None:
    """Make an environment beside its place, and move it there, unless another process was faster."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as work:
        wheel, made = _build(folder.parent, Path(work)), Path(work, "made")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", made], check=True)
        uv = [find_uv_bin(), "--quiet", "pip", "install", "--offline", "--no-deps", "--python"]
        subprocess.run([*uv, made, wheel], check=True)
        [packages] = [path.parent for path in made.rglob("allalike") if (path / "__init__.py").exists()]
        declared = Distribution.at(next(packages.glob("allalike-*.dist-info")))
        for package in _closure(declared.requires or [], extras):
            _link(package, packages)
        _point_to(made, folder)
        try:
            made.rename(folder)
        except OSError:
            if not folder.exists():
                raise


def _build(home: Path, work: Path) -> Path:
    """Return the wheel of these sources, which is built once for all environments."""
    kept = home / f"{_fingerprint()}-wheel"
    if not kept.exists():
        source = work / "source"
        source.mkdir()
        for name in BUILT_FROM:
            copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile
            copy(ROOT / name, source / name)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*pip, "--wheel-dir", work / "wheel", source], check=True)
        try:
            (work / "wheel").rename(kept)
        except OSError:
            if not kept.exists():
                raise
    [wheel] = kept.iterdir()
    return wheel


def _point_to(made: Path, folder: Path) -> None:
    """Have the programs of an environment call the Python of the place to which it goes."""
    for program in (path for path in (made / "bin").glob("*") if not path.is_symlink()):
        program.write_bytes(program.read_bytes().replace(os.fsencode(made), os.fsencode(folder)))


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
    """Put the files of a package into another folder of packages; its programs are left out."""
    for file in package.files or []:
        source, place = Path(file.locate()), target / file
        if ".." not in file.parts and source.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            if not place.exists():
                _link_file(source, place)


def _link_file(source: Path, place: Path) -> None:
    try:
        os.link(source, place)
    except OSError:  # another disk, or one without links
        shutil.copy2(source, place)
