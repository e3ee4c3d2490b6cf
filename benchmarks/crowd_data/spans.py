"""Named entities in news, tagged by workers: the crowd of Rodrigues, Pereira and Ribeiro (2014).

Answers and gold use different tokens, so spans are counted in characters without spaces. If an answer differs from the
text in some characters, both are aligned.
"""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

from allalike.domains import Spans
from allalike.domains.objects.spans import read_tags
from allalike.readers import read
from crowd_data.base import Parsed, Parser

if TYPE_CHECKING:
    from pathlib import Path

Span = tuple[int, int, str]

_SOURCE = "spans_ner_conll_crowd"
_GLUED_TAG = re.compile(r"(.+)/((?:[BI]-)?(?:PER|LOC|ORG|MISC))")  # four workers wrote their tags into the words
_NOTE = "Positions are those of characters, without the space between words."


def read_document(text: str) -> tuple[str, list[Span]]:
    """Return the characters and tagged spans of a document with a token and its tag per line."""
    tokens, tags = [], []
    for line in text.splitlines():
        fields = line.split()
        if fields and len(fields) < 2:
            continue  # a tag without a token
        token, tag = (fields[0], fields[-1]) if fields else ("", "O")  # a span ends with its sentence
        if glued := _GLUED_TAG.fullmatch(token):
            token = glued[1]
            tag = tag if tag != "O" else glued[2] if "-" in glued[2] else f"I-{glued[2]}"
        tokens.append(token)
        tags.append(tag)
    ends = list(accumulate(map(len, tokens), initial=0))
    return "".join(tokens), [(ends[start], ends[end], name) for start, end, name in read_tags(tags)]


def _align(text: str, spans: list[Span], truth: str) -> list[list[Any]]:
    """Map spans of a text to a nearly equal text; spans without remaining characters are excluded."""
    if text == truth:
        return [list(span) for span in spans]
    place: dict[int, int] = {}
    for one, other, size in SequenceMatcher(None, text, truth, autojunk=False).get_matching_blocks():
        place.update(zip(range(one, one + size), range(other, other + size), strict=True))
    moved = []
    for start, end, name in spans:
        here = [place[at] for at in range(start, end) if at in place]
        if here:
            moved.append([here[0], here[-1] + 1, name])
    return moved


def _unpack(path: Path, part: str) -> dict[tuple[str, ...], tuple[str, list[Span]]]:
    """Return the documents of one part, by path in the archive."""
    try:
        with ZipFile(path) as archive:
            names = sorted(name for name in archive.namelist() if name.endswith(".txt"))
            return {
                tuple(name.split("/")[2:]): read_document(archive.read(name).decode("utf-8"))
                for name in names
                if name.startswith(f"task1/{part}/")
            }
    except BadZipFile as error:
        raise ValueError(str(error)) from error


def _tagged(folder: Path, *, part: str) -> Parsed:
    """Read the answers and gold labels of one part from an archive."""
    documents = _unpack(folder / "task1.zip", part)
    known = {name[-1]: found for name, found in documents.items() if name[0] == "ground_truth"}
    rows = [
        (name[1], name[2], _align(text, spans, known[name[2]][0]))
        for name, (text, spans) in documents.items()
        if name[0] == "mturk_train_data"
    ]
    gold = {task: [list(span) for span in known[task][1]] for task in {task for _, task, _ in rows}}
    return Parsed(read(rows, domain=Spans()), gold, _NOTE)


SPANS = tuple(
    Parser(f"{_SOURCE}/{part}", _SOURCE, f"the names in news, {part} part", partial(_tagged, part=part))
    for part in ("val", "test")
)
