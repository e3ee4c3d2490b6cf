"""A classifier among the workers, beside CROWDLAB of cleanlab: how often truths are right, and what is learned of them.

pip install cleanlab
python benchmarks/crowdlab.py       # writes the table into docs/guide/SKLEARN.md

The names in news are real: Rodrigues, Pereira and Ribeiro (2014), of ``ALLALIKE_DATA``; each word that begins with a
capital letter or digit is a sample, and its class is what a worker tagged it as. The other samples are those that
scikit-learn has, with drawn workers, as in cleanlab's own examples. All learn with the same classifier, in the same
folds.
"""

from __future__ import annotations

import os
import re
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.feature_extraction import FeatureHasher
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import allalike
from allalike.datasets.parsers.spans import read_document
from allalike.sklearn import CrowdClassifier

if TYPE_CHECKING:
    import numpy.typing as npt

    Matrix = npt.NDArray[np.int64]

DATA = Path(os.environ.get("ALLALIKE_DATA", Path(__file__).parents[2] / "shared" / "datasets-kinds"))
PAGE = Path(__file__).parents[1] / "docs" / "guide" / "SKLEARN.md"
SEEDS = range(2)
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)
MODEL = make_pipeline(MaxAbsScaler(), LogisticRegression(C=3, max_iter=200))
CLASSES = ["O", "PER", "LOC", "ORG", "MISC"]
_NAMES = ("a vote", "`auto`", "CROWDLAB", "CrowdClassifier")
_TABLE = re.compile(r"(<!-- figures: benchmarks/crowdlab.py -->\n\n).*?(?=\n\n|\n\Z)", flags=re.DOTALL)


def read_names(part: str) -> tuple[Any, Matrix, Matrix]:
    """Return features of the words in news that begin with a capital or digit, what workers say, and what is true.

    A worker who was shown another text than the truth has is left out for that text.
    """
    with ZipFile(DATA / "spans_ner_conll_crowd" / "task1.zip") as archive:
        names = [name.split("/") for name in archive.namelist() if re.fullmatch(f"task1/{part}/.*txt", name)]
        texts = {tuple(name[2:]): archive.read("/".join(name)).decode() for name in names}
    workers = sorted({name[1] for name in texts if len(name) == 3})
    samples, said, truth = [], [], []
    for (_, document), text in sorted((name, text) for name, text in texts.items() if name[0] == "ground_truth"):
        words = [line.split()[0] for line in text.splitlines() if len(line.split()) > 1]
        characters, spans = read_document(text)
        ends = np.cumsum([0, *map(len, words)])
        chosen = [n for n, word in enumerate(words) if word[0].isupper() or word[0].isdigit()]
        row = np.full((len(words), len(workers)), -1)
        for column, worker in enumerate(workers):
            theirs, found = read_document(texts.get(("mturk_train_data", worker, document), ""))
            if theirs == characters:
                row[:, column] = _class_words(ends, found)
        said.append(row[chosen])
        truth.append(_class_words(ends, spans)[chosen])
        samples += [_describe(words, n) for n in chosen]
    matrix, known = np.concatenate(said), np.concatenate(truth)
    asked = (matrix >= 0).any(axis=1)
    features = FeatureHasher(2**14, input_type="string").transform(samples)
    return features[np.flatnonzero(asked)], matrix[asked], known[asked]


def _class_words(ends: Matrix, spans: list[tuple[int, int, str]]) -> Matrix:
    """Return the class of each word: that of the span in which it begins, or 0."""
    found = np.zeros(len(ends) - 1, np.int64)
    for start, end, name in spans:
        found[(ends[:-1] >= start) & (ends[:-1] < end)] = CLASSES.index(name)
    return found


def _describe(words: list[str], n: int) -> list[str]:
    """Return what is seen of a word: its letters, its shape, and its neighbours."""
    near = {place: words[n + place] if 0 <= n + place < len(words) else "" for place in (-2, -1, 0, 1, 2)}
    shape = re.sub("[a-z]+", "a", re.sub("[A-Z]", "A", re.sub("[0-9]+", "0", words[n])))
    ends = [f"ends {words[n][-3:]}", f"begins {words[n][:3]}", f"shape {shape}"]
    return [*(f"{place} {word}" for place, word in near.items()), *ends]


def draw_answers(known: Matrix, seed: int) -> Matrix:
    """Return two answers per sample, of 30 workers who are right from 30 to 90 % of the time."""
    rng = np.random.default_rng(seed)
    n_classes, right = int(known.max()) + 1, rng.uniform(0.3, 0.9, 30)
    wrong = (known[:, None] + rng.integers(1, n_classes, (len(known), 30))) % n_classes
    said = np.where(rng.random(wrong.shape) < right, known[:, None], wrong)
    asked = rng.random(said.shape).argsort(axis=1) < 2
    return np.where(asked, said, -1)


def find_by_crowdlab(samples: Any, matrix: Matrix, votes: Matrix) -> Matrix:
    """Return the consensus of CROWDLAB, with a classifier that learned from votes, as its authors do it."""
    from cleanlab.multiannotator import get_label_quality_multiannotator

    guess = cross_val_predict(clone(MODEL), samples, votes, cv=FOLDS, method="predict_proba")
    columns = pd.DataFrame(np.where(matrix < 0, np.nan, matrix), columns=[f"w{n}" for n in range(matrix.shape[1])])
    how = {"verbose": False, "return_detailed_quality": False, "return_annotator_stats": False}
    found = get_label_quality_multiannotator(columns.dropna(axis=1, how="all"), guess, **how)
    return np.asarray(found["label_quality"]["consensus_label"], np.int64)


def measure(samples: Any, known: Matrix, answers: Matrix | None, seed: int) -> dict[str, float]:
    """Return how often truths are right, and how often what was learned from them is right on new samples."""
    train, test = train_test_split(np.arange(len(known)), test_size=0.3, random_state=seed, stratify=known)
    matrix = draw_answers(known[train], seed) if answers is None else answers[train]
    inside, right = samples[train], known[train]
    votes = allalike.discover(matrix, method="UA", seed=seed).truth["label"].to_numpy()
    models = {"a vote": clone(MODEL).fit(inside, votes), "`auto`": CrowdClassifier(MODEL).fit(inside, matrix)}
    models["CrowdClassifier"] = CrowdClassifier(MODEL, cv=FOLDS).fit(inside, matrix)
    consensus = find_by_crowdlab(inside, matrix, votes)
    models["CROWDLAB"] = clone(MODEL).fit(inside, consensus)
    truths = {"a vote": votes, "CROWDLAB": consensus}
    truths |= {name: models[name].truth_ for name in ("`auto`", "CrowdClassifier")}
    return {
        **{f"{name}, truths": 100 * float(np.mean(truths[name] == right)) for name in _NAMES},
        **{
            f"{name}, learned": 100 * float(np.mean(models[name].predict(samples[test]) == known[test]))
            for name in _NAMES
        },
    }


def main() -> None:
    """Measure all, and write the table."""
    crowds: dict[str, tuple[Any, Matrix, Matrix | None]] = {}
    for name, load in (("digits", load_digits), ("wine", load_wine), ("breast cancer", load_breast_cancer)):
        samples, known = load(return_X_y=True)
        crowds[f"{name}, drawn workers"] = samples, known, None
    for part in ("val", "test"):
        samples, matrix, known = read_names(part)
        crowds[f"names in news ({part}), real workers"] = samples, known, matrix
    lines = [f"| samples | {' | '.join(_NAMES)} | {' | '.join(_NAMES)} |", f"| --- |{' --: |' * 2 * len(_NAMES)}"]
    for name, (samples, known, answers) in crowds.items():
        begin = time.perf_counter()
        means = pd.DataFrame([measure(samples, known, answers, seed) for seed in SEEDS]).mean()
        cells = [_bold(means[[f"{who}, {what}" for who in _NAMES]].tolist()) for what in ("truths", "learned")]
        lines.append(f"| {name} | {' | '.join(cells[0] + cells[1])} |")
        print(f"{lines[-1]}  {time.perf_counter() - begin:.0f} s", flush=True)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda found: found[1] + "\n".join(lines), page), encoding="utf-8")


def _bold(values: list[float]) -> list[str]:
    shown = [f"{value:.1f}" for value in values]
    return [f"**{each}**" if float(each) == max(map(float, shown)) else each for each in shown]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
