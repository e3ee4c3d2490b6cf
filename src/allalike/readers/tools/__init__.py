"""Readers of the exports of annotation, crowdsourcing, evaluation and survey tools, and their registry."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from allalike._core.registry import Registry, find
from allalike.errors import InputError
from allalike.readers.tools.base import FileProbe, Tool

__all__ = ["PLAIN", "TOOLS", "FileProbe", "Tool", "find_tool"]

_OWN_NAMES = {"worker", "task", "label"}
PLAIN = "plain"  # reads a file as a plain table, without a tool
_JUDGES_OF_PAIRS = ["arena-hard", "judgebench", "alpaca_eval", "mt-bench"]
_FAMILIES = {  # the tools of each module; functions have the same names, with _ instead of -
    "label_studio": ["label-studio"],
    "annotators": ["prodigy", "argilla", "doccano", "labelbox", "ground-truth"],
    "marks": ["coco", "cvat", "brat", "conll"],
    "evaluations": ["inspect", "lm-eval", "promptfoo", "deepeval", *_JUDGES_OF_PAIRS],
    "crowdsourcing": ["wrench", "peerannot", "crowd-kit", "figure-eight", "mturk", "potato", "toloka", "zooniverse"],
    "surveys": ["google-forms", "limesurvey", "qualtrics", "surveymonkey"],
}
_HOMES = {name: f"{module}:{name.replace('-', '_')}" for module, names in _FAMILIES.items() for name in names}
TOOLS: Registry[Tool] = Registry("tool", Tool, __name__, _HOMES)


def find_tool(paths: Sequence[Path], name: str | None) -> Tool | None:
    """Return the tool with this name, or the tool that recognises all of the files, or None.

    >>> find_tool([], None) is None, find_tool([], "mturk").title
    (True, 'Amazon Mechanical Turk')
    """
    if name == PLAIN:
        return None
    if name is not None:
        return find(name, TOOLS, "tool")()
    if not paths:
        return None
    peeks = [FileProbe(path) for path in paths]
    if set(peeks[0].names) >= _OWN_NAMES:  # a plain table with our names; no tool needs to be loaded
        return None
    known = [tool for tool in (cls() for cls in TOOLS.values()) if tool.recognises(peeks[0])]
    for tool in known:
        if all(tool.recognises(peek) for peek in peeks[1:]):
            return tool
    if known:
        other = next(peek.path for peek in peeks if not known[0].recognises(peek))
        raise InputError(f"{paths[0]} is an export of {known[0].title}, but {other} is not. Read them separately.")
    return None
