"""The page on extending shows whole examples, as they are run."""

from __future__ import annotations

import shown_examples


def test_the_page_shows_its_examples_as_they_are() -> None:
    page = shown_examples.PAGE.read_text(encoding="utf-8")
    assert shown_examples.show(page) == page, "python tests/programs/shown_examples.py writes them into the page again"


def test_the_page_shows_every_example() -> None:
    page = shown_examples.PAGE.read_text(encoding="utf-8")
    examples = [path.name for path in (shown_examples.ROOT / "examples").glob("[!_]*.py")]
    assert len(examples) == 7
    for name in examples:
        assert f"<!-- shown: examples/{name} -->" in page


def test_what_changed_in_a_file_is_shown() -> None:
    page = "<!-- shown: examples/reader.py -->\n\n```python\nold\n```\n\nmore\n"
    shown = shown_examples.show(page)
    assert "class QuizNight(Tool):" in shown
    assert "old" not in shown.partition("class")[0]
    assert shown.endswith("```\n\nmore\n")
