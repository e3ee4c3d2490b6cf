"""Names of columns.py."""

from allalike.readers.reshaping.columns import combine as combine
from allalike.readers.reshaping.columns import has_fields as has_fields
