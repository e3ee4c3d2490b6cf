"""The page on crowds that nobody looked at, made of the figures that `unseen.py` keeps in ``docs/evidence/unseen.csv``.

python benchmarks/unseen_page.py    # writes it again
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from allalike.panels.calibration import BINS
from league_page import tabulate
from unseen_choices import CHOICES, VARIANTS, read_trials, write_choices, write_parts
from unseen_crowds import FAMILIES
from unseen_figures import CLEAR, ENOUGH, FAR, VOTE, Figures, read_figures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from unseen_figures import Figure

__all__ = ["FIGURES", "MADE", "PAGE", "Made", "write_page"]

EVIDENCE = Path(__file__).parents[1] / "docs" / "evidence"
PAGE, FIGURES = EVIDENCE / "UNSEEN.md", EVIDENCE / "unseen.csv"


@dataclass(frozen=True)
class Made:
    """How a default was made: on which families, and how many variants were compared on them, if that was counted."""

    default: str
    chosen_on: tuple[str, ...]
    variants: int | None = None

    @property
    def left_out(self) -> tuple[str, ...]:
        """The families that nobody looked at."""
        return tuple(name for name in FAMILIES if name not in self.chosen_on)


MADE = Made("auto that asks halves of the workers", tuple(FAMILIES), 140)  # who changes the default fills this in
_DEFAULT, _PLAIN = "auto", "auto --plain"
_MARKS = {1: "+", 0: "", -1: "-"}
_FAR = f"{100 * FAR:.1f} points"


def write_page(figures: Figures, made: Made = MADE) -> str:
    """Write the whole page."""
    left, seen = figures.families(*made.left_out), figures.families(*made.chosen_on)
    parts = [
        _opening(figures, made),
        _made(made),
        _family("Left out", figures, left),
        _family("Chosen on", figures, seen),
        _sure(figures, left, seen),
        _limits(figures, left, seen),
        _voices(figures),
        _failures(figures),
        _described(figures),
    ]
    return "\n\n".join(part.strip() for part in parts if part) + "\n"


def _opening(figures: Figures, made: Made) -> str:
    n_left, n_seen = (len(figures.crowds(*families)) for families in (made.left_out, made.chosen_on))
    left = f"Here are {n_left} crowds that were *left out* when it was made." if n_left else "None was left out."
    versions = "; ".join(f"{version} ({', '.join(names)})" for version, names in _versions(figures).items())
    return f"""# Where it helps, and how sure that is

How often the methods are right on crowds of classes, beside the vote. {left} {n_seen} crowds are those that the default
was *chosen on*: their figures say how well something was fitted, and are no evidence for anything new;
[what the others choose](#which-figures-count) is. `make unseen` measures all of them, and `benchmarks/unseen_page.py`
makes this page from `unseen.csv` beside it; all figures, even those in words, are computed.

- *Right* is the percentage of the known truths that a method finds, without knowing any. In the vote (UA), labels that
  are tied share a task; elsewhere the winner is drawn once.
- *Clearly* above or below the vote means McNemar's exact test, two-sided, p < {CLEAR}: of the tasks on which only
  one of the two is right, far more are on one side than chance would put there. Tables show it as + and -. The vote is
  drawn once for this, and ties that both have are drawn alike. With {len(figures.methods)} methods and
  {n_left + n_seen} crowds, some of these are chance.
- Crowds in a family are very similar, and some have the same workers; so there is a mean over families, too.
- A method that does not serve a crowd has an empty cell, and one that took too long a †. Its means are over the other
  crowds, and *over the vote* compares it with the vote on these alone.
- OA, which knows the truths, is not here.
- Measured with allalike {versions}."""


def _versions(figures: Figures) -> dict[str, list[str]]:
    """Return who was measured with which version; one version of all is not listed by method."""
    found: dict[str, list[str]] = {}
    for figure in figures.every:
        names = found.setdefault(figure.version, [])
        names += [figure.method] if figure.method not in names else []
    return found if len(found) > 1 else {version: ["all methods"] for version in found}


def _made(made: Made) -> str:
    variants = "not counted" if made.variants is None else f"{made.variants:,}"
    row = [made.default, ", ".join(made.chosen_on), ", ".join(made.left_out), variants]
    meant = "\n".join(f"- *{name}*: {what}" for name, what in FAMILIES.items())
    table = tabulate(["default", "chosen on", "left out", "variants compared"], [row])
    return f"""## Which figures count

{table}

Nothing was chosen for the other methods here.

{meant}

Somebody who had not seen one of the families would have chosen what is best on the others. Of {len(VARIANTS)}
variants of the default, which change a constant or leave out a part of it, these are what the others choose, and what
they are worth on the family that had no say (crowds of up to 20 classes). These are the
figures that count, and even they are rather too good: only these choices were left out, one at a time, while the design
was made with all families in view.

{write_choices(read_trials(CHOICES))}

What each variant is worth, in points above the vote. It shows what the part that is left out or changed gains or costs:

{write_parts(read_trials(CHOICES))}"""


def _family(title: str, figures: Figures, families: Sequence[str]) -> str:
    """Show who is right how often on some families: in short, in words, and crowd by crowd."""
    if not families:
        return ""
    crowds = figures.crowds(*families)
    said = [_words(figures, method, crowds) for method in (_DEFAULT, _PLAIN) if figures.of(method, crowds)]
    points = "\n".join(f"- {sentence}" for sentence in said)
    return "\n\n".join([f"## {title}", _short(figures, families), points, _each(figures, crowds)])


def _short(figures: Figures, families: Sequence[str]) -> str:
    crowds = figures.crowds(*families)
    methods = sorted(figures.methods, key=lambda method: -(figures.gain(method, crowds) or 0.0))
    head = ["method", "crowds", "right", "over the vote", *families, "mean of families"]
    head += ["clearly above", "clearly below", f"below by {_FAR}"]
    rows = []
    for method in methods:
        found, gain = figures.of(method, crowds), figures.gain(method, crowds)
        if found:
            each = [figures.right(method, figures.crowds(family)) for family in families]
            counts = [figures.clearly(method, crowds, 1), figures.clearly(method, crowds, -1)]
            shares = [*map(_percent, each), _percent(figures.by_family(method, *families))]
            over = "" if gain is None else f"{100 * gain:+.1f}"
            rows.append(
                [method, str(len(found)), _percent(figures.right(method, crowds)), over, *shares]
                + [str(len(some)) for some in (*counts, figures.far_below(method, crowds))]
            )
    return tabulate(head, rows)


def _words(figures: Figures, method: str, crowds: Sequence[Figure]) -> str:
    above, below = (figures.clearly(method, crowds, sign) for sign in (1, -1))
    far = [figure for figure in figures.far_below(method, crowds) if figure not in below]
    more = f" By more than {_FAR} below, but not clearly: {_list(figures, far)}." if far else ""
    return (
        f"{method} is clearly above the vote on {len(above)} of {len(figures.of(method, crowds))} crowds"
        f"{_in_brackets(figures, above)}, and clearly below on {len(below)}{_in_brackets(figures, below)}.{more}"
    )


def _in_brackets(figures: Figures, found: Sequence[Figure]) -> str:
    return f" ({_list(figures, found)})" if found else ""


def _list(figures: Figures, found: Sequence[Figure]) -> str:
    """Name crowds, with the percentages of the vote and of the method."""
    pairs = [(one.crowd, figures.by_name[one.crowd, VOTE].right, one.right) for one in found]
    return ", ".join(f"{name} {_percent(vote)} to {_percent(right)}" for name, vote, right in pairs)


def _each(figures: Figures, crowds: Sequence[Figure]) -> str:
    methods = [method for method in figures.methods if figures.of(method, crowds)]
    rows = [[one.crowd, one.family, *(_cell(figures, one, method) for method in methods)] for one in crowds]
    return tabulate(["crowd", "family", *methods], rows)


def _cell(figures: Figures, crowd: Figure, method: str) -> str:
    figure = figures.by_name.get((crowd.crowd, method))
    if figure is None:
        return ""
    return "†" if figure.right is None else f"{_percent(figure.right)}{_MARKS[figure.clear]}"


def _sure(figures: Figures, left: Sequence[str], seen: Sequence[str]) -> str:
    families = [*left, *seen]
    rows = []
    for method in figures.methods:
        each = [figures.calibration(method, figures.crowds(family)) for family in families]
        means = [figures.calibration(method, figures.crowds(*some)) for some in (left, seen) if some]
        name = "vote share" if method == VOTE else method
        rows.append([name, *("" if one is None else f"{one:.3f}" for one in (*each, *means))])
    totals = [name for name, some in (("all left out", left), ("all chosen on", seen)) if some]
    table = tabulate(["method", *families, *totals], rows)
    return f"""## How sure

The expected calibration error of `confidence`: how far it is from how often labels are right, in {BINS} bins, on
average over crowds; less is better. The confidence of a vote is the share of the votes; of methods that know no
probabilities it is the share of the weight.

{table}"""


def _limits(figures: Figures, left: Sequence[str], seen: Sequence[str]) -> str:
    rows = []
    for what, families in (
        *((name, [name]) for name in (*left, *seen)),
        ("all left out", left),
        ("all chosen on", seen),
    ):
        found = figures.of(_DEFAULT, figures.crowds(*families))
        judged = sum(figure.judged for figure in found)
        if judged:
            held = [sum(getattr(figure, name) for figure in found) for name in ("within", "allowed", "above")]
            rows.append([what, f"{judged:,}", *(f"{100 * count / judged:.0f}" for count in held)])
    table = tabulate(["family", "workers", "within", "may be within", "worse than the upper limit"], rows)
    return f"""## Limits of workers

`low` and `high` in the table of workers are limits of her error rate, which shall hold for 95 of 100 workers if errors
are independent. Here they are compared with the answers to tasks whose truth is known, of workers with {ENOUGH} of
these and more. *Within* is the percentage of workers whose share of wrong answers is between the limits. But this share
is a sample, and may be outside although the rate behind it is not: *may be within* counts her unless so many errors, or
so few, have a probability below 2.5 % if her rate were the nearer limit. The others are worse than the upper limit, or
better than the lower one.

{table}"""


def _voices(figures: Figures) -> str:
    rows = []
    for one in figures.crowds("panels"):
        if one.correlation is not None and one.voices is not None:
            spread = [
                f"{one.workers:,}",
                f"{one.answers / one.tasks:.1f}",
                f"{one.correlation:.2f}",
                f"{one.voices:.1f}",
            ]
            rows.append([one.crowd, *spread])
    if not rows:
        return ""
    table = tabulate(["panel", "workers", "answers per task", "correlation of errors", "voices"], rows)
    return f"""## Voices of panels

K workers whose errors have the correlation rho count like K / (1 + (K - 1) rho) whose errors are independent (Kish).
rho is that of the errors of two answers to a task whose truth is known, on average, after each worker's own error rate
was taken out.

{table}"""


def _failures(figures: Figures) -> str:
    found: dict[tuple[str, str], list[str]] = {}
    for figure in figures.every:
        if figure.failure:
            found.setdefault((figure.method, figure.failure.replace("|", "/")), []).append(figure.crowd)
    rows = [[method, ", ".join(crowds), why] for (method, why), crowds in found.items()]
    said = tabulate(["method", "crowds", "why"], rows) if rows else "All have one everywhere."
    return f"## Who has no figure\n\n{said}"


def _described(figures: Figures) -> str:
    rows = []
    for one in figures.crowds(*FAMILIES):
        counts = [f"{n:,}" for n in (one.classes, one.workers, one.tasks, one.answers, one.gold)]
        rows.append([one.crowd, one.family, *counts, f"{one.answers / one.tasks:.1f}"])
    table = tabulate(["crowd", "family", "classes", "workers", "tasks", "answers", "gold", "answers per task"], rows)
    return f"## The crowds\n\n{table}"


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.1f}"


if __name__ == "__main__":
    PAGE.write_text(write_page(read_figures(FIGURES)), encoding="utf-8")
