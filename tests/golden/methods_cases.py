"""Golden cases of every method, rule, distance and option, on every label type that it serves."""

from functools import partial
from pathlib import Path
from typing import Any

import allalike
from allalike import DOMAINS, METHODS, Domain
from crowds import label_types
from golden.record import add

KINDS = ("binary", *DOMAINS)
GIVEN: dict[str, dict[str, Any]] = {
    "binary": {"classes": 2},
    "points": {"radius": 6},
    "record": {"fields": label_types.RECORD_FIELDS},
    "custom": {"distance": label_types.distance},
}
# Columns that do not depend on the method: the record of label types has them.
SHARED = ["task", "answers", "unweighted", "worker", "shared_tasks", "few_answers", "disparity"]
# The end of a long descent depends on the last bits of sums, which differ between machines: it is cut short.
SHORT = {"MAS": "MAS(max_iter=15, starts=1)"}


def label_type(kind: str, **options: Any) -> Domain:
    """Return the label type of a crowd."""
    domain: Domain = DOMAINS["categorical" if kind == "binary" else kind](**{**GIVEN.get(kind, {}), **options})
    return domain


def crowd(kind: str, *, seed: int = 3, workers: int = 5, tasks: int = 8, missing: float = 0.2) -> list[Any]:
    """Draw rows of worker, task and label; some workers are good, others bad."""
    few = tasks // 2 if kind in ("boxes", "points", "spans") else tasks  # their labels are long
    rows: list[Any] = getattr(label_types, f"draw_{kind}")(seed, workers, few, missing)
    return rows


def find_served() -> list[tuple[str, str]]:
    """Return each label type with each method that serves it."""
    return [(kind, name) for kind in KINDS for name, method in METHODS.items() if method().serves(label_type(kind))]


def find_covering() -> list[tuple[str, str]]:
    """Return few pairs in which every label type and every method occurs; methods with little choice come first."""
    served = find_served()
    kinds, chosen = set(KINDS), {}
    for method in sorted(METHODS, key=[name for _, name in served].count):
        own = [kind for kind, name in served if name == method]
        chosen[method] = next((kind for kind in own if kind in kinds), own[0])
        kinds.discard(chosen[method])
    return [*((kind, method) for method, kind in chosen.items()), *((kind, "iP-TD") for kind in sorted(kinds))]


def discover(kind: str, method: str, folder: Path, *, domain: Any = None, engine: Any = None) -> Any:
    """Run a method, and return the part of its tables that depends on it."""
    rows = crowd(kind)
    gold = {task: label for _, task, label in rows[:4]} if method == "OA" else None
    domain = domain or label_type(kind)
    result = allalike.discover(rows, domain=domain, method=SHORT.get(method, method), gold=gold, engine=engine)
    return {
        "truth": result.truth.drop(columns=SHARED, errors="ignore"),
        "workers": result.workers.drop(columns=SHARED, errors="ignore"),
        "rounds": [result.summary["iterations"], result.summary["converged"]],
    }


def aggregate(kind: str, folder: Path, *, domain: Any = None, **options: Any) -> Any:
    """Return labels and weights of P-TD with a rule, a distance or another option of the label type."""
    found = discover(kind, "P-TD", folder, domain=domain or label_type(kind, **options))
    return {"label": found["truth"]["label"], "weight": found["workers"]["weight"]}


for _kind, _method in find_served():
    add(f"methods/{_kind}/{_method}", partial(discover, _kind, _method), tolerance=1e-6 if _method in SHORT else 1e-9)

for _kind in DOMAINS:
    for _rule in DOMAINS[_kind].rules[1:]:
        add(f"options/{_kind}, rule {_rule.name}", partial(aggregate, _kind, rule=_rule.name))
    for _distance in DOMAINS[_kind].distances[1:]:
        _name = getattr(_distance, "name", _distance)
        add(f"options/{_kind}, distance {_name}", partial(aggregate, _kind, distance=_name))

OPTIONS = """real(bias=True); date(bias=True); ranking(gaps="last"); ranking(ties="keep");
boxes(overlap=0.6); boxes(quorum=0.5); points(radius=2); points(radius=6, form="hard");
spans(overlap=0.8); text(lower=True); text(tokens="words"); circular(period=180); probability(sharpen=2);
bitmap(fill=True); bitmap(threshold=0.3)"""
for _domain in OPTIONS.replace("\n", " ").split("; "):
    add(f"options/{_domain}", partial(aggregate, _domain.partition("(")[0], domain=_domain))
add("options/record, weights per field", partial(aggregate, "record", weights="field"))
add("options/record, importance", partial(aggregate, "record", importance={"colour": 3}))

VARIANTS = {
    "real": """P-TD(weighting="max"); P-TD(weighting="printed"); P-TD-AK(nonpositive="clip"); P-TD-AK(ridge=4);
    D-TD(rounds=3); iP-TD(weighting="max", average=False); iP-TD(max_iter=3); CRH(max_iter=1);
    CRH(loss="absolute", start="median"); CRH(standardise=True); CATD(n_iter=1, zero="clip"); GTM(beta=10);
    auto(screening=False)""",
    "binary": """P-TD-AK(mu="exact"); P-TD(per_pair=True); MACE(form="em", starts=1); EVD(diagonal="raw");
    EXP(chance="mean", tail="printed"); TOP2(method="pair"); GLAD(max_iter=5)""",
    "categorical": """DS(smoothing=0.1, max_iter=10); LA(passes=1); CRH(normaliser="max"); auto(screening=False)""",
}
for _kind, _variants in VARIANTS.items():
    for _variant in _variants.replace("\n    ", " ").split("; "):
        add(f"options/{_kind}, {_variant}", partial(discover, _kind, _variant))
