"""Broken exports of tools: whatever is wrong in them is named."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from allalike.errors import InputError
from allalike.readers.tools import TOOLS, Peek, images, trees
from files.evaluation_logs import (
    deepeval_metric,
    deepeval_run,
    inspect_log,
    inspect_sample,
    lm_eval_sample,
    panel_score,
    promptfoo_result,
    promptfoo_results,
)
from files.tool_exports import (
    CVAT,
    annotation,
    choice,
    coco,
    ground_truth,
    labelbox,
    opened,
    pack,
    prodigy,
    result,
    write,
)

SIDES = ("left", "top", "width", "height")
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
                annotation(
                    6,
                    result(
                        "polygonlabels", {"points": [[0, 0], [9, 0], [9, 9]]}, "p", original_width=9, original_height=9
                    ),
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
    "ground-truth": [
        {"datasetObjectId": "1", "annotations": [{"workerId": "w", "annotationData": {"content": '{"q": "a"}'}}]},
        ground_truth({"labels": ["a"]}),
        ground_truth({"boundingBoxes": [dict.fromkeys(SIDES, 1)]}),
        ground_truth({"entities": [{"startOffset": 1, "endOffset": 2}]}),
    ],
    "labelbox": [
        {"DataRow ID": "a", "Created By": "u", "Label": {"classifications": [{"title": "q", "answer": "x"}]}},
        labelbox("u", classifications=[{"name": "q", "checklist_answers": [{"name": "x"}]}]),
        labelbox("u", objects=[{"name": "x", "bounding_box": dict.fromkeys(SIDES, 1)}]),
        labelbox("u", objects=[{"name": "x", "location": {"start": 1, "end": 2}}]),
        labelbox("u", objects=[{"name": "x", "point": {"x": 1, "y": 2}}]),
        labelbox("u", objects=[{"name": "x", "polygon": [{"x": 1, "y": 2}]}]),
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
    "wrench": {"0": {"label": 1, "weak_labels": [-1, 0, 1], "data": {"text": "x"}}},
    "peerannot": {"t1": {"ada": 1, "bob": 2}},
    "inspect": inspect_log(
        [inspect_sample(1, {"qa": panel_score("C", "I"), "match": {"value": "C"}})], graders=["a", {"model": "b"}]
    ),
    "lm-eval": [lm_eval_sample(0, [["-1", "True"], ["-2", "False"]], acc=1), lm_eval_sample(0, ["x"], "x")],
    "promptfoo": promptfoo_results(promptfoo_result(0, [({"provider": "g"}, True), ({"metric": "x"}, False)])),
    "deepeval": deepeval_run(("t", [deepeval_metric("g", True, score=0.5), deepeval_metric("h", True, error=None)])),
    "arena-hard": [{"question_id": 1, "model": "m", "judge": "g", "games": [{"score": "A>B"}, {"score": "A=B"}]}],
}


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield (*way, key)
        yield from places(item, (*way, key))


def broken(sample: Any) -> Iterator[Any]:
    """Yield a value with each of its parts taken away, emptied, or of another type."""
    text = json.dumps(sample)
    for way in places(sample):
        for other in (..., None, "x", [None], {"a": 7}):
            copy = parent = json.loads(text)
            for key in way[:-1]:
                parent = parent[key]
            if other is ...:
                del parent[way[-1]]
            else:
                parent[way[-1]] = other
            yield copy


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Keep files in memory, by their names."""
    files: dict[str, bytes] = {}
    for module in (trees, images):
        monkeypatch.setattr(module, "read_bytes", lambda path: files[str(path)])
    return files


def is_refused(*paths: str, **options: Any) -> bool:
    """Open files; an error must name one of them."""
    try:
        table = opened(*map(Path, paths), **options)
        table.columns({role: role for role in ("worker", "task", "label")})
    except InputError as error:
        assert any(path in str(error) for path in paths) or "mixed types" in str(error), error
        return True
    return False


TAGS: dict[str, list[str | None]] = {
    "argilla": ["q"],
    "ground-truth": ["q"],
    "labelbox": ["q", "boxes", "points", "polygons", "spans"],
    "coco": [None, "keypoints", "segmentation"],
    "doccano": [None, "label"],
    "label-studio": ["c", "q", "t", "s", "o", "w", "m", "p"],
    "mt-bench": ["winner", "score"],
    "deepeval": ["judges: Correctness"],
}


@pytest.mark.parametrize("tool", SAMPLES)
def test_whatever_is_broken_in_json_is_named(tool: str, disk: dict[str, bytes]) -> None:
    name, sample = "export.json", SAMPLES[tool]
    refused, text = [], json.dumps(sample)
    for part in [[record] for record in sample] if isinstance(sample, list) else [sample]:
        for variant, tag in zip(broken(part), cycle(TAGS.get(tool, [None])), strict=False):
            disk[name] = json.dumps(variant).encode()
            refused.append(is_refused(name, tool=tool, tag=tag))
    assert min(refused.count(True), refused.count(False)) > 4
    for cut in (text[: len(text) // 2], text[:-1], "", "null", "[null]", "[" * 100_000, '{"a": ' * 100_000):
        disk[name] = cut.encode()
        assert is_refused(name, tool=tool)


def test_the_beginning_of_a_broken_file_is_looked_at_all_the_same(tmp_path: Path) -> None:
    text = json.dumps(SAMPLES["label-studio"])
    for end in range(0, len(text), len(text) // 9):
        peek = Peek(write(tmp_path / "export.json", text[:end]))
        assert isinstance(peek.records, list)
        assert [tool for tool in TOOLS.values() if tool().recognises(peek)] in ([], [TOOLS["label-studio"]])


@pytest.mark.parametrize(
    ("tool", "text", "tag"),
    [
        ("cvat", CVAT, "boxes"),
        ("cvat", CVAT, "areas"),
        ("brat", "T1\tPER 0 3\tAda\nR1\tkin Arg1:T1 Arg2:T2\n", None),
        ("conll", "Ada NN B-PER\nruns VB O\n\nBob NN O\n", None),
    ],
)
def test_whatever_is_broken_in_text_is_named(tool: str, text: str, tag: str | None, disk: dict[str, bytes]) -> None:
    names, refused = ("ada/doc.x", "bob/doc.x"), 0
    for place in range(0, len(text), 1 + len(text) // 100):
        for variant in (text[:place], text[:place] + text[place + 1 :], text[:place] + "\x00<" + text[place:]):
            disk.update(zip(names, (text.encode(), variant.encode()), strict=True))
            refused += is_refused(*names, tool=tool, tag=tag)
    assert refused > 5
    disk[names[1]] = b"\xff\xfe\x00\xd8"
    assert is_refused(*names, tool=tool, tag=tag)
