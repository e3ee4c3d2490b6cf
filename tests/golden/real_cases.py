"""Golden cases of real data, which lie beside the project: exports of tools, crowds and data sets.

Stored are counts, roles, sums and digests, no data.
"""

import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import allalike
from golden.record import SHARED, add, digest, facts
from golden.text_cases import look

EXPORTS = Path(os.environ.get("ALLALIKE_EXPORTS", SHARED / "exports"))
CROWDS = Path(os.environ.get("ALLALIKE_CROWDS", SHARED / "crowds"))
DATA = [Path(each) for each in os.environ.get("ALLALIKE_DATA", "").split(os.pathsep) if each]
DATA = DATA or [SHARED / "datasets", SHARED / "datasets-kinds"]

FILES = """brat.ann conll.txt crowdtruth-rte.csv cvat.xml doccano-classes.jsonl doccano-spans.jsonl
figure-eight-relations.csv judgebench-Ray2333-41.jsonl judgebench-Skywork-40.jsonl judgebench-Skywork-41.jsonl
label-studio-boxes.json label-studio-coders.json mturk-batch.csv partial.soi peerannot.json prodigy.jsonl
qualtrics.csv tied-partial.toi tied.toc toloka.tsv zooniverse-classifications.csv zooniverse-flattened.csv README.md"""


def read_exports(pattern: str, folder: Path, **how: Any) -> Any:
    """Return what is read of one or several exports."""
    paths = sorted(EXPORTS.glob(pattern))
    return look(paths if len(paths) > 1 else paths[0], whole=False, **how)


for _file in FILES.split():
    add(f"exports/{_file}", partial(read_exports, _file), data=EXPORTS)
READ: dict[str, tuple[str, dict[str, Any]]] = {
    "three judges": ("judgebench-*.jsonl", {}),
    "spans of coders": ("label-studio-coders.json", {"question": "label"}),
    "survey of marks": ("zooniverse-classifications.csv", {"columns": {"label": "T3"}}),
}
for _name, (_pattern, _how) in READ.items():
    add(f"exports/{_name}", partial(read_exports, _pattern, **_how), data=EXPORTS)


def summarise(labels: list[Any]) -> Any:
    """Return the sum of the floats in labels, and a digest of everything else."""
    floats: list[float] = []

    def drop(label: Any) -> Any:
        if isinstance(label, float):
            return floats.append(label)
        if isinstance(label, dict):
            return {key: drop(each) for key, each in label.items()}
        return [drop(each) for each in label] if isinstance(label, list | tuple) else label

    others = digest([drop(label) for label in labels])
    return {"floats": len(floats), "sum": float(np.sum(floats)), "digest": others}


def describe(result: Any, gold: Any = None) -> Any:
    """Return counts, the chosen model, and sums that tell weights, confidences and labels."""
    truth, workers = result.truth, result.workers
    weight = workers["weight"].to_numpy()
    error = next(workers[name] for name in ("error_rate", "rmse", "mean_error") if name in workers)
    return {
        "summary": facts({name: result.summary.get(name) for name in ("answers", "workers", "tasks", "domain")}),
        "model": facts(result.summary.get("model", {})).get("chosen"),
        "changed": result.summary["changed"],
        "groups": len(result.groups),
        "flags": workers["flag"].value_counts().sort_index().to_dict(),
        "weights": [float(weight.max()), float(weight @ np.arange(len(weight)))],
        "faults": float(error.mean()),
        "confidence": float(truth["confidence"].mean()) if "confidence" in truth else None,
        "labels": summarise(truth["label"].tolist()),
        "right": None if gold is None else int((truth["label"].to_numpy() == gold).sum()),
    }


def run_crowd(name: str, folder: Path) -> Any:
    """Run the default method on classes with gold."""
    crowd = np.load(CROWDS / f"{name}.npz")
    result = allalike.discover(
        {"worker": crowd["W"], "task": crowd["T"], "label": crowd["L"]}, domain="categorical", engine="memory"
    )
    return describe(result, crowd["g"][result.truth["task"].to_numpy()])


CLASSES = """faithbench mmlu_computer_science mrmc_Franken mvh_colour mvh_edge mvh_false-colour mvh_stylized owasp_12
prelec_1b prelec_1c readcomp_baseline readcomp_crowd readmix_baseline readmix_crowd tiny_imagenet_crowd triviaqa_judges
viper_challengeHighP viper_challengeMedP viper_screeningLowP weak_spouse wrench_basketball wrench_cardio wrench_chemprot
wrench_imdb wrench_semeval wrench_sms wrench_trec wrench_youtube zeroeval_crux"""
for _name in CLASSES.split():
    add(f"crowds/{_name}", partial(run_crowd, _name), tolerance=1e-8, data=CROWDS)


def run_file(path: Path, folder: Path, **how: Any) -> Any:
    """Run the default method on a file."""
    return describe(allalike.discover(path, **how))


FRAMES = """numbers/coins_nested numbers/gk_1 numbers/ncaa_r64 numbers/weather_pressure numbers/weather_temperature
ratings/10k_prompts_models ratings/10k_prompts_people ratings/lesion_models ratings/lesion_people
ratings/lgbteen_models ratings/lgbteen_people"""
for _file in FRAMES.split():
    add(f"crowds/{_file}", partial(run_file, CROWDS / f"{_file}.csv"), tolerance=1e-8, data=CROWDS)
OF_EXPORTS: dict[str, dict[str, Any]] = {
    "crowdtruth-rte.csv": {},
    "label-studio-boxes.json": {},
    "label-studio-coders.json": {"question": "label"},
    "mturk-batch.csv": {},
    "prodigy.jsonl": {},
    "tied.toc": {},
    "toloka.tsv": {"columns": {"label": "OUTPUT:q1"}},
    "zooniverse-flattened.csv": {},
}
for _file, _how in OF_EXPORTS.items():
    add(f"crowds/{_file}", partial(run_file, EXPORTS / _file, **_how), tolerance=1e-8, data=EXPORTS)
OF_DATA_SETS: dict[str, dict[str, Any]] = {
    "bench_bluebird/answer.csv": {},
    "bench_dog/answer.csv": {},
    "bench_face/answer.csv": {},
    "bench_labelme/answer.csv": {},
    "bench_product/answer.csv": {},
    "bench_zencrowd_all/label.csv": {},
    "crowdwsa2019/data/CrowdWSA2019_T1_label_anonymous.tsv": {},
    "snow_temp/temp.standardized.tsv": {},
    "snow_wordsim/wordsim.standardized.tsv": {},
    "records_flights/datasets/flights/dirty.csv": {
        "columns": {"worker": "src", "task": "flight", "label": "act_dep_time"},
        "missing": "drop",
    },
    "probabilities_gjp_mini/data/gjp/survey_fcasts_mini.yr1.csv": {
        "columns": {"worker": "user_id", "task": "ifp_id", "label": "value"},
        "duplicates": "last",
    },
}
for _file, _how in OF_DATA_SETS.items():
    _found = [each / _file for each in DATA if (each / _file).exists()]
    _path = _found[0] if _found else DATA[0] / _file
    add(f"crowds/{_file}", partial(run_file, _path, **_how), tolerance=1e-8, data=_path)
