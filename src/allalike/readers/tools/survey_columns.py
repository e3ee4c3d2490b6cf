"""Columns of surveys: what is asked of a person, and is no question to which people can agree.

Consent, who somebody is, and checks of attention have an answer of their own or a right one that is known. A check says
itself what to answer: "Please select Strongly agree".
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from allalike.readers.rating_scales import order_levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["asks_consent", "asks_who", "find_instructed", "is_written", "plain_name"]

_PERSON = re.compile(
    r"(your|the|please|enter|write|select|indicate|specify|state|what|whats|which|is|are|of|do|you|in|current|highest"
    r"|student|participant|respondent|full|first|last|sur|nick|user|my|\d)*"
    r"(name|nameandsurname|namesurname|firstnamelastname|vorname|nom|pr[eé]nom|nometpr[eé]nom|nombre|nombrecompleto"
    r"|nome|nomecompleto|email.*|phone|phonenumber|mobilenumber|studentid|rollno|rollnumber|prolificid|participantid"
    r"|ages?|ageinyears|howoldareyou|agegroup|agerange|dateofbirth|birthdate|birthday|yearofbirth|birthyear|[aâ]ge|edad"
    r"|idade|alter|wiealtsindsie|gender|genderidentity|genderdoyouidentifywith|genderdoyouidentifyas|sex|genre|sexe"
    r"|sexo|g[eé]nero|geschlecht|country|countryofresidence|countrydoyoulivein|countryyoulivein|nationality|ethnicity"
    r"|race|raceethnicity|ethnicbackground|nativelanguage|firstlanguage|mothertongue|language|education|educationlevel"
    r"|levelofeducation|leveleducation|levelofeducationyouhavecompleted|degree|occupation|profession|employmentstatus"
    r"|jobtitle|maritalstatus|income|householdincome|annualhouseholdincome|zipcode|postcode|postalcode|religion)"
)
_CONSENT = re.compile(
    r"\b(informed )?consent(s|ing)?\b|\bagree(ing)? to (take part|participate)|(willing|wish|want|like) to (take part|"
    r"participate) in (this|the|our)|participation is voluntary|einwilligung|einverständnis(erklärung)?|consentement"
    r"|consentimiento|consenso informato|consentimento",
    re.IGNORECASE,
)
_COMMENTS = re.compile(
    r"\b(comments?|remarks?|suggestions?|feedback|(any|some)thing else|explain|elaborate|improve"
    r"|anmerkung(en)?|kommentare?|bemerkung(en)?"
    r"|commentaires?|remarques?|comentarios?|sugerencias?|commenti|osservazioni|comentários?|sugestões|opmerking(en)?"
    r"|uwagi|komentarze?|комментари[ий])\b|コメント|ご意見|备注|评论|意见",
    re.IGNORECASE,
)
_NOTHING = frozenset(
    (
        *("none", "no", "nope", "nothing", "nil", "na", "n/a", "x", "no comment", "no comments", "nothing else"),
        *("keine", "nein", "nichts", "non", "aucun", "rien", "nada", "ninguno", "nessuno", "geen", "brak", "нет"),
    )
)  # which people write into a field for comments
_YES = frozenset(("yes", "y", "maybe", "sometimes", "not sure", "ja", "oui", "sí", "si", "sim", "tak", "да"))
_TEXT_WORDS, _LONG_WORDS = 3, 8  # on average, of texts that are written, few or recurring
_MIN_ANSWERS = 4  # fewer short answers do not show whether they recur
_VERB = re.compile(
    r"\b(?:select|choose|pick|click(?: on)?|mark|tick|check|answer(?: with)?|respond(?: with)?)\b", re.IGNORECASE
)
_LEADING = re.compile(r"^[\s:,]*(?:the |only )*(?:(?:option|answer|response|box|number|word)\b[\s:,]*)?", re.IGNORECASE)
_GOES_ON = ("to", "for", "in", "below", "here", "as", "so", "and")  # words that are no part of an answer
_CHECK = re.compile(
    r"attention|\bread (this|the|carefully)|paying|to show|please|this (question|item)|bot\b", re.IGNORECASE
)


def plain_name(name: str) -> str:
    """Return a name without what is no letter or digit, in small letters.

    >>> plain_name("Duration (in seconds)")
    'durationinseconds'
    """
    return re.sub(r"[\W_]", "", name.casefold())


def asks_who(name: str) -> bool:
    """Tell whether a question asks who a person is, to which there is no answer that all should give.

    >>> asks_who("What is your age?"), asks_who("Gender"), asks_who("What is the age of the house?")
    (True, True, False)
    >>> asks_who("What is your highest level of education?"), asks_who("How does your country treat education?")
    (True, False)
    """
    return _PERSON.fullmatch(plain_name(name)) is not None


def asks_consent(text: str) -> bool:
    """Tell whether a question asks whether somebody takes part.

    >>> asks_consent("Do you agree to take part?"), asks_consent("consent"), asks_consent("Do you agree?")
    (True, True, False)
    """
    return _CONSENT.search(text) is not None


def is_written(texts: Iterable[str], answers: Sequence[str]) -> bool:
    """Return whether answers were written freely, such as comments: they hardly recur, or the question asks for them.

    >>> is_written(["Why?"], ["It rained all day", "no", "I was ill that week", "no", "no", "no"])
    True
    >>> is_written(["Any other comments?"], ["none", "none", "Good"]), is_written(["The feedback helped"], ["Agree"])
    (True, False)
    >>> is_written(["Where?"], ["at home", "at work", "at home", "at home"]), is_written(["Rate it"], [*"1234"])
    (False, False)
    """
    spelled = [answer.strip().casefold() for answer in answers]
    said = [answer for answer in spelled if answer.strip(" .!-") not in _NOTHING and answer.strip(" .!-")]
    different = set(said)
    if all(map(_is_number, spelled)) or (said and (order_levels(set(spelled)) or different <= _YES)):
        return False
    words = sum(len(answer.split()) for answer in said) / max(len(said), 1)
    if any(map(_COMMENTS.search, texts)):
        return len(said) < len(spelled) or words >= _TEXT_WORDS or 3 * len(different) > len(said)
    enough = len(said) >= _MIN_ANSWERS or words >= _TEXT_WORDS
    return (enough and 2 * len(different) > len(said)) or (words >= _LONG_WORDS and 3 * len(different) > len(said))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def find_instructed(text: str, answers: Iterable[str]) -> str | None:
    """Return the answer that a question tells people to give, if it is one of those that were given.

    >>> find_instructed("To show that you read this, please select 'Strongly agree'.", ["Agree", "Strongly agree"])
    'Strongly agree'
    >>> find_instructed("Please select all that apply", ["all", "none"])
    >>> find_instructed("Which do you choose?", ["tea", "milk"])
    """
    if not _CHECK.search(text):
        return None
    rests = [_LEADING.sub("", text[verb.end() :]).strip().lstrip("\"'“‘«").casefold() for verb in _VERB.finditer(text)]  # noqa: RUF001
    given = [answer for answer in answers if answer.strip()]
    told = [answer for answer in given if any(_begins(rest, answer.strip().casefold()) for rest in rests)]
    return max(told, key=len, default=None)


def _begins(text: str, answer: str) -> bool:
    """Tell whether a sentence begins with an answer, and goes on with no more of a phrase."""
    rest = text[len(answer) :].lstrip()
    next_word = re.match(r"\w*", rest)
    return text.startswith(answer) and (next_word is None or next_word[0] in ("", *_GOES_ON))
