"""Files behind addresses are read like those of this machine, within limits, and no secret of an address is told."""

import gzip
import io
import json
import sys
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import allalike
from allalike._core.system.addresses import Address
from allalike.engines import Engine
from allalike.errors import InputError, OutputError, UnsupportedError
from running.elsewhere import CSV, ROWS
from running.program import call
from running.servers import Web

SECRET = "s3cr3t/w@rd"


def put(address: str, content: bytes) -> None:
    with fsspec.open(address, "wb") as file:
        file.write(content)


def as_parquet() -> bytes:
    held = io.BytesIO()
    columns = dict(zip(("worker", "task", "label"), map(list, zip(*ROWS, strict=True)), strict=True))
    pq.write_table(pa.table(columns), held)
    return held.getvalue()


def test_a_file_of_the_web_is_read_and_its_token_is_nowhere(
    web: Web, tmp_path: Path, truths: list[str], engine: Engine
) -> None:
    web.files["/a b.csv.gz"] = gzip.compress(CSV.encode())
    address = f"{web.address}/a%20b.csv.gz?X-Amz-Signature={SECRET}"
    result = allalike.discover(address, engine=engine)
    assert result.truth["label"].tolist() == truths
    result.save(tmp_path / "out")
    summary = (tmp_path / "out" / "summary.json").read_text(encoding="utf-8")
    assert json.loads(summary)["inputs"] == [f"{web.address}/a%20b.csv.gz?***"]
    assert SECRET not in summary
    assert SECRET not in repr(allalike.scan(address))
    assert any(SECRET in path for path in web.asked)  # but it was used


def test_a_pattern_and_a_folder_are_read_as_here(truths: list[str], engine: Engine) -> None:
    lines = CSV.splitlines(keepends=True)
    for number, part in enumerate((lines[1:20], lines[20:])):
        put(f"memory://crowd/parts/{number}.csv", "".join([lines[0], *part]).encode())
    put("memory://crowd/tree/x=1/a.parquet", as_parquet())
    for address in ("memory://crowd/parts/*.csv", "memory://crowd/parts", "memory://crowd/tree"):
        assert allalike.discover(address, engine=engine).truth["label"].tolist() == truths


def test_a_copy_is_gone_when_nobody_needs_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    put("memory://crowd/answers.csv", CSV.encode())
    source = allalike.scan("memory://crowd/answers.csv")
    assert source.read().n_answers == len(ROWS)
    assert list(tmp_path.iterdir())
    del source
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ("memory://crowd/nothing.csv", "There is no memory://crowd/nothing.csv."),
        ("memory://crowd/*.nothing", "memory://crowd/*.nothing matches 0 files"),
        ("gopher://host/a.csv", "gopher://host/a.csv cannot be reached: Protocol not known: gopher"),
        ("https://ada:word@127.0.0.1:9/a.csv?sig=abc", "https://***@127.0.0.1:9/a.csv?*** cannot be reached"),
    ],
)
def test_what_cannot_be_reached_is_said_in_one_line_without_secrets(address: str, says: str, tmp_path: Path) -> None:
    done = call("discover", address, "-o", "out", folder=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert "word" not in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_redirect_leads_to_no_file_of_this_machine(web: Web, crowd: Path) -> None:
    web.leads["/a.csv"] = crowd.as_uri()
    with pytest.raises(InputError, match="cannot be reached"):
        allalike.read(f"{web.address}/a.csv")
    with pytest.raises(InputError, match="404"):
        allalike.read(f"{web.address}/missing.csv")


def test_a_page_is_no_file_of_answers(web: Web) -> None:
    web.files["/login.csv"] = b"\n<!DOCTYPE html>\n<html>\n<body>Sign in, please</body></html>"
    with pytest.raises(InputError, match="is a web page"):
        allalike.read(f"{web.address}/login.csv")


def test_a_server_that_sends_more_than_it_said_is_cut_off(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("allalike.readers.formats.remote_files.MAX_FETCHED_BYTES", 1 << 20)
    web.endless.add("/endless.csv")
    with pytest.raises(InputError, match="at most 1,048,576"):
        allalike.read(f"{web.address}/endless.csv")


def test_names_elsewhere_are_no_paths_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = fsspec.filesystem("memory")
    monkeypatch.setattr(memory, "find", lambda folder: [f"{folder}/../../out.csv"])
    memory.makedirs("/crowd/odd", exist_ok=True)
    with pytest.raises(InputError, match="name is not valid on this system"):
        allalike.read("memory://crowd/odd")


@pytest.mark.parametrize(
    ("address", "extra"), [("s3://b/a.csv", "cloud"), ("az://b/a", "cloud"), ("hf://x/a", "huggingface")]
)
def test_a_missing_package_is_named_by_its_extra(address: str, extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("s3fs", "adlfs", "huggingface_hub", "obstore.fsspec"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys.modules["fsspec.registry"], "_registry", {})
    monkeypatch.setattr(sys.modules["fsspec.registry"], "registry", {})
    with pytest.raises(UnsupportedError, match=rf"pip install 'allalike\[{extra}\]'"):
        allalike.read(address)


@settings(max_examples=30)
@given(st.text(st.characters(codec="ascii", categories=("L", "N", "P")), min_size=6, max_size=20))
def test_no_password_is_shown_whatever_is_in_it(password: str) -> None:
    secret = f"Q{password}Q"
    for scheme in ("postgresql", "https", "s3"):
        address = Address(f"{scheme}://ada:{secret}@host/crowd")
        for shown in (str(address), repr(address), f"{address}", address.scrub(f"no {address[:]} with {secret}")):
            assert secret not in shown
        assert "host/crowd" in str(address)


def test_s3_is_read_and_what_it_needs_to_know_is_not_saved(store: str, tmp_path: Path, truths: list[str]) -> None:
    from allalike.readers.formats.remote_files import find_system

    system, _ = find_system(Address("s3://bucket/answers.parquet"))
    with system.open("bucket/answers.parquet", "wb") as file:
        file.write(as_parquet())
    for address in ("s3://bucket/*.parquet", "s3://bucket/answers.parquet"):
        result = allalike.discover(address)
        assert result.truth["label"].tolist() == truths
        result.save(tmp_path)
        assert "opensesame" not in (tmp_path / "summary.json").read_text(encoding="utf-8")
    with pytest.raises(InputError, match="nothing.csv"):
        allalike.read("s3://bucket/nothing.csv")
    with pytest.raises(InputError, match="cannot be reached"):
        allalike.read("s3://nobody/answers.csv")


def test_no_result_goes_to_an_address_of_files_and_no_manifest_leads_there(tmp_path: Path) -> None:
    for address in ("https://host/out", "s3://bucket/out"):
        with pytest.raises(OutputError, match=f"cannot be written to {address}, .*folder"):
            allalike.discover(ROWS).save(address)
    (tmp_path / "masks").mkdir()
    (tmp_path / "masks" / "manifest.csv").write_text("worker,task,path\nada,1,https://host/a.png\n")
    with pytest.raises(InputError, match="a.png"):
        allalike.read(tmp_path / "masks")
