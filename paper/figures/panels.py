"""Panels: which crowds the figures show, in which sizes, and in which variants the methods are those of the paper."""

from __future__ import annotations

from paper.figures.sweeps import Sweep
from paper.reported_tables.interpretations import FOLDED, KINDS

__all__ = ["CATEGORICAL", "RANKED", "RANKERS", "REAL", "RULES", "SYNTHETIC", "TRIANGLES", "VARIANTS"]


def _methods(kind: str, *columns: str) -> tuple[str, ...]:
    """Return the methods behind columns of the paper's tables."""
    return tuple(KINDS[kind].variants[column].method for column in columns)


_FAMILY, _CORES = ("P-TD-D", "P-TD-AK", "iP-TD"), ("EXP", "TOP2")
_CLASSES = ("OA", "D-TD", *_methods("classes", *_FAMILY, "CRH", *_CORES))
_BINARY = (*_CLASSES, *_methods("classes", "IBP", "DS", "EVD"))
_NUMBERS = ("OA", "D-TD", *_methods("numbers", *_FAMILY, "CRH", "CATD", "GTM", "KDE", *_CORES))
_RIDGES = ("OA", *(f"P-TD-AK(ridge={ridge}, nonpositive='clip')" for ridge in (0, 2, 4)))
_FEW_WORKERS = (3, 5, 7, 10, 15, 20, 30)

SYNTHETIC = (
    Sweep(source="binary SYN.N", methods=_BINARY),
    Sweep(source="binary SYN.HS", methods=_BINARY),
    Sweep(source="k=4 SYN", title="SYN, four classes", methods=_CLASSES),
    Sweep(source=FOLDED, title="real SYN.N", methods=_NUMBERS),
)
CATEGORICAL = (
    *SYNTHETIC[:3],
    Sweep(source="Chinese", methods=_CLASSES, workers=_FEW_WORKERS, tasks=(2, 5, 10, 15, 20, 24)),
    Sweep(source="English", methods=_CLASSES, workers=_FEW_WORKERS, tasks=(2, 5, 10, 15, 20, 30)),
    Sweep(source="IT", methods=_CLASSES, workers=_FEW_WORKERS, tasks=(2, 5, 10, 15, 20, 25)),
    Sweep(source="Medicine", methods=_CLASSES, workers=_FEW_WORKERS, tasks=(2, 5, 10, 15, 20, 30)),
    Sweep(source="Pokemon", methods=_CLASSES, workers=_FEW_WORKERS, tasks=(2, 5, 10, 15, 20)),
    Sweep(source="Science", methods=_CLASSES, tasks=(2, 5, 10, 15, 20)),
    *(Sweep(source=f"Pred.T{number}", methods=_BINARY, tasks=(2, 5, 10, 15, 18)) for number in (1, 2, 3, 4)),
    Sweep(source="GG", methods=_BINARY),
    Sweep(source="DOGS", methods=_CLASSES),
    Sweep(source="FLAGS", methods=_CLASSES),
)
TRIANGLES = tuple(
    Sweep(source=KINDS["numbers"].sources[name], title=name, methods=_NUMBERS, tasks=(2, 5, 10, 15, 20, 30, 50, 100))
    for name in ("TRI1", "TRI2")
)
REAL = (
    Sweep(source="BUILD", methods=_NUMBERS),
    *TRIANGLES,
    Sweep(source=KINDS["numbers"].sources["EMO"], title="EMO", methods=_NUMBERS, workers=(3, 5, 7, 10)),
)
VARIANTS = tuple(
    Sweep(source=source, title=title, methods=_RIDGES, workers=(), tasks=(2, 4, 8, 16, 32, 64, 128, 256), usual=(5, 1))
    for source, title in ((FOLDED, "normal: sd is |N(1, 0.5)|"), ("real SYN.HS", "hammers, spammers: sd is 0.2 or 1"))
)

RANKERS = ("OA", *_methods("rankings", "D-TD", "P-TD-D", "iP-TD", *_CORES))
RANKED = (
    *("ranking SYN.N(items=4)", "ranking SYN.HS(items=4)"),
    *("DOTS3", "DOTS5", "DOTS7", "DOTS9", "PUZZ5", "PUZZ7", "PUZZ9", "PUZZ11"),
)
RULES = ("plurality", "veto", "borda", "copeland", "best worker", "kemeny", "slater", "modal", "minimax")
