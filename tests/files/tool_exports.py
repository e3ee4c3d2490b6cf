"""Files of tools for tests: written out, opened and shown as rows."""

import json
from pathlib import Path
from typing import Any

from allalike.readers.formats.files import Files
from allalike.readers.formats.source import Source
from allalike.readers.sources import open_files
from allalike.readers.tools import TOOLS, FileProbe


def write(path: Path, value: Any) -> Path:
    """Write text as it is, other values as JSON, or records as JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = path.suffix == ".jsonl"
    path.write_text(
        value if isinstance(value, str) else "\n".join(map(json.dumps, value)) if lines else json.dumps(value)
    )
    return path


def recognised(path: Path) -> list[str]:
    """Return the names of the tools that take a file for theirs."""
    peek = FileProbe(path)
    return [name for name, tool in TOOLS.items() if tool().recognises(peek)]


def opened(*paths: Path, **options: Any) -> Source:
    return open_files(list(paths), Files(**options))


def answers(*paths: Path, **options: Any) -> list[tuple[Any, ...]]:
    columns = opened(*paths, **options).load(["worker", "task", "label"])
    return sorted(zip(*columns.values(), strict=True), key=repr)


def counted(table: Source) -> tuple[int, int, int]:
    columns = table.load(["worker", "task"])
    return len(columns["worker"]), len(set(columns["worker"])), len(set(columns["task"]))


def annotation(by: Any, *results: Any, **more: Any) -> dict[str, Any]:
    return {"id": 5, "completed_by": by, "result": list(results), **more}


def result(kind: str, value: Any, control: str = "q", **more: Any) -> dict[str, Any]:
    return {"id": "r1", "type": kind, "from_name": control, "to_name": "text", "value": value, **more}


def choice(*chosen: str, control: str = "q", **more: Any) -> dict[str, Any]:
    return result("choices", {"choices": list(chosen)}, control, **more)


def pack(words: list[int]) -> list[int]:
    """Pack words as a brush of Label Studio, none of them repeated."""
    runs = "".join(f"000{0:03b}{word:08b}" for word in words)
    bits = f"{len(words):032b}{7:05b}" + f"{2:04b}" * 4 + runs
    bits += "0" * (-len(bits) % 8)
    return list(int(bits, 2).to_bytes(len(bits) // 8))


def prodigy(worker: str | None, **more: Any) -> dict[str, Any]:
    who = {} if worker is None else {"_session_id": worker}
    return {"text": "x", "_input_hash": 1, "_task_hash": 2, "answer": "accept", **who, **more}


def coco(**more: Any) -> dict[str, Any]:
    mark = {
        "id": 1,
        "image_id": 1,
        "category_id": 3,
        "bbox": [1, 2, 3, 4],
        "segmentation": [[0, 0, 1, 0, 1, 1]],
        **more,
    }
    images = [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}]
    return {"images": images, "annotations": [mark], "categories": [{"id": 3, "name": "cat", "keypoints": ["eye"]}]}


CVAT = """<?xml version="1.0" encoding="utf-8"?><annotations><version>1.1</version><meta></meta>
<image id="0" name="a.jpg" width="9" height="9"><box label="cat" xtl="1" ytl="2" xbr="4" ybr="6"></box>
<polygon label="cat" points="1,2;3,4;1,4"/><mask label="cat" rle="1, 2, 1" left="5" top="5" width="2" height="2"/>
<points label="eye" points="1,2;3,4"/><tag label="outside"><attribute name="light">dim</attribute></tag>
<cuboid label="cat"/></image><image id="1" name="b.jpg"/></annotations>"""


def labelbox(worker: str, **said: Any) -> dict[str, Any]:
    """Return a data row with one label."""
    label = {"label_details": {"created_by": worker}, "performance_details": {"skipped": False}, "annotations": said}
    return {"data_row": {"id": "r", "global_key": "a.jpg"}, "projects": {"p": {"labels": [label]}}}


def ground_truth(answer: Any) -> dict[str, Any]:
    """Return the response of one worker, with one field in its form."""
    return {"id": 7, "answers": [{"workerId": "w", "answerContent": {"q": answer}}]}
