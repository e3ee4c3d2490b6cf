"""Run it: `python -m paper`, or `make reproduce`."""

from allalike.cli import run
from paper.program import reproduce

if __name__ == "__main__":
    run(reproduce)
