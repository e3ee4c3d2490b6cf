"""Commands and Python of README, tutorial and guides work after `pip install .`, each in a process of its own."""

import doctest
import re
import shutil
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

import pytest

from files.documented import choose_blocks, list_blocks, list_commands, prepare
from running.declared import find_environment, remove_environments, run_in, variables

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(page for room in ("guide", "labels", "science") for page in sorted((ROOT / "docs" / room).glob("*.md"))),
]
SHORT = ("README", "TUTORIAL")  # whose commands are tried in `make test`
BASH = shutil.which("bash")
NOT_RUN = {  # what a command begins with or names, and why it is not run here
    "pip install .": "the environment is made so",
    "make ": "for a checkout with its tools",
    "docker ": "needs Docker",
    "allalike datasets fetch": "downloads; tests/data_sets/test_fetch.py has a server",
    **dict.fromkeys(("s3://", "https://", "postgresql://"), "tests/elsewhere/test_first_commands.py has a server"),
    "hdfs://": "needs a cluster; tests/engines/test_spark_sources.py reads files",
}
BEFORE = {  # commands by which a reader of a page has what it begins with
    "AUTOMATION": ["allalike jury earlier.csv --positive pass -o yesterday"],
    "BUDGET": ["allalike discover answers.csv"],
    "JURY": ["allalike jury earlier.csv --positive pass -o yesterday"],
    "SERVE": ["allalike discover answers.csv"],
}
MISSING = re.compile(r"pip install 'allalike\[(\w+)\]'")
PROVIDES = {"duckdb": "sql", "polars": "polars", "pyspark": "spark", "sklearn": "sklearn"}
PLAIN = (
    "from allalike.integrations.inspect import panel",
)  # needs models; tests/tools/test_inspect_plugin.py has a task
RUN = """
import doctest, sys
flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
sys.exit(doctest.testfile(sys.argv[1], module_relative=False, optionflags=flags).failed > 0)
"""

pytestmark = [
    pytest.mark.timeout(300),
    pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="commands are for a POSIX shell"),
]


def run_line(line: str, folder: Path, page: str) -> None:
    """Run a command as a shell does; if it asks for an extra that the page names, with that."""
    allowed = (0, 3) if "--fail" in line else (0,)  # a gate may close
    done = run_in(find_environment(), str(BASH), "-c", line, folder=folder, code=(*allowed, 2))
    if done.returncode == 2:
        run_in(find_environment(named_extra(done.stderr, page)), str(BASH), "-c", line, folder=folder, code=allowed)


def named_extra(output: str, page: str) -> str:
    """Return the extra that is missing, if that is what is wrong, and the page names it."""
    modules = re.findall(r"No module named '(\w+)'", output)
    [extra] = set(MISSING.findall(output)) or {PROVIDES[module] for module in modules} or [""]
    assert extra, output
    assert re.search(rf"allalike\[{extra}\]|`{extra}`", page), f"The page does not name the extra {extra}.\n{output}"
    return extra


def serve(line: str, folder: Path) -> None:
    """Look at the page that the program serves, and end it."""
    programs = find_environment()
    words = [str(programs / "allalike"), *line.partition("#")[0].split()[1:], "--no-browser"]
    with subprocess.Popen(
        words, cwd=folder, env=variables(programs, folder), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        said = process.stdout.readline()
        try:
            [address] = re.findall(r"http://\S+", said) or [""]
            assert address, said + process.stdout.read()
            with urllib.request.urlopen(address) as answer:
                assert b"<!doctype html>" in answer.read(99).lower()
        finally:
            process.send_signal(signal.SIGTERM)


@pytest.fixture(scope="module", autouse=True)
def _environments() -> Iterator[None]:
    yield
    remove_environments()


class Reader:
    """Somebody who types the commands of a page in a folder, one after the other."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page, self.folder, self.typed = page.read_text(encoding="utf-8"), folder, 0
        prepare(folder, page.stem)
        write_files(self.page, folder)
        for line in BEFORE.get(page.stem, []):
            run_line(line, folder, self.page)

    def type(self, place: int) -> None:
        """Type all commands up to this one that were not typed yet."""
        for line in commands_of(self.page)[self.typed : place + 1]:
            self.typed += 1
            if line.startswith("allalike serve"):
                serve(line, self.folder)
            else:
                run_line(line, self.folder, self.page)


@pytest.fixture(scope="module")
def readers(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], Reader]:
    return cache(lambda page: Reader(page, tmp_path_factory.mktemp(page.stem)))


def commands_of(page: str) -> list[str]:
    return [line for line in list_commands(page) if not any(part in line for part in NOT_RUN)]


def every(lister: Callable[[str], list[str]], short: Sequence[str] = ()) -> pytest.MarkDecorator:
    """Have a test for each command or block of each page; those of pages that are not short take long."""
    cases = [
        pytest.param(page, place, id=f"{page.stem}-{place}", marks=() if page.stem in short else pytest.mark.long)
        for page in PAGES
        for place in range(len(lister(page.read_text(encoding="utf-8"))))
    ]
    return pytest.mark.parametrize(("page", "place"), cases)


@every(commands_of, SHORT)
def test_a_command_works_with_the_declared_dependencies(
    page: Path, place: int, readers: Callable[[Path], Reader]
) -> None:
    readers(page).type(place)


def test_the_tutorial_names_the_files_that_are_there(readers: Callable[[Path], Reader]) -> None:
    [page] = [page for page in PAGES if page.stem == "TUTORIAL"]
    reader = readers(page)
    reader.type(commands_of(reader.page).index("allalike discover birds.csv -o out"))
    named = re.findall(r"^\| `([a-z]+\.[a-z]+)` \|", reader.page, re.MULTILINE)
    assert {"truth.csv", "report.html"} <= set(named) <= {path.name for path in (reader.folder / "out").iterdir()}


def sources_of(page: str) -> list[str]:
    """Return the Python of a page without what it prints."""
    parser = doctest.DocTestParser()
    return ["".join(each.source for each in parser.get_examples(block)) for block in list_blocks(page)]


def run_block(page: str, places: list[int], folder: Path, *extras: str, code: tuple[int, ...] = (0,)) -> str:
    """Run some Python of a page as one session, and return what differs from the page."""
    (folder / ".session.md").write_text("\n".join(list_blocks(page)[place] for place in places), encoding="utf-8")
    words = ("python", "-c", RUN, str(folder / ".session.md"))
    return run_in(find_environment(*extras), *words, folder=folder, code=code).stdout


def write_files(page: str, folder: Path, before: int | None = None) -> None:
    """Write the files that Python of a page writes, before a block if one is named."""
    for place, block in enumerate(list_blocks(page)[:before]):
        if "write_text" in block:
            run_block(page, choose_blocks(sources_of(page), place), folder)


@every(list_blocks)
def test_python_works_with_the_declared_dependencies(page: Path, place: int, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    sources = sources_of(text)
    if not sources[place]:  # it has no prompts
        assert list_blocks(text)[place].partition("\n")[0] in PLAIN
        return
    write_files(text, tmp_path, place)
    needed = choose_blocks(sources, place)
    if output := run_block(text, needed, tmp_path, code=(0, 1)):
        run_block(text, needed, tmp_path, named_extra(output, text))


def test_a_block_runs_with_the_blocks_that_define_what_it_uses() -> None:
    sources = ["import random", "x = random.Random(0)", "y = 2", "z = x.random()", "print(random, y)", "print(x)"]
    assert choose_blocks(sources, 4) == [0, 2, 4]
    assert choose_blocks(sources, 5) == [0, 1, 3, 5]
