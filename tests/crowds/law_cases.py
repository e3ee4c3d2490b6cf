"""Methods and label types that the laws are tried with."""

import pytest

from allalike import DOMAINS, METHODS, Disk, Memory
from allalike._core.registry import make
from crowds.samples import kind

METHOD_NAMES = list(METHODS)
DOMAIN_NAMES = list(DOMAINS)
SPECS = [
    *[name for name in METHOD_NAMES if name not in ("MAS", "EBCC", "MACE")],
    *("MAS(starts=1)", "EBCC(starts=2, subtypes=3)", "MACE(starts=1)"),  # later starts of MACE are drawn by names
]
VARIANTS = [  # what they do differently, they do to numbers per worker or per pair, whatever the labels
    *("P-TD(weighting='max')", "P-TD(weighting='inverse')", "P-TD(weighting='printed')"),
    *("P-TD(per_pair=True)", "iP-TD(per_pair=True)", "P-TD-AK(per_pair=True)"),
    *("iP-TD(average=False)", "iP-TD(weighting='printed')", "D-TD(rounds=3)", "D-TD(weighting='inverse')"),
]
ALWAYS = ("categorical", "real")  # where there are laws that other labels do not have
IN_TURN = [name for name in DOMAIN_NAMES if name not in ALWAYS]  # three variants after each other see all of them
PER_DOMAIN = {
    "categorical": [
        *("P-TD(weighting='chance')", "iP-TD(weighting='chance')", "P-TD-AK(mu='exact')"),
        *("P-TD-AK(transform='linear')", "D-TD(weighting='chance')", "CRH(zero='clip')", "CRH(normaliser='max')"),
        *("CATD(zero='clip')", "DS(smoothing=0)", "DS-1(positive=False)", "TOP2(size=3)"),
        *("TOP2(method='pair')", "IBCC(a_v=2, b_v=0.5)", "EBCC(starts=1, subtypes=2, alpha=1)", "LA(passes=1)"),
        *("GLAD(alpha=0.5, beta=0)", "MACE(form='em', starts=1)"),
    ],
    "binary": [
        *("IBP", "IBP(n_iter=2)", "EVD", "EVD(positive=False)", "EVD(diagonal='loglsq')", "EVD(diagonal='iterate')"),
        *("EVD(diagonal='raw')", "EXP(chance='mean')", "EXP(tail='printed')"),
    ],
    "real": [
        *("P-TD-AK(ridge=2)", "P-TD-AK(ridge=4)", "P-TD-AK(ridge=0.5)", "P-TD-AK(nonpositive='clip')"),
        *("P-TD-AK(nonpositive='zero')", "CRH(normaliser='max')", "CRH(loss='absolute')", "CRH(standardise=True)"),
        *("CRH(start='median')", "CRH(zero='clip')", "CATD(n_iter=2)", "CATD(zero='clip')"),
        *("GTM(s0=4)", "TOP2(size=3)", "TOP2(method='pair')", "MAS(weighting='latent', starts=1)"),
    ],
}
CASES = [
    *[(spec, name) for name in DOMAIN_NAMES for spec in SPECS if make(spec, METHODS, "method").serves(kind(name))],
    *[
        (spec, name)
        for number, spec in enumerate(VARIANTS)
        for name in (*ALWAYS, *IN_TURN[number % 3 :: 3])
        if make(spec, METHODS, "method").serves(kind(name))
    ],
    *[(spec, domain) for domain, specs in PER_DOMAIN.items() for spec in specs],
]
CLIPPED = {  # at an absolute 1e-8, which depends on the units, and is not 0
    *("P-TD-AK(nonpositive='clip')", "CRH(zero='clip')", "CATD(zero='clip')"),
}
PRIORS = ("IBCC", "EBCC", "BWA", "LA", "GLAD", "MACE")  # whose workers begin with faults, and keep some of them
CONFUSIONS = ("auto", "DS", "IBCC", "EBCC", "BWA", "MACE")  # for which a class must mean the same everywhere
BY_ID = ("EBCC", "LA")  # draw by the id of a task, or take tasks in an order that is made of it
STANDARDISED = {"GTM", "GTM(s0=4)", "KDE"}  # faults of standardised numbers have no unit
FAULT_POWERS = {**dict.fromkeys(STANDARDISED, 0), "CRH(loss='absolute')": 1, "CRH(standardise=True)": 1}
BY_TASK = {*FAULT_POWERS, "CRH(start='median')"}  # what they do to a task depends on its answers alone
SPEC_PLACES, KIND_PLACES = (
    {name: place for place, name in enumerate(dict.fromkeys(part))} for part in zip(*CASES, strict=True)
)


def choose(law: int) -> list[tuple[str, str]]:
    """Choose the cases of a law that are tried in `make test`: of nine kinds of label one, in turn.

    So each law is tried with each method and with each kind of label, and each method with each kind in one of nine
    laws; all together take long. Dates, which have the kernels of numbers, are tried once a law.
    """
    able = [case for case in CASES if case[1] != "date"]
    chosen = [case for case in able if (SPEC_PLACES[case[0]] + KIND_PLACES[case[1]] + law) % 9 == 0]
    for part, names in enumerate((SPECS, DOMAIN_NAMES)):
        missing = {*names} - {case[part] for case in chosen}
        chosen += {case[part]: case for case in CASES if case[part] in missing}.values()
    return chosen


def every_case(law: int) -> pytest.MarkDecorator:
    """Have a law hold for every method and kind of label."""
    chosen = choose(law)
    cases = [pytest.param(*case, marks=() if case in chosen else pytest.mark.long) for case in CASES]
    return pytest.mark.parametrize(("spec", "domain"), cases)


def every_degenerate_case(law: int) -> pytest.MarkDecorator:
    """Have a law hold for crowds so small that hardly a method has anything to do; one of each kind is on disk."""
    chosen, memory, disk = choose(law), Memory(), Disk(partitions=4)
    cases = [
        *[
            pytest.param(*case, memory, id="-".join(case), marks=() if case in chosen else pytest.mark.long)
            for case in CASES
        ],
        *[pytest.param("iP-TD", name, disk, id=f"iP-TD-{name}-disk") for name in DOMAIN_NAMES],
    ]
    return pytest.mark.parametrize(("spec", "domain", "engine"), cases)
