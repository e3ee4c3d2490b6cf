"""Remove passwords, tokens and signatures from addresses in text."""

from __future__ import annotations

import re
from urllib.parse import unquote

HIDDEN = "***"
DATABASES = ("postgresql", "postgres", "sqlite", "duckdb")
_SHORT = 3  # characters of a secret that is too short to be hidden, because other text would match it
_SCHEME = r"[A-Za-z][A-Za-z0-9+.-]{1,30}"  # at least two characters, because C: is a disk
# A password may contain any character, even unquoted ones. In web addresses it does not begin like a port.
ADDRESS = re.compile(
    rf"(?P<start>(?:{_SCHEME}::)*(?P<scheme>(?P<own>{'|'.join(DATABASES)})(?=:)|{_SCHEME})://)"
    r"(?:(?P<user>[^:/?#@]*)(?::(?(own)|(?!\d+[/?#]))(?P<password>.*))?@)?"
    r"(?P<place>[^?#]*)(?P<rest>.*)",
    re.DOTALL,
)
_IN_TEXT = re.compile(rf"({_SCHEME}):(/{{1,3}})(\S+?)(?=['\"`.,;:!)\]]*(?:\s|$))")  # paths lose one slash of two
_PASSWORD = re.compile(r"(postgres(?:ql)?):/{1,3}([^:/?#@\s]*):(?!\s|\d+(?:[^\w%]|$))[^\n]*@")  # perhaps with blanks
_PAIR = re.compile(
    r"(?i)((?:\b|(?<=[^a-z]))[\w-]{0,30}(?:passw(?:or)?d|pwd|token|secret|signature|credential|access[_-]?key|api[_-]?key)"
    r"[\w-]{0,30}=|\bsig=)(?!\*)(\"[^\"]*\"|'[^']*'|[^\s&'\",;)]+)"
)


def hide_secrets(text: str) -> str:
    """Return a text without the passwords, tokens and signatures in its addresses.

    >>> hide_secrets("There is no 'postgresql:/ada:secret@host/crowd'.")
    "There is no 'postgresql://ada@host/crowd'."
    >>> hide_secrets("GET https://host/a.csv?sig=abc: 403; host=db password=secret")
    'GET https://host/a.csv?***: 403; host=db password=***'
    """
    if ":/" in text:
        text = _IN_TEXT.sub(_hide_address, _PASSWORD.sub(r"\1://\2@", text))
    return _PAIR.sub(rf"\1{HIDDEN}", text) if "=" in text else text


def _hide_address(match: re.Match[str]) -> str:
    slashes = "//" if len(match[2]) == 1 else match[2]
    name = f"{match[1]}:{slashes}{match[3]}"
    shown = show_address(name)
    return match[0] if shown == name else shown


def find_secrets(word: str) -> set[str]:
    """Return the secrets in an address, and the parts of secrets that a parser may print separately.

    >>> sorted(find_secrets("postgresql://ada:open:sesame@host/crowd?sslmode=require&token=abcd"))
    ['abcd', 'open', 'open:sesame', 'sesame']
    """
    match = ADDRESS.search(word)
    password = (match["password"] if match else None) or ""
    secrets = [
        password,
        *re.split(r"[\s/?#@:&=,;]", password),
        *(value.strip("'\"") for _, value in _PAIR.findall(word)),
    ]
    return {each for secret in secrets for each in (secret, unquote(secret)) if len(each) > _SHORT}


def show_address(name: str) -> str:
    """Return an address without its password, query and fragment.

    >>> show_address("https://ada:secret@host/a.csv?sig=abc"), show_address("postgresql://ada:secret@host/crowd")
    ('https://***@host/a.csv?***', 'postgresql://ada@host/crowd')
    """
    match = ADDRESS.fullmatch(name)
    if match is None:
        return name
    user, password, rest = match["user"] or "", match["password"] or "", match["rest"]
    who = f"{user if match['own'] else HIDDEN}@" if user or password else ""
    return f"{match['start']}{who}{match['place']}{rest[:1]}{HIDDEN if rest else ''}"
