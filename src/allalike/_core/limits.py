"""Limits: how much is read and worked on at most, in one place.

Files come from strangers. A file that would cost more than its size suggests is refused before it is read. The message
names the limit, the value and a remedy. `docs/guide/LIMITS.md` lists the limits, and a test compares the two.
"""

# Files
MAX_RATIO = 200  # of what a file unpacks to and its size; answers of people are packed 5 to 50 times
FREE_BYTES = 1 << 27  # to which a packed file may unpack whatever its size
FREE_BOOK_BYTES = 1 << 24  # the same for files of Excel and numpy, for it takes longer to read the former
MAX_UNPACKED_BYTES = 1 << 36  # of a packed file; a plain one may be of any size
MAX_MEMBERS = 10_000  # files in an archive
MAX_SAMPLES = 200_000  # files in an archive that is a log of an evaluation, with a file for each sample
MAX_FIELD_BYTES = 1 << 24  # of a field of a text file, so that an unclosed quote does not swallow all memory
MAX_FETCHED_BYTES = 1 << 36  # that one address may bring to this machine
MAX_FETCHED_FILES = 10_000
MAX_DEPTH = 100  # levels of nested JSON, and of a tree of classes; those of tools have fewer than 20

# Tables
MAX_COLUMNS = 50_000
MAX_EMPTY_CELLS = 50_000_000  # of sheets, and of JSON whose records lack most columns: cells that take no byte there
MAX_SHEET_ROWS = 1 << 20  # as many as Excel has

# Labels
MAX_TEXT_CHARACTERS = 1_000_000  # that are compared within a second, and so are the following by edits
MAX_EDITED_CHARACTERS = 100_000
MAX_ITEMS = 1000  # of a ranking; they have half a million pairs
MAX_VOTERS = 100_000_000  # of a file of votes, where a line may stand for many
MAX_LEVELS = 1000  # of a scale
MAX_FIELDS = 500  # of a record, each of which is compared and decided by itself
MAX_PIXELS = 100_000_000  # of a mask
MAX_VOXELS = 200_000_000  # of a volume

# Work
MAX_HOURS = 1  # that may be estimated for what compares each two of something
MAX_ORDERED_ITEMS = 1000  # whose order kemeny, slater and ranked pairs find in half a minute
MAX_LISTED_ITEMS = 8  # all orders of which minimax lists, 40,320
MAX_OPTION_CHARACTERS = 1000
