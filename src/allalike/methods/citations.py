"""Papers behind each method, for reports and documentation pages."""

import json
from importlib.resources import files
from typing import NamedTuple


class Citation(NamedTuple):
    """A paper: short citation and full reference.

    >>> CITATIONS["DS"][0].short
    'Dawid and Skene, 1979'
    """

    short: str
    full: str


_DATA = json.loads(files(__package__).joinpath("citations.json").read_text(encoding="utf-8"))
_PAPERS = {name: Citation(**paper) for name, paper in _DATA["papers"].items()}

# Models of auto, by name in the summary: description and papers.
MODELS: dict[str, tuple[str, tuple[Citation, ...]]] = {
    name: (model["words"], tuple(map(_PAPERS.__getitem__, model["papers"]))) for name, model in _DATA["models"].items()
}

CITATIONS: dict[str, tuple[Citation, ...]] = {
    "auto": tuple(dict.fromkeys(paper for _, papers in MODELS.values() for paper in papers)),
    **{name: tuple(map(_PAPERS.__getitem__, papers)) for name, papers in _DATA["methods"].items()},
}
