"""Files that cannot be read as answers, with essential words of the message."""

import gzip

GOOD = "worker,task,label\na,1,x\nb,1,x\nc,1,y\na,2,y\nb,2,y\n"

FILES: dict[str, tuple[str | bytes, str]] = {
    "empty.csv": ("", "is empty"),
    "header.csv": ("worker,task,label\n", "no answers"),
    "no_worker.csv": ("task,label\n1,x\n", "Cannot tell which column of"),
    "two_workers.csv": (
        "user,annotator,task,label\na,b,1,x\n",
        "two candidates for the worker: 'user' and 'annotator'",
    ),
    "twice.csv": ("worker,task,label,label\na,1,x,y\n", "two columns called 'label'"),
    "no_labels.csv": ("worker,task,label\na,1,\nb,1,\n", "No row has a label"),
    "some_labels.csv": ("worker,task,label\na,1,x\nb,1,\n", "Row 2 has no label"),
    "no_task.csv": ("worker,task,label\na,1,x\nb,,x\n", "Row 2 has no task"),
    "no_id.csv": ("worker,task,label\n,1,x\nb,2,x\n", "Row 1 has no worker"),
    "nan.csv": ("worker,task,label\na,1,1.5\nb,1,nan\nc,1,2.5\n", "Row 2 has no label (it contains 'nan')"),
    "infinite.csv": ("worker,task,label\na,1,1.5\nb,1,inf\nc,1,2.5\n", "row 2 is 'inf'"),
    "text.csv": ("worker,task,label\na,1,1.5\nb,1,2.5\nc,1,oops\n", "row 3 is 'oops'"),
    "free_text.csv": ("worker,task,label\na,1,one\nb,1,another\n", "label type is unclear"),
    "short.csv": ("worker,task,label\na,1\n", "No row has a label"),
    "long.csv": (
        "worker,task,label\na,1,x\nb,1,x,y\n",
        "row 2 (line 3) has 4 fields, but there are 3 columns: 'b,1,x,y'",
    ),
    "binary.csv": (bytes(range(256)) * 4, "cannot be read"),
    "long_text.csv": ("worker,task,label\na,1," + "x y z " * 900_000 + "\nb,1,x y z\n", "it has 5,399,999 characters"),
    "not.parquet": (GOOD, "cannot be read as Parquet"),
    "not.jsonl": (GOOD, "cannot be read as JSON"),
    "not.json": ("[1, 2", "cannot be read as JSON"),
    "numbers.json": ("[1, 2]", "row 1 is not a record"),
    "mixed.jsonl": (
        '{"worker":"a","task":1,"label":1}\n{"worker":"b","task":1,"label":"x"}\n',
        "Most different labels are numbers, but the label in row 2 is 'x'",
    ),
    "mixed.json": (
        '[{"worker":"a","task":1,"label":1},{"worker":"b","task":1,"label":"x"}]',
        "Most different labels are numbers, but the label in row 2 is 'x'",
    ),
    "answers.xyz": (bytes(range(256)), "of no known format"),
    "answers": (b"\x7fELF" + bytes(9), "of no known format"),
    "cut.csv.gz": (gzip.compress(GOOD.encode())[:-9], "cut.csv.gz cannot be unpacked (gzip): "),
}
