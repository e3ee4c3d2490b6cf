"""Fetching, against a real server on this machine that can also be slow, broken or wrong."""

import os
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import allalike.datasets
from allalike.datasets import SOURCES, downloads
from allalike.datasets.downloads import fetch_source
from allalike.errors import DataError, UnsupportedError
from running.data_server import ARCHIVE, BIG, Mirror, archived, contents, mirror_of, packed, published, serve

pytestmark = pytest.mark.slow


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Mirror]:
    with serve(monkeypatch, tmp_path) as state:
        yield state


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "allalike"


def test_every_file_arrives_as_it_is(mirror: Mirror, cache: Path) -> None:
    source = published(mirror, answers=BIG, truth=b"task,label\n1,x\n")
    assert fetch_source(source) == cache / "little"
    assert contents(cache) == {"answers": BIG, "truth": b"task,label\n1,x\n"}
    assert mirror.asked == [f"/ada/crowd/c0ffee/some%20data/{name}" for name in ("answers", "truth")]


@pytest.mark.parametrize("publish", ["files", "archive"])
def test_a_file_that_was_changed_is_fetched_again(mirror: Mirror, tmp_path: Path, publish: str) -> None:
    files = {"answers": BIG, "truth": b"x"}
    source = published(mirror, **files) if publish == "files" else archived(mirror, tmp_path, **files)
    folder = fetch_source(source)
    (folder / "answers").write_bytes(BIG[::-1])
    fetch_source(source)
    assert contents(folder) == files
    assert len(mirror.asked) == (3 if publish == "files" else 2)


@pytest.mark.parametrize("length", [True, False])
def test_a_connection_that_breaks_is_tried_again(mirror: Mirror, length: bool) -> None:
    mirror.length = length
    mirror.cut_after = [300_000, 200_000]
    folder = fetch_source(published(mirror, answers=BIG))
    assert contents(folder) == {"answers": BIG}
    assert len(mirror.asked) == 3
    assert mirror.waits == [1, 2]


def test_a_run_that_gets_no_further_stops_and_the_next_keeps_what_is_whole(mirror: Mirror, cache: Path) -> None:
    source = published(mirror, truth=b"x", answers=BIG)
    mirror.cut_after = [1, 300_000, 300_000, 300_000]
    with pytest.raises(DataError, match="answers cannot be fetched: .*300000 bytes"):
        fetch_source(source)
    assert contents(cache) == {"truth": b"x"}
    mirror.asked.clear()
    fetch_source(source)
    assert contents(cache) == {"truth": b"x", "answers": BIG}
    assert mirror.asked == ["/ada/crowd/c0ffee/some%20data/answers"]


def test_a_process_that_is_killed_leaves_no_half_file_and_the_next_sweeps(
    mirror: Mirror, cache: Path, data: Path
) -> None:
    source = SOURCES["predict_mandal2020"]
    mirror.files = mirror_of(source, data)
    mirror.stop_after = 600_000  # so that it is killed in the middle of a file
    code = "import allalike.datasets; allalike.datasets.fetch('predict_mandal2020')"
    with subprocess.Popen([sys.executable, "-c", code]) as process:
        while not any(len(content) > 500_000 for content in contents(cache).values()):
            assert process.poll() is None
            time.sleep(0.01)
        process.kill()
    right = {file.file: (data / source.name / file.file).read_bytes() for file in source.files}
    whole = contents(cache / source.name)
    assert whole.items() < right.items()
    assert contents(cache) != whole
    mirror.asked.clear()
    mirror.stop_after = 0
    mirror.go_on.set()
    assert allalike.datasets.fetch(source.name) == cache / source.name
    assert contents(cache) == right
    assert len(mirror.asked) == len(right) - len(whole)


def test_another_file_of_the_same_size_is_refused_and_removed(mirror: Mirror, cache: Path) -> None:
    source = published(mirror, answers=BIG)
    mirror.files = dict.fromkeys(mirror.files, BIG[::-1])
    with pytest.raises(DataError, match="answers does not match the sha256.* Nothing was saved"):
        fetch_source(source)
    assert contents(cache) == {}


@pytest.mark.parametrize(("size", "said"), [(10, "does not match the sha256"), (len(BIG) + 200_000, "has more than")])
@pytest.mark.parametrize("length", [True, False])
def test_a_file_of_another_size_is_refused(mirror: Mirror, cache: Path, size: int, said: str, length: bool) -> None:
    source = published(mirror, answers=BIG)
    mirror.length = length
    mirror.files = dict.fromkeys(mirror.files, (BIG * 2)[:size])
    with pytest.raises(DataError, match=f"answers {said}"):
        fetch_source(source)
    assert contents(cache) == {}


@pytest.mark.parametrize("place", ["file:///etc/passwd", "ftp://127.0.0.1/answers", "data:,x"])
def test_a_mirror_leads_nowhere_but_to_other_web_servers(mirror: Mirror, cache: Path, place: str) -> None:
    source = published(mirror, answers=BIG)
    mirror.leads_to = place
    with pytest.raises(DataError, match="cannot be fetched"):
        fetch_source(source)
    assert contents(cache) == {}


def test_one_file_that_is_not_there_stops_the_others(mirror: Mirror, cache: Path) -> None:
    source = published(mirror, answers=BIG, truth=b"abc", notes=b"x")
    del mirror.files["/ada/crowd/c0ffee/some data/truth"]
    with pytest.raises(DataError, match=r"truth cannot be fetched: HTTP Error 404: Not Found\. Nothing"):
        fetch_source(source)
    assert contents(cache) == {"answers": BIG}


@pytest.mark.parametrize("host", ["http://127.0.0.1:9", "nonsense", "http://no such host"])
def test_a_host_that_is_not_there_is_one_message(mirror: Mirror, monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    monkeypatch.setenv("ALLALIKE_MIRROR", host)
    with pytest.raises(DataError, match="cannot be fetched") as caught:
        fetch_source(published(mirror, answers=BIG))
    assert " object at 0x" not in str(caught.value)


def test_without_pooch_it_is_named_and_what_is_here_is_found(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    source = published(mirror, answers=BIG)
    monkeypatch.setitem(sys.modules, "pooch", None)
    with pytest.raises(UnsupportedError, match=r"Fetching needs pooch.*pip install 'allalike\[datasets\]'"):
        fetch_source(source)
    (cache / "little").mkdir(parents=True)
    (cache / "little" / "answers").write_bytes(BIG)
    assert fetch_source(source) == cache / "little"


@pytest.mark.parametrize("publish", ["files", "archive"])
def test_two_runs_at_once_do_not_spoil_the_file(mirror: Mirror, cache: Path, tmp_path: Path, publish: str) -> None:
    source = published(mirror, answers=BIG) if publish == "files" else archived(mirror, tmp_path, answers=BIG)
    mirror.pause = 0.01
    runs = [threading.Thread(target=fetch_source, args=(source,)) for _ in range(3)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert contents(cache) == {"answers": BIG}
    assert len(mirror.asked) == 1


@pytest.mark.parametrize("publish", ["files", "archive"])
def test_what_the_users_folder_has_is_checked_and_not_fetched(
    mirror: Mirror, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, publish: str
) -> None:
    source = published(mirror, answers=BIG) if publish == "files" else archived(mirror, tmp_path, answers=BIG)
    mine = tmp_path / "mine" / "little"
    monkeypatch.setenv("ALLALIKE_DATA", str(mine.parent))
    mine.mkdir(parents=True)
    (mine / "answers").write_bytes(BIG)
    assert fetch_source(source) == mine
    (mine / "answers").write_bytes(BIG[::-1])
    with pytest.raises(DataError, match="ALLALIKE_DATA.*Remove"):
        fetch_source(source)
    (mine / "answers").unlink()
    assert mirror.asked == []
    assert fetch_source(source) == cache / "little"
    assert contents(mine) == {}


@pytest.mark.parametrize(
    "name", ["quiz_it", "dots_puzz_preflib", "crowdwsa2019", "llmbar_llm_judges", "bubil_crowd_segmentation"]
)
def test_real_sources_arrive_where_they_are_looked_for(mirror: Mirror, data: Path, name: str) -> None:
    source = SOURCES[name]
    mirror.files = mirror_of(source, data)
    folder = allalike.datasets.fetch(name)
    assert folder == allalike.datasets.path(name)
    here = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert here == {file.file for file in source.files}
    assert all((folder / file).read_bytes() == (data / name / file).read_bytes() for file in here)
    assert len(mirror.asked) == len(mirror.files)


def test_an_archive_gives_the_wanted_files_and_no_others(mirror: Mirror, tmp_path: Path, cache: Path) -> None:
    source = archived(mirror, tmp_path, answers=BIG, truth=b"abc")
    assert fetch_source(source) == cache / "little"
    assert contents(cache) == {"answers": BIG, "truth": b"abc"}
    assert fetch_source(source) == cache / "little"
    assert mirror.asked == [ARCHIVE]


@pytest.mark.parametrize(
    ("inside", "said"),
    [
        ({"answers": BIG}, "truth is missing"),
        ({"answers": BIG[::-1], "truth": b"abc"}, "do not match the sha256"),
        ({"answers": b"abc", "truth": BIG}, "do not match the sha256"),
        ({"answers": BIG, "truth": b"abcd"}, "is larger than in the catalogue"),
    ],
)
def test_an_archive_with_other_files_is_refused_and_nothing_is_kept(
    mirror: Mirror, tmp_path: Path, cache: Path, inside: dict[str, bytes], said: str
) -> None:
    source = archived(mirror, tmp_path, answers=BIG, truth=b"abc")
    mirror.files[ARCHIVE] = packed({f"some data/{name}": text for name, text in inside.items()})
    with pytest.raises(DataError, match=f"{said}.* Nothing was saved"):
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
    with pytest.raises(DataError, match="no such folder|is missing"):
        fetch_source(source)
    assert contents(cache) == {}


@pytest.mark.parametrize("keep", [0, 10, 2_000])
def test_what_is_no_archive_or_half_of_one_is_one_message(
    mirror: Mirror, tmp_path: Path, cache: Path, keep: int
) -> None:
    source = archived(mirror, tmp_path, answers=BIG)
    mirror.files[ARCHIVE] = mirror.files[ARCHIVE][:keep] or b"<html>Sign in</html>"
    with pytest.raises(DataError, match=r"c0ffee\.tar\.gz cannot be unpacked: .+\. Nothing was saved"):
        fetch_source(source)
    assert contents(cache) == {}


@pytest.mark.parametrize("limit", ["_MAX_ARCHIVE_BYTES", "_MAX_UNPACKED_BYTES"])
def test_an_archive_beyond_all_bounds_is_refused(
    mirror: Mirror, tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, limit: str
) -> None:
    source = archived(mirror, tmp_path, truth=b"abc")
    mirror.files[ARCHIVE] = packed({"some data/truth": b"abc", "noise": os.urandom(300_000)})
    monkeypatch.setattr(downloads, limit, 100_000)
    with pytest.raises(DataError, match=r"Nothing was saved"):
        fetch_source(source)
    assert contents(cache) == {}
