"""A result folder of a stranger: nothing that it names is opened, and whatever is wrong with it is one message."""

import base64
import copy
import ctypes
import json
import os
import shutil
import socket
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.errors import AllalikeError, InputError
from allalike.readers import READ_OPTIONS
from allalike.serve.session import Session
from crowds.samples import crowd
from running.program import call

pytestmark = pytest.mark.filterwarnings("ignore::allalike.errors.DataWarning", "ignore::UserWarning")
OTHERS: list[Any] = [None, True, -1, 0.5, "x", [], ["x"], {"a": 1}]
ROWS = [(f"w{w}", f"t{t}", "xy"[(w * t) % 3 % 2]) for t in range(4) for w in range(4)]
MORE = "who,item,vote\nw9,t1,x\n"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """Save a result that keeps as many settings as there are, with answers that were added once."""
    lines = ["who,item,vote", *map(",".join, ROWS), "w1,t1,?", "w1,t2,y"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "b.csv").write_text(MORE.replace("w9", "w8"), encoding="utf-8")
    (tmp_path / "c.csv").write_text(MORE, encoding="utf-8")
    (tmp_path / "gold.csv").write_text("task,label\nt0,yes\n", encoding="utf-8")
    how: dict[str, Any] = {"columns": {"worker": "who"}, "abstain_label": "?", "label_map": {"x": "no", "y": "yes"}}
    known: dict[str, Any] = {"gold": {"t1": "no", "t9": "no"}, "gold_map": {"no": "no"}, "min_confidence": 0.1}
    result = allalike.discover(tmp_path / "a.csv", method="UA", **how, **known)
    result.save(tmp_path / "out")
    allalike.update(tmp_path / "out", tmp_path / "b.csv")
    return tmp_path / "out"


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the places of all values in a JSON value, and of itself."""
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, each in inner:
        yield from places(each, (*place, name))


def put(value: Any, place: tuple[Any, ...], other: Any) -> Any:
    if not place:
        return other
    value = copy.copy(value)
    value[place[0]] = put(value[place[0]], place[1:], other) if place[1:] else other
    return value


def sign(index: dict[str, Any], told: Any) -> str:
    """Return what somebody might have saved who knows the format."""
    return json.dumps({**index, "sum": sha256(json.dumps(told).encode()).hexdigest(), "call": told})


def test_a_setting_of_another_type_is_one_message(out: Path, tmp_path: Path) -> None:
    state = out / "details" / "state" / "call.json"
    index = json.loads(state.read_text())
    refused = loaded = 0
    for place in places(index["call"]):
        for other in OTHERS:
            state.write_text(sign(index, put(index["call"], place, other)))
            try:
                result = allalike.load(out)
            except AllalikeError as error:
                assert len(str(error).splitlines()) == 1, (place, other)
                refused += 1
                continue
            assert repr(result), (place, other)
            loaded += 1
            if loaded % 4:  # the others are used further
                continue
            shutil.copytree(out, tmp_path / "again")
            with suppress(AllalikeError):
                result.explain(task="t1")
                allalike.update(tmp_path / "again", tmp_path / "c.csv")
            shutil.rmtree(tmp_path / "again")
    assert refused > 300
    state.write_text(sign(index, put(index["call"], ("answers", 0), "x")))
    done = call("explain", "out", "task", "t1", folder=tmp_path)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "answers[0]" in done.stderr


class Canary:
    """A file and a port of this machine, and who opened them."""

    def __init__(self, path: Path, listener: socket.socket) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        self._watch = libc.inotify_init1(os.O_NONBLOCK)
        path.write_text("from,to\nx,y\n", encoding="utf-8")
        assert libc.inotify_add_watch(self._watch, os.fsencode(path), 0x20) > 0  # IN_OPEN
        self._listener = listener
        host = f"127.0.0.1:{listener.getsockname()[1]}"
        addresses = (f"http://{host}/map.csv", f"postgresql://{host}/crowd", "s3://bucket/map.csv")
        self.names = (str(path), f"file://{path}", *addresses)

    def was_seen(self) -> bool:
        for look in (lambda: os.read(self._watch, 4096), self._listener.accept):
            try:
                look()
            except BlockingIOError:
                continue
            return True
        return False


@pytest.fixture
def canary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Canary]:
    if sys.platform != "linux":
        pytest.skip("only Linux says which files are opened, also by libraries")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.getsockname()[1]}")
        monkeypatch.setenv("PGPASSWORD", "secret")
        yield Canary(tmp_path / "map.csv", listener)


def use(out: Path) -> None:
    """Load a result, and go on with it, as all that can be done with a folder does."""
    folder = out.parent
    gold = ("--gold", "gold.csv") if "gold_map" in (out / "details" / "state" / "call.json").read_text() else ()
    for command in (
        ("update", "out", "c.csv", *gold),
        ("explain", "out", "worker", "w1"),
        ("plan", "out", "--budget", "2", "-o", "plan.csv"),
        ("discover", "c.csv", "--history", "out", "-o", "other", "--no-report"),
        ("jury", "a.csv", "--baseline", "out", "-o", "jury"),
    ):
        done = call(*command, "-q", folder=folder)
        assert done.returncode in (0, 2), (command, done.stderr)
        assert "Traceback" not in done.stderr
    try:
        allalike.load(out).report(folder / "report.html", overwrite=True)
        Session(folder, limit=1).show(out)
    except AllalikeError as error:
        assert len(str(error).splitlines()) == 1


def test_the_canary_is_seen_where_it_is_asked_for(canary: Canary) -> None:
    for name in (canary.names[0], canary.names[1]):
        assert not canary.was_seen()
        allalike.read(ROWS, label_map=name)
        assert canary.was_seen()


@pytest.mark.timeout(300)
def test_nothing_that_a_saved_result_names_is_opened(out: Path, canary: Canary) -> None:
    state, summary = out / "details" / "state" / "call.json", out / "summary.json"
    index, told = json.loads(state.read_text()), json.loads(summary.read_text())
    kept = {path: path.read_bytes() for path in out.rglob("*.*")}
    forms: list[Callable[[str], Any]] = [str, lambda name: [name], lambda name: {name: name}]
    added = [("read", name) for name in (*READ_OPTIONS, "source", "domain", "files")]
    added += [("domain", name) for name in ("distance", "parents", "fields")] + [("settings", "engine")]
    for place in [*places(index["call"]), *added]:
        for number, form in list(enumerate(forms))[len(place) % 2 :: 2]:
            name = canary.names[(len(place) + number) % len(canary.names)]
            state.write_text(sign(index, put(index["call"], place, form(name))))
            try:
                allalike.load(out).update(out.parent / "c.csv", gold=out.parent / "gold.csv")
            except AllalikeError as error:
                assert len(str(error).splitlines()) == 1, place
            assert not canary.was_seen(), (place, form(name))
    state.write_bytes(kept[state])
    for place in (("read", "label_map"), ("gold_map",), ("read", "tool"), ("domain", "rule"), ("saved", "to", 0)):
        for name in canary.names[:: 2 if place[0] == "read" else 3]:
            changed = {**index["call"], "saved": {**index["call"]["saved"], "to": ["coco"]}}
            state.write_text(sign(index, put(changed, place, name)))
            use(out)
            assert not canary.was_seen(), (place, name)
            for path, held in kept.items():
                path.write_bytes(held)
    told["inputs"] = ["a.csv"]
    texts = [place for place in places(told) if isinstance(read(told, place), str)]
    for place in [*texts[:: max(len(texts) // 5, 1)], ("inputs", 0), ("files", 0), ("files", len(told["files"]) - 1)]:
        summary.write_text(json.dumps(put(told, place, canary.names[len(place) % 2])))
        use(out)
        assert not canary.was_seen(), place
        for path, held in kept.items():
            path.write_bytes(held)


def read(value: Any, place: tuple[Any, ...]) -> Any:
    return value if not place else read(value[place[0]], place[1:])


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes")
@pytest.mark.parametrize("kind", ["pipe", "link", "folder", "nothing", "empty"])
def test_every_file_of_a_result_is_a_regular_file(kind: str, out: Path, tmp_path: Path) -> None:
    make: dict[str, Callable[[Path], object]] = {
        "pipe": os.mkfifo,
        "link": lambda path: path.symlink_to(tmp_path / "elsewhere"),
        "folder": Path.mkdir,
        "nothing": lambda path: None,
        "empty": Path.touch,
    }
    for path in [*sorted((out / "details" / "state").iterdir()), out / "summary.json"]:
        held = path.read_bytes()
        (tmp_path / "elsewhere").write_bytes(held)
        path.unlink()
        make[kind](path)
        with pytest.raises(InputError) as error:
            allalike.update(out, tmp_path / "c.csv")
        assert len(str(error.value).splitlines()) == 1
        done = call("serve", "out", folder=tmp_path) if path.name == "summary.json" and kind != "empty" else None
        assert done is None or (done.returncode, len(done.stderr.splitlines())) == (2, 1)
        path.rmdir() if kind == "folder" else path.unlink(missing_ok=True)
        path.write_bytes(held)
    (out / "details" / "state").rename(tmp_path / "state")
    (out / "details" / "state").symlink_to(tmp_path / "state")
    with pytest.raises(InputError, match="is a link.*cp -rL"):
        allalike.load(out)


def mask(corner: Any = (3, 3, 0, 0), shape: Any = (3, 1), bits: bytes = b"\x40\x80\x40", grid: Any = None) -> str:
    return json.dumps({"mask": [list(corner), list(shape), base64.b64encode(zlib.compress(bits)).decode(), grid]})


WRONG_MASKS = [
    *(mask(corner) for corner in ((3, 3), (-1, 3, 0, 0), (3, 3, -1, 0), (3, 3, 9, 0), (3, 3, 0, 99), (3, 3.5, 0, 0))),
    *(mask(corner) for corner in (("a", 3, 0, 0), (2**70, 3, 0, 0), (10**6, 10**6, 0, 0), (True, 3, 0, 0))),
    *(mask(shape=shape) for shape in ((-1, 1), (1, -1), (-1, -3), (3,), (3, 1, 1), (10**9, 10**9), ("a", 1), (3, 2))),
    *(mask(shape=(-1, 1), bits=bytes(size)) for size in (3, 10**7)),
    *(mask(grid=grid) for grid in ([], 1, [[1, 1, 1], None], [["a"], None], [[3, 3, 1], "x"], [[3, 3, 1], [[1.0]]])),
    *('{"mask": []}', '{"os": 1}', "{}", '{"dict": [[[1], 2]]}', '{"tuple": 1}', "[", ""),
]


def test_a_mask_whose_numbers_do_not_fit_is_one_message(tmp_path: Path) -> None:
    rows = [(worker, task, np.eye(3) > 0) for worker in "abc" for task in (1, 2)]
    allalike.discover(rows, domain="bitmap", method="UA").save(tmp_path / "out")
    path = tmp_path / "out" / "details" / "state" / "answers-1.parquet"
    table = pq.read_table(path)
    for text in WRONG_MASKS:
        pq.write_table(table.set_column(2, table.schema.field(2), pa.array([text] * 6, pa.large_string())), path)
        with pytest.raises(InputError, match=r"answers-1\.parquet is damaged") as error:
            allalike.load(tmp_path / "out")
        assert len(str(error.value).splitlines()) == 1, text
    good = [mask()] * 6
    pq.write_table(table.set_column(2, table.schema.field(2), pa.array(good, pa.large_string())), path)
    assert allalike.load(tmp_path / "out").truth["label"][0].sum() == 3


@pytest.mark.parametrize("domain", ["categorical", "real", "boxes"])
def test_columns_of_other_types_are_one_message(domain: str, tmp_path: Path) -> None:
    rows = crowd(domain, seed=1, n=3, m=4)
    gold = {task: label for _, task, label in rows[:2]}
    allalike.discover(rows, domain=domain, gold=gold, method="UA").save(tmp_path / "out")
    values: list[Any] = [1, 1.5, float("nan"), True, None, [1], {"a": 1}, "x"]
    for path in sorted((tmp_path / "out" / "details" / "state").glob("*.parquet")):
        held, table = path.read_bytes(), pq.read_table(path)
        columns = [(n, pa.array([value] * len(table))) for n in range(table.num_columns) for value in values]
        for changed in (*(table.set_column(n, table.column_names[n], each) for n, each in columns), table.slice(0, 0)):
            pq.write_table(changed, path)
            shutil.copytree(tmp_path / "out", tmp_path / "again")
            try:
                allalike.update(tmp_path / "again", [("zoe", *rows[0][1:])])
            except AllalikeError as error:
                assert len(str(error).splitlines()) == 1
            shutil.rmtree(tmp_path / "again")
        path.write_bytes(held)
