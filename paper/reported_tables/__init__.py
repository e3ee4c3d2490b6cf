"""The paper's tables as data: rows and columns, what they print, and how they are read.

Meir et al.: Frustratingly Easy Truth Discovery. AAAI 2023.
"""

from paper.reported_tables.example import EXAMPLE, Answer, solve_example
from paper.reported_tables.interpretations import KINDS, Interpretation, Kind, interpret_row
from paper.reported_tables.reasons import REASONS, Reason, reason_for
from paper.reported_tables.reported import Printed, reported
from paper.reported_tables.slips import SLIPS, TOP_OF_THREE, Slip
from paper.reported_tables.tables import TABLES, Part, Row, Table

__all__ = [
    "EXAMPLE",
    "KINDS",
    "REASONS",
    "SLIPS",
    "TABLES",
    "TOP_OF_THREE",
    "Answer",
    "Interpretation",
    "Kind",
    "Part",
    "Printed",
    "Reason",
    "Row",
    "Slip",
    "Table",
    "interpret_row",
    "reason_for",
    "reported",
    "solve_example",
]
