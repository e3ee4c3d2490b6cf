"""Compile the passes in C when the package is built; without a compiler, the package is what it is without them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import platform_tags

FOLDER = Path("src/allalike/_core/compiled")
SOURCES = ("passes.c", "numbers.h", "vectors.h")
FLAGS = (
    *("-std=c99", "-O3", "-fvisibility=hidden", "-shared", "-fPIC"),
    *("-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"),  # the same bits everywhere, and no errors of sqrt
)
SUFFIX = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")


class CompiledPasses(BuildHookInterface):  # type: ignore[type-arg]
    """The hook that hatchling calls before it makes a wheel, or an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the library, and say that the wheel is for this platform, if that went well."""
        folder = Path(self.root) / FOLDER
        library = folder / f"passes{SUFFIX}"
        if not compile_passes(folder, library):
            self.app.display_warning("No C compiler was found, or it failed: the passes run in numpy, which is slower.")
            return
        build_data["artifacts"] += [f"/{FOLDER.as_posix()}/{name}" for name in (library.name, record_of(library).name)]
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{next(iter(platform_tags()))}"


def compile_passes(folder: Path, library: Path, *flags: str) -> bool:
    """Compile the sources of a folder; the library takes the place of an old one as a whole, or not at all."""
    compiler = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
    if compiler is None:
        return False
    made = library.resolve().with_name(f"{library.name}.{os.getpid()}")
    command = [*compiler.split(), *FLAGS, *flags, f"-DSOURCE={checksum(folder)}", SOURCES[0], "-o", str(made), "-lm"]
    try:
        subprocess.run(command, cwd=folder, check=True)
        record = describe(made.read_bytes())
        record_of(library).unlink(missing_ok=True)  # without which a library is not used
        made.replace(library)
        record_of(library).write_text(record, encoding="ascii")
    except (OSError, subprocess.CalledProcessError):
        made.unlink(missing_ok=True)
        return False
    return True


def record_of(library: Path) -> Path:
    """Return the file beside a library that records what it is, so that a damaged one is not loaded."""
    return library.with_name(f"{library.name}.crc32")


def describe(data: bytes) -> str:
    """Return the size and the checksum of a library, as they are recorded."""
    return f"{len(data)} {zlib.crc32(data):08x}\n"


def checksum(folder: Path) -> int:
    """Return a number that changes with the sources, by which a library is known to be theirs."""
    return zlib.crc32(b"".join((folder / name).read_bytes() for name in SOURCES))
