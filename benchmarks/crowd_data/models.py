"""Language models as workers: answers to questions of arithmetic (ZeroEval), and verdicts of judges (LLMBar)."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any

from allalike.domains import Categorical
from allalike.errors import InputError
from allalike.readers import read
from crowd_data.base import Parsed, Parser
from crowd_data.originals import load_json

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_LLMBAR = "llmbar_llm_judges"
_FIELD_PATTERN = re.compile(r'"answer"\s*:\s*("(?:[^"\\]|\\.)*"|[^,}\s][^,}\n]*)', re.DOTALL)
_NUMBER_PATTERN = re.compile(r"-?\d+(?:\.\d+)?")
_THOUSANDS_PATTERN = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SUBSETS = ("Natural", *(f"Adversarial/{name}" for name in ("GPTInst", "GPTOut", "Manual", "Neighbor")))
_SUFFIX_OF_ORDER = {"swap = False": "", "swap = True": "/swapped"}
_ANSWER_FIELD_NOTE = "A label is the answer field of what a model wrote; where there is none, the answer is missing."
_FOOLED_JUDGES_NOTE = (
    "A worker is a model with a prompt, and again with the outputs in the other order; workers of one model are alike"
    " in their errors. Adversarial pairs are made to fool judges: there the majority may be wrong."
)


def number_in(text: str) -> str:
    """Return the first number in an answer, in its shortest form; an answer without a number is unchanged."""
    found = _NUMBER_PATTERN.search(text.replace(",", "").replace("$", ""))
    return f"{float(found[0]):.15g}" if found else text


def plain(text: str) -> str:
    """Return an answer without dollar signs around formulas and commas between thousands."""
    return _THOUSANDS_PATTERN.sub("", text.replace("$", "")).strip()


def _answers(folder: Path, *, tasks: str, form: Callable[[str], str]) -> Parsed:
    """Read one file per model, with its output and the gold answer."""
    rows, gold = [], {}
    for path in _files(folder / "result_dirs" / tasks, "*.json"):
        for entry in load_json(path):
            task = entry["id"]
            gold[task] = form(entry["answer"].lstrip("# "))
            written = _FIELD_PATTERN.findall(entry["output"][0])
            answer = written[-1].strip().strip('"').strip() if written else ""
            if answer:
                rows.append((path.stem, task, form(answer)))
    return Parsed(read(rows, domain=Categorical()), gold, _ANSWER_FIELD_NOTE)


def _judges(folder: Path, *, subsets: tuple[str, ...]) -> Parsed:
    """Read the preferred output of each judge; verdicts other than 1 and 2 are missing."""
    rows: list[tuple[str, str, str]] = []
    gold: dict[str, str] = {}
    for subset in subsets:
        root, name = folder / "Dataset" / "LLMBar" / subset, subset.rpartition("/")[2]
        gold |= {f"{name}/{place}": str(pair["label"]) for place, pair in enumerate(load_json(root / "dataset.json"))}
        for path in _files(root / "evaluators", "*/*/result.json"):
            rows += _verdicts(name, f"{path.parts[-3]}/{path.parts[-2]}", load_json(path))
    return Parsed(read(rows, domain=Categorical(classes=2)), gold, _FOOLED_JUDGES_NOTE)


def _verdicts(subset: str, judge: str, results: list[Any]) -> list[tuple[str, str, str]]:
    return [
        (f"{judge}{suffix}", f"{subset}/{place}", pair["results"][-1][order]["winner"])
        for place, pair in enumerate(results)
        for order, suffix in _SUFFIX_OF_ORDER.items()
        if pair["results"][-1][order]["winner"] in ("1", "2")
    ]


def _files(folder: Path, pattern: str) -> list[Path]:
    found = sorted(folder.glob(pattern))
    if not found:
        raise InputError(f"There are no answers in {folder}. Fetch the data set again.")
    return found


def _subset(subset: str) -> Parser:
    parse = partial(_judges, subsets=(subset,))
    name = subset.rpartition("/")[2]
    return Parser(f"{_LLMBAR}/{name}", _LLMBAR, f"which of two outputs follows an instruction ({subset})", parse)


MODELS = (
    Parser("zeroeval_gsm8k", "zeroeval_gsm8k", "arithmetic in words", partial(_answers, tasks="gsm", form=number_in)),
    Parser(
        "zeroeval_math_l5", "zeroeval_math_l5", "hard contest problems", partial(_answers, tasks="math-l5", form=plain)
    ),
    Parser(_LLMBAR, _LLMBAR, "which of two outputs follows an instruction", partial(_judges, subsets=_SUBSETS)),
    *map(_subset, _SUBSETS),
)
