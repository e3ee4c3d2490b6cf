"""A saved result can be loaded: it is the one that was saved, and goes on."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import allalike
from allalike import Disk, Result
from allalike.errors import UnsupportedError
from crowds.samples import KINDS, crowd, kind
from running.updates import assert_same

pytestmark = pytest.mark.filterwarnings("ignore::allalike.ConvergenceWarning", "ignore::allalike.errors.DataNote")


def assert_equal(found: Result, expected: Result) -> None:
    """Compare what was loaded with what was saved: everything is the same, numbers to 1e-12."""
    for mine, theirs in ((found.truth, expected.truth), (found.workers, expected.workers)):
        assert list(mine.columns) == list(theirs.columns)
        for name in mine:
            left, right = mine[name], theirs[name]
            assert left.dtype == right.dtype, name
            if right.dtype.kind == "f":
                np.testing.assert_allclose(left, right, rtol=1e-12, atol=1e-12, err_msg=str(name))
            else:
                assert repr(left.tolist()) == repr(right.tolist()), name
    texts = [json.dumps(each.summary, sort_keys=True, default=str) for each in (found, expected)]
    assert texts[0] == texts[1]


@pytest.mark.parametrize("domain", KINDS)
def test_a_result_that_was_saved_is_loaded_as_it_was(domain: str, tmp_path: Path) -> None:
    rows = crowd(domain, seed=2, n=6, m=12, missing=0.2)
    gold = {task: label for _, task, label in rows[:3]}
    result = allalike.discover(rows, domain=kind(domain), gold=gold)
    result.save(tmp_path / "out")
    if domain == "custom":
        with pytest.raises(UnsupportedError, match="without its answers"):
            allalike.load(tmp_path / "out")
        return
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert_equal(allalike.load(tmp_path / "elsewhere"), result)
    assert_same(allalike.load(tmp_path / "elsewhere", engine=Disk(partitions=3)), result)
