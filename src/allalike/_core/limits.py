"""Limits on input and on work, in one place.

Files may come from strangers. A file that would cost more than its size suggests is refused before it is read. The
message names the limit, the value and a remedy. `docs/guide/LIMITS.md` lists the limits, and a test compares the two.
"""

# Files
MAX_RATIO = 200  # of unpacked to packed size; people's answers compress 5 to 50 times
FREE_BYTES = 1 << 27  # unpacked size that is allowed at any ratio
FREE_BOOK_BYTES = 1 << 24  # the same for Excel, which takes longer to read, and for numpy
MAX_UNPACKED_BYTES = 1 << 36  # unpacked size of a packed file; a plain file may have any size
MAX_MEMBERS = 10_000  # files in an archive
MAX_SAMPLES = 200_000  # files in an archived evaluation log, which has one file per sample
MAX_FIELD_BYTES = 1 << 24  # size of a field of a text file, so that an unclosed quote does not fill the memory
MAX_FETCHED_BYTES = 1 << 36  # download size of one address
MAX_FETCHED_FILES = 10_000
MAX_DEPTH = 100  # levels of nested JSON, and of a tree of classes; exports of tools have fewer than 20

# Tables
MAX_COLUMNS = 50_000
MAX_EMPTY_CELLS = 50_000_000  # cells that take no byte: of sheets, and of JSON whose records lack most columns
MAX_SHEET_ROWS = 1 << 20  # Excel's own limit

# Labels
MAX_TEXT_CHARACTERS = 1_000_000  # length of a text; two such texts are compared within a second
MAX_EDITED_CHARACTERS = 100_000  # length of a text that is compared by edits, also within a second
MAX_ITEMS = 1000  # items of a ranking, with half a million pairs
MAX_VOTERS = 100_000_000  # voters in a file of votes, where a line may represent many
MAX_LEVELS = 1000  # levels of a scale
MAX_FIELDS = 500  # fields of a record, each of which is compared and decided separately
MAX_PIXELS = 100_000_000  # pixels of a mask
MAX_VOXELS = 200_000_000  # voxels of a volume

# Work
MAX_HOURS = 1  # estimated time of a comparison of all pairs
MAX_ORDERED_ITEMS = 1000  # items that kemeny, slater and ranked pairs order within half a minute
MAX_LISTED_ITEMS = 8  # items whose 40,320 orders minimax lists
MAX_OPTION_CHARACTERS = 1000  # length of the text of an option
