"""Looks: whether the values of a column look like ids of workers, or like what is asked about."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.column_names import rate_name

if TYPE_CHECKING:
    from allalike.readers.guessing.contents import Content

__all__ = ["rate_looks"]

_LOOKED_AT = 50
_MAX_LENGTH = 200
_NUMBERED = re.compile(r"([A-Za-z]+(?:[ _-][A-Za-z]+)?)[\W_]*\d+")
_PERSON = re.compile(r"A[0-9A-Z]{9,14}|[^@\s]+@[^@\s]+\.[a-z]+|not-logged-in-\S+")
_MODEL = re.compile(
    r"(?:.*/)?(?:gpt|claude|llama|gemini|gemma|mistral|mixtral|qwen|deepseek|chatgpt|palm|phi)\b.*", re.I
)
_FILE = re.compile(r"(?:https?://.*|.*\.(?:jpe?g|png|gif|tiff?|txt|wav|mp[34]|pdf|json|html?))", re.I)
_TEXT_WORDS = 4


def rate_looks(content: Content, role: str) -> float:
    """Tell how much the values of a column look like workers or like tasks, from 0 to 1.

    Ids often say what they are, such as ``worker7``, ``q12``, an address, or a file; long texts are asked about.

    >>> import pyarrow as pa
    >>> from allalike.readers.guessing.contents import Content
    >>> ids = Content.of("c1", pa.chunked_array([["worker1", "worker2"]]))
    >>> rate_looks(ids, "worker"), rate_looks(ids, "task")
    (1.0, 0.0)
    >>> rate_looks(Content.of("c2", pa.chunked_array([["cat.jpg", "dog.jpg"]])), "task")
    1.0
    """
    values = [str(value)[:_MAX_LENGTH].strip() for value in content.values[:_LOOKED_AT] if value is not None]
    if not values or content.kind != "text":
        return 1.0 if role == "task" and content.kind == "url" else 0.0
    return sum(_looks_like(value, role) for value in values) / len(values)


def _looks_like(value: str, role: str) -> bool:
    named = _NUMBERED.fullmatch(value)
    if named is not None and rate_name(named[1], role) >= 0.6:
        return True
    if role == "worker":
        return bool(_PERSON.fullmatch(value) or _MODEL.fullmatch(value))
    return bool(_FILE.fullmatch(value)) or len(value.split()) >= _TEXT_WORDS
