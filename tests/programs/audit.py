"""A program for CI: ask the registry of packages which of those that are installed here have known vulnerabilities.

It fails if one has. Packages that the registry does not know are counted; where it cannot be asked at all, that is
said, and nothing fails.
"""

import json
import subprocess
import sys

COMMAND = (sys.executable, "-m", "pip_audit", "--format=json", "--progress-spinner=off", "--skip-editable")


def judge(said: str, complaint: str) -> tuple[str, bool]:
    """Return what to say of what pip-audit said, and whether all is well as far as is known."""
    try:
        packages = json.loads(said)["dependencies"]
    except (ValueError, LookupError):
        reason = complaint.strip().splitlines()[-1] if complaint.strip() else "it says nothing"
        return f"The registry of packages cannot be asked, so none was audited: {reason}", True
    known = [package for package in packages if "skip_reason" not in package]
    found = [
        f"{package['name']} {package['version']}: {flaw['id']}, mended in {', '.join(flaw['fix_versions']) or 'none'}"
        for package in known
        for flaw in package["vulns"]
    ]
    counts = f"{len(known):,} of {len(packages):,} packages were audited, {len(found):,} vulnerabilities are known."
    return "\n".join([*found, counts]), not found


if __name__ == "__main__":
    answer = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    text, well = judge(answer.stdout, answer.stderr)
    sys.stdout.write(f"{text}\n")
    sys.exit(not well)
