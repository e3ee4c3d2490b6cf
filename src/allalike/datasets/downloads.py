"""Search, verification and download of the files of a source."""

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
from typing import TYPE_CHECKING
from urllib.parse import quote

from allalike._core.lazy_imports import need
from allalike._core.system.progress import report
from allalike.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from allalike.datasets import DataSource, File

_FILES, _ARCHIVES = "https://raw.githubusercontent.com", "https://github.com"
_TIMEOUT = 30.0  # seconds without a byte
_RETRIES = 2
_MAX_ARCHIVE_BYTES = 1 << 30  # of the archive, whose size the catalogue does not know
_MAX_UNPACKED_BYTES = 1 << 32  # that are read, but not written: more is a decompression bomb


def cache_folder() -> Path:
    """Return the folder of fetched sources."""
    usual = {"darwin": "~/Library/Caches", "win32": os.environ.get("LOCALAPPDATA") or "~/AppData/Local"}
    base = os.environ.get("XDG_CACHE_HOME") or usual.get(sys.platform, "~/.cache")
    return Path(base).expanduser() / "allalike"


def folders(source: DataSource) -> list[Path]:
    """Return the folders that may contain a source, in order: those in ALLALIKE_DATA, and the cache."""
    chosen = os.environ.get("ALLALIKE_DATA", "").split(os.pathsep)  # as PATH names its folders
    roots = [Path(folder).expanduser() for folder in chosen if folder]
    return [root / source.name for root in [*roots, cache_folder()]]


def find_folder(source: DataSource) -> Path | None:
    """Return the first folder that has all files of a source, if any."""
    return next((folder for folder in folders(source) if not find_difference(source, folder)), None)


def require_folder(source: DataSource) -> Path:
    """Return the first folder that has all files of a source, or raise an error with the command to fetch them."""
    folder = find_folder(source)
    if folder is not None:
        return folder
    looked = "; ".join(f"{folder}: {find_difference(source, folder)}" for folder in folders(source))
    raise DataError(f"The files of {source.name!r} are missing. {how_to_get(source)} Searched {looked}.")


def how_to_get(source: DataSource) -> str:
    """Format the instruction to get the files of a source."""
    if source.public:
        return f"Fetch them with: allalike datasets fetch {source.name}."
    return f"{source.note} Put them into {folders(source)[0]}."


def find_difference(source: DataSource, folder: Path, *, checksums: bool = False) -> str:
    """Describe the first difference between a folder and the catalogue (sizes, or also checksums); "" if none."""
    if not folder.is_dir():
        return "no such folder"
    for file in source.files:
        if difference := _find_file_difference(file, folder / file.file, checksum=checksums):
            return f"{file.file} {difference}"
    if source.bytes:
        size = sum((folder / file.file).stat().st_size for file in source.files)
        if size != source.bytes:
            return f"its files have {size:,} bytes instead of {source.bytes:,}"
    if checksums and source.sha256 and sha256_of_tree(folder, [file.file for file in source.files]) != source.sha256:
        return f"its files do not match the sha256 {source.sha256} of the catalogue"
    return ""


def _find_file_difference(file: File, path: Path, *, checksum: bool) -> str:
    if not path.is_file():
        return "is missing"
    size = path.stat().st_size
    if file.sha256 and size != file.bytes:
        return f"has {size:,} bytes instead of {file.bytes:,}"
    if file.sha256 and checksum and _sha256(path) != file.sha256:
        return f"does not match the sha256 {file.sha256} of the catalogue"
    return ""


def _sha256(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def sha256_of_tree(folder: Path, names: Iterable[str]) -> str:
    """Return one checksum of many files: the output of `sha256sum NAMES | sha256sum`, with the names sorted."""
    listing = "".join(f"{_sha256(folder / name)}  {name}\n" for name in sorted(names, key=str.encode))
    return hashlib.sha256(listing.encode()).hexdigest()


def _name_page(source: DataSource, host: str, path: str) -> str:
    """Return the URL of a path in the source's repository; ALLALIKE_MIRROR replaces the host."""
    return f"{(os.environ.get('ALLALIKE_MIRROR') or host).rstrip('/')}/{source.repo}/{path}"


def fetch_source(source: DataSource) -> Path:
    """Return a folder with all verified files of a source; download missing files into the cache."""
    folder = find_folder(source)
    if not source.public:
        if folder is None:
            raise DataError(f"{source.name!r} has no public copy to fetch. {how_to_get(source)}")
        return folder
    if folder is not None:
        difference = find_difference(source, folder, checksums=True)
        if not difference:
            return folder
        if folder.parent != cache_folder():
            raise DataError(f"{folder}: {difference}. This folder is in ALLALIKE_DATA. Remove the files to fetch them.")
    folder, begun = cache_folder() / source.name, cache_folder() / f".{source.name}.part"
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        with _locked(source):
            shutil.rmtree(begun, ignore_errors=True)  # left by a killed run
            try:
                (_fetch_archive if source.sha256 else _fetch_files)(source, begun, folder)
            finally:
                shutil.rmtree(begun, ignore_errors=True)
    except OSError as error:
        raise DataError(f"The files of {source.name!r} cannot be written to {folder}: {error}.") from error
    return folder


@contextmanager
def _locked(source: DataSource) -> Iterator[None]:
    """Wait for another run that fetches the same source, because both would write the same files."""
    try:
        import fcntl
    except ImportError:  # Windows locks open files itself
        yield
        return
    with (cache_folder() / f".{source.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch_files(source: DataSource, begun: Path, folder: Path) -> None:
    """Download missing or damaged files; each is moved to the folder once it is complete and verified."""
    done = 0
    for file in source.files:
        if _find_file_difference(file, folder / file.file, checksum=True):
            progress = _Progress(source, done, source.size, file.bytes)
            url = _name_page(source, _FILES, f"{source.commit}/{quote(source.path(file))}")
            _download(url, begun / file.file, progress, f"sha256:{file.sha256}")
            _move(file, begun, folder)
        done += file.bytes


def _fetch_archive(source: DataSource, begun: Path, folder: Path) -> None:
    """Download the archive of the repository, extract the files of a source, and verify them together."""
    if not find_difference(source, folder, checksums=True):  # another run was faster
        return
    url = _name_page(source, _ARCHIVES, f"archive/{source.commit}.tar.gz")
    archive, unpacked = begun / "archive.tar.gz", begun / "files"
    _download(url, archive, _Progress(source, 0, 0, _MAX_ARCHIVE_BYTES))
    try:
        _unpack(source, archive, unpacked)
    except (tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise DataError(f"{url} cannot be unpacked: {error}. Nothing was saved.") from error
    if difference := find_difference(source, unpacked, checksums=True):
        raise DataError(f"{url} differs from the catalogue: {difference}. Nothing was saved.")
    for file in source.files:
        _move(file, unpacked, folder)


def _unpack(source: DataSource, archive: Path, folder: Path) -> None:
    """Write the files of a source under the names in the catalogue, whatever paths the archive has."""
    wanted = {source.path(file): folder / file.file for file in source.files}
    left = source.size
    with tarfile.open(archive, "r:gz") as members:
        for member in members:
            target = wanted.get(member.name.partition("/")[2])  # all members are in one folder
            content = members.extractfile(member) if target and member.isreg() else None
            left -= member.size if content else 0
            if left < 0 or member.offset_data + member.size > _MAX_UNPACKED_BYTES:
                raise DataError(f"{source.name!r} is larger than in the catalogue. Nothing was saved.")
            if target and content:
                target.parent.mkdir(parents=True, exist_ok=True)
                with target.open("wb") as out:
                    shutil.copyfileobj(content, out)


def _move(file: File, begun: Path, folder: Path) -> None:
    (folder / file.file).parent.mkdir(parents=True, exist_ok=True)
    (begun / file.file).replace(folder / file.file)


def _download(url: str, target: Path, progress: _Progress, checksum: str | None = None) -> None:
    """Download a file with pooch, which retries, verifies the checksum, and moves the complete file to ``target``."""
    pooch = need("pooch", "Fetching needs pooch", "datasets")
    from requests.exceptions import RequestException

    def download(url: str, path: str, _store: object) -> None:
        progress.url, progress.path = url, Path(path)
        pooch.HTTPDownloader(progressbar=progress, timeout=_TIMEOUT)(url, path, None)

    name = target.name
    store = pooch.create(target.parent, "", registry={name: checksum}, urls={name: url}, retry_if_failed=_RETRIES)
    pooch.get_logger().setLevel("ERROR")
    try:
        store.fetch(name, downloader=download)
    except RequestException as error:
        if error.response is not None:
            reason = f"HTTP Error {error.response.status_code}: {error.response.reason}"
        else:
            cause = error.args[0] if error.args else ""
            reason = str(getattr(cause, "reason", cause)).rpartition(">: ")[2]  # without the names of objects in memory
        raise DataError(f"{url} cannot be fetched: {reason}. Nothing was saved.") from error
    except ValueError as error:
        raise DataError(f"{url} does not match the {checksum} of the catalogue. Nothing was saved.") from error


class _Progress:
    """A progress bar for pooch that reports the bytes of a file, and stops a download that is too large."""

    url: str
    path: Path
    total = 0  # pooch sets it to the size that the server reports

    def __init__(self, source: DataSource, done: int, whole: int, most: int) -> None:
        self.stage, self.done, self.whole, self.most = f"fetching {source.name}, bytes", done, whole, most

    def update(self, _buffer: int) -> None:
        """Report the bytes on disk; pooch passes only the size of its buffer."""
        here = self.path.stat().st_size
        if here > self.most:
            raise DataError(f"{self.url} has more than {self.most:,} bytes. Nothing was saved.")
        report(self.stage, self.done + here, self.whole or self.total)

    def reset(self) -> None: ...

    def close(self) -> None: ...
