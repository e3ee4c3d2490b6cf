"""Labels, names with options, written answers and requests that make no sense: a result or a clear error."""

import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import strategies as st

import allalike
from allalike._core.extraction import find_extractor
from allalike._core.registry import make
from allalike.domains import DOMAINS
from allalike.engines import ENGINES
from allalike.errors import AllalikeError
from allalike.methods import METHODS
from allalike.readers import scan
from allalike.serve.server import Server
from allalike.serve.session import Session
from files.mutations import mutated, often, repeat, soups

DOMAIN_NAMES = sorted(set(DOMAINS) - {"custom"})
OPTIONS = {"tree": "tree(separator='/')", "points": "points(names=['a', 'b'])", "ordinal": "ordinal(levels=['a', 'b'])"}

LABELS = soups(
    '[ ] { } [] {} [[]] " , : ; > < ~ = | / . - a b c 1 -2 .5 0 180 [0,1] [[0,2]] [[0,1,2,3]] {"a":1} {"x":1,"y":2} a>b'
    ' B-PER 2020-01-01 12:30 N % [{"start":0,"end":3,"label":"a"}] {"bbox":[1,2,3,4]} {"counts":"04","size":[2,2]}',
    ["[" * 150, '{"a":' * 150],
)
OBJECTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.binary(max_size=2),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text("abxy", max_size=2), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)
SPECS = soups(
    f"( ) [ ] = , ' \" - + * ** # : . lambda f( None True 1 .5 levels rule max_iter {' '.join((*METHODS, *DOMAINS))}",
    ["(" * 300, "-" * 900, " " * 990],
)
WRITTEN = soups(
    'The answer is A B (A) [[A]] **B** \\boxed{ } { } " : , 12 1,000 3.5 $ % - / x \\frac{1}{2} #### <answer>'
    ' </answer> "a": {"a": [ ] ] so = tie better',
    ["[" * 150, '{"a":' * 150],
)


LABEL_LISTS = st.lists(LABELS, min_size=2, max_size=6) | st.lists(OBJECTS, min_size=2, max_size=6)


@contextmanager
def in_words() -> Iterator[None]:
    """Let an error of this library pass, which says something."""
    try:
        yield
    except AllalikeError as error:
        assert str(error).strip()


@often(2, 500)
@pytest.mark.parametrize("domain", DOMAIN_NAMES)
def test_odd_labels_are_read_or_refused(domain: str, examples: int) -> None:
    def check(labels: list[Any]) -> None:
        rows = [("abe"[number % 3], number // 3, label) for number, label in enumerate(labels)]
        with in_words():
            allalike.discover(rows, domain=OPTIONS.get(domain, domain), method="UA")

    repeat(examples, check, labels=LABEL_LISTS)


@often(10, 500)
def test_of_odd_labels_the_type_is_inferred_or_asked_for(examples: int) -> None:
    def check(labels: list[Any]) -> None:
        with in_words():
            scan([("ada", number, label) for number, label in enumerate(labels)]).read()

    repeat(examples, check, labels=LABEL_LISTS)


@often(40, 2000)
def test_odd_names_with_options_are_known_or_refused(examples: int) -> None:
    def check(name: str, options: str) -> None:
        for known, kind in ((METHODS, "method"), (DOMAINS, "domain"), (ENGINES, "engine")):
            for spec in (options, f"{name}({options})"):
                with in_words():
                    make(spec, dict(known), kind)

    repeat(examples, check, name=st.sampled_from(sorted({*METHODS, *DOMAINS})), options=SPECS)


@often(20, 400)
def test_a_label_is_found_in_odd_texts_or_none(examples: int) -> None:
    def check(text: str, times: int) -> None:
        for how in ("number", "choice", "json:a", "json:a.b", "last line", r"is (\w+)"):
            found = find_extractor(how)(text * times)
            assert found is None or isinstance(found, str)

    repeat(examples, check, text=WRITTEN, times=st.sampled_from([1, 50]))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(Session(tmp_path_factory.mktemp("session"), limit=10_000)) as started:
        yield started


def requests_of(server: Server) -> list[bytes]:
    """Return what browsers send."""
    head = f"Host: 127.0.0.1:{server.server_port}\r\nOrigin: http://127.0.0.1:{server.server_port}\r\n"
    body = json.dumps({"options": {"method": "UA"}})
    return [
        f"GET /{server.token}/ HTTP/1.1\r\n{head}Connection: close\r\n\r\n".encode(),
        f"GET /{server.token}/state HTTP/1.0\r\n{head}\r\n".encode(),
        f"POST /{server.token}/run HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode(),
        f"POST /{server.token}/answers?name=a.csv HTTP/1.1\r\n{head}Content-Length: 9\r\n\r\na,b\r\n1,2\r\n".encode(),
    ]


def send(server: Server, sent: bytes) -> None:
    """Send bytes, and see that whatever comes back is no failure of the server, which is there afterwards."""
    for each in (sent, requests_of(server)[1]):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
            connection.sendall(each)
            connection.shutdown(socket.SHUT_WR)
            try:
                reply = b"".join(iter(lambda: connection.recv(1 << 16), b""))
            except ConnectionError:
                reply = b""
    assert b" 500 " not in reply[:20]
    assert reply.startswith(b"HTTP/1.0 200"), reply[:80]


@often(2, 200)
def test_odd_requests_are_answered(server: Server, examples: int) -> None:
    repeat(examples, lambda sent: send(server, sent), sent=mutated(requests_of(server)))
