"""Encodings of Python: a file in any of them is read as it was written, and what is no encoding of files is refused."""

from __future__ import annotations

import codecs
import encodings
import encodings.aliases
import pkgutil
from pathlib import Path

import pytest

import allalike
from allalike.errors import InputError, OptionError
from allalike.readers.formats.encodings import find_name
from allalike.serve.work import perform
from files.plain_rows import rows, triples, write
from running.program import call

MODULES = {module.name for module in pkgutil.iter_modules(encodings.__path__)}
NAMES = sorted({*encodings.aliases.aliases, *encodings.aliases.aliases.values(), *MODULES})
NONE = ("idna", "undefined", "punycode", "rot13", "hex", "bz2", "uu", "quopri", "aliases", "a\0b", "\ud800", "utf-99")
ROWS = [("ada", "t1", "x"), ("bob", "t1", "x"), ("eve", "t1", "y")]
TEXT = "worker,task,label\n" + "".join(",".join(row) + "\n" for row in ROWS)
RECORDS = "[" + ", ".join(f'{{"worker": "{w}", "task": "{t}", "label": "{label}"}}' for w, t, label in ROWS) + "]"


def is_of_files(name: str) -> bool:
    try:
        find_name(name)
    except (LookupError, ValueError):
        return False
    return True


def test_every_codec_of_python_reads_what_it_wrote_or_is_refused(tmp_path: Path) -> None:
    known = {codecs.lookup(name).name for name in NAMES if is_of_files(name)}
    assert {"utf-8", "utf-16", "utf-7", "cp1252", "iso2022_jp", "hz", "cp037", "unicode-escape"} <= known
    for name in known:
        assert triples(allalike.read(write(tmp_path, "a.csv", TEXT.encode(name)), encoding=name)) == ROWS, name


def test_every_codec_of_python_reads_another_ones_bytes_or_says_that_it_does_not(tmp_path: Path) -> None:
    for name in sorted({codecs.lookup(name).name for name in NAMES if is_of_files(name)}):
        path = write(tmp_path, "a.csv" if len(name) % 2 else "a.json", TEXT.replace("x", "é"))
        try:
            allalike.read(path, encoding=name)
        except InputError as error:
            assert str(error).startswith(str(path))


@pytest.mark.parametrize("name", NONE)
def test_what_is_no_encoding_of_files_is_refused(name: str, tmp_path: Path) -> None:
    path = write(tmp_path, "a.csv", TEXT)
    with pytest.raises(OptionError) as raised:
        allalike.read(path, encoding=name)
    told = f"encoding is {name!r}. Name one such as utf-8, latin-1, cp1252, utf-16 or shift_jis."
    assert str(raised.value) == told
    done = call("discover", "a.csv", "--encoding", name, folder=tmp_path)
    assert (done.returncode, done.stdout, "Name one such as utf-8" in done.stderr) == (2, "", True)
    looked = perform({"do": "preview", "files": [str(path)], "gold": None, "choices": {"encoding": name}})
    assert looked["question"]["what"] == told


@pytest.mark.parametrize("name", ["a.csv", "a.json", "a.jsonl"])
def test_utf_16_without_its_mark_is_told_by_which_name_to_read_it(name: str, tmp_path: Path) -> None:
    texts = {"a.csv": TEXT, "a.json": RECORDS, "a.jsonl": RECORDS.strip("[]").replace("}, ", "}\n")}
    path = write(tmp_path, name, texts[name].encode("utf-16-le"))
    with pytest.raises(InputError, match="is not written in utf-16: .*Say it with encoding='utf-16-le'"):
        allalike.read(path, encoding="utf-16")
    assert rows(path, encoding="utf-16-le") == ROWS


def test_an_encoding_that_would_make_one_line_of_a_file_is_refused(tmp_path: Path) -> None:
    for name in ("cp037", "utf-16-le"):
        with pytest.raises(InputError, match=f"is not written in {name}: .*Say it with encoding='utf-8'"):
            allalike.read(write(tmp_path, "a.csv", TEXT + "\n" * (len(TEXT) % 2)), encoding=name)


def test_halves_of_characters_are_refused_though_an_encoding_has_them(tmp_path: Path) -> None:
    for name, half in (("utf-7", b"+2AA-"), ("unicode-escape", b"\\ud800")):
        text = TEXT.encode(name).replace(b"ada", half) if name == "utf-7" else b"worker,task,label\n" + half + b",1,x\n"
        for path in (write(tmp_path, "a.csv", text), write(tmp_path, "a.json", b'[{"worker": "' + half + b'"}]')):
            with pytest.raises(InputError, match="surrogates not allowed|no valid text|Cannot tell which column"):
                allalike.read(path, encoding=name)
