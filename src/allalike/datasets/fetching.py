"""Fetch the files of a source from where they are published."""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from allalike.datasets.download import download, is_right
from allalike.datasets.folders import cache_folder, find_folder, how_to_get
from allalike.errors import DataError
from allalike.system.progress import report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from allalike.datasets.catalog import File, Source

__all__ = ["fetch_source", "url_of"]

_HOST = "https://raw.githubusercontent.com"
_CONNECTIONS = 8  # some sources have thousands of small files
_PAUSE = 0.1  # seconds between two reports


def url_of(source: Source, file: File) -> str:
    """Return where a file is published; ALLALIKE_MIRROR names another host that has it under the same path.

    >>> from allalike.datasets.catalog import SOURCES
    >>> source = SOURCES["dots_puzz_preflib"]
    >>> url_of(source, source.files[0])
    'https://raw.githubusercontent.com/PrefLib/PrefLib-Data/1a8e9.../datasets/00024%20-%20dots/00024-00000001.soc'
    """
    from urllib.parse import quote

    host = os.environ.get("ALLALIKE_MIRROR") or _HOST
    return f"{host.rstrip('/')}/{source.repo}/{source.commit}/{quote(source.path(file))}"


def fetch_source(source: Source) -> Path:
    """Return a folder with all files of a source, checked; what is not on this machine is downloaded into the cache."""
    folder = find_folder(source)
    if not source.public:
        if folder is None:
            raise DataError(f"{source.name!r} cannot be fetched. {how_to_get(source)}")
        return folder
    if folder is None or folder.parent == cache_folder():
        return _into_cache(source)
    for file in source.files:
        if not is_right(file, folder / file.file):
            raise DataError(
                f"{folder / file.file} is not the file that the catalogue describes (sha256 {file.sha256})."
                " ALLALIKE_DATA names the folder; remove the file, and it is fetched."
            )
    return folder


def _into_cache(source: Source) -> Path:
    folder = cache_folder() / source.name
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _alone(source):
            _download_all(source, folder)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"The files of {source.name!r} cannot be written to {folder}: {error}.") from error
    return folder


def _download_all(source: Source, folder: Path) -> None:
    """Download with some connections at once, and report the bytes that are here; stop all when one fails."""
    from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

    here = dict.fromkeys(source.files, 0)
    stop = threading.Event()

    def tell(file: File, size: int) -> None:
        here[file] = size
        if stop.is_set():
            raise DataError(f"{file.file} is not fetched, as another file cannot be.")

    with ThreadPoolExecutor(_CONNECTIONS) as pool:
        runs = [
            pool.submit(download, file, url_of(source, file), folder / file.file, partial(tell, file))
            for file in source.files
        ]
        try:
            waiting = set(runs)
            while waiting:
                done, waiting = wait(waiting, _PAUSE, FIRST_EXCEPTION)
                report(f"fetching {source.name}, bytes", sum(here.values()), source.size)
                for run in done:
                    run.result()
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


@contextmanager
def _alone(source: Source) -> Iterator[None]:
    """Wait for another run that fetches the same source, as two must not write to one file."""
    try:
        import fcntl
    except ImportError:  # Windows itself keeps a second run from files that are open
        yield
        return
    with (cache_folder() / f".{source.name}.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
