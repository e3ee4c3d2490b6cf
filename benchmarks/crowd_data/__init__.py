"""Read public data sets from their original files: answers and gold, one parser for each data set."""

from __future__ import annotations

from dataclasses import replace

from allalike._core.registry import find
from allalike.datasets import SOURCES
from allalike.datasets.downloads import require_folder
from allalike.errors import UnknownNameError
from allalike.readers import read_gold
from crowd_data.base import Dataset, Parsed, Parser
from crowd_data.bench import BENCHMARKS
from crowd_data.boxes import BOXES
from crowd_data.forecasts import FORECASTS
from crowd_data.gjp import GJP
from crowd_data.matching import MATCHING
from crowd_data.models import MODELS
from crowd_data.originals import careful
from crowd_data.own import OWN
from crowd_data.points import POINTS
from crowd_data.quiz import QUIZZES
from crowd_data.rankings import RANKINGS
from crowd_data.ratings import RATINGS
from crowd_data.records import RECORDS
from crowd_data.segments import SEGMENTS
from crowd_data.snow import SNOW
from crowd_data.spans import SPANS
from crowd_data.texts import TEXTS
from crowd_data.triangles import TRIANGLES

__all__ = ["PARSERS", "Dataset", "Parsed", "Parser", "load"]

PARSERS: dict[str, Parser] = {
    parser.name: careful(parser)
    for parser in (
        *QUIZZES,
        *FORECASTS,
        *GJP,
        *TRIANGLES,
        *SNOW,
        *RATINGS,
        *RANKINGS,
        *TEXTS,
        *BENCHMARKS,
        *MATCHING,
        *BOXES,
        *SPANS,
        *POINTS,
        *SEGMENTS,
        *RECORDS,
        *MODELS,
        *OWN,
    )
}


def load(name: str) -> Dataset:
    """Read a data set, with its gold; its files must be here."""
    parser = _parser(name)
    source = SOURCES[parser.source]
    parsed = parser.parse(require_folder(source))
    held = replace(parsed.answers, frame="pandas")  # answers did not come from a data frame
    answers = read_gold(parsed.gold, held) if parsed.gold else held
    return Dataset(name=parser.name, answers=answers, gold=parsed.gold, source=source, note=parsed.note)


def _parser(name: str) -> Parser:
    if name in PARSERS or name.casefold() not in map(str.casefold, SOURCES):
        return find(name, PARSERS, "data set")
    source = find(name, SOURCES, "source")
    inside = [parser for parser in PARSERS.values() if parser.source == source.name]
    if len(inside) == 1:
        return inside[0]
    listed = ", ".join(parser.name for parser in inside)
    raise UnknownNameError(f"{source.name!r} is a source of several data sets. Choose one of: {listed}.")
