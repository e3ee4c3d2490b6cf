"""Ballots: names of the column that comparisons.py makes."""

from allalike.readers.reshaping.comparisons import BALLOTS as BALLOTS
from allalike.readers.reshaping.comparisons import ELECTION as ELECTION
