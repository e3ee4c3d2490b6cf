"""Texts: GLEU against nltk, edits against a table, tokens against sets; what they find, and what they refuse."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from nltk.translate.gleu_score import sentence_gleu
from rapidfuzz.distance import Levenshtein

import allalike
import crowds.text
from allalike._core.columns.column import Column
from allalike.distances import edit, gleu, tokens
from allalike.domains.pairwise import PairwiseKernels
from allalike.domains.text import Text
from allalike.engines import Engine
from allalike.errors import LabelError, OptionError, UnknownNameError

SENTENCES = st.lists(st.sampled_from(["a", "b", "c", "d", "A", "é", "猫"]), max_size=12)
CROWDWSA = "crowdwsa2019"


def all_pairs(n: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    left, right = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    return left.ravel(), right.ravel()


def apart(left: str, right: str, **options: Any) -> float:
    labels = [np.array([text], dtype=object) for text in (left, right)]
    return float(PairwiseKernels(domain=Text(**options)).distance_between(*labels)[0])


@given(st.lists(SENTENCES, min_size=1, max_size=6))
def test_gleu_is_that_of_nltk(sentences: list[list[str]]) -> None:
    i, j = all_pairs(len(sentences))
    found = gleu.distance(gleu.pack(sentences), i, j)
    for a, b, value in zip(i, j, found, strict=True):
        left, right = sentences[a], sentences[b]
        if left and right:
            assert value == pytest.approx(1 - sentence_gleu([left], right), abs=1e-12)
        else:
            assert value == float(bool(left) != bool(right))


def test_gleu_is_that_of_nltk_when_sequences_are_numbered_anew_and_pairs_come_in_many_chunks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = random.Random(0)
    sentences = [rng.choices(["the", "cat", "sat", "on", "a", "mat"], k=rng.randint(1, 30)) for _ in range(40)]
    i, j = all_pairs(40)
    expected = [1 - sentence_gleu([sentences[a]], sentences[b]) for a, b in zip(i, j, strict=True)]
    monkeypatch.setattr(gleu, "_LARGEST_CODE", 100)
    monkeypatch.setattr(tokens, "_ENTRIES_AT_ONCE", 50)
    np.testing.assert_allclose(gleu.distance(gleu.pack(sentences), i, j), expected, rtol=0, atol=1e-12)


def test_counts_beyond_a_byte_are_kept() -> None:
    sentences = [["a"] * 1000, ["a"] * 700, ["b", *["a"] * 300]]
    i, j = all_pairs(3)
    expected = [1 - sentence_gleu([sentences[a]], sentences[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(gleu.distance(gleu.pack(sentences), i, j), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("left", "right", "similarity"),
    [("the cat sat", "the cat sat on the mat", 1 / 3), ("a a a", "a b a", 1 / 3), ("x y", "x y", 1.0), ("x", "y", 0.0)],
)
def test_the_golden_values_of_gleu(left: str, right: str, similarity: float) -> None:
    assert apart(left, right) == pytest.approx(1 - similarity, abs=1e-12)
    assert apart(right, left) == pytest.approx(1 - similarity, abs=1e-12)


@pytest.mark.parametrize("distance", Text.distances)
@pytest.mark.parametrize("split", ["spaces", "words"])
def test_empty_texts_are_equal_and_far_from_all_others(distance: str, split: str) -> None:
    assert apart("", "", distance=distance, tokens=split) == 0.0
    assert apart("", "one two", distance=distance, tokens=split) == 1.0
    assert apart("one two", "", distance=distance, tokens=split) == 1.0


def levenshtein(left: str, right: str) -> int:
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        above, row = row, [i]
        for j, b in enumerate(right, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


@given(st.lists(st.text("abé猫\U0001f600 ", max_size=8), min_size=1, max_size=5))
def test_edits_are_those_of_the_textbook_and_of_rapidfuzz(texts: list[str]) -> None:
    i, j = all_pairs(len(texts))
    found = edit.distance(texts, i, j)
    for a, b, value in zip(i, j, found, strict=True):
        longer = max(len(texts[a]), len(texts[b]), 1)
        assert value == pytest.approx(levenshtein(texts[a], texts[b]) / longer, abs=1e-15)
        assert value == Levenshtein.normalized_distance(texts[a], texts[b])


@given(st.lists(SENTENCES, min_size=1, max_size=6))
def test_shared_tokens_are_those_of_sets(sentences: list[list[str]]) -> None:
    i, j = all_pairs(len(sentences))
    for a, b, value in zip(i, j, tokens.distance(tokens.pack(sentences), i, j), strict=True):
        left, right = set(sentences[a]), set(sentences[b])
        expected = 1 - len(left & right) / len(left | right) if left | right else 0.0
        assert value == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("distance", Text.distances)
def test_no_pairs_and_only_empty_texts_are_no_trouble(distance: str) -> None:
    none = np.empty(0, dtype=object)
    assert PairwiseKernels(domain=Text(distance=distance)).distance_between(none, none).shape == (0,)
    rows = [("ada", 1, ""), ("bob", 1, ""), ("eve", 1, "")]
    result = allalike.discover(rows, domain=Text(distance=distance))
    assert result.truth["label"].tolist() == [""]
    assert result.workers["disparity"].tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("distance", Text.distances)
def test_labels_in_the_store_and_labels_that_nobody_gave_are_compared_alike(distance: str) -> None:
    answers = allalike.read(crowds.text.answers(0, 6, 5, 0.0), domain=Text(distance=distance))
    kernels = answers.encoding.kernels
    [block] = map(answers.encoding.prepare, answers.blocks(100))
    first = block.label[block.starts]
    stored = kernels.distance_to(block, first)
    parsed = kernels.distance_to(block, kernels.restore(block, first))
    np.testing.assert_array_equal(stored, parsed)
    codes = kernels.restore_answers(block, np.arange(len(block.label)))
    each = np.repeat(codes[block.starts], block.sizes)
    np.testing.assert_array_equal(kernels.distance_between(codes, each), stored)


def test_case_counts_unless_it_is_told_not_to() -> None:
    assert apart("The Cat", "the cat") == 1.0
    assert [apart("The Cat", "the cat", lower=True, distance=d) for d in Text.distances] == [0.0, 0.0, 0.0]
    rows = [("ada", 1, "The Cat"), ("bob", 1, "the cat"), ("eve", 1, "a dog")]
    truth = allalike.discover(rows, domain=Text(lower=True), method="UA").truth
    assert truth["label"][0] in ("The Cat", "the cat")
    assert truth["confidence"][0] == pytest.approx(2 / 3)
    assert not truth["tied"][0]


def test_words_and_punctuation_marks_are_tokens_of_their_own_if_asked_for() -> None:
    assert apart("a cat, a mat.", "a cat , a mat .", tokens="words") == 0.0
    assert apart("a cat, a mat.", "a cat , a mat .") > 0.0


def test_labels_come_back_as_they_went_in() -> None:
    rows = [("ada", 1, "  Ünïcode\t猫 \U0001f600 "), ("bob", 1, "  Ünïcode\t猫 \U0001f600 "), ("eve", 1, "naïve")]
    for distance, lower in itertools.product(Text.distances, (False, True)):
        result = allalike.discover(rows, domain=Text(distance=distance, lower=lower, tokens="words"))
        assert result.truth["label"].tolist() == ["  Ünïcode\t猫 \U0001f600 "]


def test_identical_texts_have_no_disparity_and_equal_weights() -> None:
    rows = [(f"w{i}", task, "same words here") for i in range(4) for task in range(3)]
    result = allalike.discover(rows, domain=Text())
    assert result.workers["disparity"].tolist() == [0.0] * 4
    assert result.workers["weight"].tolist() == pytest.approx([0.25] * 4)
    assert result.truth["support"].tolist() == [1.0] * 3


@pytest.mark.parametrize("distance", Text.distances)
def test_with_equal_weights_the_medoid_has_the_least_sum_of_distances(distance: str, engine: Engine) -> None:
    domain = Text(distance=distance)
    rows = crowds.text.answers(3, 7, 12, 0.2)
    truth = allalike.discover(rows, domain=domain, method="UA", engine=engine).truth.set_index("task")["label"]
    for task, found in truth.items():
        labels = [label for _, t, label in rows if t == task]
        cost = {a: sum(apart(a, b, distance=distance) for b in labels) for a in labels}
        assert cost[found] == pytest.approx(min(cost.values()), rel=1e-9)


@pytest.mark.parametrize("distance", Text.distances)
@pytest.mark.parametrize("rule", [rule.name for rule in Text.rules])
def test_workers_who_copy_well_get_the_weight(distance: str, rule: str, engine: Engine) -> None:
    rows = crowds.text.answers(5, 8, 40, 0.1)
    faults = np.random.default_rng(5).uniform(0.02, 0.7, 8)
    workers = allalike.discover(rows, domain=Text(distance=distance, rule=rule), engine=engine).workers
    assert np.corrcoef(workers["fault"], faults)[0, 1] > 0.9
    assert set(workers["weight"].argsort()[-2:]) == set(faults.argsort()[:2])


def test_disparities_are_mean_distances_of_nltk() -> None:
    rows = crowds.text.answers(1, 5, 6, 0.0)
    rows = [(worker, task, label or "empty") for worker, task, label in rows]
    text = {(worker, task): label.split(" ") for worker, task, label in rows}
    workers = allalike.discover(rows, domain=Text(), method="P-TD").workers.set_index("worker")["disparity"]
    tasks = sorted({task for _, task, _ in rows})
    for worker in workers.index.astype(str):
        others = [(peer, task) for peer in workers.index if peer != worker for task in tasks]
        expected = np.mean([1 - sentence_gleu([text[worker, task]], text[peer, task]) for peer, task in others])
        assert workers[worker] == pytest.approx(expected, abs=1e-12)


def test_a_task_of_its_own_weighs_by_its_own_distances() -> None:
    rows = crowds.text.answers(2, 6, 5, 0.0)
    together = allalike.discover(allalike.read(rows, domain=Text()).per_task(), method="P-TD").workers
    for task in sorted({task for _, task, _ in rows}):
        alone = allalike.discover([row for row in rows if row[1] == task], domain=Text(), method="P-TD").workers
        same = together[together["task"] == task]
        np.testing.assert_allclose(same["disparity"], alone["disparity"], rtol=1e-12)
        np.testing.assert_allclose(same["weight"], alone["weight"], rtol=1e-12)


def test_one_answer_and_two_answers_to_a_task() -> None:
    rows = [("ada", 1, "only this"), ("ada", 2, "this"), ("bob", 2, "that")]
    truth = allalike.discover(rows, domain=Text()).truth
    assert truth["label"][0] == "only this"
    assert truth["label"][1] in ("this", "that")
    assert truth["tied"].tolist() == [False, True]


@pytest.mark.parametrize("label", [2.5, True, b"bytes", ("a", "b"), ["a", "b"]])
def test_a_label_that_is_not_a_string_is_an_error_that_names_its_row(label: Any) -> None:
    with pytest.raises(LabelError, match="row 1 .*not a string"):
        allalike.discover([("ada", 1, label), ("bob", 1, label)], domain=Text())


@pytest.mark.parametrize(("distance", "longest"), [("gleu", "1 MB"), ("edit", "0.1 MB"), ("tokens", "1 MB")])
def test_a_text_of_five_megabytes_is_an_error(distance: str, longest: str) -> None:
    with pytest.raises(LabelError, match=rf"row 2 .*5,000,000 characters.*\({longest}\)"):
        allalike.discover([("ada", 1, "short"), ("bob", 1, "word " * 1_000_000)], domain=Text(distance=distance))


def test_the_longest_texts_are_compared() -> None:
    rows = [("ada", 1, "word " * 200_000), ("bob", 1, "other " * 160_000), ("eve", 1, "word " * 199_999)]
    assert allalike.discover(rows, domain=Text()).truth["label"][0] in (rows[0][2], rows[2][2])
    rows = [(worker, task, label[:100_000]) for worker, task, label in rows]
    assert allalike.discover(rows, domain=Text(distance="edit")).truth["label"].tolist() == [rows[0][2]]


def test_options_that_make_no_sense_are_refused() -> None:
    with pytest.raises(OptionError, match="tokens is 'letters'. Choose one of: spaces, words"):
        Text(tokens="letters")
    with pytest.raises(OptionError, match="lower is 'yes'"):
        Text(lower="yes")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="gleu, edit, tokens"):
        Text(distance="bleu")


def test_a_summary_says_how_texts_were_compared() -> None:
    rows = [("ada", 1, "a b"), ("bob", 1, "a c")]
    described = allalike.discover(rows, domain=Text(lower=True, distance="edit")).summary["domain"]
    assert described == {"name": "text", "distance": "edit", "rule": "medoid", "lower": True, "tokens": "spaces"}


def load(data: Path, name: str) -> tuple[allalike.Answers, dict[str, str], dict[str, Any]]:
    """Read a part of CrowdWSA with the options under which its statistics were computed."""
    folder = data / CROWDWSA
    columns = {"worker": "worker", "task": "sentence", "label": "workeranswer"}
    path = folder / "data" / f"CrowdWSA2019_{name}_label_anonymous.tsv"
    answers = allalike.read(path, columns=columns, repeats="last", domain=Text(lower=True, tokens="words"))
    lines = (folder / "data" / f"CrowdWSA2019_{name}_gt.tsv").read_text(encoding="utf-8").splitlines()[1:]
    gold = dict(line.split("\t") for line in lines)
    known = json.loads((folder / "SOURCE.json").read_text(encoding="utf-8"))["verification"][name]
    return answers, gold, known


@pytest.mark.parametrize("name", ["T1", "T2", "J1"])
def test_the_known_statistics_of_crowdwsa(name: str, data: Path) -> None:
    answers, gold, known = load(data, name)
    assert len(answers.workers) == known["n_workers"]
    assert len(answers.tasks) == known["n_sentences"]
    assert answers.n_answers + answers.notes["repeats_set_aside"] == known["n_labels"]
    sizes = np.diff(answers.starts)
    assert [sizes.min(), sizes.max()] == known["labels_per_sentence"]

    encoding, truths = answers.encoding.encode_gold(_column([gold[str(task)] for task in answers.tasks.tolist()]))
    similarity = 1 - encoding.kernels.distance_between(answers.label, np.repeat(truths, sizes))
    assert similarity.mean() == pytest.approx(known["mean_worker_GLEU_vs_reference"], abs=5.1e-5)
    best = np.maximum.reduceat(similarity, answers.starts[:-1])
    assert best.mean() == pytest.approx(known["oracle_best_answer_mean_GLEU"], abs=5.1e-5)
    own = np.bincount(answers.worker, similarity) / np.bincount(answers.worker)
    assert own.min() == pytest.approx(known["worst_worker_mean_GLEU"], abs=5.1e-5)
    busy = np.bincount(answers.worker) > 10  # their source does not say so, but only then all three parts agree
    assert own[busy].max() == pytest.approx(known["best_worker_mean_GLEU"], abs=5.1e-5)
    lowest, highest = _medoids(answers, similarity)
    assert lowest - 5.1e-5 <= known["medoid_mean_GLEU"] <= highest + 5.1e-5
    truth = {task: gold[str(task)] for task in answers.tasks.tolist()}
    found = allalike.discover(answers, method="UA", gold=truth).summary["gold"]
    assert lowest - 1e-12 <= 1 - found["error"] <= highest + 1e-12
    assert highest - lowest < 0.004


def _column(labels: list[str]) -> Column:
    return Column.of_objects("label", labels)


def _medoids(answers: allalike.Answers, similarity: Any) -> tuple[float, float]:
    """Return the mean similarity of medoids if all ties go wrong, and if all go well."""
    bounds = []
    for begin, end in itertools.pairwise(answers.starts):
        i, j = all_pairs(end - begin)
        cost = (
            answers.encoding.kernels.distance_between(answers.label[begin + i], answers.label[begin + j])
            .reshape(end - begin, -1)
            .sum(1)
        )
        tied = similarity[begin:end][cost <= cost.min() + 1e-9]
        bounds.append((tied.min(), tied.max()))
    low, high = np.mean(bounds, axis=0)
    return float(low), float(high)


def test_gleu_is_that_of_nltk_on_translations(data: Path) -> None:
    answers, _, _ = load(data, "T1")
    domain = answers.domain
    assert isinstance(domain, Text)
    distinct = list(dict.fromkeys(answers.label))
    store = domain.pack(distinct)
    i, j = np.arange(len(distinct) - 1), np.arange(1, len(distinct))
    texts = [tokens.split_words(text.lower()) for text in distinct]
    expected = [1 - sentence_gleu([texts[a]], texts[b]) for a, b in zip(i, j, strict=True)]
    np.testing.assert_allclose(domain.compare(store, i, store, j), expected, rtol=0, atol=1e-12)


def test_texts_of_a_file_that_all_are_numbers_are_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("worker,task,label\na,1,1234\nb,1,1235\nc,1,1234\n")
    result = allalike.discover(tmp_path / "a.csv", domain=Text(distance="edit"))
    assert result.truth["label"].tolist() == ["1234"]
