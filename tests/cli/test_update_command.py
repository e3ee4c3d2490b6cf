"""What `allalike update` proposes can be typed."""

from __future__ import annotations

from pathlib import Path

import pytest

import allalike
from allalike.cli import main
from crowds.samples import crowd


def test_a_question_that_an_update_cannot_settle_names_no_flag_that_it_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allalike.discover(crowd("categorical", seed=1, n=4, m=9), domain="categorical").save(tmp_path / "out")
    (tmp_path / "more.csv").write_text("worker,task,label\nw1,t1,1\nw2,t1\n", encoding="utf-8")
    with pytest.raises(SystemExit) as ended:
        main(["update", str(tmp_path / "out"), str(tmp_path / "more.csv")])
    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert "--missing" not in told
    assert "mend the file, or run 'allalike discover' on all answers" in told
