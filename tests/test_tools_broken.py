"""Broken exports of tools: whatever is wrong in them is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from allalike.errors import InputError
from allalike.readers.tools import Peek
from tool_files import (
    CVAT,
    annotation,
    choice,
    coco,
    opened,
    pack,
    prodigy,
    result,
)

# Broken files

SAMPLES: dict[str, Any] = {
    "label-studio": [
        {
            "id": 1,
            "drafts": [],
            "annotations": [
                annotation({"id": 1, "email": "a@x.org"}, choice("a", control="c"), ground_truth=True),
                annotation(
                    2, result("rectanglelabels", {"x": 1, "y": 1, "width": 2, "height": 2, "rectanglelabels": ["a"]})
                ),
                annotation(
                    3, result("taxonomy", {"taxonomy": [["a", "b"]]}, "t"), result("rating", {"rating": 2}, "s")
                ),
                annotation(
                    4, result("ranker", {"ranker": {"rank": ["a"]}}, "o"), result("textarea", {"text": ["a"]}, "w")
                ),
                annotation(
                    5, result("brushlabels", {"rle": pack([0, 0, 0, 9])}, "m", original_width=1, original_height=1)
                ),
            ],
            "predictions": [{"model_version": "m", "result": [choice("b", control="c")]}],
        }
    ],
    "doccano": [
        {"id": 1, "text": "x", "annotations": [{"label": 1, "user": 1}]},
        {"id": 2, "text": "x", "annotations": [{"label": 1, "start_offset": 1, "end_offset": 2, "user": 1}]},
        {"id": 3, "text": "x", "username": "u", "label": [[0, 1, "a"]], "relations": []},
    ],
    "prodigy": [
        prodigy("ada", options=[{"id": "a"}], accept=["a"]),
        prodigy("bob", _view_id="ner_manual", spans=[{"start": 0, "end": 1, "label": "a"}]),
        prodigy("eve", _view_id="image_manual", spans=[{"label": "a", "points": [[0, 1]]}]),
    ],
    "argilla": [
        {"id": 1, "responses": [{"values": {"q": {"value": "x"}}, "user_id": "u", "status": "submitted"}]},
        {"id": 2, "responses": {"q": [{"value": [{"start": 0, "end": 1, "label": "a"}], "user_id": "u"}]}},
        {"id": 3, "q.responses": ["x"], "q.responses.users": ["u"], "q.responses.status": ["submitted"]},
        {"id": 4, "responses": {"q": [{"value": [{"value": "a", "rank": 1}], "user_id": "u"}]}},
    ],
    "coco": coco(keypoints=[1, 2, 2], annotator="ada"),
    "judgebench": [
        {"pair_id": "p", "judgments": [{"judgment": {"judge_model": "m"}, "decision": "A>B"}], "label": "A>B"}
    ],
    "alpaca_eval": [{"instruction": "x", "output_1": "a", "output_2": "b", "annotator": "m", "preference": 1}],
    "mt-bench": [
        {"question_id": 1, "model_1": "a", "model_2": "b", "judge": ["m", "p"], "g1_winner": "tie", "g2_winner": "tie"},
        {"question_id": 1, "model": "a", "judge": ["m", "p"], "turn": 1, "score": 3},
    ],
    "peerannot": {"t1": {"ada": 1, "bob": 2}},
}


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*way, key)
        yield from places(item, (*way, key))


def broken(sample: Any) -> Iterator[Any]:
    """Yield a value with each of its parts taken away, emptied, or of another type."""
    for way in places(sample):
        for other in (..., None, "x", 7, [], [None], {"a": None}):
            copy = deepcopy(sample)
            parent = copy
            for key in way[:-1]:
                parent = parent[key]
            if other is ...:
                del parent[way[-1]]
            else:
                parent[way[-1]] = other
            yield copy


def opens_or_says_why(path: Path, tool: str, **options: Any) -> int:
    """Open a file; an error must name it."""
    try:
        table = opened(path, tool=tool, **options)
        table.columns({role: role for role in ("worker", "task", "label")})
    except InputError as error:
        assert path.name in str(error) or "mixed types" in str(error), error
        return 1
    return 0


@pytest.mark.parametrize("tool", SAMPLES)
def test_whatever_is_broken_in_json_is_named(tool: str, tmp_path: Path) -> None:
    path, sample = tmp_path / "export.json", SAMPLES[tool]
    tags: dict[str, list[str | None]] = {"label-studio": ["c", "q", "t", "s", "o", "w", "m"], "argilla": ["q"]}
    tags |= {"coco": [None, "keypoints", "segmentation"], "mt-bench": ["winner", "score"], "doccano": [None, "label"]}
    refused = 0
    for variant, tag in zip(broken(sample), cycle(tags.get(tool, [None])), strict=False):
        path.write_text(json.dumps(variant))
        refused += opens_or_says_why(path, tool, tag=tag)
    text = json.dumps(sample)
    for end in range(0, len(text), max(1, len(text) // 20)):
        path.write_text(text[:end])
        refused += opens_or_says_why(path, tool)
        assert Peek(path).records is not None
    path.write_text("[" * 100_000)
    assert opens_or_says_why(path, tool)
    assert refused > 20


@pytest.mark.parametrize(
    ("tool", "ending", "text"),
    [
        ("cvat", "xml", CVAT),
        ("brat", "ann", "T1\tPER 0 3\tAda\nR1\tkin Arg1:T1 Arg2:T2\n"),
        ("conll", "conll", "Ada NN B-PER\nruns VB O\n\nBob NN O\n"),
    ],
)
def test_whatever_is_broken_in_text_is_named(tool: str, ending: str, text: str, tmp_path: Path) -> None:
    first, second = tmp_path / f"ada/doc.{ending}", tmp_path / f"bob/doc.{ending}"
    for path in (first, second):
        path.parent.mkdir()
        path.write_text(text)
    refused = 0
    for place in range(len(text)):
        for variant in (text[:place], text[:place] + text[place + 1 :], text[:place] + "\x00<" + text[place:]):
            second.write_text(variant)
            try:
                opened(first, second, tool=tool, tag="boxes" if tool == "cvat" else None)
            except InputError as error:
                refused += 1
                assert "doc." in str(error)
    second.write_bytes(b"\xff\xfe\x00\xd8")
    with pytest.raises(InputError, match="doc."):
        opened(first, second, tool=tool)
    assert refused > 5
