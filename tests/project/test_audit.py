"""What the audit of packages says of what was found, and when it fails."""

from __future__ import annotations

import json

import audit

SOUND = {"name": "numpy", "version": "2.0", "vulns": []}
UNKNOWN = {"name": "mine", "skip_reason": "Dependency not found"}
FLAWED = {"name": "old", "version": "1.0", "vulns": [{"id": "CVE-1", "fix_versions": ["1.1", "2.0"]}]}


def judge(*packages: object) -> tuple[str, bool]:
    return audit.judge(json.dumps({"dependencies": packages, "fixes": []}), "")


def test_a_known_vulnerability_fails_and_is_named() -> None:
    said, well = judge(SOUND, FLAWED, UNKNOWN)
    assert said.splitlines() == [
        "old 1.0: CVE-1, mended in 1.1, 2.0",
        "2 of 3 packages were audited, 1 vulnerabilities are known.",
    ]
    assert not well


def test_packages_that_nobody_knows_do_not_fail_but_are_counted() -> None:
    assert judge(SOUND, UNKNOWN) == ("1 of 2 packages were audited, 0 vulnerabilities are known.", True)


def test_without_a_network_it_says_so_and_does_not_fail() -> None:
    said, well = audit.judge("", "Traceback\nConnectionError: no route to host\n")
    assert said == "The registry of packages cannot be asked, so none was audited: ConnectionError: no route to host"
    assert well
