"""Logs of evaluations for tests, as the frameworks write them; texts in them are secrets that no table may show."""

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

SECRET = "the prompt of a customer"
ZSTANDARD = 93


def inspect_sample(item: Any, scores: Mapping[str, Any], epoch: int = 1, **more: Any) -> dict[str, Any]:
    """Return a sample of Inspect, with a value for each scorer, or all of its score."""
    full = {name: score if isinstance(score, dict) else {"value": score} for name, score in scores.items()}
    return {"id": item, "epoch": epoch, "input": SECRET, "target": "yes", "messages": [], "scores": full, **more}


def panel_score(*votes: Any, value: Any = "C", **more: Any) -> dict[str, Any]:
    """Return the score of several graders, as Inspect's majority keeps it."""
    failures = [{"index": place, "explanation": SECRET} for place, vote in enumerate(votes) if vote is None]
    kept = {"votes": list(votes), "size": len(votes), "failures": failures, **more}
    return {"value": value, "answer": "yes", "metadata": {"grading": [SECRET], "panel": kept}}


def inspect_log(
    samples: Sequence[Any], model: str = "m", task: str = "sums", graders: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:
    """Return a log of Inspect."""
    options = {"model": list(graders)} if graders else {}
    scorers = [{"name": "model_graded_qa", "options": options}, {"name": "match", "options": {}}]
    header = {"task": task, "model": model, "scorers": scorers, "model_roles": None, **more}
    return {"version": 2, "status": "success", "eval": header, "samples": list(samples)}


def eval_members(log: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files in the archive of a log."""
    header = {key: value for key, value in log.items() if key != "samples"}
    files = {f"samples/{each['id']}_epoch_{each['epoch']}.json": each for each in log["samples"]}
    named = {"_journal/start.json": {"version": 2, "eval": log["eval"]}, **files, "header.json": header}
    return {name: json.dumps(value).encode() for name, value in named.items()}


def write_eval(path: Path, log: Mapping[str, Any], method: int = ZSTANDARD) -> Path:
    """Write a log as Inspect does: a zip archive, packed with Zstandard, or as older versions did."""
    if method == ZSTANDARD:
        return write_zstandard(path, eval_members(log))
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in eval_members(log).items():
            archive.writestr(name, data)
    return path


def write_zstandard(path: Path, members: Mapping[str, bytes], *, size: int | None = None, flags: int = 0) -> Path:
    """Write an archive packed with Zstandard, which Python's cannot; sizes may be wrong, and flags set."""
    body, entries = b"", b""
    for name, data in members.items():
        packed = pa.compress(data, codec="zstd", asbytes=True)
        unpacked = len(data) if size is None else size
        told = struct.pack(
            "<HHHHHLLLHH", 20, flags, ZSTANDARD, 0, 33, zlib.crc32(data), len(packed), unpacked, len(name), 0
        )
        entries += (
            b"PK\x01\x02" + struct.pack("<H", 20) + told + struct.pack("<HHHLL", 0, 0, 0, 0, len(body)) + name.encode()
        )
        body += b"PK\x03\x04" + told + name.encode() + packed
    number = len(members)
    end = b"PK\x05\x06" + struct.pack("<HHHHLLH", 0, 0, number, number, len(entries), len(body), 0)
    path.write_bytes(body + entries + end)
    return path


def lm_eval_sample(item: int, responses: list[Any], target: Any = "1", filtered: str = "none", **metrics: float) -> Any:
    """Return a sample of lm-evaluation-harness."""
    return {
        "doc_id": item,
        "doc": {"question": SECRET},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": SECRET}},
        "resps": [[response] for response in responses],
        "filtered_resps": responses,
        "filter": filtered,
        "metrics": list(metrics),
        **metrics,
    }


def promptfoo_result(
    item: int, checks: Sequence[Any], provider: Any = "m", column: int = 0, **more: Any
) -> dict[str, Any]:
    """Return a result of promptfoo, in which graders said whether an output passes."""
    parts = [
        {"pass": passed, "score": float(passed), "reason": SECRET, "assertion": {"type": "llm-rubric", **who}}
        for who, passed in checks
    ]
    return {
        "testIdx": item,
        "promptIdx": column,
        "provider": {"id": provider},
        "vars": {"question": f"{SECRET} {item}"},
        "success": all(passed for _, passed in checks),
        "failureReason": 0,
        "gradingResult": {"pass": True, "score": 1, "reason": SECRET, "componentResults": parts},
        **more,
    }


def promptfoo_results(*results: Any) -> dict[str, Any]:
    """Return the file of an evaluation of promptfoo."""
    return {"evalId": "eval-1", "results": {"version": 3, "timestamp": "2026", "prompts": [], "results": list(results)}}


def deepeval_run(*cases: tuple[str, list[dict[str, Any]]], **more: Any) -> dict[str, Any]:
    """Return a test run of DeepEval."""
    tests = [{"name": name, "input": SECRET, "actualOutput": SECRET, "metricsData": data} for name, data in cases]
    return {"testCases": tests, "conversationalTestCases": [], **more}


def deepeval_metric(judge: str, passed: Any, name: str = "Correctness", **more: Any) -> dict[str, Any]:
    return {"name": name, "threshold": 0.5, "success": passed, "evaluationModel": judge, "reason": SECRET, **more}
