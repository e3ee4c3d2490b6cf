"""Agreement scale by scale: surveys ask questions of several scales, whose answers have no distance to each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allalike.api.agreement.agreement import Agreement, measure_agreement
from allalike.methods.composed.fields import take_field

if TYPE_CHECKING:
    from allalike.engines import Run

__all__ = ["measure_scales"]

_MAX_QUESTIONS = 500  # a survey has no more


def measure_scales(run: Run) -> dict[str, Agreement]:
    """Measure how much the workers agree on each scale of a survey; nothing of other answers.

    >>> import allalike
    >>> scales = {"Which?": "letter", "Which one?": "letter", "Did you?": "used"}
    >>> said = {"ada": ["a", "b", "yes"], "bob": ["a", "b", "no"]}
    >>> rows = [(who, task, {scales[task]: x}) for who, labels in said.items() for task, x in zip(scales, labels)]
    >>> answers = allalike.read(rows, domain=allalike.Record("letter:categorical, used:categorical", one=True))
    >>> {name: found.percent for name, found in measure_scales(allalike.Memory().load(answers)).items()}
    {'letter': 1.0, 'used': 0.0}
    """
    record, fields = run.domain.record, run.encoding.fields
    if record is None or fields is None or not record.one or run.n_tasks > _MAX_QUESTIONS:
        return {}
    given = run.sum(fields.count)["answers"]
    return {
        name: measure_agreement(take_field(run, fields, number, given[:, number]))
        for number, (name, encoding) in enumerate(fields.encodings)
        if encoding is not None
    }
