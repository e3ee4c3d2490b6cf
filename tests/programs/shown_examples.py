"""Examples of the page on extending: whole files of `examples/`, which stand there as they are run.

``python tests/programs/shown_examples.py`` writes them into the page again.
"""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "taking-part" / "EXTENDING.md"
_SHOWN = re.compile(r"(<!-- shown: (\S+) -->\n\n```python\n).*?(^```)", flags=re.DOTALL | re.MULTILINE)


def show(page: str) -> str:
    """Return a page with what its files hold today."""
    return _SHOWN.sub(lambda found: found[1] + (ROOT / found[2]).read_text(encoding="utf-8") + found[3], page)


if __name__ == "__main__":
    PAGE.write_text(show(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
