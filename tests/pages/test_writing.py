"""The README and docs/ keep the bounds of the writing guide, `docs/contributing/WRITING.md`."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted(path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "evidence"),
]
RATES = {  # pattern, at most so many per 1,000 words
    "relative pronouns": (r"\b(what|who|whom|whose|which|whoever|whatever)\b", 8),
    "tell, say": (r"\b(tell|tells|told|telling|say|says|said|saying)\b", 2),
    "is no": (r"\b(is|are|was|were|has|have|says?|with) (no|none|neither|nobody|nothing)\b", 1),
    "nobody": (r"\b(nobody|nothing|everybody|somebody|anybody|everyone|anyone|whoever)\b", 1),
    "she": (r"\b(she|her|hers|herself)\b", 0),
    "colons": (r"[:;]", 20),
    "commas": (r",", 60),
}
FRONTED = r"^(Of|Besides?|What|Who|Whoever|Whatever|Where|Whether|How)\b(?!.*\?$)"
PARAMETERS = re.compile(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=\n\n(?!\S+\n    )|\Z)", re.DOTALL | re.MULTILINE)
MAX_LONG, MAX_FRONTED = 0.15, 0.01  # share of sentences above 25 words, and of those that begin with a clause


def list_sentences(text: str) -> list[str]:
    """Return the sentences of a page, without code, tables, headings and links."""
    text = re.sub(r"^\s*(```|~~~).*?^\s*\1\s*$|<!--.*?-->", "\n\n", text, flags=re.MULTILINE | re.DOTALL)
    lines = []
    for line in text.split("\n"):
        item = re.match(r"\s*([-*+]|\d+[.)])\s+(\[.\]\s*)?(.*)", line)
        if item:
            lines += ["", item[3]]
        else:
            lines.append("" if re.match(r"\s*[|#<]|\s*!\[|\s{4,}\S", line) else line.strip())
    prose = re.sub(r"`+[^`]*`+", "CODE", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", "\n".join(lines)))
    paragraphs = (" ".join(part.split()) for part in re.split(r"\n\s*\n", prose))
    sentences = (each for part in paragraphs for each in re.split(r"(?<=[.!?])[\"')]*\s+(?=[A-Z\"'(])", part))
    return [each for each in sentences if len(list_words(each)) >= 4 and re.search(r"[.!?:]$", each)]


def list_words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z][A-Za-z'-]*", text)


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    return [each for page in PAGES for each in list_sentences(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("name", RATES)
def test_a_word_is_at_most_as_frequent_as_the_guide_allows(name: str, sentences: list[str]) -> None:
    pattern, most = RATES[name]
    text = " ".join(sentences)
    assert 1000 * len(re.findall(pattern, text, re.IGNORECASE)) <= most * len(list_words(text))


def test_sentences_are_short_and_begin_with_their_subject(sentences: list[str]) -> None:
    assert sum(len(list_words(each)) > 25 for each in sentences) <= MAX_LONG * len(sentences)
    assert sum(bool(re.search(FRONTED, each)) for each in sentences) <= MAX_FRONTED * len(sentences)


def test_descriptions_of_parameters_are_noun_phrases() -> None:
    described = [
        description
        for path in (ROOT / "src").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        for text in [ast.get_docstring(node) or ""]
        if "\n---" in text
        for section in PARAMETERS.findall(text)
        for description in re.findall(r"^\S.*\n    (\S.*)", section, re.MULTILINE)
    ]
    clauses = [each for each in described if re.match(r"(How|What|Which|Who|Whom|Where|Of)\b", each)]
    assert len(described) > 300
    assert len(clauses) <= 0.05 * len(described)
