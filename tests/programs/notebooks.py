"""Run the notebooks of `examples/` and write what their cells print, as a reader of the repository sees it."""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "examples").glob("*.ipynb"))


def run_notebook(path: Path) -> Any:
    """Return a notebook with what its cells print now."""
    book = nbformat.read(path, as_version=4)
    NotebookClient(book, timeout=120, kernel_name="python3", record_timing=False).execute(cwd=path.parent)
    return book


def list_outputs(book: Any) -> list[list[str]]:
    """Return what each cell prints and shows, as plain text; pictures are shown as what they are."""
    told = [cell.get("outputs", []) for cell in book.cells]
    return [[output.get("text") or output["data"]["text/plain"] for output in outputs] for outputs in told]


if __name__ == "__main__":
    for notebook in NOTEBOOKS:
        nbformat.write(run_notebook(notebook), notebook)
