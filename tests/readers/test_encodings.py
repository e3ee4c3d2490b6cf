"""Encodings: a file is read as it was written, and bytes that are no text are refused with their row."""

import encodings
import encodings.aliases
import gzip
import pkgutil
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import allalike
from allalike.engines import Engine
from allalike.errors import InputError, OptionError
from allalike.readers.formats.encodings import find_name, guess_encoding
from files.plain_rows import rows, triples, write

MODULES = {module.name for module in pkgutil.iter_modules(encodings.__path__)}
NAMES = sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values(), *MODULES})
NONE = ("idna", "undefined", "punycode", "rot13", "hex", "bz2", "uu", "quopri", "aliases", "a\0b", "\ud800", "utf-99")
ROWS = [("ada", "t1", "x"), ("bob", "t1", "x"), ("eve", "t1", "y")]
TEXT = "worker,task,label\n" + "".join(",".join(row) + "\n" for row in ROWS)
RECORDS = "[" + ", ".join(f'{{"worker": "{w}", "task": "{t}", "label": "{label}"}}' for w, t, label in ROWS) + "]"


def find_names() -> set[str]:
    """Return the names of all encodings of files that Python has."""
    found = set()
    for name in NAMES:
        with suppress(LookupError, ValueError):
            found.add(find_name(name))
    return found


def test_every_codec_of_python_reads_what_it_wrote_and_another_ones_bytes_or_says_that_it_does_not(
    tmp_path: Path,
) -> None:
    known = find_names()
    assert {"utf-8", "utf-16", "utf-7", "cp1252", "iso2022_jp", "hz", "cp037", "unicode-escape"} <= known
    for name in sorted(known):
        assert triples(allalike.read(write(tmp_path, "a.csv", TEXT.encode(name)), encoding=name)) == ROWS, name
        path = write(tmp_path, "a.csv" if len(name) % 2 else "a.json", TEXT.replace("x", "é"))
        try:
            allalike.read(path, encoding=name)
        except InputError as error:
            assert str(error).startswith(str(path))


@pytest.mark.parametrize("name", NONE)
def test_an_encoding_that_is_not_for_files_is_refused(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", TEXT)
    with pytest.raises(OptionError):
        allalike.read(path, encoding=name)


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
def test_utf_16_without_its_mark_is_read_by_the_name_that_is_proposed(name: str, tmp_path: Path) -> None:
    texts = {"a.csv": TEXT, "a.json": RECORDS, "a.jsonl": RECORDS.strip("[]").replace("}, ", "}\n")}
    path = write(tmp_path, name, texts[name].encode("utf-16-le"))
    with pytest.raises(InputError, match="encoding='utf-16-le'"):
        allalike.read(path, encoding="utf-16")
    assert rows(path, encoding="utf-16-le") == ROWS


@pytest.mark.parametrize(("encoding", "words"), [("mac_roman", ["félin", "élève"]), ("euc_jp", ["ねこ", "いぬ"])])
def test_rarer_encodings_are_recognised(encoding: str, words: list[str]) -> None:
    text = "worker,task,label\n" + "".join(f"w{n % 5},t{n // 5},{words[n % len(words)]}です\n" for n in range(60))
    text = text if encoding == "euc_jp" else text.replace("です", "")
    assert text.encode(encoding).decode(guess_encoding(text.encode(encoding))) == text


def test_halves_of_characters_are_refused_though_an_encoding_has_them(tmp_path: Path) -> None:
    for name, half in (("utf-7", b"+2AA-"), ("unicode-escape", b"\\ud800")):
        text = TEXT.encode(name).replace(b"ada", half) if name == "utf-7" else b"worker,task,label\n" + half + b",1,x\n"
        for path in (write(tmp_path, "a.csv", text), write(tmp_path, "a.json", b'[{"worker": "' + half + b'"}]')):
            with pytest.raises(InputError):
                allalike.read(path, encoding=name)


def test_a_text_beyond_the_sample_asks_for_the_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.readers.formats.text.SAMPLE_BYTES", 1000)
    monkeypatch.setattr("allalike.readers.formats.encodings.SAMPLE_BYTES", 1000)
    path = write(tmp_path, "a.csv", b"worker,task,label\n" + b"ada,t1,x\n" * 200 + "bob,t1,é\n".encode("cp1252"))
    with pytest.raises(InputError, match="row 201 .*encoding='cp1252'"):
        allalike.read(path)
    assert ("bob", "t1", "é") in rows(path, encoding="cp1252")


@pytest.mark.parametrize("role", ["worker", "task", "label"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "txt", "jsonl", "json", "parquet"])
def test_text_that_is_no_utf8_is_refused_with_file_and_row(
    role: str, ending: str, engine: Engine, tmp_path: Path
) -> None:
    path = tmp_path / f"answers.{ending}"
    usual = {"worker": b"ada", "task": b"t1", "label": b"x"}
    records = [{**usual, role: text.encode()} for text in ("é0", "é1", "é2")] + [{**usual, role: b"caf\xe9"}]
    if ending == "parquet":
        raw = {name: pa.array([record[name] for record in records]) for name in usual}
        texts = [pa.StringArray.from_buffers(4, *column.buffers()[1:]) for column in raw.values()]
        pq.write_table(pa.table(texts, names=list(usual)), path)
    elif ending.startswith(("csv", "txt")):
        mark = b" ; " if ending == "txt" else b","
        text = b"\n".join(map(mark.join, [map(str.encode, usual), *(record.values() for record in records)]))
        path.write_bytes(gzip.compress(text) if ending == "csv.gz" else text)
    else:
        line = b'{"worker": "%(worker)b", "task": "%(task)b", "label": "%(label)b"}'
        path.write_bytes(b"\n".join(line % {name.encode(): text for name, text in each.items()} for each in records))
    told = {"jsonl": "line 4.*0xe9.*encoding", "json": "0xe9.*encoding"}.get(ending, f"'{role}' in row 4 .*caf.xe9")
    with pytest.raises(InputError, match=rf"answers\.{ending}.*{told}"):
        allalike.discover(path, domain="categorical", engine=engine)


@pytest.mark.parametrize(
    "content", [b'{"w\xe9rker": "ada", "task": 1, "label": "x"}', b"w\xe9rker,task,label\nada,1,x"]
)
def test_names_of_columns_that_are_no_utf8_are_decoded(content: bytes, tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv" if b"{" not in content else "a.jsonl", content)
    assert allalike.read(path, columns={"worker": "wérker"}, domain="categorical").n_answers == 1


def test_a_table_with_text_that_is_no_utf8_is_refused() -> None:
    labels = pa.StringArray.from_buffers(2, *pa.array([b"x", b"\xff"]).buffers()[1:])
    with pytest.raises(InputError, match="'label' in row 2"):
        allalike.read(pa.table({"worker": ["ada", "bob"], "task": [1, 1], "label": labels}))
