"""What a release must hold; `make release` runs it, for it asks the package registry for every dependency."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from uv import find_uv_bin

import allalike

ROOT = Path(__file__).parents[2]
EXTRAS = ["datasets"]

pytestmark = [pytest.mark.release, pytest.mark.timeout(600)]


def run(*words: str | Path, folder: Path) -> str:
    done = subprocess.run([str(word) for word in words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def uv(*words: str | Path, folder: Path) -> str:
    return run(find_uv_bin(), "--quiet", *words, folder=folder)


def build(folder: Path) -> dict[str, Path]:
    run("git", "clone", "--quiet", ROOT, folder, folder=ROOT)
    for file in (folder / "src").rglob("*.py"):  # another umask, another clock
        file.chmod(0o600)
    run(sys.executable, "-m", "build", "--no-isolation", ".", folder=folder)
    return {file.suffix: file for file in (folder / "dist").iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return build(tmp_path_factory.mktemp("built") / "checkout")


def pythons() -> list[Path]:
    """Return the oldest and the newest Python at hand that the package allows: among pyenv's, or on the path."""
    named = {f"3.{minor}": shutil.which(f"python3.{minor}") for minor in range(11, 30)}
    found = {version: Path(file) for version, file in named.items() if file and "shims" not in Path(file).parts}
    for file in Path.home().glob(".pyenv/versions/3.*/bin/python"):
        found.setdefault(".".join(file.parent.parent.name.split(".")[:2]), file)
    allowed = [found[version] for version in named if version in found]
    return [allowed[0], allowed[-1]]


def test_two_checkouts_give_the_same_bytes(built: dict[str, Path], tmp_path: Path) -> None:
    again = build(tmp_path / "elsewhere")
    assert set(again) == set(built) == {".whl", ".gz"}
    for suffix, file in built.items():
        digests = {hashlib.sha256(one.read_bytes()).hexdigest() for one in (file, again[suffix])}
        assert len(digests) == 1, f"{file.name} is not reproducible"


def test_the_wheel_is_for_every_platform(built: dict[str, Path]) -> None:
    assert built[".whl"].stem.endswith("-py3-none-any")


def test_registries_accept_wheel_and_source(built: dict[str, Path]) -> None:
    run(sys.executable, "-m", "twine", "check", "--strict", *built.values(), folder=ROOT)


@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
@pytest.mark.parametrize("age", ["oldest", "newest"])
def test_the_wheel_runs_alone(built: dict[str, Path], age: str, resolution: str, tmp_path: Path) -> None:
    python = pythons()[-1 if age == "newest" else 0]
    pins, environment = tmp_path / "pins.txt", tmp_path / "environment"
    extras = [word for extra in EXTRAS for word in ("--extra", extra)]
    wheels_only = ("--only-binary", ":all:")
    wanted = ("--resolution", resolution, *wheels_only, *extras)
    uv("pip", "compile", ROOT / "pyproject.toml", "--python", python, "--output-file", pins, *wanted, folder=tmp_path)
    uv("venv", "--python", python, environment, folder=tmp_path)
    uv("pip", "install", "--python", environment, *wheels_only, "-r", pins, built[".whl"], folder=tmp_path)
    [program] = [
        shutil.which("allalike", path=str(environment / name))
        for name in ("bin", "Scripts")
        if (environment / name).is_dir()
    ]
    assert program is not None
    assert run(program, "--version", folder=tmp_path).splitlines() == [allalike.__version__]
    run(program, "demo", folder=tmp_path)
    written = {file.name for file in (tmp_path / "allalike-demo").iterdir()}
    assert {"truth.csv", "workers.csv", "summary.json", "report.html"} <= written
    [interpreter] = (
        environment / name for name in ("bin/python", "Scripts/python.exe") if (environment / name).exists()
    )
    typed = "import allalike, pathlib; print((pathlib.Path(allalike.__file__).parent / 'py.typed').exists())"
    assert run(interpreter, "-c", typed, folder=tmp_path).strip() == "True"


def test_inspect_finds_the_plug_in_of_the_wheel(built: dict[str, Path], tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    uv("venv", "--python", sys.executable, environment, folder=tmp_path)
    tools = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "pandas")
    uv("pip", "install", "--python", environment, f"{built['.whl']}[inspect]", *tools, folder=tmp_path)
    [interpreter] = (
        environment / name for name in ("bin/python", "Scripts/python.exe") if (environment / name).exists()
    )
    tests = ROOT / "tests" / "tools" / "test_inspect_plugin.py"
    told = run(interpreter, "-m", "pytest", "-p", "no:cacheprovider", "-rs", tests, folder=ROOT)
    assert " passed" in told
    assert "skipped" not in told
