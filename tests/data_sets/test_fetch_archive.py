"""Archives of whole repositories, of which some files are wanted."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from allalike.datasets import downloads
from allalike.datasets.downloads import fetch_source
from allalike.errors import DataError
from running.data_server import ARCHIVE, BIG, Mirror, archived, contents, packed, serve

pytestmark = pytest.mark.slow


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    with serve(monkeypatch, tmp_path) as state:
        yield state


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "allalike"


def test_an_archive_gives_the_wanted_files_and_no_others(mirror: Mirror, tmp_path: Path, cache: Path) -> None:
    source = archived(mirror, tmp_path, answers=BIG, truth=b"abc")
    assert fetch_source(source) == cache / "little"
    assert contents(cache) == {"answers": BIG, "truth": b"abc"}
    assert fetch_source(source) == cache / "little"
    assert mirror.asked == [ARCHIVE]


def test_an_archive_is_fetched_again_when_a_file_was_changed_or_lost(
    mirror: Mirror, tmp_path: Path, cache: Path
) -> None:
    source = archived(mirror, tmp_path, answers=BIG, truth=b"abc")
    fetch_source(source)
    (cache / "little" / "truth").write_bytes(b"xyz")
    fetch_source(source)
    assert contents(cache) == {"answers": BIG, "truth": b"abc"}
    (cache / "little" / "answers").unlink()
    fetch_source(source)
    assert contents(cache) == {"answers": BIG, "truth": b"abc"}
    assert len(mirror.asked) == 3


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ({"answers": BIG}, "it has 1 of 2, with sha256"),
        ({"answers": BIG[::-1], "truth": b"abc"}, "it has 2 of 2, with sha256"),
        ({"answers": b"abc", "truth": BIG}, "it has 2 of 2, with sha256"),
        ({"answers": BIG, "truth": b"abcd"}, "is larger than the catalogue says"),
    ],
)
def test_an_archive_with_other_files_is_refused_and_nothing_is_kept(
    mirror: Mirror, tmp_path: Path, cache: Path, inside: dict[str, bytes], said: str
) -> None:
    source = archived(mirror, tmp_path, answers=BIG, truth=b"abc")
    mirror.files[ARCHIVE] = packed({f"some data/{name}": text for name, text in inside.items()})
    with pytest.raises(DataError, match=f"{said}.* Nothing of it was kept"):
        fetch_source(source)
    assert contents(cache) == {}


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "", size: int = 3) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, link, size if kind == tarfile.REGTYPE else 0
    return made


@pytest.mark.parametrize(
    "evil",
    [
        member("../evil"),
        member("/tmp/allalike-evil"),
        member("crowd-c0ffee/../../evil"),
        member("crowd-c0ffee/some data/../../../evil"),
        member("crowd-c0ffee/some data", tarfile.SYMTYPE, "/etc"),
        member("crowd-c0ffee/some data/evil", tarfile.CHRTYPE),
    ],
)
def test_no_member_of_an_archive_goes_elsewhere(
    mirror: Mirror, tmp_path: Path, cache: Path, evil: tarfile.TarInfo
) -> None:
    source = archived(mirror, tmp_path, answers=BIG)
    before = sorted(tmp_path.rglob("*"))
    mirror.files[ARCHIVE] = packed({"some data/answers": BIG}, evil)
    fetch_source(source)
    assert contents(cache) == {"answers": BIG}
    assert [path for path in sorted(tmp_path.rglob("*")) if not path.is_relative_to(tmp_path / "cache")] == before
    assert not Path("/tmp/allalike-evil").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
def test_a_link_in_the_place_of_a_file_is_not_the_file(
    mirror: Mirror, tmp_path: Path, cache: Path, kind: bytes
) -> None:
    source = archived(mirror, tmp_path, truth=b"abc")
    mirror.files[ARCHIVE] = packed({}, member("crowd-c0ffee/some data/truth", kind, str(tmp_path / "truth")))
    with pytest.raises(DataError, match="it has 0 of 1"):
        fetch_source(source)
    assert contents(cache) == {}


@pytest.mark.parametrize("keep", [0, 10, 2_000])
def test_what_is_no_archive_or_half_of_one_is_one_message(
    mirror: Mirror, tmp_path: Path, cache: Path, keep: int
) -> None:
    source = archived(mirror, tmp_path, answers=BIG)
    mirror.files[ARCHIVE] = mirror.files[ARCHIVE][:keep] or b"<html>Sign in</html>"
    with pytest.raises(DataError, match=r"c0ffee\.tar\.gz cannot be unpacked: .+\. Nothing of it was kept"):
        fetch_source(source)
    assert contents(cache) == {}


@pytest.mark.parametrize("limit", ["_MAX_ARCHIVE_BYTES", "_MAX_UNPACKED_BYTES"])
def test_an_archive_beyond_all_bounds_is_refused(
    mirror: Mirror, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    source = archived(mirror, tmp_path, truth=b"abc")
    mirror.files[ARCHIVE] = packed({"some data/truth": b"abc", "noise": os.urandom(300_000)})
    monkeypatch.setattr(downloads, limit, 100_000)
    with pytest.raises(DataError, match=r"Nothing of it was kept"):
        fetch_source(source)
    assert contents(cache) == {}
