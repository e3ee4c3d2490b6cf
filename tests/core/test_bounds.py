"""Bounds: what would need too much memory or time is refused before it begins, and what is long says how far it is."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import allalike
from allalike._core.blocks import pairs
from allalike._core.system import memory
from allalike.domains.rankings import kemeny, parts, voting
from allalike.domains.rankings.ranking import Ranking
from allalike.errors import TooLargeError
from crowds import samples

PAIRWISE = ("text", "set", "interval", "bitmap", "custom", "boxes", "spans", "points")


def be_poor(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    """Have so little memory that it is looked at what is needed."""
    monkeypatch.setattr(memory, "free_memory", lambda: free)
    monkeypatch.setattr(memory, "_LITTLE", 0)


@pytest.mark.parametrize("domain", PAIRWISE)
def test_pairs_of_answers_that_do_not_fit_are_refused_with_what_to_do(
    domain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = samples.crowd(domain, seed=0, n=6, m=2)
    be_poor(monkeypatch, 1000)
    with pytest.raises(TooLargeError, match="up to 6 answers per task .*Use fewer"):
        allalike.discover(rows, domain=samples.kind(domain), method="UA")


@pytest.mark.parametrize("domain", ["boxes", "spans"])
def test_objects_of_a_task_that_are_too_many_are_refused(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    one = {"boxes": [0, 0, 9, 9], "spans": [0, 9, "x"]}[domain]
    kind = samples.kind(domain)
    be_poor(monkeypatch, 200)
    rows = [(worker, 1, [one] * 3) for worker in "ab"]
    with pytest.raises(TooLargeError, match="up to 6 per task, .* split"):
        allalike.discover(rows, domain=kind, method="UA")


@pytest.mark.parametrize("domain", PAIRWISE)
def test_pairs_of_answers_are_the_same_in_many_chunks(domain: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = samples.crowd(domain, seed=1, n=6, m=5, missing=0.2)
    whole = allalike.discover(rows, domain=samples.kind(domain), method="P-TD").workers
    monkeypatch.setattr(pairs, "_PAIRS_PER_CHUNK", 7)
    parts = allalike.discover(rows, domain=samples.kind(domain), method="P-TD").workers
    for column in ("disparity", "weight"):
        np.testing.assert_allclose(parts[column], whole[column], rtol=1e-12)


def test_texts_that_meet_again_and_again_are_compared_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from allalike.domains.text import Text

    compared: list[int] = []
    plain = Text._compare

    def count(self: Text, left: Any, i: Any, right: Any, j: Any) -> Any:
        compared.append(len(i))
        return plain(self, left, i, right, j)

    rows = [(worker, 1, ("the cat", "a cat", "the dog")[worker % 3]) for worker in range(60)]
    with monkeypatch.context() as each:
        each.setattr(Text, "_compare_once", lambda self, store, i, j: self._compare(store, i, store, j))
        expected = allalike.discover(rows, domain="text", method="UA").workers["disparity"]
    monkeypatch.setattr(Text, "_compare", count)
    found = allalike.discover(rows, domain="text", method="UA").workers["disparity"]
    assert max(compared) <= 60  # and not all 1,770 pairs
    np.testing.assert_allclose(found, expected)


@pytest.mark.skipif(sys.platform == "win32", reason="processes have no such limit there")
def test_the_limit_of_the_process_counts_as_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    import psutil

    used = psutil.Process().memory_info().vms
    monkeypatch.setattr(resource, "getrlimit", lambda _: (used + (1 << 28), used + (1 << 28)))
    assert 0 <= memory.free_memory() <= 1 << 28


def ranked(rule: str, q: int, workers: int = 3, **options: Any) -> Any:
    rng = np.random.default_rng(q)
    rows = [(w, 1, np.argsort(np.arange(q) + rng.normal(0, q / 4, q)).tolist()) for w in range(workers)]
    return allalike.discover(rows, domain=Ranking(rule=rule), method="UA", screening=False, **options)


@pytest.mark.parametrize("rule", ["kemeny", "slater", "ranked pairs"])
def test_rules_whose_time_explodes_have_a_bound_and_name_others(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kemeny, "MAX_ORDERED_ITEMS", 20)
    monkeypatch.setattr(voting, "MAX_ORDERED_ITEMS", 20)
    ranked(rule, 20)
    with pytest.raises(TooLargeError, match="21 items.* schulze"):
        ranked(rule, 21)


@pytest.mark.parametrize("rule", ["copeland", "schulze", "bradley terry", "ranked pairs", "kemeny"])
def test_tables_of_items_that_do_not_fit_are_refused_and_borda_needs_none(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    be_poor(monkeypatch, 20_000)
    ranked("borda", 30)
    with pytest.raises(TooLargeError, match="30 items .*'borda'"):
        ranked(rule, 30)


def test_many_tasks_are_decided_some_at_a_time_with_the_same_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    rows = [(w, t, rng.permutation(4 + t % 2).tolist()) for t in range(20) for w in range(5) if (w + t) % 4]
    for rule in ("copeland", "kemeny", "minimax", "stv"):
        domain = Ranking(rule=rule)
        whole = allalike.discover(rows, domain=domain, method="P-TD").truth
        with monkeypatch.context() as small:
            small.setattr(parts, "_TABLE_NUMBERS", 60)
            split = allalike.discover(rows, domain=domain, method="P-TD").truth
        assert split["label"].tolist() == whole["label"].tolist()
        assert split["tied"].tolist() == whole["tied"].tolist()


@pytest.mark.long
@pytest.mark.parametrize("rule", ["kemeny", "slater", "ranked pairs", "schulze"])
def test_five_hundred_items_are_ordered(rule: str) -> None:
    found = ranked(rule, 500, workers=9).truth["label"][0]
    assert sorted(found) == list(range(500))
    assert np.corrcoef(found, np.arange(500))[0, 1] > 0.9


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="only there such a limit is kept")
def test_twenty_thousand_texts_of_a_task_are_one_message_where_memory_is_short(tmp_path: Path) -> None:
    lines = [f"w{number},1,text {number}" for number in range(20_000)]
    (tmp_path / "answers.csv").write_text("\n".join(["worker,task,label", *lines]))
    program = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30));"
        "from allalike.cli import main;"
        "main(['discover', 'answers.csv', '--domain', 'text', '--method', 'UA', '--force'])"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode in (1, 2), done.stderr
    assert "up to 20,000 answers per task would need about 11.2 GB of memory" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "allalike-out").exists()
