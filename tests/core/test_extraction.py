"""Labels are found in what people and models write around them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

import allalike
from allalike import Categorical
from allalike._core.extraction import find_extractor
from allalike.errors import LabelError, OptionError
from allalike.spellings import find_spellings

if TYPE_CHECKING:
    from pathlib import Path

NUMBERS = {
    "42": [
        *("42", "42.0", "42.", " 42 ", "**42**", r"\boxed{42}", "$42", "42%", "(42)", "42 apples", "+42", "42.00"),
        *("The answer is 42.", "Answer:\n42", "**Answer:** 42 apples (2 x 21)", "#### 42", "<answer>42</answer> 7"),
        *("The answer is 42. I hope this answer is helpful. 7", "The answer is 6 * 7 = 42.", "So x = 42"),
        *(r"\[ x = 42 \]", "The area is 42 m^2.", "It is 42 m²", r"\boxed{42\text{ cm}^2}", r"\boxed{42^\circ}"),
        *("final answer is **$42.00**", '{"reasoning": "9 * 2 = 18", "answer": "$42"}', "Step 1: 5.\nSo 42 remain"),
        *('```json\n{"answer": 42.0, "why": 3}\n```', "**Step 3**: the total is 42", "**Total: 42 apples**"),
        '{"answer": "The least number in 8 hours is 42."}',
    ],
    "1000": ["1,000", "1,000.0", "1000", "£1,000", r"\boxed{1{,}000}", r"1\,000", "1 000", "1e3", r"1 \times 10^{3}"],
    "-3": ["-3", "\u22123", "-$3", "$-3", "answer: -3.0", r"\boxed{-3}"],
    "0.5": ["1/2", ".5", "0.50", r"\frac{1}{2}", r"$\dfrac12$", r"\boxed{\frac{1}{2}}", "the answer is 1/2"],
    "1.5": ["1 1/2", r"1\frac{1}{2}"],
    "5": ["- 5 apples", "10-5", "$5", "He has 5.", "It needs 5 CO2"],
    "1.234,5": ["1.234,5"],
    r"3\sqrt{2}": [r"\boxed{3\sqrt{2}}", '{"answer": "3\\\\sqrt{2}"}'],
    "(3, 4)": [r"So \boxed{(3, 4)} is 5."],
    "": ["", "I cannot tell.", "no idea", "x", "{}", '{"a": ', "\\boxed{", "**"],
}
CHOICES = {
    "A": [
        *("A", "a", "(A)", "a)", "[[A]]", "A.", '"A"', "**A**"),
        *(r"\boxed{A}", r"\boxed{\text{A}}", "model_a"),
        *("Model A", "Answer: A", "The answer is (A).", "The answer is A because it is so", "A. because", "A) Paris"),
        *("Answer: (A) 42", "Assistant A is better. [[A]]", "Output (a) is better", "A is correct", "option (a)"),
        *('{"answer": "A"}', "**Answer: A**", "**A. Paris**", "Let us think.\n\nA", "<answer>A</answer>"),
        "the correct answer is option A.",
    ],
    "B": ["Answer: B is right", "answer is B", "B\n\nBecause of it", "Response B is the better one", "B) Rome"],
    "A>B": ["A>B", "A > B", "My final verdict is: [[A>B]]"],
    "A=B": ["A=B", "[[A=B]]"],
    "A>>B": ["A>>B", "[[A>>B]]"],
    "tie": ["tie", "Tie"],
    "": ["", "A dog", "A cat sat.", "The answer is a matter of taste", "Answer: A dog is here", "I think so", "Paris"],
}


@pytest.mark.parametrize(("how", "texts"), [("number", NUMBERS), ("choice", CHOICES)])
def test_the_same_answer_is_found_however_it_is_written(how: str, texts: dict[str, list[str]]) -> None:
    found = {text: find_extractor(how)(text) for written in texts.values() for text in written}
    assert found == {text: meant or None for meant, written in texts.items() for text in written}


def test_fields_of_json_are_found_in_text_that_is_nearly_json() -> None:
    answer = find_extractor("json:answer")
    assert answer('Sure!\n```json\n{"why": "a\nb", "answer": "x y"}\n```') == "x y"
    assert answer('{"answer": "first"} and then {"answer": "last"}') == "last"
    assert answer(r'{"why": "\frac{1}{2}", "answer": "\pi"}') == r"\pi"
    assert answer('{"answer": 1.50}') == "1.50"
    assert answer('{"answer": null}') is None
    assert answer("[" * 100_000 + '{"answer": 3') == "3"
    assert find_extractor("json:a.b")('{"a": {"b": [1]}}') == "[1]"
    assert find_extractor("json:a.1")('{"a": ["x", true]}') == "true"


@pytest.mark.parametrize("how", ["numbers", "json:", "(a)(b)", "(?:a)b(", "[(]", 3])
def test_an_unknown_way_to_extract_is_refused(how: str) -> None:
    with pytest.raises(OptionError, match="extract is"):
        Categorical(extract=how)


def test_ways_to_extract_are_given_on_the_command_line() -> None:
    def made(spec: str) -> object:
        return allalike.scan([], domain=spec).domain

    assert made("categorical(extract=number)") == made("categorical(extract='number')") == Categorical(extract="number")
    assert made(r"categorical(extract='is (\w+)', lower=True)") == Categorical(extract=r"is (\w+)", lower=True)
    assert made("categorical(extract=['json:a', 'number'])") == Categorical(extract=("json:a", "number"))


def test_labels_that_cannot_be_read_are_left_out_and_counted() -> None:
    said = {("ada", 1): "The answer is 4.", ("bob", 1): "**4**", ("eve", 1): "No idea.", ("eve", 2): "None."}
    rows = [(*who, text) for who, text in {**said, ("ada", 2): "5"}.items()]
    result = allalike.discover(rows, domain=Categorical(extract="number"), gold={1: "4.0 apples", 2: "5"})
    assert result.truth["label"].tolist() == ["4", "5"]
    assert result.summary["unparsed"] == {"labels": 2, "of": 5, "example": "No idea."}
    assert result.summary["gold"]["error"] == 0
    with pytest.raises(LabelError, match="'choice': 5 labels"):
        allalike.discover(rows, domain=Categorical(extract="choice"))


def test_more_answers_are_read_like_the_first() -> None:
    first = [("ada", 1, "The answer is 4."), ("bob", 1, "**4**")]
    result = allalike.discover(first, domain=Categorical(extract="number"))
    grown = result.update([("eve", 1, "It is 5."), ("eve", 2, "Answer: 4")], gold={1: "Four: 4"})
    assert grown.truth["label"].tolist() == ["4", "4"]
    assert grown.summary["gold"]["error"] == 0


def test_labels_that_differ_only_in_spelling_are_found() -> None:
    def option(*labels: object) -> str | None:
        found = find_spellings(labels)
        return None if found is None else found.option

    assert option("A", "a", "[[A]]", "model_a", "B") == "categorical(extract='choice')"
    assert option("1", "1.0", "$2") == option("The answer is 42.", "42") == "categorical(extract='number')"
    assert option("True", "TRUE", "1", "yes", "no") == ""
    assert option("A", "(A)", "unsure", "neither of them") == ""
    assert option("cat", "dog") is option("007", "7") is option("5 apples", "5") is option(1, 2) is option() is None


@pytest.mark.parametrize(("name", "folder"), [("zeroeval_gsm8k", "gsm"), ("zeroeval_math_l5", "math-l5")])
def test_the_accuracy_of_models_is_that_of_the_published_extraction(name: str, folder: str, data: Path) -> None:
    models = json.loads((data / name / "SOURCE.json").read_text())["verification"]["models"]
    number = find_extractor("number")
    differences, unread, given = [], 0, 0
    for model, told in models.items():
        rows = json.loads((data / name / "result_dirs" / folder / f"{model}.json").read_text())
        found = [(number(row["output"][0]), number(row["answer"].lstrip("# "))) for row in rows]
        accuracy = sum(answer == truth for answer, truth in found) / len(found)
        differences.append(100 * accuracy - float(told["repo_summary_Acc"]))
        given += sum(bool(row["output"][0]) for row in rows)
        unread += sum(bool(row["output"][0]) and answer is None for row, (answer, _) in zip(rows, found, strict=True))
    assert unread <= 0.01 * given
    assert abs(sum(differences) / len(differences)) < 0.5
    assert max(map(abs, differences)) < 1  # the published one reads 9 in 9√2, and 3 in -3
