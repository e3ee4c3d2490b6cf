"""Broken exports of tools: whatever is wrong in them is named."""

import json
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from allalike.errors import InputError
from allalike.readers.tools import TOOLS, FileProbe, base, marks
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
from files.tool_exports import CVAT, opened, write

CORPUS = Path(__file__).parents[1] / "fuzz" / "corpus" / "tools"


def load_samples() -> dict[str, Any]:
    """Return records of the tools that write JSON: those of the small corpus, and logs that tests make."""
    found: dict[str, Any] = {}
    for path in sorted(CORPUS.glob("*/[!b]*.json*")):
        text = path.read_text(encoding="utf-8")
        content = [json.loads(line) for line in text.splitlines()] if path.suffix == ".jsonl" else json.loads(text)
        held = found.setdefault(path.parent.name, content)
        if held is not content and isinstance(held, list):
            held += content
    return found


SAMPLES: dict[str, Any] = {
    **{tool: sample for tool, sample in load_samples().items() if tool != "figure-eight"},
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
    for module in (base, marks):
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
            refused.append(is_refused(name, tool=tool, question=tag))
    assert min(refused.count(True), refused.count(False)) > 4
    for cut in (text[: len(text) // 2], text[:-1], "", "null", "[null]", "[" * 100_000, '{"a": ' * 100_000):
        disk[name] = cut.encode()
        assert is_refused(name, tool=tool)


PAIR = '{"pair_id": "p%s", "judgments": [{"decision": "A>B"}], "label": %s}'
ODD: dict[str, tuple[bytes, Any]] = {
    "a mark and an empty line": (f"\ufeff{PAIR % (1, 1)}\n\n{PAIR % (2, 2)}\n".encode(), [1, 2]),
    "UTF-16": (f"[{PAIR % (1, 1)}]".encode("utf-16"), [1]),
    "what is no number": (f"{PAIR % (1, 1)}\n{PAIR % (2, '-Infinity')}".encode(), [1, None]),
    "half a record": (f"{PAIR % (1, 1)}\n\n{PAIR % (2, 2)}"[:-1].encode(), "line 3"),
    "two records in a line": (f"{PAIR % (1, 1)}\n{PAIR % (2, 2)},{PAIR % (3, 3)}".encode(), "line 2"),
    "a record over two lines": (f"{PAIR % (1, 1)}\n{PAIR % (2, '[1')}\n2]}}".encode(), "line 2"),
    "thousands of digits": (f"{PAIR % (1, 1)}\n{PAIR % (2, '9' * 5000)}".encode(), "line 2"),
    "very deep": (f"{PAIR % (1, 1)}\n{PAIR % (2, '[' * 200 + ']' * 200)}".encode(), "line 2"),
    "a list among records": (f"{PAIR % (1, 1)}\n[]".encode(), "record 2"),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_json_is_read_or_named(name: str, disk: dict[str, bytes]) -> None:
    disk["judge.jsonl"], expected = ODD[name]
    if isinstance(expected, list):
        assert opened(Path("judge.jsonl"), tool="judgebench").load(["gold"])["gold"] == expected
    else:
        with pytest.raises(InputError, match=f"judge.jsonl: {expected}"):
            opened(Path("judge.jsonl"), tool="judgebench")


def test_the_beginning_of_a_broken_file_is_looked_at_all_the_same(tmp_path: Path) -> None:
    text = json.dumps(SAMPLES["label-studio"])
    for end in range(0, len(text), len(text) // 9):
        peek = FileProbe(write(tmp_path / "export.json", text[:end]))
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
def test_whatever_is_broken_in_text_is_named(tool: str, text: str, tag: str | None, tmp_path: Path) -> None:
    names, refused = [str(write(tmp_path / name, text)) for name in ("ada/doc.x", "bob/doc.x")], 0
    for place in range(0, len(text), 1 + len(text) // 100):
        for variant in (text[:place], text[:place] + text[place + 1 :], text[:place] + "\x00<" + text[place:]):
            write(Path(names[1]), variant)
            refused += is_refused(*names, tool=tool, question=tag)
    assert refused > 5
    Path(names[1]).write_bytes(b"\xff\xfe\x00\xd8")
    assert is_refused(*names, tool=tool, question=tag)
