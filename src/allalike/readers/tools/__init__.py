"""Readers of tools' exports: one file for each tool, and the registry that new ones join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike._core.registry import Registry, find
from allalike.errors import InputError
from allalike.readers.tools.alpaca_eval import AlpacaEval
from allalike.readers.tools.argilla import Argilla
from allalike.readers.tools.base import Peek, Tool
from allalike.readers.tools.brat import Brat
from allalike.readers.tools.coco import COCO
from allalike.readers.tools.conll import CoNLL
from allalike.readers.tools.crowd_kit import CrowdKit
from allalike.readers.tools.crowdtruth import CrowdTruth
from allalike.readers.tools.cvat import CVAT
from allalike.readers.tools.doccano import Doccano
from allalike.readers.tools.figure_eight import FigureEight
from allalike.readers.tools.google_forms import GoogleForms
from allalike.readers.tools.ground_truth import GroundTruth
from allalike.readers.tools.judgebench import JudgeBench
from allalike.readers.tools.label_studio import LabelStudio
from allalike.readers.tools.labelbox import Labelbox
from allalike.readers.tools.lime_survey import LimeSurvey
from allalike.readers.tools.mt_bench import MTBench
from allalike.readers.tools.mturk import MTurk
from allalike.readers.tools.peerannot import Peerannot
from allalike.readers.tools.potato import Potato
from allalike.readers.tools.prodigy import Prodigy
from allalike.readers.tools.qualtrics import Qualtrics
from allalike.readers.tools.survey_monkey import SurveyMonkey
from allalike.readers.tools.toloka import Toloka
from allalike.readers.tools.zooniverse import Zooniverse

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["PLAIN", "TOOLS", "Peek", "Tool", "find_tool"]

PLAIN = "plain"  # the name of no tool: a file is read as what it is, whoever wrote it
TOOLS: Registry[Tool] = Registry(
    "tool",
    Tool,
    (
        LabelStudio,
        Prodigy,
        Argilla,
        Doccano,
        Labelbox,
        GroundTruth,
        COCO,
        CVAT,
        Brat,
        CoNLL,
        JudgeBench,
        AlpacaEval,
        MTBench,
        Peerannot,
        CrowdKit,
        CrowdTruth,
        FigureEight,
        GoogleForms,
        LimeSurvey,
        MTurk,
        Potato,
        Qualtrics,
        SurveyMonkey,
        Toloka,
        Zooniverse,
    ),
)


def find_tool(paths: Sequence[Path], name: str | None) -> Tool | None:
    """Return the tool of this name, or that which recognises all of the files, if there is one.

    >>> find_tool([], None) is None, find_tool([], "mturk").title
    (True, 'Amazon Mechanical Turk')
    """
    if name == PLAIN:
        return None
    if name is not None:
        return find(name, TOOLS, "tool")()
    if not paths:
        return None
    peeks = [Peek(path) for path in paths]
    known = [tool for tool in (cls() for cls in TOOLS.values()) if tool.recognises(peeks[0])]
    for tool in known:
        if all(tool.recognises(peek) for peek in peeks[1:]):
            return tool
    if known:
        other = next(peek.path for peek in peeks if not known[0].recognises(peek))
        raise InputError(f"{paths[0]} is an export of {known[0].title}, but {other} is not. Read them one by one.")
    return None
