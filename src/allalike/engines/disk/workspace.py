"""Workspace: the folder of the disk engine, and how shards are kept in it."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.system.serialization import pack, unpack
from allalike.engines.ingest.partitions import write_error
from allalike.engines.shards import Shard
from allalike.errors import OutputError, UnsupportedError

if TYPE_CHECKING:
    from allalike._core.blocks.block import Block

__all__ = ["StoredShard", "Workspace", "keep_shard", "link_file", "read_pack", "write_pack"]


class Workspace:
    """A folder that is removed when nobody uses it any more, and when the program ends.

    >>> space = Workspace()
    >>> path = space.path
    >>> write_pack(path / "some", [1, 2]) > 0, read_pack(path / "some")
    (True, [1, 2])
    >>> del space
    >>> path.exists()
    False
    """

    def __init__(self, parent: str | os.PathLike[str] | None = None) -> None:
        try:
            self.path = Path(os.path.realpath(tempfile.mkdtemp(prefix="allalike-", dir=parent)))
        except OSError as error:
            raise _make_error(parent, error) from error
        self._root: Workspace | None = None
        weakref.finalize(self, _remove, os.getpid(), self.path)

    def __reduce__(self) -> Any:
        """Refuse to be copied: the files would go away with the original."""
        raise UnsupportedError("A result on disk cannot be pickled or copied. Save it with result.save.")

    def inner(self) -> Workspace:
        """Make a folder within the outermost one."""
        space, root = Workspace.__new__(Workspace), self._root or self
        try:
            space.path = Path(tempfile.mkdtemp(prefix="allalike-", dir=root.path))
        except OSError as error:
            raise _make_error(root.path, error) from error
        space._root = root
        weakref.finalize(space, _remove, os.getpid(), space.path)
        return space


def _make_error(parent: str | os.PathLike[str] | None, error: OSError) -> OutputError:
    return OutputError(f"No work folder can be made in {parent or tempfile.gettempdir()}: {error.strerror}.")


def _remove(owner: int, folder: Path) -> None:
    if os.getpid() == owner:  # and not a child that was forked
        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class StoredShard:
    """A shard on disk: the files of its blocks and its tasks."""

    blocks: Path
    tasks: Path

    def read(self) -> Shard:
        """Read a shard whole."""
        return Shard(self.read_blocks(), *read_pack(self.tasks))

    def read_blocks(self) -> list[Block]:
        """Read the blocks of a shard."""
        blocks: list[Block] = read_pack(self.blocks)
        return blocks


def keep_shard(folder: Path, name: str, shard: Shard) -> StoredShard:
    """Write a shard."""
    stored = StoredShard(folder / f"{name}.blocks", folder / f"{name}.tasks")
    write_pack(stored.blocks, shard.blocks)
    write_pack(stored.tasks, (shard.tasks, shard.sizes))
    return stored


def write_pack(path: Path, thing: Any) -> int:
    """Pack a thing at the end of a file, and return how many bytes it takes."""
    data = pack(thing)
    try:
        with path.open("ab") as file:
            return file.write(data)
    except OSError as error:
        raise write_error(path.parent, error) from error


def read_pack(path: Path, begin: int = 0, size: int = -1) -> Any:
    """Read what was packed at this place of a file."""
    with path.open("rb") as file:
        file.seek(begin)
        data = bytearray(size if size >= 0 else os.fstat(file.fileno()).st_size)
        file.readinto(data)
    return unpack(data)


def link_file(path: Path, target: Path) -> None:
    """Have a file in a second place; it is copied only where it cannot be linked."""
    try:
        os.link(path, target)
    except OSError:
        try:
            shutil.copyfile(path, target)
        except OSError as error:
            raise write_error(target.parent, error) from error
