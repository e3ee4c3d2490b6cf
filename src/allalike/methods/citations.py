"""The papers that each method comes from, for reports and for the pages of the methods."""

from __future__ import annotations

from typing import NamedTuple


class Citation(NamedTuple):
    """A paper: as a sentence names it, and as an entry of a list of references.

    >>> CITATIONS["DS"][0].short
    'Dawid and Skene, 1979'
    """

    short: str
    full: str


_CONDORCET = Citation(
    "Condorcet, 1785",
    "Condorcet, M. de (1785). Essai sur l'application de l'analyse à la probabilité des décisions rendues à la"
    " pluralité des voix. Imprimerie Royale, Paris.",
)
_AITKEN = Citation(
    "Aitken, 1935",
    "Aitken, A. C. (1935). On least squares and linear combination of observations. Proceedings of the Royal Society"
    " of Edinburgh, 55, 42-48. doi:10.1017/S0370164600014346",
)
_GROFMAN = Citation(
    "Grofman et al., 1983",
    "Grofman, B., Owen, G., and Feld, S. L. (1983). Thirteen theorems in search of the truth. Theory and Decision,"
    " 15(3), 261-278. doi:10.1007/BF00125672",
)
_MEIR = Citation(
    "Meir et al., 2023",
    "Meir, R., Amir, O., Ben-Porat, O., Ben-Shabat, T., Cohensius, G., and Xia, L. (2023). Frustratingly Easy Truth"
    " Discovery. Proceedings of the AAAI Conference on Artificial Intelligence, 37(5)."
    " doi:10.1609/aaai.v37i5.25750",
)
_CRH = Citation(
    "Li et al., 2014",
    "Li, Q., Li, Y., Gao, J., Zhao, B., Fan, W., and Han, J. (2014). Resolving conflicts in heterogeneous data by truth"
    " discovery and source reliability estimation. SIGMOD 2014, 1187-1198. doi:10.1145/2588555.2610509",
)
_CATD = Citation(
    "Li et al., 2014",
    "Li, Q., Li, Y., Gao, J., Su, L., Zhao, B., Demirbas, M., Fan, W., and Han, J. (2014). A confidence-aware approach"
    " for truth discovery on long-tail data. Proceedings of the VLDB Endowment, 8(4), 425-436."
    " doi:10.14778/2735496.2735505",
)
_GTM = Citation(
    "Zhao and Han, 2012",
    "Zhao, B., and Han, J. (2012). A probabilistic model for estimating real-valued truth from conflicting sources."
    " International Workshop on Quality in Databases (QDB 2012).",
)
_KDE = Citation(
    "Wan et al., 2016",
    "Wan, M., Chen, X., Kaplan, L., Han, J., Gao, J., and Zhao, B. (2016). From truth discovery to trustworthy opinion"
    " discovery: An uncertainty-aware quantitative modeling approach. KDD 2016, 1885-1894."
    " doi:10.1145/2939672.2939837",
)
_DAWID_SKENE = Citation(
    "Dawid and Skene, 1979",
    "Dawid, A. P., and Skene, A. M. (1979). Maximum likelihood estimation of observer error-rates using the EM"
    " algorithm. Applied Statistics, 28(1), 20-28. doi:10.2307/2346806",
)
_GAO_ZHOU = Citation(
    "Gao and Zhou, 2013",
    "Gao, C., and Zhou, D. (2013). Minimax optimal convergence rates for estimating ground truth from crowdsourced"
    " labels. arXiv:1310.5764",
)
_KIM = Citation(
    "Kim and Ghahramani, 2012",
    "Kim, H.-C., and Ghahramani, Z. (2012). Bayesian classifier combination. AISTATS 2012, PMLR 22, 619-627.",
)
_SIMPSON = Citation(
    "Simpson et al., 2013",
    "Simpson, E., Roberts, S., Psorakis, I., and Smith, A. (2013). Dynamic Bayesian combination of multiple imperfect"
    " classifiers. In Decision Making and Imperfection, 1-35. Springer. doi:10.1007/978-3-642-36406-8_1",
)
_EBCC = Citation(
    "Li et al., 2019",
    "Li, Y., Rubinstein, B. I. P., and Cohn, T. (2019). Exploiting worker correlation for label aggregation in"
    " crowdsourcing. ICML 2019, PMLR 97, 3886-3895.",
)
_BWA = Citation(
    "Li et al., 2019",
    "Li, Y., Rubinstein, B. I. P., and Cohn, T. (2019). Truth inference at scale: A Bayesian model for adjudicating"
    " highly redundant crowd annotations. WWW 2019, 1028-1038. doi:10.1145/3308558.3313459",
)
_LA = Citation(
    "Yang et al., 2022",
    "Yang, Y., Zhao, Z.-Q., Bai, Q., Liu, Q., and Li, W. (2022). A light-weight, effective and efficient model for"
    " label aggregation in crowdsourcing. arXiv:2212.00007",
)
_GLAD = Citation(
    "Whitehill et al., 2009",
    "Whitehill, J., Ruvolo, P., Wu, T., Bergsma, J., and Movellan, J. (2009). Whose vote should count more: Optimal"
    " integration of labels from labelers of unknown expertise. NIPS 2009, 2035-2043.",
)
_MACE = Citation(
    "Hovy et al., 2013",
    "Hovy, D., Berg-Kirkpatrick, T., Vaswani, A., and Hovy, E. (2013). Learning whom to trust with MACE. NAACL-HLT"
    " 2013, 1120-1130.",
)
_KARGER = Citation(
    "Karger et al., 2011",
    "Karger, D. R., Oh, S., and Shah, D. (2011). Iterative learning for reliable crowdsourcing systems. NIPS 2011,"
    " 1953-1961.",
)
_PARISI = Citation(
    "Parisi et al., 2014",
    "Parisi, F., Strino, F., Nadler, B., and Kluger, Y. (2014). Ranking and combining multiple predictors without"
    " labeled data. PNAS, 111(4), 1253-1258. doi:10.1073/pnas.1219097111",
)
_KAWASE = Citation(
    "Kawase et al., 2019",
    "Kawase, Y., Kuroki, Y., and Miyauchi, A. (2019). Graph mining meets crowdsourcing: Extracting experts for answer"
    " aggregation. IJCAI 2019, 1272-1279. doi:10.24963/ijcai.2019/177",
)
_BRAYLAN = Citation(
    "Braylan and Lease, 2020",
    "Braylan, A., and Lease, M. (2020). Modeling and aggregation of complex annotations via annotation distances. WWW"
    " 2020, 1807-1818. doi:10.1145/3366423.3380250",
)

MODELS = {  # of auto, by what its summary calls taken: in words, and the papers
    "majority vote": ("a majority vote", (_CONDORCET,)),
    "knows or guesses": ("how often each worker knows, and their distribution of guesses (MACE)", (_MACE,)),
    "confusion matrices": (
        "a confusion matrix per worker, shrunk towards the crowd's, and levels of task difficulty",
        (_DAWID_SKENE, _GLAD),
    ),
    "weights": ("weights from each worker's mean distance to the others", (_MEIR,)),
}

CITATIONS: dict[str, tuple[Citation, ...]] = {
    "auto": tuple(dict.fromkeys(paper for _, papers in MODELS.values() for paper in papers)),
    "UA": (_CONDORCET,),
    "OA": (_AITKEN, _GROFMAN),
    "P-TD": (_MEIR,),
    "P-TD-AK": (_MEIR,),
    "iP-TD": (_MEIR,),
    "D-TD": (_MEIR,),
    "CRH": (_CRH,),
    "CATD": (_CATD,),
    "GTM": (_GTM,),
    "KDE": (_KDE,),
    "DS": (_DAWID_SKENE,),
    "DS-1": (_DAWID_SKENE, _GAO_ZHOU),
    "IBCC": (_KIM, _SIMPSON),
    "EBCC": (_EBCC,),
    "BWA": (_BWA,),
    "LA": (_LA,),
    "GLAD": (_GLAD,),
    "MACE": (_MACE,),
    "IBP": (_KARGER,),
    "EVD": (_PARISI,),
    "EXP": (_KAWASE,),
    "TOP2": (_KAWASE,),
    "MAS": (_BRAYLAN,),
}
