"""What an import costs, and what the package shows."""

import ast
import os
import random
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

import allalike


def test_importing_loads_numpy_and_nothing_else_that_is_large() -> None:
    code = (
        "import sys, allalike; print([m for m in ('pyarrow', 'pandas', 'scipy', 'click', 'rich') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


LOADED = """
import sys
from allalike.cli import main
try:
    main(sys.argv[1:])
except SystemExit as stop:
    print(stop.code, *sys.modules)
"""


@pytest.mark.parametrize(("report", "most"), [(["--no-report"], 130), ([], 150)], ids=["tables", "report"])
def test_the_default_on_a_small_table_loads_what_it_needs(tmp_path: Path, report: list[str], most: int) -> None:
    labels = random.Random(1).choices("xyzx", k=1000)
    rows = [f"w{(row * 7) % 30},{row // 10},{label}" for row, label in enumerate(labels)]
    (tmp_path / "a.csv").write_text("\n".join(["worker,task,label", *rows]), encoding="utf-8")
    call = [sys.executable, "-c", LOADED, "discover", "a.csv", "-q", "-o", "out", *report]
    done = subprocess.run(call, capture_output=True, text=True, check=True, cwd=tmp_path)
    code, *loaded = done.stdout.split()
    own = [name.removeprefix("allalike.") for name in loaded if name.startswith("allalike.")]
    assert code == "0"
    assert {"pandas", "rich", "matplotlib", "pyarrow.compute", "pyarrow.fs", "scipy"}.isdisjoint(loaded)
    assert "numpy.ma" not in loaded or not report
    assert "psutil" not in loaded or sys.platform != "linux"
    assert {f"domains.{name}" for name in ("real", "text", "bitmap", "custom", "date", "sets")}.isdisjoint(own)
    assert {f"methods.{name}" for name in ("losses", "glad", "pairwise")}.isdisjoint(own)
    assert {name for name in own if name.startswith("readers.tools.")} == {"readers.tools.base"}
    assert ("reliability.agreement" in own) == (not report)
    assert len(own) <= most


def test_what_a_module_uses_of_arrow_and_scipy_it_imports() -> None:
    """A submodule that another module imported is there in tests, which run in one process, and not in a program."""
    modules = {"pa": "pyarrow", "pyarrow": "pyarrow", "scipy": "scipy", "sparse": "scipy.sparse"}
    code = "import sys, importlib as i; print(*(f'{m}.{n}' for m in sys.argv[1:] for n in dir(i.import_module(m))))"
    done = subprocess.run([sys.executable, "-c", code, *modules.values()], capture_output=True, text=True, check=True)
    there = set(done.stdout.split())
    missing = set()
    for path in Path(allalike.__file__).parent.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        own = {each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names}
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in modules:
                name = f"{modules[node.value.id]}.{node.attr}"
                if name not in there and not any(each.startswith(name) for each in own):
                    missing.add((path.name, name))
    assert missing == set()


@pytest.mark.parametrize("registry", [allalike.METHODS, allalike.DOMAINS, allalike.ENGINES])
def test_every_method_domain_and_engine_is_public(registry: Mapping[str, type]) -> None:
    for kind in registry.values():
        line = f"from {kind.__module__} import {kind.__name__} as {kind.__name__}"
        assert getattr(allalike, kind.__name__, None) is kind, f"__init__.pyi has no line like: {line}"


def test_the_package_is_found_in_a_zip_as_spark_sends_it(tmp_path: Path) -> None:
    root = Path(allalike.__file__).parent
    with zipfile.ZipFile(tmp_path / "allalike.zip", "w") as archive:
        for path in [*root.rglob("*.py"), *root.rglob("*.pyi")]:
            archive.write(path, path.relative_to(root.parent))
    code = "import allalike; print(allalike.__file__, allalike.Real().name)"
    found = {**os.environ, "PYTHONPATH": str(tmp_path / "allalike.zip")}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=found)
    assert done.stdout.split() == [str(tmp_path / "allalike.zip" / "allalike" / "__init__.py"), "real"]
