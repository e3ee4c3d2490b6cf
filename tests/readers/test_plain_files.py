"""Plain files, as people have them: other separators, encodings and packings, rows that are too short, no header."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.feather
import pytest

import allalike
from allalike.errors import InputError, OptionError
from allalike.readers import scan
from allalike.readers.formats import compression as packed
from allalike.readers.formats.dialects import find_dialect
from allalike.readers.formats.encodings import guess_encoding
from files.plain_rows import ROWS, TEXT, rows, write


@pytest.mark.parametrize("mark", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("name", ["a.csv", "a.tsv", "a.txt", "a"])
def test_whatever_stands_between_columns_is_recognised(mark: str, name: str, tmp_path: Path) -> None:
    assert rows(write(tmp_path, name, TEXT.replace(",", mark))) == sorted(ROWS)


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_lines_end_as_they_do_elsewhere(end: str, tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a.csv", TEXT.replace("\n", end))) == sorted(ROWS)


def test_marks_within_quotes_separate_nothing(tmp_path: Path) -> None:
    text = 'worker|task|"label, or what was said; by whom"\nada|t1|"a, b; c"\nbob|t1|"a, b; c"\n'
    read = rows(write(tmp_path, "a.csv", text), columns={"label": "label, or what was said; by whom"})
    assert read == [("ada", "t1", "a, b; c"), ("bob", "t1", "a, b; c")]


def test_excel_may_say_what_separates(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a.csv", "sep=;\r\n" + TEXT.replace(",", ";"))) == sorted(ROWS)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "latin-1"])
@pytest.mark.parametrize("name", ["a.csv", "a.json"])
def test_encodings_are_recognised(encoding: str, name: str, tmp_path: Path) -> None:
    records = "[" + ",".join(f'{{"worker":"{w}","task":"{t}","label":"{label}"}}' for w, t, label in ROWS) + "]"
    path = write(tmp_path, name, (TEXT if name == "a.csv" else records).encode(encoding))
    assert rows(path) == sorted(ROWS)
    guessed = scan(path).table().guessed
    expected = {"latin-1": "cp1252"}.get(encoding, encoding)
    assert guessed == ({} if encoding.startswith("utf-8") else {"encoding": expected})


LANGUAGES = {
    "cp1250": ["żółty", "źle", "łąka"],
    "cp1251": ["кошка", "собака", "птица"],
    "cp932": ["ねこです", "犬です", "とり"],
    "euc_jp": ["ねこです", "いぬ"],
    "gb18030": ["正面", "负面", "中性"],
    "mac_roman": ["félin", "élève", "thé"],
}


@pytest.mark.parametrize(("encoding", "words"), LANGUAGES.items())
def test_encodings_of_other_languages_are_recognised(encoding: str, words: list[str]) -> None:
    text = "worker,task,label\n" + "".join(f"w{n % 5},t{n // 5},{words[n % len(words)]}\n" for n in range(60))
    assert text.encode(encoding).decode(guess_encoding(text.encode(encoding))) == text


def test_an_encoding_that_is_said_is_used(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", TEXT.encode("cp1252"))
    assert ("ada", "t1", "cafй") in rows(path, encoding="cp1251")
    with pytest.raises(InputError, match="is not written in ascii: .*Say it with encoding="):
        allalike.read(path, encoding="ascii")
    for wrong in ("utf-99", "base64", ""):
        with pytest.raises(OptionError, match=f"encoding is '{wrong}'. Name one such as utf-8"):
            allalike.read(path, encoding=wrong)


def test_a_text_beyond_the_sample_asks_for_the_encoding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.readers.formats.delimited.SAMPLE_BYTES", 1000)
    monkeypatch.setattr("allalike.readers.formats.encodings.SAMPLE_BYTES", 1000)
    path = write(tmp_path, "a.csv", b"worker,task,label\n" + b"ada,t1,x\n" * 200 + "bob,t1,é\n".encode("cp1252"))
    with pytest.raises(InputError, match="row 201 is invalid UTF8.*encoding='cp1252'"):
        allalike.read(path)
    assert ("bob", "t1", "é") in rows(path, encoding="cp1252")


def zipped(content: bytes, *more: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("inner/answers.csv", content)
        for name in more:
            archive.writestr(name, "x")
    return buffer.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pa.compress(content, codec="zstd", asbytes=True))


PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": zstd,
    "zip": zipped,
}


@pytest.mark.parametrize("packing", PACKINGS)
def test_packed_files_are_read_whatever_they_are_called(packing: str, tmp_path: Path) -> None:
    content = PACKINGS[packing](TEXT.encode("cp1252"))
    for name in (f"a.csv.{packing}", "a.csv"):
        assert rows(write(tmp_path, name, content)) == sorted(ROWS)
    with pytest.raises(InputError, match=f"a.csv.{packing} cannot be unpacked .*Is it complete"):
        allalike.read(write(tmp_path, f"a.csv.{packing}", content[: len(content) - 9]))
    packed_json = PACKINGS[packing](b'{"worker": "ada", "task": 1, "label": "x"}\n' * 2)
    if packing != "zip":
        assert rows(write(tmp_path, f"b.jsonl.{packing}", packed_json)) == [("ada", 1, "x")]


def test_a_plain_file_that_is_called_packed_is_read(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a.csv.gz", TEXT)) == sorted(ROWS)


def test_an_archive_must_have_one_file(tmp_path: Path) -> None:
    assert rows(write(tmp_path, "a.zip", zipped(TEXT.encode(), "__MACOSX/._answers.csv", ".DS_Store"))) == sorted(ROWS)
    with pytest.raises(InputError, match=r"holds 2 files: 'inner/answers.csv', 'b.csv'"):
        allalike.read(write(tmp_path, "a.zip", zipped(TEXT.encode(), "b.csv")))


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_bomb_is_stopped_and_the_limits_are_said(
    packing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "FREE_BYTES", 10_000)
    monkeypatch.setattr(packed, "MAX_RATIO", 5)
    path = write(tmp_path, f"a.csv.{packing}", PACKINGS[packing](b"worker,task,label\n" + b"ada,t1,x\n" * 100_000))
    with pytest.raises(InputError, match="unpacks to more than .* Limits are 5 times its size"):
        allalike.read(path)


def test_rows_that_all_end_early_are_read_and_it_is_said(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "worker,task,label,approve,reject\nada,t1,x\nbob,t1,x\n")
    table = scan(path).table()
    assert rows(path) == [("ada", "t1", "x"), ("bob", "t1", "x")]
    assert table.load(["reject"])["reject"].to_pylist() == ["", ""]
    assert table.remarks[0].endswith("end before the column 'approve': it and those behind it are empty.")


def test_rows_that_end_early_now_and_then_are_filled_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("allalike.readers.formats.delimited.MAX_FIELD_BYTES", 500)  # of a batch
    lines = [f"w{n % 9},t{n // 9},x,note\n" for n in range(300)]
    lines[200] = "w2,t22,x\n"
    path = write(tmp_path, "a.csv", 'worker,task,label,"a\nnote"\n' + "".join(lines))
    assert len(rows(path)) == 300
    table = scan(path).table()
    for load in (lambda: table.load(["label"]), lambda: list(table.load_batches(["label"]))):  # type: ignore[misc]
        load()
        assert list(table.remarks) == [
            f"1 of 300 rows of {path} has fewer fields than the header, the first is row 201 (line 203): the last ones"
            " are read as empty."
        ]
    both = scan([path, path]).table()
    assert len(both.remarks) == 0
    both.load(["label"])
    assert len(both.remarks) == 2


def test_a_row_with_too_many_fields_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", "worker,task,label\nada,t1,x\nbob,t1,x, or y\n")
    with pytest.raises(InputError, match=r"a.csv: row 2 \(line 3\) has 4 fields, but there are 3 .*quote is missing"):
        allalike.read(path)
    assert rows(write(tmp_path, "b.csv", "worker,task,label\nada,t1,x,\nbob,t1,x,\n")) == [
        ("ada", "t1", "x"),
        ("bob", "t1", "x"),
    ]


@pytest.mark.parametrize("end", ["", "eve,t2,z\n", 'eve,t2,"z"\n'])
def test_a_quote_that_stays_open_is_an_error(end: str, tmp_path: Path) -> None:
    lines = 'worker,task,label\nada,t1,x\nbob,t1,"y\nada,t2,x\nbob,t2,x\n' + end
    with pytest.raises(InputError, match="the 'label' in row 2 begins with a quote .* holds the row 'ada,t2,x', too"):
        allalike.read(write(tmp_path, "a.csv", lines))
    other = "worker,note,task,label\nada,n,t1,x\n" + 'bob,"n,t1,y\nada,n,t2,x\nbob,n",t2,x\n'
    with pytest.raises(InputError, match="the 'note' in row 2 begins with a quote"):
        allalike.read(write(tmp_path, "b.csv", other))


def test_texts_of_several_lines_with_commas_are_fine(tmp_path: Path) -> None:
    text = 'worker,task,label\nada,t1,"Well, this, is\na text, with, commas\nyes, no, perhaps"\nbob,t1,"a, b, c\n"\n'
    assert len(rows(write(tmp_path, "a.csv", text), domain="text")) == 2


@pytest.mark.parametrize(
    "text",
    [
        "ada,t1,x\nbob,t1,y\nada,t2,x\nbob,t2,x\n",
        "1,1,0\n2,1,1\n1,2,0\n2,2,1\n",
        "w1,t1,3.5\nw2,t1,2.5\nw1,t2,1.25\n",
        "t1,0,1,1\nt2,1,1,0\nt3,0,0,1\n",
        "1\t3\n2\t3\n1\t3\n3\t1\n",
    ],
)
def test_a_missing_header_is_recognised_and_said(text: str, tmp_path: Path) -> None:
    table = scan(write(tmp_path, "a.csv", text)).table()
    assert table.names[:2] == ["column1", "column2"]
    assert "has no header" in table.remarks[0]
    assert len(table.load(["column1"])["column1"]) == len(text.splitlines())


@pytest.mark.parametrize(
    "cut", ["worker,task,lab", "worker,t1,t100,t10,t1", "task\tt100\tt10\tt10", 'worker,"t1","t', "ada"]
)
def test_a_file_that_was_cut_in_its_header_is_said_to_be(cut: str, tmp_path: Path) -> None:
    for wide in (None, "workers"):
        with pytest.raises(InputError, match="a.csv is one line that does not end: .* no rows below it.* cut off"):
            allalike.read(write(tmp_path, "a.csv", cut), wide=wide)


@pytest.mark.parametrize("packing", ["", ".gz"])
def test_a_header_may_be_long(packing: str, tmp_path: Path) -> None:
    names = [f"{'what do you think of ' * 20}{number}" for number in range(300)]
    text = f"worker,{','.join(names)}\n" + "".join(f"{worker}{',1' * 150}{',0' * 150}\n" for worker in ("ada", "bob"))
    assert text.index("\n") > 1 << 16
    data = gzip.compress(text.encode()) if packing else text.encode()
    read = allalike.read(write(tmp_path, f"a.csv{packing}", data), wide="workers", domain="categorical")
    assert (read.n_answers, set(read.tasks.tolist())) == (600, set(names))


def test_a_header_without_an_end_is_not_read_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("SAMPLE_BYTES", "MAX_FIELD_BYTES"):
        monkeypatch.setattr(f"allalike.readers.formats.delimited.{limit}", 1 << 17)
    with pytest.raises(InputError, match="a row is longer than 16 MB, or a quote is never closed"):
        allalike.read(write(tmp_path, "a.csv", "worker," + "task," * (1 << 16) + "label\nada,1,x\n"))


def test_text_of_another_format_is_refused(tmp_path: Path) -> None:
    for name, text in (("a.yaml", "a: [1, 2]\nb: [3, 4]\n"), ("a.txt", "<html><body>1,2\n</body></html>")):
        with pytest.raises(InputError, match="is of no format that is known"):
            allalike.read(write(tmp_path, name, text))


@pytest.mark.parametrize(
    "text",
    [
        "worker,task,label\nada,t1,x\nada,t2,x\n",
        "worker,task,label\nada,t1,x\nworker,task,label\nbob,t1,x\n",  # two files, one behind the other
        "task,1,2,3,4\nt1,0,1,3,3\nt2,1,2,2,4\n",
        ",w1,w2\nt1,0,1\nt2,1,1\n",
        "who,what,said\n1,1,1\n2,1,1\n",
        "label\nx\nx\n",
        "Start,Progress,Finished,Q1\nStart Date,Progress,Finished,Which?\nMay 1,half,no,a\nMay 2,half,yes,a\n",
    ],
)
def test_a_header_is_the_normal_case(text: str) -> None:
    dialect = find_dialect(text, "a.csv")
    assert dialect is not None
    assert dialect.skip == 1
    assert dialect.names == [name or "column1" for name in text.splitlines()[0].split(",")]


@pytest.mark.parametrize("mark", [";", "\t"])
def test_decimal_commas_are_recognised(mark: str, tmp_path: Path) -> None:
    text = f"worker{mark}task{mark}label\nada{mark}1,5{mark}3,5\nbob{mark}1,5{mark}4\neve{mark}1,5{mark}-1.234,25\n"
    path = write(tmp_path, "a.csv", text)
    assert scan(path).table().guessed == {"decimal": ","}
    assert rows(path, domain="real") == [("ada", "1,5", 3.5), ("bob", "1,5", 4.0), ("eve", "1,5", -1234.25)]
    sets = write(tmp_path, "b.csv", text.replace("3,5", "3,5,7"))
    assert scan(sets).table().guessed == {}


def test_decimal_commas_can_be_said(tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", 'worker,task,label\nada,t1,"3,5"\nbob,t1,"4,5"\n')
    assert rows(path, domain="real", decimal=",") == [("ada", "t1", 3.5), ("bob", "t1", 4.5)]
