"""The README and docs/: linked to what exists, complete, and with what the library and its tests say today."""

import ast
import csv
import re
import runpy
import tomllib
from pathlib import Path

import pytest

import allalike
from allalike.readers.formats.files import ENDINGS

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")] + sorted(
    (ROOT / "docs").rglob("*.md")
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```", flags=re.DOTALL | re.MULTILINE)


def text_of(page: Path) -> str:
    """Return a page without its blocks of code."""
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors_of(page: Path) -> set[str]:
    """Return what a link can point to in a page: its headings, as web pages name them."""
    headings = re.findall(r"^#+ +(.+?) *$", text_of(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def table_rows(page: str) -> dict[str, list[str]]:
    """Return the cells of the rows of a page's tables that begin with names in code, by name."""
    rows = {}
    for line in text_of(ROOT / "docs" / page).splitlines():
        if line.startswith("| `"):
            first, *others = (cell.strip() for cell in line.strip("| ").split(" | "))
            rows.update(dict.fromkeys(re.findall(r"`([^`]+)`", first), others))
    return rows


def test_the_readme_has_at_most_700_words() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) <= 700


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_points_to_something_that_exists(page: Path) -> None:
    links = [link for link in LINK.findall(text_of(page)) if not link.startswith("https://")]
    for link in links:
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors_of(target), f"{page.name} links to {link}"


def test_the_index_names_every_page() -> None:
    index = LINK.findall(text_of(ROOT / "docs" / "README.md"))
    pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md")}
    assert pages - {"README.md"} <= set(index)


def test_the_picture_shows_what_the_example_of_the_readme_gives() -> None:
    program = runpy.run_path(str(ROOT / "docs" / "pictures" / "votes_and_weights.py"))
    assert program["PICTURE"].read_text(encoding="utf-8") == program["draw"]()


def test_the_picture_of_the_data_flow_shows_existing_packages() -> None:
    program = runpy.run_path(str(ROOT / "docs" / "pictures" / "way_of_data.py"))
    assert program["PICTURE"].read_text(encoding="utf-8") == program["draw"]()
    rooms = {room for names, _, _ in program["STEPS"] for room in names.split(", ")}
    assert rooms <= {path.name for path in (ROOT / "src" / "allalike").iterdir() if path.is_dir()}


def test_the_page_of_methods_names_every_method() -> None:
    assert set(table_rows("science/METHODS.md")) == set(allalike.METHODS)


def test_the_page_of_labels_names_every_kind_with_its_distances_and_rules() -> None:
    rows = table_rows("labels/LABELS.md")
    assert set(rows) == set(allalike.DOMAINS)
    for name, domain in allalike.DOMAINS.items():
        _, distances, rules = rows[name]
        assert distances.split(", ") == list(domain.distances)
        assert rules.split(", ") == [rule.name for rule in domain.rules]


def test_the_page_of_files_names_every_ending() -> None:
    refused = {".xls", ".ods"}
    assert set(ENDINGS) - set(table_rows("guide/FILES.md")) == refused


def test_the_version_is_in_one_place_and_the_citation_has_the_paper_of_the_docs() -> None:
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    others = citation + (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert not re.search(r"^version\b", others, flags=re.MULTILINE)
    (doi,) = re.findall(r"doi: (.+)$", citation, flags=re.MULTILINE)
    assert all(doi in (ROOT / name).read_text(encoding="utf-8") for name in ("README.md", "docs/README.md"))


def test_the_page_of_extensions_names_every_example() -> None:
    page = (ROOT / "docs" / "contributing" / "EXTENDING.md").read_text(encoding="utf-8")
    examples = [path.name for path in (ROOT / "examples").glob("[!_]*.py")]
    assert len(examples) == 7
    assert all(f"`examples/{name}`" in page for name in examples)


SECURITY = (ROOT / "docs" / "guide" / "SECURITY.md").read_text(encoding="utf-8")
WORKFLOW = ROOT / ".github" / "workflows" / "test.yml"
SYSTEMS = {
    "ubuntu": "Operating System :: POSIX :: Linux",
    "macos": "Operating System :: MacOS",
    "windows": "Operating System :: Microsoft :: Windows",
}

needs_workflow = pytest.mark.skipif(not WORKFLOW.is_file(), reason="what is released has no workflow")


def read_guarantees() -> list[tuple[str, str]]:
    """Return the guarantees of the security page, each with a test."""
    with (ROOT / "tests" / "project" / "guarantees.csv").open(encoding="utf-8", newline="") as file:
        return [(row["guarantee"], row["test"]) for row in csv.DictReader(file)]


def test_every_guarantee_of_the_security_page_has_tests() -> None:
    section = SECURITY.partition("## Guarantees")[2].partition("\n## ")[0]
    guarantees = [text.rstrip(".") for text in re.findall(r"^\*\*(.+?)\*\*", section, re.MULTILINE)]
    assert len(guarantees) > 5
    assert {guarantee for guarantee, _ in read_guarantees()} == set(guarantees)


def test_every_test_of_a_guarantee_exists() -> None:
    tests = [test.split("::") for _, test in read_guarantees()]
    for file in {file for file, _ in tests}:
        [path] = (ROOT / "tests").rglob(file)
        tree = ast.parse(path.read_bytes())
        there = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert {name for of, name in tests if of == file} <= there, file


@needs_workflow
def test_the_audit_runs_in_ci() -> None:
    for path in (WORKFLOW, ROOT / ".ci" / "run"):
        assert "make audit" in path.read_text(encoding="utf-8")


@needs_workflow
def test_the_systems_that_the_package_names_are_those_that_are_tested() -> None:
    [tested] = re.findall(r"system: \[(.*)\]", WORKFLOW.read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    named = [each for each in project["classifiers"] if each.startswith("Operating System")]
    assert named == sorted({SYSTEMS[system.partition("-")[0]] for system in tested.split(", ")})
