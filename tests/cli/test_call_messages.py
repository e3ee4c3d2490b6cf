"""Wrong calls of the program: exit code 2, a message with cause and remedy, and nothing is written."""

import shlex
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

import allalike
from crowds.messages import Message
from files.broken_files import FILES as BROKEN
from files.broken_files import GOOD
from running.program import call

MANY = "worker,task,label\n" + "".join(
    f"{who},t{task},{'cat' if (task + place) % 3 else 'dog'}\n" for task in range(6) for place, who in enumerate("abc")
)
QUESTIONS = "worker,task,topic,q_mood,q_new\n" + "".join(
    f"{who},t{task},{'ab'[task % 2]},{'sad' if task % 3 else 'glad'},yes\n" for task in range(6) for who in "abc"
)
FILES = {
    "good.csv": MANY,
    "few.csv": GOOD,
    "numbers.csv": "worker,task,label\na,1,1.5\nb,1,2.5\nc,1,2.0\na,2,1\nb,2,2\n",
    "questions.csv": QUESTIONS,
    "gold.csv": "task,label\nt0,cat\nt1,dog\n",
    "other.csv": "task,label\n9,x\n",
    "two.csv": "task,label\nt0,cat\nt0,dog\n",
    "odd.csv": "q,zz\nt0,cat\n",
    "blank.csv": "task,label\nt0,\nt1,NA\n",
    "nameless.csv": "task,label\n,cat\n",
    "header.csv": "worker,task,label\n",
    "zeros.csv": "a\0b,c\n1,2\n",
    "wide.csv": "task,a,b\n1,,\n2,,\n",
    "list.json": "[]",
    "history.csv": "worker,answers\na,3\n",
    "one.csv": "label\nx\n",
}


class CallError(Exception):
    """What the program prints when it ends with code 2."""


def typed(line: str) -> Callable[[Path], None]:
    """Return a call of the program in a folder with the files above; it raises what is printed."""

    def refuse(folder: Path) -> None:
        for name, content in FILES.items():
            (folder / name).write_text(content, encoding="utf-8")
        before = sorted(path.name for path in folder.iterdir())
        done = call(*shlex.split(line), folder=folder)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith(("allalike: ", "Usage: "))
        assert "Traceback" not in done.stderr
        assert sorted(path.name for path in folder.iterdir()) == before
        raise CallError(done.stderr)

    return refuse


DISCOVER: tuple[tuple[str, ...], ...] = (
    ("nowhere.csv", "no file nowhere.csv"),
    (f"{'x' * 300}.csv", "File name too long"),
    (".", "contains no masks", "./*.csv"),
    ("*.tsv", "No file matches '*.tsv'"),
    ("one.csv", "Cannot tell which column of"),
    ("zeros.csv", "cannot be read as text"),
    ("list.json", "Cannot tell which column"),
    ("good.csv good.csv", "18 of 36", "earlier row", "--force"),
    ("good.csv gold.csv", "Cannot tell which column of"),
    ("few.csv few.csv --duplicates error", "'a' answered task 1 more than once"),
    ("wide.csv --wide tasks", "no answers"),
    ("good.csv --method PTD", "'PTD'", "Did you mean 'P-TD'", "auto, UA,"),
    ("good.csv --method iP-TD(rounds=3)", "no option 'rounds'", "max_iter"),
    ("good.csv --method iP-TD(3)", "cannot be read"),
    ("good.csv --method iP-TD((", "is not the name of a method"),
    ("good.csv --method P-TD(weighting=3)", "weighting is 3", "max, inverse, chance, printed"),
    ("good.csv --method iP-TD(max_iter=a)", "max_iter is 'a'", "whole"),
    ("numbers.csv --method P-TD-AK(ridge=a)", "ridge is 'a'", "finite number"),
    ("good.csv --method OA", "needs gold labels", "gold"),
    ("good.csv --domain catgorical", "Did you mean 'categorical'"),
    ("good.csv --domain real", "'dog' in row 1", "not a number"),
    ("good.csv --domain categorical(classes=1)", "2 distinct labels", "classes is 1"),
    ("good.csv --rule plurallity", "'plurallity'", "Did you mean 'plurality'"),
    ("good.csv --rule median", "'categorical' has no rule 'median'"),
    ("good.csv --distance haming", "Did you mean 'hamming'"),
    ("good.csv --engine memroy", "Did you mean 'memory'"),
    ("good.csv --worker who", "no column 'who'", "'worker', 'task', 'label'"),
    ("good.csv --worker task --task task", "names 'task' twice"),
    ("good.csv --wide rows", "Choose one of: tasks, workers"),
    ("good.csv --duplicates all", "Choose one of: first, last, error"),
    ("good.csv --missing keep", "Choose one of: error, drop"),
    ("good.csv --ties last", "Choose one of: random, first"),
    ("good.csv --format xlsx", "Choose one of: csv, parquet"),
    ("good.csv --decimal x", "decimal is 'x'", "Choose one of"),
    ("good.csv --worker-from folder", "Choose one of: filename"),
    ("good.csv --wide tasks --label label", "--include and --exclude"),
    ("good.csv --include Q*", "'Q*'", "--wide tasks"),
    ("good.csv --question mood", "exports of tools", "mood"),
    ("good.csv --tool nowhere", "No tool is called 'nowhere'"),
    ("good.csv --to cocoo", "Did you mean 'coco'"),
    ("numbers.csv --domain real --to coco", "real", "boxes, bitmap"),
    ("good.csv --to mturk", "Batch_..._batch_results.csv"),
    ("good.csv --gold=", "gold is ''"),
    ("good.csv --gold nowhere.csv", "gold labels cannot be read", "no file nowhere.csv"),
    ("good.csv --gold header.csv", "gold table is empty"),
    ("good.csv --gold blank.csv", "has a label"),
    ("good.csv --gold nameless.csv", "Row 1 of the gold labels has no task"),
    ("good.csv --gold two.csv", "Task 't0' has two different gold labels", "'cat' and 'dog'"),
    ("good.csv --gold good.csv", "are the same file"),
    ("good.csv --gold other.csv", "None of the 1 tasks with gold labels has answers"),
    ("good.csv --gold odd.csv", "--gold odd.csv --gold-columns task=q,label=zz"),
    ("good.csv --gold column:gold", "no column 'gold'"),
    ("good.csv --gold gold.csv --gold-columns task", "task=...,label=..."),
    ("good.csv --gold gold.csv --gold-columns who=task", "The roles are: task, label"),
    ("good.csv --gold gold.csv --gold-columns task=x", "no column 'x'"),
    ("good.csv --gold-columns task=task", "there are no gold labels"),
    ("good.csv --gold-map +1 --gold gold.csv", "+1"),
    ("good.csv --fail-above 0.1", "needs gold labels", "--gold"),
    ("good.csv --history history.csv", "needs the columns"),
    ("good.csv --history . ", "no workers.csv"),
    ("good.csv --history history.csv --method UA", "does not use a history"),
    ("good.csv --min-confidence 7", "probability between 0 and 1"),
    ("good.csv --memory 2GB --engine memory", "--memory needs --engine disk"),
    ("good.csv --memory 1e999GB", "Write a size such as '2GB'"),
    ("good.csv --work-dir nowhere/x", "No work folder can be created"),
    ("good.csv -o good.csv", "is a file, not a folder"),
    ("questions.csv --label answer*", "no column like 'answer*'", "'q_mood'"),
    ("questions.csv --label q_* --gold gold.csv", "--gold needs one label column"),
)
OTHERS: tuple[tuple[str, ...], ...] = (
    ("discover good.csv --methd UA", "--method"),
    ("discover good.csv --seed x", "--seed"),
    ("discoverr", "discover"),
    ("list schemas jurry", "Did you mean 'jury'"),
    ("compare good.csv --gold other.csv", "None of the 1 tasks with gold labels has answers"),
    ("compare numbers.csv --methods DS", "DS does not accept real labels"),
    ("compare good.csv --methods OA", "--gold", "omit OA"),
    ("compare good.csv -o .", "which is a folder"),
    ("compare questions.csv --label q_* --methods P-TD", "needs one label column", "--label q_mood"),
    ("agreement good.csv --per-task", "--per-task"),
    ("agreement questions.csv --label q_mood --by topics", "no column 'topics'"),
    ("jury good.csv --price a=1 --price b=1 --price c=1 --price d=1 -o out", "'d'", "judges are"),
    ("jury good.csv --fail-if-drift -o out", "--baseline"),
    ("explain nowhere task t8", "There is no result in nowhere"),
    ("update nowhere good.csv", "There is no result in nowhere"),
    ("serve nowhere.csv --no-browser", "no file nowhere.csv"),
    ("serve . --no-browser", "no summary.json"),
    ("serve --max-size much --no-browser", "--max-size is 'much'"),
)
MESSAGES = [
    *(
        Message(line, typed(f"discover {shlex.join(line.split())}"), tuple(words), CallError)
        for line, *words in DISCOVER
    ),
    *(Message(line, typed(line), tuple(words), CallError) for line, *words in OTHERS),
    *(Message(name, typed(f"discover {name}"), (words,), CallError) for name, (_, words) in BROKEN.items()),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: message.name[:60])
def test_a_wrong_call_is_one_message(message: Message, tmp_path: Path) -> None:
    if message.name in BROKEN:
        content = BROKEN[message.name][0]
        (tmp_path / message.name).write_bytes(content.encode() if isinstance(content, str) else content)
    message.check(tmp_path)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        Message("port", typed(f"serve --port {port} --no-browser"), (f"Port {port} is",), CallError).check(tmp_path)


def test_a_proposed_command_works(tmp_path: Path) -> None:
    with pytest.raises(CallError) as refused:
        typed("discover good.csv --gold odd.csv --worker worker")(tmp_path)
    proposed = shlex.split(str(refused.value).splitlines()[-1])
    assert proposed[:2] == ["allalike", "discover"]
    assert call(*proposed[1:], folder=tmp_path).returncode == 0


def test_an_update_proposes_no_flag_that_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "good.csv").write_text(MANY, encoding="utf-8")
    allalike.discover(tmp_path / "good.csv", method="UA").save(tmp_path / "out")
    (tmp_path / "more.csv").write_text("worker,task,label\na,t9,cat\nb,t9\n", encoding="utf-8")
    done = call("update", "out", "more.csv", folder=tmp_path)
    assert (done.returncode, "--missing" in done.stderr, "allalike discover" in done.stderr) == (2, False, True)
    done = call("update", "out", "good.csv", folder=tmp_path)
    assert (done.returncode, "added before" in done.stderr) == (2, True)
    assert done.stderr.splitlines()[-2] == "  allalike update out good.csv --force"
