"""Parsers: from the original files of public data to answers and truths, one for each data set."""

from allalike.datasets.base import Parser
from allalike.datasets.parsers.bench import BENCHMARKS
from allalike.datasets.parsers.boxes import BOXES
from allalike.datasets.parsers.forecasts import FORECASTS
from allalike.datasets.parsers.gjp import GJP
from allalike.datasets.parsers.matching import MATCHING
from allalike.datasets.parsers.models import MODELS
from allalike.datasets.parsers.originals import careful
from allalike.datasets.parsers.own import OWN
from allalike.datasets.parsers.points import POINTS
from allalike.datasets.parsers.quiz import QUIZZES
from allalike.datasets.parsers.rankings import RANKINGS
from allalike.datasets.parsers.ratings import RATINGS
from allalike.datasets.parsers.records import RECORDS
from allalike.datasets.parsers.segments import SEGMENTS
from allalike.datasets.parsers.snow import SNOW
from allalike.datasets.parsers.spans import SPANS
from allalike.datasets.parsers.texts import TEXTS
from allalike.datasets.parsers.triangles import TRIANGLES

__all__ = ["PARSERS"]

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
