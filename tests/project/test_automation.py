"""What runs allalike elsewhere: the action of a workflow, the image of a container, notebooks."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from notebooks import NOTEBOOKS, list_outputs, run_notebook

ROOT = Path(__file__).parents[2]
BASH = shutil.which("bash")


def run_step(folder: Path, arguments: str) -> tuple[int, str, str]:
    """Run the last step of the action as a workflow would; return the exit code, its summary, and what it prints."""
    step = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["runs"]["steps"][-1]
    summary = folder / "summary.md"
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    own = {name: value for name, value in step["env"].items() if "$" not in value}
    told = {**os.environ, **own, "ARGUMENTS": arguments, "GITHUB_STEP_SUMMARY": str(summary), "PATH": path}
    call = [str(BASH), "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    done = subprocess.run(call, cwd=folder, env=told, capture_output=True, check=False, encoding="utf-8")
    return done.returncode, summary.read_text(encoding="utf-8"), done.stdout


@pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="no bash here")
def test_the_action_ends_with_the_code_of_the_gate_and_shows_what_was_found(tmp_path: Path) -> None:
    rows = [
        f"{who},{task},{label}"
        for who, said in {"ada": "xyxy", "bob": "xyyx"}.items()
        for task, label in enumerate(said)
    ]
    (tmp_path / "my answers.csv").write_text("\n".join(["worker,task,label", *rows]) + "\n", encoding="utf-8")
    assert run_step(tmp_path, "agreement none.csv; touch made")[0] == 2
    assert not (tmp_path / "made").exists()  # for no shell reads it
    (tmp_path / "summary.md").unlink()
    code, shown, _ = run_step(tmp_path, "agreement 'my answers.csv' --fail-under 0.9 --force")
    assert code == 3
    assert "below 0.9" in shown
    assert shown.startswith("```\n")
    assert shown.endswith("```\n")


def test_the_workflow_runs_every_target_of_tests_on_every_push_or_every_night() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text(encoding="utf-8"))
    assert workflow[True]["schedule"]  # YAML 1.1 reads the word on as a truth value
    jobs = workflow["jobs"].values()
    lines = [
        step["run"].replace("${{ matrix.target }}", target)
        for job in jobs
        for target in job.get("strategy", {}).get("matrix", {}).get("target", [""])
        for step in job["steps"]
        if "run" in step
    ]
    assert {"test", "audit", "long", "release"} <= {line.split()[1] for line in lines if line.startswith("make ")}


def test_no_extra_is_named_that_there_is_not() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pages = [ROOT / "README.md", ROOT / "Dockerfile", ROOT / "Makefile", *ROOT.glob("docs/**/*.md")]
    pages += [*ROOT.glob("src/**/*.py"), *ROOT.glob("paper/**/*.py")]
    named = {
        extra
        for page in pages
        for extras in re.findall(r"(?:allalike|['\"]\.|whl\))\[([a-z,]+)\]", page.read_text(encoding="utf-8"))
        for extra in extras.split(",")
    }
    assert {"spark", "sql"} <= named <= {"places", *project["optional-dependencies"]}  # places: an example
    listed = pages[0].read_text(encoding="utf-8").partition("\nExtras")[2].partition("\n\n")[0]
    assert {*re.findall(r"`(\w+)`", listed)} == {*project["optional-dependencies"]} - {"dev", "docs"}


@pytest.mark.skipif(BASH is None or sys.platform == "win32", reason="no bash here")
def test_ids_and_labels_are_no_commands_of_a_workflow(tmp_path: Path) -> None:
    tasks = ["::error::a", "##[error]b", "```c", " ::set-env::d", "::stop-commands::é"]
    said = {"ada": "xyxyx", "bob": "xyyxy", "::add-mask::eve": "yxxyx", "##[warning]kim": "xyxxy"}
    rows = [f"{who},{task},{label}" for who, labels in said.items() for task, label in zip(tasks, labels, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(["worker,task,label", *rows]) + "\n", encoding="utf-8")
    code, shown, printed = run_step(tmp_path, "discover a.csv --no-report")
    assert code == 0
    assert re.search(r"error::a|stop-commands::é|set-env::d", printed), "some ids are printed"
    assert "add-mask::eve" in printed
    assert not [line for line in printed.splitlines() if line.lstrip().startswith("::") or "##[" in line]
    assert shown.count("```") == 2
    assert run_step(tmp_path, "discover '::error::none.csv'")[0] == 2


def test_the_image_runs_the_program_as_somebody_who_is_not_root() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    users = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert users == ["allalike"]
    assert lines.index("USER allalike") < lines.index('ENTRYPOINT ["allalike"]')


def test_the_image_copies_what_is_kept_for_it() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [name for line in lines if (found := re.match(r"COPY (.*) /source", line)) for name in found[1].split()]
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line[0] == "!"]
    assert sorted(copied) == sorted(kept)


@pytest.mark.long
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")  # of the kernel
def test_a_notebook_shows_what_it_shows(notebook: Path) -> None:
    import nbformat

    shown = nbformat.read(notebook, as_version=4)
    assert list_outputs(run_notebook(notebook)) == list_outputs(shown)
