"""Methods that estimate worker weights and labels. A new method needs a file, an import and a line in the registry."""

from typing import TYPE_CHECKING

from allalike._core.registry import Registry
from allalike.methods.aliases import CALLED_ELSEWHERE
from allalike.methods.base import Method as Method
from allalike.methods.base import ScreeningMethod as ScreeningMethod
from allalike.methods.fit import Fit as Fit

if TYPE_CHECKING:
    from allalike.methods.auto import Auto as Auto
    from allalike.methods.bwa import BWA as BWA
    from allalike.methods.dawid_skene import DS as DS
    from allalike.methods.dawid_skene import DS1 as DS1
    from allalike.methods.dawid_skene import IBCC as IBCC
    from allalike.methods.ebcc import EBCC as EBCC
    from allalike.methods.glad import GLAD as GLAD
    from allalike.methods.gtm import GTM as GTM
    from allalike.methods.ibp import IBP as IBP
    from allalike.methods.kde import KDE as KDE
    from allalike.methods.label_aggregation import LA as LA
    from allalike.methods.losses import CATD as CATD
    from allalike.methods.losses import CRH as CRH
    from allalike.methods.mace import MACE as MACE
    from allalike.methods.oracle import OA as OA
    from allalike.methods.pairwise.eigenvector import EVD as EVD
    from allalike.methods.pairwise.expert_core import EXP as EXP
    from allalike.methods.pairwise.expert_core import TOP2 as TOP2
    from allalike.methods.pairwise.mas import MAS as MAS
    from allalike.methods.proximity import DTD as DTD
    from allalike.methods.proximity import IPTD as IPTD
    from allalike.methods.proximity import PTD as PTD
    from allalike.methods.proximity import PTDAK as PTDAK
    from allalike.methods.unweighted import UA as UA

METHODS: Registry[Method] = Registry(
    "method",
    Method,
    __name__,
    {
        "auto": "auto.method:Auto",
        "UA": "unweighted:UA",
        "OA": "oracle:OA",
        "P-TD": "proximity:PTD",
        "P-TD-AK": "proximity:PTDAK",
        "iP-TD": "proximity:IPTD",
        "D-TD": "proximity:DTD",
        "CRH": "losses:CRH",
        "CATD": "losses:CATD",
        "GTM": "gtm:GTM",
        "KDE": "kde:KDE",
        "DS": "dawid_skene:DS",
        "DS-1": "dawid_skene:DS1",
        "IBCC": "dawid_skene:IBCC",
        "EBCC": "ebcc:EBCC",
        "BWA": "bwa:BWA",
        "LA": "label_aggregation:LA",
        "GLAD": "glad:GLAD",
        "MACE": "mace:MACE",
        "IBP": "ibp:IBP",
        "EVD": "pairwise.eigenvector:EVD",
        "EXP": "pairwise.expert_core:EXP",
        "TOP2": "pairwise.expert_core:TOP2",
        "MAS": "pairwise.mas:MAS",
    },
    CALLED_ELSEWHERE,
)

if not TYPE_CHECKING:
    __getattr__ = METHODS.find_class
