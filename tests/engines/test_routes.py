"""Answers that are read some rows at a time, and routed to partitions on disk, are those that are read at once."""

import gzip
import json
import pickle
import re
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

import allalike
from allalike._core.columns.factors import order_of
from allalike._core.columns.values import Values
from allalike.answers import Answers
from allalike.answers import answers as answers_module
from allalike.answers.answers import Stream
from allalike.engines import ingest
from allalike.engines.ingest import Routed, route
from allalike.engines.routing import RoutingPlan
from allalike.engines.shards import REPEATS
from allalike.errors import AllalikeError, InputError, LabelError
from allalike.readers import proposals, scan
from allalike.readers.formats import arrow, text
from allalike.readers.formats import source as opened_source
from crowds.samples import KINDS, crowd, kind
from files.broken_files import FILES
from running.updates import assert_same

Row = tuple[Any, Any, Any]
NAMES = ("worker", "task", "label")


def shards_of(routed: Routed, duplicates: str | None = "first") -> list[Answers]:
    """Make answers of each partition."""
    partitions: Any = pickle.loads(pickle.dumps(routed.partitions))  # as other processes get it
    encoding, _ = routed.encode(None)
    columns = map(partitions.columns, range(len(partitions.parts)))
    return [Answers.of_shard(w, t, label, encoding, duplicates=duplicates) for w, t, label in columns]


def listed(answers: Answers) -> list[Row]:
    """List answers, task after task."""
    task = np.repeat(np.arange(len(answers.tasks)), np.diff(answers.starts))
    labels = [
        np.asarray(v).tolist() if hasattr(v, "shape") else v for v in answers.encoding.decode(answers.label).tolist()
    ]
    return list(
        zip(answers.tasks.take(task).tolist(), answers.workers.take(answers.worker).tolist(), labels, strict=True)
    )


def joined(shards: list[Answers]) -> list[Row]:
    """List the answers of all shards in the order of tasks."""
    rows = [row for shard in shards for row in listed(shard)]
    ids = Values.join([shard.tasks for shard in shards])
    place = {ids[int(index)]: place for place, index in enumerate(order_of(ids))}
    assert len(place) == len(ids)  # no task is in two shards
    return sorted(rows, key=lambda row: place[row[0]])


def check(source: Any, folder: Path, partitions: int = 4, **how: Any) -> Routed | None:
    """Compare what is routed with what is read, or the errors of both."""
    folder = Path(tempfile.mkdtemp(dir=folder))
    try:
        expected = allalike.read(source, **how)
    except AllalikeError as error:
        with pytest.raises(type(error)) as caught:
            shards_of(
                route(scan(source, **how).stream(), folder, partitions),
                **_choose_duplicates(how),
            )
        if isinstance(caught.value, LabelError) and re.match("Row [0-9]+ has no", str(error)):
            return None  # both are wrong, and the label that does not fit came first
        told = str(caught.value.args[0])  # what reading proposes beside, routing does not try
        read = str(error.args[0]).removesuffix(f" {proposals._ONE_WORKER}")
        start, _, end = re.sub(r"\. (?=There are)|, and ", "\0", read, count=1).partition("\0")
        start = re.sub(r"Worker .* answered task .* more than once", "Worker ", start)  # which pair is found first?
        assert told.startswith(start.rstrip("."))
        assert not end or told.endswith(end[-20:])
        return None
    routed = route(scan(source, **how).stream(), folder, partitions)
    shards = shards_of(routed, **_choose_duplicates(how))
    assert joined(shards) == listed(expected)
    assert routed.facts.workers.tolist() == expected.workers.tolist()
    assert [type(worker) for worker in routed.facts.workers.tolist()] == [
        type(worker) for worker in expected.workers.tolist()
    ]
    assert routed.domain.name == expected.domain.name
    repeats = {name: sum(shard.notes.get(name, 0) for shard in shards) for name in REPEATS}
    assert {**routed.notes, **{name: count for name, count in repeats.items() if count}} == expected.notes
    assert shards[0].encoding.n_classes == expected.encoding.n_classes
    return routed


def _choose_duplicates(how: dict[str, Any]) -> dict[str, str | None]:
    return {"duplicates": how.get("duplicates")}


def write(folder: Path, name: str, table: pa.Table) -> Path:
    """Write a table to a file, whose ending says how."""
    path = folder / name
    if "parquet" in name:
        pq.write_table(table, path, row_group_size=5)
    elif "jsonl" in name:
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    elif "json" in name:
        path.write_text(json.dumps(table.to_pylist()))
    else:
        table.to_pandas().to_csv(path, index=False, sep="\t" if "tsv" in name else ",")
    return path


def tabulate(rows: list[Row]) -> pa.Table:
    return pa.table({role: pa.array([row[place] for row in rows]) for place, role in enumerate(NAMES)})


@pytest.fixture
def batches_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read and route a few rows at a time."""
    for module, name in (
        (answers_module, "_BATCH_ROWS"),
        (arrow, "_BATCH_ROWS"),
        (opened_source, "_SLICE_ROWS"),
        (opened_source, "_SLICE_OBJECTS"),
    ):
        monkeypatch.setattr(module, name, 4)


IDS = {
    "whole": [str(number) for number in (-12, 0, 3, 7, 10, 123456789012345678)],
    "padded": ["007", "7", "07", "70"],
    "words": ["a", "b", "ab", "ä", "日本", "a b", "a,b", '"q"', "a\nb"],
    "mixed": ["1", "2", "10", "-0", "+1", "1.0", "0x10", "1e3", "x", "1234567890123456789"],
}
LABELS = {
    "words": ["yes", "no", "perhaps"],
    "whole": ["0", "1", "2", "10"],
    "numbers": ["0.5", "1", "-2e1", "3"],
    "orders": ["a>b", "b>a"],
    "sparse": ["yes", "no", ""],
    "odd": ["1", "2", "3", "4", "x"],
}
ids = st.sampled_from(sorted(IDS)).flatmap(lambda name: st.just(st.sampled_from(IDS[name])))


@st.composite
def some_rows(draw: st.DrawFn) -> list[Row]:
    """Draw rows whose ids and labels are of some kind each, mostly."""
    columns = [draw(ids), draw(ids), st.sampled_from(LABELS[draw(st.sampled_from(sorted(LABELS)))])]
    return draw(st.lists(st.tuples(*columns), min_size=1, max_size=40))


HOW = st.fixed_dictionaries(
    {},
    optional={
        "duplicates": st.sampled_from(["first", "last", "error"]),
        "missing": st.sampled_from(["drop", "error"]),
        "domain": st.sampled_from(["categorical", "real"]),
    },
)
LOOSE = settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.usefixtures("batches_of_few")
@LOOSE
@given(rows=some_rows(), how=HOW, ending=st.sampled_from(["csv", "csv.gz", "parquet", "jsonl"]), cut=st.integers(0, 40))
@pytest.mark.long
def test_routed_files_hold_the_answers_that_are_read(
    rows: list[Row], how: dict[str, Any], ending: str, cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    paths = [write(folder, f"{number}.{ending}", tabulate(part)) for number, part in enumerate(parts)]
    check(paths, tmp_path_factory.mktemp("work"), **how)


@pytest.mark.usefixtures("batches_of_few")
@LOOSE
@given(rows=some_rows(), how=HOW, few=st.integers(0, 3), domain=st.sampled_from(["categorical", "real"]))
@example(rows=[("1", "2", "x"), ("1", "1", "x")], how={}, few=0, domain="real")  # row 2 is in an earlier partition
def test_many_different_labels_are_routed_as_numbers_or_as_they_came(
    rows: list[Row], how: dict[str, Any], few: int, domain: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("files")
    path = write(folder, "a.csv", tabulate(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ingest, "RoutingPlan", partial(RoutingPlan, max_numbered_labels=few))
        patch.setattr(text, "_BLOCK_BYTES", 64)
        check(path, tmp_path_factory.mktemp("work"), **{**how, "domain": domain})


@pytest.mark.usefixtures("batches_of_few")
@LOOSE
@given(
    rows=st.lists(
        st.tuples(
            st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1),
            st.sampled_from([0.0, 1.5, 2.5]) | st.floats(0.1, 5),
            st.booleans(),
        ),
        min_size=1,
        max_size=30,
    ),
    duplicates=st.sampled_from(["first", "last"]),
)
@pytest.mark.long
def test_ids_of_any_type_are_routed_in_memory(
    rows: list[Row], duplicates: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for source in (rows, pd.DataFrame(rows, columns=["worker", "task", "label"])):
        check(source, tmp_path_factory.mktemp("work"), duplicates=duplicates)
        check([row[1::-1] + row[2:] for row in rows], tmp_path_factory.mktemp("work"), duplicates=duplicates)


@pytest.mark.parametrize("domain", KINDS)
def test_labels_of_every_domain_are_routed(domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = crowd(domain, seed=1, missing=0.2)
    check(rows, tmp_path, domain=kind(domain))
    monkeypatch.setattr(ingest, "RoutingPlan", partial(RoutingPlan, max_numbered_labels=0))
    check(rows, tmp_path, domain=kind(domain))


REAL = [
    "bench_adult/label.csv",
    "bench_fact_eval/label.csv",
    "bench_face/answer.csv",
    "bench_product/answer.csv",
    "snow_rte/rte.standardized.tsv",
    "snow_emotion/valence.standardized.tsv",
]


@pytest.mark.parametrize(
    ("name", "partitions"),
    [
        pytest.param(name, partitions, marks=pytest.mark.long if (place + turn) % 2 else ())
        for place, name in enumerate(REAL)
        for turn, partitions in enumerate((1, 64))
    ],
)
def test_real_answers_are_routed(name: str, partitions: int, data: Path, tmp_path: Path) -> None:
    routed = check(data / name, tmp_path, partitions)
    assert routed is not None
    assert partitions / 2 < len(routed.partitions.parts) <= partitions


@pytest.mark.parametrize("name", FILES)
def test_a_bad_file_is_the_same_error_as_in_memory(name: str, tmp_path: Path) -> None:
    content, message = FILES[name]
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    work = tmp_path / "work"
    work.mkdir()
    message = message.partition(" (")[0]
    with pytest.raises(AllalikeError, match="(?s)" + message):
        shards_of(route(scan(path).stream(), work, 1))


def table_of(labels: list[Any], ids: list[str] | None = None) -> pd.DataFrame:
    """Let three workers answer in turn."""
    tasks = ids or [f"t{number // 3}" for number in range(len(labels))]
    return pd.DataFrame({"worker": [f"w{number % 3}" for number in range(len(labels))], "task": tasks, "label": labels})


@pytest.fixture
def csv_blocks(monkeypatch: pytest.MonkeyPatch, batches_of_few: None) -> None:
    """Read text a hundred bytes at a time."""
    monkeypatch.setattr(text, "_BLOCK_BYTES", 100)


@pytest.mark.usefixtures("csv_blocks")
@pytest.mark.parametrize(
    ("change", "how"),
    [
        ({"label": ""}, {}),
        ({"task": ""}, {}),
        ({"label": "oops"}, {"domain": "real"}),
        ({"label": "1e200"}, {"domain": "real"}),
        ({"label": "oops"}, {}),
        ({"label": "a>a"}, {"domain": "ranking"}),
    ],
)
@pytest.mark.parametrize("few", [0, 1000])
def test_an_error_names_the_row_among_all(
    change: dict[str, str], how: dict[str, Any], few: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "RoutingPlan", partial(RoutingPlan, max_numbered_labels=few))
    labels = ["a>b", "b>a"] if how.get("domain") == "ranking" else [f"{number}.5" for number in range(50)]
    frame = table_of([labels[number % len(labels)] for number in range(200)])
    frame.loc[100, list(change)] = list(change.values())
    frame.to_csv(tmp_path / "a.csv", index=False)
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(InputError, match="(?i)row 101 "):
        shards_of(route(scan(tmp_path / "a.csv", **how).stream(), work, 4))


@pytest.mark.usefixtures("csv_blocks")
def test_late_labels_change_what_all_labels_are(tmp_path: Path) -> None:
    few = ["0", "1"] * 60
    for late, domain in (
        ([str(number) for number in range(100)], "real"),
        (["2"], "categorical"),
        (["yes", "no", "or"] * 10, "categorical"),
        (["0.5"], "categorical"),
        (["0.5", "00"], "categorical"),
    ):
        table_of(few + late).to_csv(tmp_path / "a.csv", index=False)
        routed = check(tmp_path / "a.csv", tmp_path)
        assert routed is not None
        assert routed.domain.name == domain


TABLE = pa.table(
    {
        "extra": list(range(100)),
        "label": ["x", "yes, sir", 'a "quoted"', "two\nlines", "ä"] * 20,
        "worker": [f"w{number % 7}" for number in range(100)],
        "task": [f"{number % 13:03d}" for number in range(100)],
    }
)


def values(stream: Stream) -> dict[str, list[Any]]:
    """Put the batches of a stream one behind the other."""
    batches = list(stream.batches())
    return {
        name: [value for batch in batches for value in pa.chunked_array(batch[name].data).to_pylist()] for name in NAMES
    }


@pytest.mark.usefixtures("csv_blocks")
@pytest.mark.parametrize("kind", ["csv", "tsv", "csv.gz", "parquet", "jsonl", "json"])
def test_every_kind_of_file_comes_in_batches_with_all_its_rows(kind: str, tmp_path: Path) -> None:
    path = write(tmp_path, f"a.{kind}", TABLE)
    stream = scan(path).stream()
    assert len(list(stream.batches())) > 5
    expected = {name: TABLE[name].to_pylist() for name in NAMES}
    assert values(stream) == expected
    assert values(stream) == expected  # it starts anew on every call
    assert (stream.size > 0) == (kind not in ("jsonl", "json"))


@pytest.mark.usefixtures("csv_blocks")
@pytest.mark.parametrize("kinds", [("csv", "tsv"), ("csv", "parquet"), ("csv", "jsonl"), ("parquet", "parquet")])
def test_several_files_come_one_behind_the_other(kinds: tuple[str, str], tmp_path: Path) -> None:
    other = TABLE.select(["task", "label", "worker"]).slice(20)  # columns are found by their names
    paths = [
        write(tmp_path, f"{name}.{kind}", table) for name, kind, table in zip("ab", kinds, (TABLE, other), strict=True)
    ]
    expected = {name: TABLE[name].to_pylist() + other[name].to_pylist() for name in NAMES}
    assert values(scan(paths).stream()) == expected
    assert values(scan(tmp_path / "[ab].*").stream()) == expected
    sizes = [scan(path).stream().size for path in paths]
    assert scan(paths).stream().size == (0 if "jsonl" in kinds else sum(sizes))


@pytest.mark.parametrize(
    "source",
    [
        TABLE,
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        TABLE.to_pylist(),
        TABLE.to_pydict(),
        list(zip(*(TABLE[name].to_pylist() for name in NAMES), strict=True)),
    ],
    ids=["arrow", "pandas", "polars", "records", "mapping", "rows"],
)
@pytest.mark.usefixtures("csv_blocks")
def test_what_is_in_memory_comes_in_slices(source: Any) -> None:
    stream = scan(source).stream()
    assert len(list(stream.batches())) == 25
    assert values(stream) == {name: TABLE[name].to_pylist() for name in NAMES}
    assert stream.size == 0


def test_files_whose_columns_differ_in_type_are_refused(tmp_path: Path) -> None:
    other = TABLE.set_column(3, "task", [list(range(100))])
    paths = [write(tmp_path, "a.parquet", TABLE), write(tmp_path, "b.parquet", other)]
    for read in (allalike.read, lambda paths: values(scan(paths).stream())):
        with pytest.raises(InputError, match="'task' has different types in different files: int64, string"):
            read(paths)


@pytest.mark.usefixtures("csv_blocks")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"a,1,x,y\n", r"row 5,001 \(line 5,002\) has 4 fields"),
        ("a,1,é\n".encode() * 9 + b"a,1,\xff\n", "row 5010 is invalid UTF8"),
        (b'a,1,"' + b"x" * 500 + b"\n", "begins with a quote"),
    ],
)
def test_a_broken_row_in_a_later_batch_is_a_clear_error(line: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"worker,task,label\n" + b"a,1,x\n" * 5000 + line + b"a,1,x\n" * 200)
    with pytest.raises(InputError, match=message):
        values(scan(path).stream())


def test_a_file_that_ends_too_early_is_a_clear_error(tmp_path: Path) -> None:
    packed = gzip.compress(b"worker,task,label\n" + b"".join(b"a,%d,x\n" % n for n in range(100_000)))
    (tmp_path / "a.csv.gz").write_bytes(packed[:-1000])
    path = write(tmp_path, "a.parquet", TABLE)
    for read in (allalike.read, lambda path: values(scan(path).stream())):
        with pytest.raises(InputError, match="a.csv.gz cannot be unpacked .gzip.: Truncated"):
            read(tmp_path / "a.csv.gz")
    whole = path.read_bytes()
    stream = scan(path).stream()
    path.write_bytes(whole[:100])
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        values(stream)


@pytest.mark.long
def test_long_labels_make_short_batches(tmp_path: Path) -> None:
    table = pa.table({"worker": ["a", "b"] * 50, "task": [1] * 100, "label": ["x" * 5_000_000] * 100})
    assert [len(batch["label"]) for batch in scan(table).stream().batches()] == [13] * 7 + [9]
    distinct = pa.array([chr(65 + number % 26) * 3_000_000 for number in range(100)])
    pq.write_table(table.set_column(2, "label", distinct), tmp_path / "a.parquet", use_dictionary=False)
    sizes = [len(batch["label"]) for batch in scan(tmp_path / "a.parquet").stream().batches()]
    assert sum(sizes) == 100
    assert max(sizes) <= 22


WRITTEN = [name for name in KINDS if name not in ("bitmap", "custom")]  # whose labels fit into a column


@pytest.mark.parametrize(
    ("ending", "domain"),
    [
        pytest.param(ending, name, marks=pytest.mark.long if (turn + place) % 4 else ())
        for turn, ending in enumerate(("csv", "parquet"))
        for place, name in enumerate(WRITTEN)
    ],
)
def test_large_files_are_read_part_by_part_with_the_same_result(
    domain: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = crowd(domain, seed=3, n=8, m=60, missing=0.3)
    written = [(w, t, label if isinstance(label, str | int | float) else _json(label)) for w, t, label in rows]
    frame = pd.DataFrame(written, columns=["worker", "task", "label"])
    path = tmp_path / f"answers.{ending}"
    (frame.to_csv if ending == "csv" else frame.to_parquet)(path, index=False)
    gold = {task: label for worker, task, label in rows if worker == "w000"}
    method = "auto" if domain == "categorical" else "iP-TD"
    whole = allalike.discover(path, domain=kind(domain), gold=gold, method=method)
    monkeypatch.setattr("allalike.engines.memory._MIN_SHARDED_BYTES", 0)
    monkeypatch.setattr("allalike.engines.memory._SHARD_BYTES", 1 << 9)
    parts = allalike.discover(path, domain=kind(domain), gold=gold, method=method)
    assert len(parts.run.shards) > 1  # type: ignore[attr-defined]
    assert_same(parts, whole)


def _json(label: Any) -> str:
    return json.dumps(label if isinstance(label, dict) else list(label))


@pytest.mark.parametrize("n_workers", [20, 40, 200])
def test_a_block_names_its_workers_only_where_few_of_all_occur_in_it(n_workers: int) -> None:
    rng = np.random.default_rng(n_workers)
    rows = [(int(w), t, int(rng.integers(3))) for t in range(40) for w in rng.choice(n_workers, 5, replace=False)]
    rows += [(w, 40, 1) for w in range(n_workers)]
    answers = allalike.read(rows, domain="categorical")
    starts = 0
    for block in answers.blocks(50):
        worker = answers.worker[starts : starts + len(block.worker)]
        starts += len(worker)
        few = len(set(worker.tolist())) < n_workers / 2
        assert isinstance(block.workers, np.ndarray) == few
        assert np.arange(n_workers)[block.workers][block.worker].tolist() == worker.tolist()
        assert block.n_workers == (len(set(worker.tolist())) if few else n_workers)
    assert starts == len(rows)
