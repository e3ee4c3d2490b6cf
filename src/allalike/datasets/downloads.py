"""Download the files of a data set into the cache, check and find them."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import tarfile
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from allalike._core.late import need
from allalike._core.system.progress import report
from allalike.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike.datasets.catalog import File, Source


# Checksums: whether files are those that the catalogue describes.


def find_difference(source: Source, folder: Path) -> str:
    """Say in what a folder differs from the source that the catalogue describes; nothing if it does not.

    >>> import pathlib
    >>> from allalike.datasets.catalog import SOURCES
    >>> find_difference(SOURCES["snow_rte"], pathlib.Path("nowhere"))
    'nowhere/rte.standardized.tsv is not the file that the catalogue describes (sha256 3187c...)'
    """
    if source.sha256:
        names = [file.file for file in source.files]
        if all((folder / name).is_file() for name in names) and sha256_of_tree(folder, names) == source.sha256:
            return ""
        return f"The files in {folder} are not those that the catalogue describes (sha256 {source.sha256} of all)"
    for file in source.files:
        if not is_right(file, folder / file.file):
            return f"{folder / file.file} is not the file that the catalogue describes (sha256 {file.sha256})"
    return ""


def is_right(file: File, path: Path) -> bool:
    """Whether a file is there, with the size and the checksum that the catalogue says.

    >>> import pathlib, tempfile
    >>> from allalike.datasets.catalog import File
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "abc.txt"
    >>> path.write_text("abc")
    3
    >>> abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    >>> is_right(File(file="abc.txt", bytes=3, sha256=abc), path)
    True
    """
    return path.is_file() and path.stat().st_size == file.bytes and sha256_of_file(path) == file.sha256


def sha256_of_file(path: Path) -> str:
    """Return the checksum of a file's bytes."""
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def sha256_of_tree(folder: Path, names: Iterable[str]) -> str:
    """Return one checksum of many files, their names among it: what `sha256sum NAMES | sha256sum` says of them.

    The names are sorted by their bytes, so the order in which they are given does not matter.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("a", "b"):
    ...     _ = (folder / name).write_text("abc")
    >>> sha256_of_tree(folder, ["b", "a"])
    '6e0534855d1d183250459e82c311fb77578cf75019787625a10154399462260d'
    """
    ordered = sorted(names, key=str.encode)
    listing = "".join(f"{sha256_of_file(folder / name)}  {name}\n" for name in ordered)
    return hashlib.sha256(listing.encode()).hexdigest()


# Where the files of a source lie on this machine.


def cache_folder() -> Path:
    """Return the folder in which fetched sources are kept.

    >>> cache_folder().name
    'allalike'
    """
    usual = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local"}
    base = os.environ.get("XDG_CACHE_HOME") or usual.get(sys.platform, "~/.cache")
    return Path(base).expanduser() / "allalike"


def folders(source: Source) -> list[Path]:
    """Return where to look for a source, in order: the folders that ALLALIKE_DATA names, and the cache."""
    chosen = os.environ.get("ALLALIKE_DATA", "").split(os.pathsep)  # as PATH names its folders
    roots = [Path(folder).expanduser() for folder in chosen if folder]
    return [root / source.name for root in [*roots, cache_folder()]]


def lacks(source: Source, folder: Path) -> list[str]:
    """Say which files of a source are not in a folder, or have another size than they should.

    >>> from allalike.datasets.catalog import SOURCES
    >>> lacks(SOURCES["snow_rte"], Path("nowhere"))
    ['rte.standardized.tsv is not there']
    """
    found = []
    for file in source.files:
        path = folder / file.file
        if not path.is_file():
            found.append(f"{file.file} is not there")
        elif file.sha256 and path.stat().st_size != file.bytes:
            found.append(f"{file.file} has {path.stat().st_size:,} bytes instead of {file.bytes:,}")
    if source.bytes and not found:
        size = sum((folder / file.file).stat().st_size for file in source.files)
        found += [f"its files have {size:,} bytes instead of {source.bytes:,}"] if size != source.bytes else []
    return found


def find_folder(source: Source) -> Path | None:
    """Return the first folder that has all files of a source, if there is one."""
    return next((folder for folder in folders(source) if not lacks(source, folder)), None)


def require_folder(source: Source) -> Path:
    """Return the first folder that has all files of a source, or say how to get them."""
    folder = find_folder(source)
    if folder is not None:
        return folder
    looked = "; ".join(f"{folder}: {_lack(source, folder)}" for folder in folders(source))
    raise DataError(f"The data of {source.name!r} are not here. {how_to_get(source)} Looked in {looked}.")


def how_to_get(source: Source) -> str:
    """Say how to get the files of a source."""
    if source.public:
        return f"'allalike datasets fetch {source.name}' fetches them."
    return f"{source.note} They belong in {folders(source)[0]}."


def _lack(source: Source, folder: Path) -> str:
    if not folder.is_dir():
        return "no such folder"
    first, *others = lacks(source, folder)
    return f"{first} (and {len(others)} more)" if others else first


_FILE_HOST = "https://raw.githubusercontent.com"
_ARCHIVE_HOST = "https://github.com"
_TIMEOUT = 30.0  # seconds without a byte
_RETRIES = 2  # the first after a second, the next after two
_CHUNK_BYTES = 1 << 16
_MAX_ARCHIVE_BYTES = 1 << 30  # of the archive, whose size the catalogue does not know
_MAX_UNPACKED_BYTES = 1 << 32  # to read through, not to write: a bomb is longer than any repository
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def file_url(source: Source, file: File) -> str:
    """Return where a file is published; ALLALIKE_MIRROR names another host that has it under the same path.

    >>> from allalike.datasets.catalog import SOURCES
    >>> source = SOURCES["dots_puzz_preflib"]
    >>> file_url(source, source.files[0])
    'https://raw.githubusercontent.com/PrefLib/PrefLib-Data/1a8e9.../datasets/00024%20-%20dots/00024-00000001.soc'
    """
    from urllib.parse import quote

    return f"{_host(_FILE_HOST)}/{source.repo}/{source.commit}/{quote(source.path(file))}"


def archive_url(source: Source) -> str:
    """Return where all files of a source's repository are published as one; ALLALIKE_MIRROR names another host.

    >>> from allalike.datasets.catalog import SOURCES
    >>> archive_url(SOURCES["llmbar_llm_judges"])
    'https://github.com/princeton-nlp/LLMBar/archive/900616bff90b6c6c8e1681f7d079250637c55992.tar.gz'
    """
    return f"{_host(_ARCHIVE_HOST)}/{source.repo}/archive/{source.commit}.tar.gz"


def fetch_source(source: Source) -> Path:
    """Return a folder with all files of a source, checked; what is not on this machine is downloaded into the cache."""
    folder = find_folder(source)
    if not source.public:
        if folder is None:
            raise DataError(f"{source.name!r} cannot be fetched. {how_to_get(source)}")
        return folder
    if folder is None or folder.parent == cache_folder():
        return _into_cache(source)
    if difference := find_difference(source, folder):
        remedy = "the files, and they are" if source.sha256 else "the file, and it is"
        raise DataError(f"{difference}. ALLALIKE_DATA names the folder; remove {remedy} fetched.")
    return folder


def _host(usual: str) -> str:
    return (os.environ.get("ALLALIKE_MIRROR") or usual).rstrip("/")


def _into_cache(source: Source) -> Path:
    """Download what is not there or not right. A file goes into the folder when it is whole and checked."""
    folder, begun = cache_folder() / source.name, cache_folder() / f".{source.name}.part"
    try:
        begun.parent.mkdir(parents=True, exist_ok=True)
        with _alone(source):
            shutil.rmtree(begun, ignore_errors=True)  # of a run that was killed
            try:
                (_fetch_archive if source.sha256 else _fetch_files)(source, begun, folder)
            finally:
                shutil.rmtree(begun, ignore_errors=True)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"The files of {source.name!r} cannot be written to {folder}: {error}.") from error
    return folder


def _fetch_files(source: Source, begun: Path, folder: Path) -> None:
    done = 0
    for file in source.files:
        if not is_right(file, folder / file.file):
            _Download(source, file, done).save(file_url(source, file), begun / file.file)
            _move(file, begun, folder)
        done += file.bytes
        report(_stage(source), done, source.size)


def _fetch_archive(source: Source, begun: Path, folder: Path) -> None:
    """Take the wanted files out of the archive of the whole repository, and check them as one."""
    if not find_difference(source, folder):
        return
    url, archive, unpacked = archive_url(source), begun / "archive.tar.gz", begun / "files"
    _Download(source).save(url, archive)
    try:
        _unpack(source, archive, unpacked)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{url} cannot be unpacked: {error}. Nothing of it was kept.") from error
    if find_difference(source, unpacked):
        names = [file.file for file in source.files if (unpacked / file.file).is_file()]
        raise DataError(
            f"{url} does not have the files that the catalogue describes (sha256 {source.sha256} of all): it has"
            f" {len(names):,} of {len(source.files):,}, with sha256 {sha256_of_tree(unpacked, names)}. Nothing of it"
            " was kept."
        )
    for file in source.files:
        _move(file, unpacked, folder)


def _unpack(source: Source, archive: Path, folder: Path) -> None:
    """Write the wanted files under the names that the catalogue gives them: no member decides where it goes."""
    wanted = {source.path(file): folder / file.file for file in source.files}
    left = source.size
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            target = wanted.get(member.name.partition("/")[2])  # all members lie in one folder
            content = members.extractfile(member) if target and member.isreg() else None
            left -= member.size if content else 0
            if left < 0 or member.offset_data + member.size > _MAX_UNPACKED_BYTES:
                raise DataError(f"{archive_url(source)} is larger than the catalogue says. Nothing of it was kept.")
            if target and content:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    shutil.copyfileobj(content, out)


class _Download:
    """A downloader for pooch and its own progress bar: it reports bytes, stops at a limit, and checks what came."""

    def __init__(self, source: Source, file: File | None = None, done: int = 0) -> None:
        self.total = 0  # pooch sets it to what the server says
        self._source, self._file, self._done = source, file, done
        self._url, self._path = "", Path()

    def save(self, url: str, target: Path) -> None:
        """Download a file, with some tries; it appears when it is whole and right."""
        pooch = _import_pooch()
        from requests.exceptions import RequestException

        name, logger = target.name, pooch.get_logger()
        pages = pooch.create(target.parent, "", registry={name: None}, urls={name: url}, retry_if_failed=_RETRIES)
        level = logger.level
        logger.setLevel("ERROR")
        try:
            pages.fetch(name, downloader=self)
        except RequestException as error:
            raise DataError(f"{url} cannot be fetched: {_reason(error)}. Nothing of it was kept.") from error
        except _WrongFileError as error:
            raise DataError(str(error)) from error
        finally:
            logger.setLevel(level)

    def __call__(self, url: str, path: str, _pooch: object) -> None:
        """Download once, to a path that pooch chose."""
        self._url, self._path = url, Path(path)
        _import_pooch().HTTPDownloader(self, _CHUNK_BYTES, timeout=_TIMEOUT)(url, path, None)
        if self._file is not None and not is_right(self._file, self._path):
            raise self._wrong(self._file)

    def update(self, _buffer: int) -> None:
        """Look how much is here: pooch tells the size of its buffer."""
        here = self._count_bytes()
        if self._file is not None:
            if here > self._file.bytes:
                raise self._wrong(self._file, "at least ")
            report(_stage(self._source), self._done + here, self._source.size)
        elif here > _MAX_ARCHIVE_BYTES:
            raise DataError(f"{self._url} has more than {_MAX_ARCHIVE_BYTES:,} bytes. Nothing of it was kept.")
        else:
            report(_stage(self._source), here, self.total)

    def _count_bytes(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0

    def reset(self) -> None:
        """Begin again, as the file itself does."""

    def close(self) -> None:
        """End: nothing is open."""

    def _wrong(self, file: File, least: str = "") -> _WrongFileError:
        """Say in what a download is not the file."""
        with self._path.open("rb") as begun:
            is_pointer = begun.read(len(_LFS_POINTER)) == _LFS_POINTER
        size = self._path.stat().st_size
        of_size = f"{least}{size:,} bytes instead of {file.bytes:,}"
        differs = of_size if size != file.bytes else f"the sha256 {sha256_of_file(self._path)}"
        why = " It is a pointer of Git LFS, which stands for a file that is kept elsewhere." if is_pointer else ""
        return _WrongFileError(
            f"{self._url} is not the file that the catalogue describes (sha256 {file.sha256}): it has {differs}.{why}"
            " Nothing of it was kept."
        )


class _WrongFileError(ValueError):
    """A download that is not the file; a ValueError, so that pooch tries again."""


def _import_pooch() -> Any:
    return need("pooch", "Fetching needs pooch", "datasets")


def _reason(error: OSError) -> str:
    """Say why a request failed, without the names of objects in memory."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"HTTP Error {response.status_code}: {response.reason}"
    cause = error.args[0] if error.args else ""
    return str(getattr(cause, "reason", cause)).rpartition(">: ")[2] or type(error).__name__


def _stage(source: Source) -> str:
    return f"fetching {source.name}, bytes"


def _move(file: File, begun: Path, folder: Path) -> None:
    (folder / file.file).parent.mkdir(parents=True, exist_ok=True)
    (begun / file.file).replace(folder / file.file)


@contextmanager
def _alone(source: Source) -> Iterator[None]:
    """Wait for another run that fetches the same source, as both would write to the same place."""
    try:
        import fcntl
    except ImportError:  # Windows itself keeps a second run from files that are open
        yield
        return
    with (cache_folder() / f".{source.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
