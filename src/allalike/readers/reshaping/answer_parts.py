"""Names of rows.py."""

from allalike.readers.reshaping.rows import SET as SET
from allalike.readers.reshaping.rows import has_parts as has_parts
