"""Methods: ways to turn answers into weights. A new one is a file here, its import, and its name in the tuple."""

from allalike._core.registry import Registry
from allalike.methods.aliases import CALLED_ELSEWHERE
from allalike.methods.auto import Auto as Auto
from allalike.methods.base import Informed as Informed
from allalike.methods.base import Method as Method
from allalike.methods.base import Streaming as Streaming
from allalike.methods.base import Weighing as Weighing
from allalike.methods.bwa import BWA as BWA
from allalike.methods.catd import CATD as CATD
from allalike.methods.crh import CRH as CRH
from allalike.methods.dawid_skene import DS as DS
from allalike.methods.distance import DTD as DTD
from allalike.methods.ebcc import EBCC as EBCC
from allalike.methods.glad import GLAD as GLAD
from allalike.methods.gtm import GTM as GTM
from allalike.methods.ibcc import IBCC as IBCC
from allalike.methods.ibp import IBP as IBP
from allalike.methods.kde import KDE as KDE
from allalike.methods.label_aggregation import LA as LA
from allalike.methods.mace import MACE as MACE
from allalike.methods.one_coin import DS1 as DS1
from allalike.methods.oracle import OA as OA
from allalike.methods.pairwise.eigenvector import EVD as EVD
from allalike.methods.pairwise.expert_core import EXP as EXP
from allalike.methods.pairwise.expert_core import TOP2 as TOP2
from allalike.methods.pairwise.mas import MAS as MAS
from allalike.methods.proximity import IPTD as IPTD
from allalike.methods.proximity import PTD as PTD
from allalike.methods.proximity import PTDAK as PTDAK
from allalike.methods.unweighted import UA as UA

METHODS: Registry[Method] = Registry(
    "method",
    Method,
    (
        *(Auto, UA, OA, PTD, PTDAK, IPTD, DTD, CRH, CATD, GTM, KDE),
        *(DS, DS1, IBCC, EBCC, BWA, LA, GLAD, MACE, IBP, EVD, EXP, TOP2, MAS),
    ),
    CALLED_ELSEWHERE,
)
