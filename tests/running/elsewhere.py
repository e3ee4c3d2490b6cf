"""Servers that are started once, and a small crowd."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import allalike
from running.servers import Web, run_postgres, run_store, run_web

SAID = {"ada": "xyxyxyxyzz", "bob": "xyxyxyxyzz", "eve": "xyxyxyxyzx", "kim": "zzxyxyxyzz"}
ROWS = [(worker, f"t{task}", label) for worker, labels in SAID.items() for task, label in enumerate(labels)]
CSV = "worker,task,label\n" + "".join(f"{','.join(row)}\n" for row in ROWS)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with run_postgres() as address:
        yield address


@pytest.fixture(scope="session")
def _store() -> Iterator[str]:
    with run_store() as address:
        yield address


@pytest.fixture
def store(_store: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let everybody look for S3 here, with credentials that only the environment knows."""
    for name, value in {
        "AWS_ENDPOINT_URL": _store,
        "AWS_ALLOW_HTTP": "true",
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "opensesame",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    return _store


@pytest.fixture(scope="session")
def web() -> Iterator[Web]:
    with run_web() as found:
        yield found


@pytest.fixture
def crowd(tmp_path: Path) -> Path:
    path = tmp_path / "answers.csv"
    path.write_text(CSV, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def truths() -> list[str]:
    """Return what is found of the crowd when it is in memory."""
    found: list[str] = allalike.discover(ROWS).truth["label"].tolist()
    return found
