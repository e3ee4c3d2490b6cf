"""Rating scales in words, in several languages, and in whole numbers: levels from the lowest to the highest.

All labels must be words of one scale for their order to be known. The levels are those that occur: a scale of
agreement without its middle has four levels. Words with a bar between them are the same level. A word that ends all
labels is ignored: "very helpful" and "not at all helpful" are levels of "very" and "not at all". Positive, neutral and
negative, or agree, neutral and disagree, are sentiments and stances, which are classes.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_MIN_LEVELS = 3  # two have no order that matters
_NUMBERED = re.compile(r"^\s*\(?\d{1,2}\)?\s*[-.:=)]\s*|\s*[-(]?\s*\d{1,2}\s*\)?\s*$")
_SPACE = re.compile(r"[\s_]+")
_RATING = re.compile(r"(\d{1,2})(?:\s*[-.:=(]\s*[^\W\d].*)?|[^\W\d].*[-.:=(]\s*(\d{1,2})\)?", re.DOTALL)
_RANGES = ((1, 5), (1, 7), (0, 10))  # of ratings
_MAX_ANCHORS = 3  # levels of a rating with words beside the number: both ends, and the middle

NO_OPINION = frozenset(
    (
        *("don't know", "dont know", "do not know", "no opinion", "not applicable", "not sure", "unsure", "can't say"),
        *("prefer not to say", "prefer not to answer", "refused", "no answer", "skip", "skipped", "other"),
        *("weiß nicht", "weiss nicht", "keine angabe", "keine meinung", "ne sait pas", "je ne sais pas"),
        *("sans opinion", "no sabe", "no sé", "ns/nc", "non so", "não sei", "weet niet", "nie wiem"),
        *("trudno powiedzieć", "не знаю", "затрудняюсь ответить", "わからない", "不知道"),
    )
)  # which stand beside a scale, and are no level of it

_SCALES = (  # English
    "completely disagree|totally disagree|strongly disagree|disagree strongly; disagree|mostly disagree;"
    " somewhat disagree|slightly disagree|rather disagree|disagree somewhat|disagree slightly|tend to disagree;"
    " neutral|neither agree nor disagree|neither|undecided;"
    " somewhat agree|slightly agree|rather agree|agree somewhat|agree slightly|tend to agree;"
    " agree|mostly agree; completely agree|totally agree|strongly agree|agree strongly",
    "never; almost never|very rarely|hardly ever; rarely|seldom; occasionally|once in a while; sometimes;"
    " often|frequently; usually|very often|very frequently|most of the time|almost always|nearly always; always",
    "very poor|terrible; poor; fair|acceptable; good; very good; excellent; outstanding|exceptional",
    "very bad|terrible|awful; bad; fair|average|okay|ok|neutral; good; very good|great|excellent",
    "very dissatisfied|extremely dissatisfied|completely dissatisfied; dissatisfied;"
    " somewhat dissatisfied|slightly dissatisfied; neutral|neither satisfied nor dissatisfied;"
    " somewhat satisfied|slightly satisfied; satisfied; very satisfied|extremely satisfied|completely satisfied",
    "very unlikely|extremely unlikely; unlikely; somewhat unlikely; neutral|neither likely nor unlikely;"
    " somewhat likely; likely; very likely|extremely likely",
    "not at all important|not important|unimportant; slightly important|of little importance;"
    " somewhat important|moderately important|neutral; important; very important; extremely important",
    "not at all; slightly|a little|a little bit|not so|not very; somewhat|moderately;"
    " very|quite a bit|very much|a lot; extremely",
    "very easy; easy; moderate|medium|neutral|neither easy nor difficult; hard|difficult; very hard|very difficult",
    "none at all|nothing at all|none; a little; some|a moderate amount; a lot; a great deal",
    "definitely not|definitely would not; probably not|probably would not; might or might not|maybe|possibly;"
    " probably|probably yes|probably would; definitely|definitely yes|definitely would",
    "very low; low; medium|moderate|average|neither high nor low; high; very high",
    "none; minimal|very mild; mild; moderate; severe; very severe|critical",
    "very small|tiny; small; medium; large|big; very large|huge",
    "much worse; worse; slightly worse|somewhat worse|a little worse; about the same|the same|same|no difference;"
    " slightly better|somewhat better|a little better; better; much better",
    "very negative|strongly negative; negative; somewhat negative|slightly negative; neutral;"
    " somewhat positive|slightly positive; positive; very positive|strongly positive",
    "not relevant|irrelevant; slightly relevant|marginally relevant; somewhat relevant|partially relevant|fairly"
    " relevant; relevant; very relevant|highly relevant|perfectly relevant",
    "strongly oppose; oppose; somewhat oppose; neutral|neither; somewhat support; support; strongly support",
    # German
    "stimme überhaupt nicht zu|stimme gar nicht zu|lehne stark ab; stimme nicht zu|lehne ab; stimme eher nicht zu;"
    " neutral|weder noch|teils/teils|teils teils|unentschieden; stimme eher zu; stimme zu;"
    " stimme voll zu|stimme voll und ganz zu|stimme völlig zu|stimme stark zu",
    "trifft überhaupt nicht zu|trifft gar nicht zu; trifft nicht zu; trifft eher nicht zu;"
    " teils/teils|teils teils|teils-teils|neutral; trifft eher zu; trifft zu;"
    " trifft voll zu|trifft voll und ganz zu|trifft völlig zu",
    "nie|niemals; fast nie|sehr selten; selten; gelegentlich; manchmal; oft|häufig; meistens|sehr oft|sehr häufig|fast"
    " immer; immer",
    "ungenügend; mangelhaft; ausreichend; befriedigend; gut; sehr gut",
    "sehr schlecht; schlecht; mittel|mittelmäßig|mäßig|neutral|durchschnittlich; gut; sehr gut",
    "sehr unzufrieden; unzufrieden; eher unzufrieden; neutral|teils/teils|weder noch; eher zufrieden; zufrieden;"
    " sehr zufrieden",
    "sehr niedrig|sehr gering; niedrig|gering; mittel; hoch; sehr hoch",
    # French
    "pas du tout d'accord|tout à fait en désaccord|fortement en désaccord; pas d'accord|en désaccord;"
    " plutôt pas d'accord|plutôt en désaccord; neutre|ni d'accord ni pas d'accord|ni en accord ni en désaccord;"
    " plutôt d'accord; d'accord; tout à fait d'accord|fortement d'accord",
    "jamais; presque jamais|très rarement; rarement; parfois|quelquefois|de temps en temps; souvent;"
    " très souvent|presque toujours|la plupart du temps; toujours",
    "très mauvais; mauvais; passable|moyen; assez bien; bon|bien; très bon|très bien; excellent",
    "très insatisfait; insatisfait; plutôt insatisfait; neutre; plutôt satisfait; satisfait; très satisfait",
    "très faible; faible; moyen; élevé; très élevé",
    # Spanish
    "totalmente en desacuerdo|muy en desacuerdo; en desacuerdo; algo en desacuerdo;"
    " neutral|ni de acuerdo ni en desacuerdo|indeciso; algo de acuerdo; de acuerdo;"
    " totalmente de acuerdo|muy de acuerdo",
    "nunca; casi nunca; raramente|rara vez|raras veces; a veces|algunas veces; a menudo|con frecuencia|frecuentemente;"
    " casi siempre; siempre",
    "muy malo|muy mala|muy mal; malo|mala|mal; regular; bueno|buena|bien; muy bueno|muy buena|muy bien; excelente",
    "muy insatisfecho; insatisfecho; neutral; satisfecho; muy satisfecho",
    "muy bajo; bajo; medio; alto; muy alto",
    # Italian
    "completamente in disaccordo|fortemente in disaccordo|per niente d'accordo; in disaccordo|non d'accordo;"
    " neutrale|né d'accordo né in disaccordo|indifferente; d'accordo;"
    " completamente d'accordo|fortemente d'accordo|molto d'accordo|pienamente d'accordo",
    "mai; quasi mai; raramente; a volte|qualche volta|talvolta; spesso; quasi sempre|molto spesso; sempre",
    "pessimo; scarso; insufficiente; sufficiente; discreto; buono; ottimo|eccellente",
    "molto insoddisfatto; insoddisfatto; neutrale; soddisfatto; molto soddisfatto",
    # Portuguese
    "discordo totalmente|discordo completamente; discordo; discordo parcialmente|discordo em parte;"
    " neutro|não concordo nem discordo|nem concordo nem discordo|indiferente;"
    " concordo parcialmente|concordo em parte; concordo; concordo totalmente|concordo completamente",
    "nunca; quase nunca; raramente; às vezes|algumas vezes; frequentemente|muitas vezes; quase sempre; sempre",
    "péssimo|muito ruim|muito mau; ruim|mau; regular; bom; muito bom|ótimo; excelente",
    # Dutch
    "helemaal mee oneens|helemaal niet mee eens|zeer mee oneens|sterk mee oneens; oneens|mee oneens|niet mee eens;"
    " enigszins mee oneens; neutraal|niet mee eens niet mee oneens|noch mee eens noch mee oneens; enigszins mee eens;"
    " eens|mee eens; helemaal mee eens|zeer mee eens|sterk mee eens",
    "nooit; bijna nooit|zeer zelden; zelden; soms|af en toe; vaak|regelmatig; meestal|zeer vaak|bijna altijd; altijd",
    "zeer slecht; slecht; matig|redelijk|voldoende|neutraal; goed; zeer goed; uitstekend",
    # Polish
    "zdecydowanie się nie zgadzam|zdecydowanie nie zgadzam się|całkowicie się nie zgadzam; nie zgadzam się;"
    " raczej się nie zgadzam|raczej nie zgadzam się; ani się zgadzam, ani się nie zgadzam|ani tak, ani nie|neutralnie;"
    " raczej się zgadzam|raczej zgadzam się; zgadzam się; zdecydowanie się zgadzam|zdecydowanie zgadzam się|całkowicie"
    " się zgadzam",
    "zdecydowanie nie; raczej nie; ani tak, ani nie|ani tak ani nie; raczej tak; zdecydowanie tak",
    "nigdy; prawie nigdy|bardzo rzadko; rzadko; czasami|czasem; często; bardzo często|prawie zawsze; zawsze",
    "bardzo źle; źle; przeciętnie|średnio; dobrze; bardzo dobrze",
    # Russian
    "полностью не согласен|совершенно не согласен|категорически не согласен; не согласен; скорее не согласен;"
    " нейтрально|ни согласен, ни не согласен; скорее согласен; согласен; полностью согласен|совершенно согласен",
    "никогда; почти никогда|очень редко; редко; иногда; часто; очень часто|почти всегда; всегда",
    "очень плохо; плохо; удовлетворительно|нормально|средне; хорошо; очень хорошо|отлично",
    # Japanese
    "全くそう思わない|まったくそう思わない|強くそう思わない; そう思わない|あまりそう思わない;"
    " どちらとも言えない|どちらともいえない; そう思う|ややそう思う; 強くそう思う|非常にそう思う|とてもそう思う",
    "全くない|まったくない; めったにない|ほとんどない; 時々|ときどき|たまに; よくある|しばしば; いつも|常に",
    "非常に悪い|とても悪い; 悪い|やや悪い; 普通|ふつう; 良い|よい|やや良い; 非常に良い|とても良い",
    # Chinese
    "非常不同意|强烈不同意|完全不同意; 不同意|比较不同意; 中立|一般|不确定|既不同意也不反对;"
    " 同意|比较同意; 非常同意|强烈同意|完全同意",
    "从不|从来不; 很少|极少; 有时|偶尔; 经常|常常; 总是|一直",
    "非常差|很差; 差|较差; 一般|中等; 好|较好|良好; 非常好|很好|优秀",
    "非常不满意|很不满意; 不满意; 一般|中立; 满意; 非常满意|很满意",
)

_STANCES = frozenset(
    (
        *("negative", "positive", "oppose", "support", "disagree", "agree", "neutral", "neither", "undecided"),
        *("neither agree nor disagree", "stimme nicht zu", "lehne ab", "stimme zu", "weder noch", "unentschieden"),
        *("pas d'accord", "en désaccord", "d'accord", "neutre", "ni d'accord ni pas d'accord"),
        *("ni en accord ni en désaccord", "en desacuerdo", "de acuerdo", "indeciso", "ni de acuerdo ni en desacuerdo"),
        *("in disaccordo", "non d'accordo", "d'accordo", "neutrale", "indifferente", "né d'accordo né in disaccordo"),
        *("discordo", "concordo", "neutro", "indiferente", "não concordo nem discordo", "nem concordo nem discordo"),
        *("oneens", "mee oneens", "niet mee eens", "eens", "mee eens", "neutraal", "niet mee eens niet mee oneens"),
        *("noch mee eens noch mee oneens", "nie zgadzam się", "zgadzam się", "neutralnie"),
        *("ani się zgadzam, ani się nie zgadzam", "ani tak, ani nie", "не согласен", "согласен", "нейтрально"),
        *("ни согласен, ни не согласен", "そう思わない", "そう思う", "どちらとも言えない", "どちらともいえない"),
        *("不同意", "同意", "中立", "不确定", "既不同意也不反对"),
    )
)  # labels that all are among these have no degrees: they are classes


def find_scale(labels: Sequence[str]) -> tuple[str, ...] | None:
    """Return labels in the order of the scale of which all of them are levels; nothing if there is none, or several.

    >>> find_scale(["Agree", "Strongly disagree", "Disagree", "Strongly Agree"])
    ('Strongly disagree', 'Disagree', 'Agree', 'Strongly Agree')
    >>> find_scale(["immer", "nie", "manchmal"]), find_scale(["yes", "no", "maybe"])
    (('nie', 'manchmal', 'immer'), None)
    >>> find_scale(["Very helpful", "Not at all helpful", "Somewhat helpful"])
    ('Not at all helpful', 'Somewhat helpful', 'Very helpful')
    >>> find_scale(["positive", "neutral", "negative"]) is None
    True
    """
    if len(labels) < _MIN_LEVELS or _STANCES.issuperset(map(_key_of, labels)):
        return None
    orders = set(_find_orders(labels))
    return orders.pop() if len(orders) == 1 else None


def order_levels(labels: Collection[str]) -> tuple[str, ...]:
    """Return labels in the order of a scale, also fewer than three; nothing if no scale has all of them.

    Words for no opinion are left out.

    >>> order_levels({"neutral", "disagree", "don't know"}), order_levels({"agree", "often"})
    (('disagree', 'neutral'), ())
    """
    words = sorted(label for label in labels if label.strip().casefold() not in NO_OPINION)
    return next(iter(_find_orders(words)), ()) if words else ()


def read_ratings(labels: Collection[str]) -> dict[str, int]:
    """Return the number of each label where all are ratings from 0 to 10, the lowest first; nothing otherwise.

    The ends and the middle may have words beside the number. Two values up to 2 are codes, such as those of yes and no.

    >>> read_ratings(["7", "Extremely likely - 10", "9"])
    {'7': 7, '9': 9, 'Extremely likely - 10': 10}
    >>> read_ratings(["0", "1"]), read_ratings(["1. tea", "2. milk"]), read_ratings(["3", "12"])
    ({}, {}, {})
    """
    found = {label: _RATING.fullmatch(label.strip()) for label in labels}
    numbers = {label: int(match[1] or match[2]) for label, match in found.items() if match}
    plain = sum(label.strip().isdecimal() for label in numbers)
    codes = len(numbers) <= 2 and max(numbers.values(), default=0) <= 2
    same = len(numbers) < len(labels) or len(set(numbers.values())) < len(numbers)
    if same or codes or max(numbers.values()) > _RANGES[-1][1] or not plain or len(labels) - plain > _MAX_ANCHORS:
        return {}
    return dict(sorted(numbers.items(), key=lambda item: item[1]))


def find_range(labels: Collection[str]) -> tuple[int, int] | None:
    """Return the usual range of ratings that has all labels: 1 to 5, 1 to 7 or 0 to 10; nothing for other labels.

    >>> find_range(["3", "5"]), find_range(["2", "6", "4"]), find_range(["0", "4"]), find_range(["a"])
    ((1, 5), (1, 7), (0, 10), None)
    """
    numbers = read_ratings(labels).values()
    return next(
        ((low, high) for low, high in _RANGES if numbers and low <= min(numbers) and max(numbers) <= high), None
    )


def _find_orders(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Return labels in the order of each scale of which all are levels, and no two the same one."""
    keys = [_key_of(label) for label in labels]
    ways = [keys]
    if len({key.rpartition(" ")[2] for key in keys}) == 1:
        ways.append([key.rpartition(" ")[0] for key in keys])
    places = [[scale[key] for key in way] for way in ways for scale in _scales() if all(key in scale for key in way)]
    return [
        tuple(label for _, label in sorted(zip(each, labels, strict=True)))
        for each in places
        if len(set(each)) == len(each)
    ]


@cache
def _scales() -> list[dict[str, int]]:
    """Return the place of each word, for all scales."""
    return [
        {_key_of(word): place for place, level in enumerate(scale.split(";")) for word in level.split("|")}
        for scale in _SCALES
    ]


def _key_of(label: str) -> str:
    """Return what is the same for ``Strongly Agree``, ``strongly_agree``, ``5 - Strongly agree`` and so on."""
    bare = _NUMBERED.sub("", label.strip()) or label
    return _SPACE.sub(" ", bare.replace("\u2019", "'")).strip(" .").casefold()
