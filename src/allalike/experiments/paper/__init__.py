"""The paper's tables as data: rows and columns, what they print, and how they are read.

Meir et al.: Frustratingly Easy Truth Discovery. AAAI 2023.
"""

from allalike.experiments.paper.example import EXAMPLE, Answer, solve_example
from allalike.experiments.paper.readings import KINDS, Kind, Reading, read_row
from allalike.experiments.paper.reasons import REASONS, Reason, reason_for
from allalike.experiments.paper.reported import Printed, reported
from allalike.experiments.paper.slips import SLIPS, TOP_OF_THREE, Slip
from allalike.experiments.paper.tables import TABLES, Part, Row, Table

__all__ = [
    "EXAMPLE",
    "KINDS",
    "REASONS",
    "SLIPS",
    "TABLES",
    "TOP_OF_THREE",
    "Answer",
    "Kind",
    "Part",
    "Printed",
    "Reading",
    "Reason",
    "Row",
    "Slip",
    "Table",
    "read_row",
    "reason_for",
    "reported",
    "solve_example",
]
