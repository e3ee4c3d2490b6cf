"""Pages of the textbook: one for each label type, method, rule and engine, made of their docstrings.

A page has what the module says (the formula, where it comes from, when it works and when it fails), what the class or
the function says, its options with their defaults, and the examples that a user could type. Nothing is written twice,
so a page is as good as the docstring; `gaps.py` says what one lacks.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

import allalike
from allalike.methods.citations import CITATIONS
from docstrings import Docstring, read

__all__ = ["domain_pages", "engine_pages", "link_rows", "method_pages", "page_of", "rule_pages", "rules_by_function"]

_OF_KERNELS = re.compile(r"\s*The block needs its? [^.]*\.")  # a sentence for those who write rules
_TYPED = re.compile(r"^(?:>>>|\.\.\.) .*$", re.MULTILINE)  # and not what is printed
_EXAMPLE = re.compile(r"```pycon\n.*?\n```", re.DOTALL)
Decide = Callable[..., Any]


def page_of(folder: str, name: str) -> str:
    """Return where the page of something is.

    >>> page_of("rules", "ranked pairs")
    'rules/ranked-pairs.md'
    """
    return f"{folder}/{re.sub(r'[^a-z0-9]+', '-', name.lower())}.md"


def link_rows(markdown: str, folder: str, names: Iterable[str]) -> str:
    """Make links of the names in code that begin the rows of a page's tables.

    >>> link_rows("| `EXP`, `TOP2` | experts |", "methods", ["EXP", "TOP2"])
    '| [`EXP`](methods/exp.md), [`TOP2`](methods/top2.md) | experts |'
    """
    known = "|".join(map(re.escape, names))
    first_cell = re.compile(rf"^\| `(?:{known})`(?:, `(?:{known})`)* \|", re.MULTILINE)
    return first_cell.sub(
        lambda row: re.sub(r"`(.+?)`", lambda one: f"[{one[0]}]({page_of(folder, one[1])})", row[0]), markdown
    )


def domain_pages() -> dict[str, str]:
    """Return the page of each label type."""
    return {page_of("domains", name): _domain(domain) for name, domain in allalike.DOMAINS.items()}


def _domain(domain: type[allalike.Domain]) -> str:
    facts = {"Distances": ", ".join(f"`{name}`" for name in domain.distances)}
    facts["Rules"] = _links("rules", (rule.name for rule in domain.rules))
    defaults = {"rule": domain.rules[0].name}
    try:
        domain()
    except allalike.AllalikeError:  # one that must be told something, which a program cannot: a function
        return _page(domain.name, domain, facts, defaults)
    defaults["distance"] = domain.distances[0]
    return _page(domain.name, domain, facts | _command("domain", domain.name), defaults)


def method_pages() -> dict[str, str]:
    """Return the page of each method."""
    return {page_of("methods", name): _method(method) for name, method in allalike.METHODS.items()}


def _method(method: type[allalike.Method]) -> str:
    facts = {"Needs": method.needs} | _command("method", method.name)
    return _page(method.name, method, facts | {"Sources": " ".join(each.full for each in CITATIONS[method.name])}, {})


def engine_pages() -> dict[str, str]:
    """Return the page of each engine."""
    return {page_of("engines", name): _engine(name, engine) for name, engine in allalike.ENGINES.items()}


def _engine(name: str, engine: type[allalike.Engine]) -> str:
    return _page(name, engine, _command("engine", name), {})


def rules_by_function() -> dict[str, dict[Decide, list[str]]]:
    """Return each rule's functions, and of each the label types that have it."""
    found: dict[str, dict[Decide, list[str]]] = {}
    for name, rules in allalike.RULES.items():
        for domain, rule in rules.items():
            found.setdefault(name, {}).setdefault(rule.decide, []).append(domain)
    return found


def rule_pages() -> dict[str, str]:
    """Return the page of each rule, and one that lists them."""
    rules = rules_by_function()
    rows = [
        f"| [{name}]({page_of('rules', name)[6:]}{_section(domains) if len(functions) > 1 else ''}) "
        f"| {', '.join(domains)} | {read(decide.__doc__).summary} |"
        for name, functions in rules.items()
        for decide, domains in functions.items()
    ]
    table = "\n".join(["| rule | label types | purpose |", "| --- | --- | --- |", *rows])
    lead = "A rule aggregates the weighted labels of a task."
    return {
        "rules/index.md": f"# Rules\n\n{lead}\n\n{table}\n",
        **{page_of("rules", name): _rule(name, functions) for name, functions in rules.items()},
    }


def _section(domains: Iterable[str]) -> str:
    return "#of-" + "-".join(domains)


def _rule(name: str, functions: Mapping[Decide, list[str]]) -> str:
    parts = [f"# {name}"]
    for decide, domains in functions.items():
        own, home = read(_OF_KERNELS.sub("", decide.__doc__ or "")), read(sys.modules[decide.__module__].__doc__)
        parts += [f"## Of {', '.join(domains)}"] if len(functions) > 1 else []
        call = f'domain=allalike.{allalike.DOMAINS[domains[0]].__name__}(rule="{name}")'
        facts = {"Label types": _links("domains", domains), "In Python": f"`allalike.discover(answers, {call})`"}
        parts += [f"**{own.summary}**", own.body, home.text, _facts(facts | _command("rule", name))]
        parts += _examples(own, [])
    return "\n\n".join(filter(None, parts)) + "\n"


def _page(name: str, thing: type, facts: Mapping[str, str], defaults: Mapping[str, str]) -> str:
    own, home = read(thing.__doc__), read(sys.modules[thing.__module__].__doc__)
    parts = [f"# {name}", f"**{_lead(home)}**", home.body, _facts(facts)]
    parts += [f"## allalike.{thing.__name__} {{ #allalike.{thing.__name__} }}", own.text]
    parts += [f"```python\n{_signature(thing, defaults)}\n```", _options(thing, own, defaults)]
    parts += _examples(own, [thing.__name__])
    return "\n\n".join(filter(None, parts)) + "\n"


def _lead(home: Docstring) -> str:
    """Return the first line of a module without the name in front, which is the title of the page."""
    said = re.sub(r"^[^:.]{1,40}: ", "", home.summary)
    return said[0].upper() + said[1:]


def _facts(facts: Mapping[str, str]) -> str:
    return "\n".join(f"- {name}: {fact}" for name, fact in facts.items())


def _command(option: str, value: str) -> dict[str, str]:
    quoted = f'"{value}"' if " " in value else value
    return {"On the command line": f"`allalike discover answers.csv --{option} {quoted}`"}


def _links(folder: str, names: Iterable[str]) -> str:
    return ", ".join(f"[{name}](../{page_of(folder, name)})" for name in names)


def _defaults(thing: type, defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the options of a class with their defaults as they are written, empty for those that must be given."""
    parameters = inspect.signature(thing).parameters.values()
    written = {one.name: "" if one.default is one.empty else _written(one.default) for one in parameters}
    chosen = {name: _written(defaults[name]) if name in defaults else "" for name in written if written[name] == '""'}
    return written | chosen


def _written(value: object) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def _signature(thing: type, defaults: Mapping[str, str]) -> str:
    options = [f"{name}={default}" if default else name for name, default in _defaults(thing, defaults).items()]
    line = f"{thing.__name__}({', '.join(options)})"
    return line if len(line) < 88 else f"{thing.__name__}(\n    " + ",\n    ".join(options) + ",\n)"


def _options(thing: type, own: Docstring, defaults: Mapping[str, str]) -> str:
    written = _defaults(thing, defaults)
    rows = []
    for names, meaning in own.options.items():
        shown = ", ".join(f"`{name}`" for name in names.split(", "))
        usual = ", ".join(f"`{written[name]}`" for name in names.split(", ") if written.get(name))
        rows.append(f"| {shown} | {usual} | {meaning.replace('|', chr(92) + '|')} |")
    return "\n".join(["| option | default | meaning |", "| --- | --- | --- |", *rows]) if rows else ""


def _examples(own: Docstring, names: Iterable[str]) -> list[str]:
    """Return the examples that a user could type, with the full names of the library's classes."""
    shown = [one for one in _EXAMPLE.findall(own.examples) if re.search(r"allalike\.[A-Za-z]\w*\(", one)]
    for name in names:
        bare = re.compile(rf"(?<![\w.\"'])(?<!import ){name}\(")
        shown = [_TYPED.sub(partial(_write_out, bare=bare, full=f"allalike.{name}("), one) for one in shown]
    return shown


def _write_out(line: re.Match[str], bare: re.Pattern[str], full: str) -> str:
    return bare.sub(full, line[0])
