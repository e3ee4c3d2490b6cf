"""Records whose fields are weighed apart, and the check that each field is weighed as if it were the label."""

from typing import Any

import numpy as np
import pytest

import allalike
from allalike import Record
from allalike.engines import Engine
from crowds.samples import Row, crowd

KINDS = {"colour": "categorical", "size": "real", "tags": "set"}
GOLD = {f"t{i:04d}": {"colour": "red", "tags": ["new"], **({} if i % 2 else {"size": 20.0})} for i in range(12)}


def goods() -> list[Row]:
    """Draw records in which nobody filled the size of some tasks, and of which one worker fills the colour only."""
    drawn = crowd("record", seed=4, n=7, m=14, missing=0.4)
    bare = {"t0000", "t0001", "t0005"}
    return [
        (
            worker,
            task,
            {
                name: value
                for name, value in label.items()
                if name == "colour" or (worker != "w003" and (name != "size" or task not in bare))
            },
        )
        for worker, task, label in drawn
    ]


def check_alone(rows: list[Row], kinds: dict[str, str], method: str, engine: Engine, gold: Any = None) -> None:
    """Check that each field of records is weighed and decided as if nothing else had been asked."""
    domain = Record(kinds, weights="field")
    whole = allalike.discover(rows, domain=domain, method=method, engine=engine, ties="first", gold=gold)
    workers, truth = whole.workers.set_index("worker"), whole.truth.set_index("task")
    for field, kind in kinds.items():
        own = [(worker, task, label[field]) for worker, task, label in rows if field in label]
        known = None if gold is None else {task: label[field] for task, label in gold.items() if field in label}
        alone = allalike.discover(own, domain=kind, method=method, ties="first", gold=known)
        theirs, found = alone.workers.set_index("worker"), alone.truth.set_index("task")["label"]
        fault = alone.weighing.fault
        for column, expected in (("weight", theirs["weight"]), ("mean_error", fault)):
            there = workers.loc[theirs.index, f"{column}.{field}"]
            np.testing.assert_allclose(there, expected, rtol=1e-9, atol=1e-12)
        others = workers.drop(theirs.index)
        assert (others[f"weight.{field}"] == 0).all()
        assert others[f"mean_error.{field}"].isna().all()
        pairs = zip(truth.loc[found.index, field], found, strict=True)
        assert all(np.isclose(one, other) if kind == "real" else one == other for one, other in pairs)
        assert truth[field].drop([*found.index, *(known or ())], errors="ignore").isna().all()
    np.testing.assert_allclose(workers["weight"], workers.filter(like="weight.").mean(axis=1))
    assert workers["weight"].sum() == pytest.approx(1)
