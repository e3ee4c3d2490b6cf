"""Methods and domains of other packages are found by name, and only when somebody asks for them."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import allalike
from allalike import METHODS
from allalike.errors import PluginError

ROWS = [("ada", 1, "x"), ("bob", 1, "x"), ("eve", 1, "y"), ("ada", 2, "y"), ("bob", 2, "y"), ("eve", 2, "z")]
MODULE = """
from dataclasses import dataclass
from typing import ClassVar
from allalike import UA, Categorical
from allalike._core.options import whole

@dataclass(frozen=True, kw_only=True)
class Tiny(UA):
    name: ClassVar[str] = "TINY-TD"
    summary: ClassVar[str] = "a method of another package"
    size: int = whole(3, least=1)

@dataclass(frozen=True, kw_only=True)
class Colours(Categorical):
    name: ClassVar[str] = "colours"
    summary: ClassVar[str] = "colours of another package"
"""
Install = Callable[..., Path]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Install packages of one module into a folder on the path, and forget them afterwards."""
    installed = []

    def install(package: str, entry_points: str, module: str = MODULE) -> Path:
        installed.append(package)
        (tmp_path / f"{package}.py").write_text(module, encoding="utf-8")
        about = tmp_path / f"{package}-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(entry_points, encoding="utf-8")
        importlib.invalidate_caches()
        return tmp_path

    monkeypatch.syspath_prepend(tmp_path)
    yield install
    for package in installed:
        sys.modules.pop(package, None)


BOTH = "[allalike.methods]\nTINY-TD = tiny:Tiny\n[allalike.domains]\ncolours = tiny:Colours\n"


def test_a_method_of_another_package_is_found_by_its_name_in_any_case_with_its_options(install: Install) -> None:
    install("tiny", BOTH)
    result = allalike.discover(ROWS, method="tiny-td(size=5)")
    assert result.summary["method"] == {"name": "TINY-TD", "options": {"size": 5}}
    assert result.truth["label"].tolist() == allalike.discover(ROWS, method="UA").truth["label"].tolist()
    assert list(allalike.compare(ROWS, methods="TINY-TD").outcomes) == ["UA", "TINY-TD"]
    assert allalike.discover(ROWS, domain="colours").summary["domain"]["name"] == "colours"


def test_another_package_is_imported_only_when_it_is_asked_for(install: Install) -> None:
    install("tiny", BOTH)
    allalike.discover(ROWS, method="ip-td", domain="categorical")
    assert "tiny" not in sys.modules
    assert "TINY-TD" not in METHODS
    METHODS.everything()
    assert "tiny" in sys.modules


def test_our_names_stay_ours(install: Install) -> None:
    install("tiny", "[allalike.methods]\nUA = tiny:Tiny\n")
    assert allalike.discover(ROWS, method="UA").summary["method"]["options"] == {}
    assert METHODS.everything()["UA"] is allalike.UA


def test_the_program_lists_and_runs_what_other_packages_offer(install: Install) -> None:
    folder = install("tiny", BOTH)
    install("broken", "[allalike.methods]\nBROKEN-TD = broken:Tiny\n", "import nowhere")

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        program = Path(sys.executable).with_name("allalike")
        env = {**os.environ, "PYTHONPATH": str(folder)}
        return subprocess.run([program, *arguments], cwd=folder, env=env, capture_output=True, text=True, check=False)

    listed = call("list", "methods")
    assert "TINY-TD  a method of another package" in listed.stdout
    assert "BROKEN-TD" not in listed.stdout
    assert "'BROKEN-TD' of the package broken" in listed.stderr
    assert "colours" in call("list", "domains").stdout
    refused = call("discover", "answers.csv", "--method", "broken-td")
    assert (refused.returncode, "'BROKEN-TD' of the package broken" in refused.stderr) == (2, True)
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("import nowhere", "ModuleNotFoundError"),
        ("def", "SyntaxError"),
        ("", "AttributeError"),
        ("Tiny = 3", "subclass of allalike.Method"),
        (MODULE, "'TINY-TD'"),
    ],
)
def test_what_is_wrong_with_another_package_is_said(install: Install, module: str, words: str) -> None:
    install("bad", "[allalike.methods]\nBAD-TD = bad:Tiny\n", module)
    with pytest.raises(PluginError, match=rf"'BAD-TD' of the package bad .*{words}"):
        allalike.discover(ROWS, method="BAD-TD")
    with pytest.warns(UserWarning, match="The method 'BAD-TD' of the package bad"):
        assert list(METHODS.everything()) == list(METHODS)
