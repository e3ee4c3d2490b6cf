"""Methods: ways to turn answers into weights."""

from allalike.methods.base import Method, Weighing
from allalike.methods.catd import CATD
from allalike.methods.crh import CRH
from allalike.methods.dawid_skene import DS
from allalike.methods.distance import DTD
from allalike.methods.gtm import GTM
from allalike.methods.ibp import IBP
from allalike.methods.kde import KDE
from allalike.methods.one_coin import DS1
from allalike.methods.oracle import OA
from allalike.methods.pairwise.eigenvector import EVD
from allalike.methods.pairwise.expert_core import EXP, TOP2
from allalike.methods.pairwise.mas import MAS
from allalike.methods.proximity import IPTD, PTD, PTDAK
from allalike.methods.unweighted import UA

__all__ = [
    "CATD",
    "CRH",
    "DS",
    "DS1",
    "DTD",
    "EVD",
    "EXP",
    "GTM",
    "IBP",
    "IPTD",
    "KDE",
    "MAS",
    "METHODS",
    "OA",
    "PTD",
    "PTDAK",
    "TOP2",
    "UA",
    "Method",
    "Weighing",
]

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (UA, OA, PTD, PTDAK, IPTD, DTD, CRH, CATD, GTM, KDE, DS, DS1, IBP, EVD, EXP, TOP2, MAS)
}
