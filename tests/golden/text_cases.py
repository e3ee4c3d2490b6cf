"""Golden cases of text files: 28 messy ones and 15 encodings, made here."""

import gzip
from functools import partial
from pathlib import Path
from typing import Any

import allalike
from allalike.errors import AllalikeError, LabelError
from files.plain_rows import triples
from golden.record import add, digest

HEAD = "worker,task,label"
ROWS = [("ada", "t1", "red"), ("bob", "t1", "red"), ("eve", "t1", "blue"), ("ada", "t2", "blue"), ("bob", "t2", "blue")]
ROWS += [("eve", "t2", "red"), ("ada", "t3", "red"), ("bob", "t3", "blue"), ("eve", "t3", "blue")]
BODY = "".join(",".join(row) + "\n" for row in ROWS)
TEXT = f"{HEAD}\n{BODY}"
NUMBERS = "".join(f"{w};t{t};{t + n / 4}\n".replace(".", ",") for t in range(4) for n, w in enumerate("abc"))


def look(source: Any, *, whole: bool = True, **how: Any) -> Any:
    """Return what is read: counts, roles, and rows or a digest of them.

    Questions are answered with the first proposal; where there is none, labels are classes, or the file is
    that of one annotator.
    """
    asked = []
    for _ in range(4):
        try:
            answers = allalike.read(source, **how)
            break
        except AllalikeError as error:
            proposed = dict(getattr(error, "options", {}))
            asked.append({"error": type(error).__name__, **proposed})
            if not proposed and isinstance(source, Path):
                unlike = isinstance(error, LabelError)
                proposed = {"domain": "categorical"} if unlike else {"worker_from": "filename"}
            if all(how.get(name) == value for name, value in proposed.items()):
                return {"asked": asked}
            how = {**how, **proposed}
    else:
        return {"asked": asked}
    notes, rows = answers.notes, triples(answers)
    found = {
        "asked": asked,
        "counts": [answers.n_answers, len(answers.workers), answers.n_tasks],
        "domain": answers.domain.name,
        "guessed": notes.get("guessed"),
        "notes": {name: value for name, value in notes.items() if isinstance(value, int | float)},
        "is told": bool(notes.get("messages")),
        "rows": rows if whole and len(rows) <= 12 else digest(rows),
    }
    return {name: value for name, value in found.items() if value}


def read_text(content: str | bytes, folder: Path, name: str = "a.csv", **how: Any) -> Any:
    """Write a file, and return what is read of it."""
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return look(path, **how)


def mark(separator: str) -> str:
    return TEXT.replace(",", separator)


MESSY: dict[str, Any] = {
    "semicolons": mark(";"),
    "tabs": mark("\t"),
    "bars": mark("|"),
    "blanks": mark("   "),
    "blanks around separators": mark(" ; "),
    "sep line": "sep=;\r\n" + mark(";").replace("\n", "\r\n"),
    "byte order mark": TEXT.encode("utf-8-sig"),
    "utf-16": mark("\t").replace("red", "röd").encode("utf-16"),
    "latin-1": TEXT.replace("red", "röd").encode("latin-1"),
    "title above": f"Survey of colours, May 2024\n\n{TEXT}",
    "title in a wide row": f"Survey of colours,,\n{TEXT}",
    "comments": f"# made by ada\n# version 2\n{TEXT}",
    "ragged rows": TEXT.replace("eve,t3,blue\n", "eve,t3,blue\nzoe,t3\n"),
    "rows that end early": f"{HEAD},approve,reject\n{BODY}",
    "too many fields": TEXT.replace("bob,t2,blue", "bob,t2,blue, or red"),
    "blank lines": TEXT.replace("\n", "\n\n"),
    "decimal commas": f"worker;task;label\n{NUMBERS}",
    "packed under csv": gzip.compress(TEXT.encode()),
    "carriage returns": TEXT.replace("\n", "\r"),
    "quotes and line breaks": TEXT.replace("blue", '"light,\n ""blue"""'),
    "open quote": TEXT.replace("ada,t2,blue", 'ada,t2,"blue'),
    "one header twice": f"{HEAD},label\n" + "".join(",".join((*row, "x")) + "\n" for row in ROWS),
    "no header": BODY,
    "spellings of missing": TEXT + "zoe,t1,NA\nzoe,t2,n/a\nzoe,t3,\nkim,t1,None\nkim,t2,-\n",
    "index column": f",{HEAD}\n" + "".join(f"{n},{','.join(row)}\n" for n, row in enumerate(ROWS)),
    "header again": f"{TEXT}{TEXT.replace('t1', 't4').replace('t2', 't5').replace('t3', 't6')}",
}
for _name, _content in MESSY.items():
    add(f"texts/{_name}", partial(read_text, _content))
for _name in ("spellings of missing", "ragged rows"):
    add(f"texts/{_name}, dropped", partial(read_text, MESSY[_name], missing="drop"))
add(
    "texts/na",
    partial(read_text, MESSY["spellings of missing"], na_values=["-", "NA", "n/a", "None", ""], missing="drop"),
)
add("texts/decimal comma said", partial(read_text, MESSY["decimal commas"], decimal=","))

WORDS = {
    "utf-8": ["café", "thé", "crème"],
    "utf-8-sig": ["café", "thé", "crème"],
    "utf-16-le": ["café", "thé", "crème"],
    "utf-16-be": ["café", "thé", "crème"],
    "latin-1": ["félin", "élève", "thé"],
    "cp1252": ["naïve", "“no”", "peut-être…"],
    "cp1250": ["żółty", "źle", "łąka"],
    "iso-8859-2": ["ąkęs", "šťastný", "łódź"],
    "koi8-r": ["кошка", "собака", "птица"],
    "cp1251": ["кошка", "собака", "птица"],
    "cp1254": ["ağaç", "kuş", "şişe"],
    "shift_jis": ["ねこです", "犬です", "とり"],
    "euc-kr": ["고양이", "강아지", "새"],
    "gb18030": ["正面", "负面", "中性"],
    "big5": ["正面", "負面", "中性"],
}


def read_encoded(encoding: str, folder: Path) -> Any:
    """Return how labels in an encoding are read, and whether rightly."""
    words = WORDS[encoding]
    text = f"{HEAD}\n" + "".join(f"w{n % 3},t{n // 3},{words[n // 3 % 3]}\n" for n in range(27))
    found = read_text(text.encode(encoding), folder, domain="categorical", whole=False)
    told = read_text(text.encode(encoding), folder, domain="categorical", whole=False, encoding=encoding)
    return {"guessed": found.get("guessed"), "right": found.get("rows") == told["rows"], "rows": told["rows"]}


for _name in WORDS:
    add(f"encodings/{_name}", partial(read_encoded, _name))
