"""Limits on input and on work, in one place.

Files may come from strangers. A file that would cost more than its size suggests is refused before it is read. The
message names the limit, the value and a remedy. `docs/site/limits.py` copies the comments to `docs/guide/LIMITS.md`.
"""

# Files
MAX_RATIO = 200  # ratio of unpacked to packed size of a file; human answers compress 5 to 50 times
FREE_BYTES = 1 << 27  # bytes, the unpacked size that is allowed at any ratio
FREE_BOOK_BYTES = 1 << 24  # bytes, the same for Excel and numpy files
MAX_UNPACKED_BYTES = 1 << 36  # bytes, the maximum unpacked size of a packed file; a plain file may have any size
MAX_MEMBERS = 10_000  # files in an archive
MAX_SAMPLES = 200_000  # files in an archived Inspect log
MAX_FIELD_BYTES = 1 << 24  # bytes of a field of a text file, so that an unclosed quote does not fill the memory
MAX_FETCHED_BYTES = 1 << 36  # bytes downloaded from one address
MAX_FETCHED_FILES = 10_000  # files downloaded from one address
MAX_DEPTH = 100  # levels of nested JSON, and of a tree of classes

# Tables
MAX_COLUMNS = 50_000  # columns of a table, or keys of its records
MAX_EMPTY_CELLS = 50_000_000  # empty cells that occupy no bytes in the file, as in JSON whose records lack most keys
MAX_SHEET_ROWS = 1 << 20  # rows of a sheet, which is the limit of Excel

# Labels
MAX_TEXT_CHARACTERS = 1_000_000  # characters of a text
MAX_EDITED_CHARACTERS = 100_000  # characters of a text that is compared by edit distance
MAX_ITEMS = 1000  # items of a ranking
MAX_VOTERS = 100_000_000  # voters in a file of votes, where one line may represent many
MAX_LEVELS = 1000  # levels of a scale
MAX_FIELDS = 500  # fields of a record
MAX_PIXELS = 100_000_000  # pixels of a mask
MAX_VOXELS = 200_000_000  # voxels of a volume

# Work
MAX_HOURS = 1  # hour of estimated run time for work on pairs
MAX_ORDERED_ITEMS = 1000  # items of a task that kemeny, slater and ranked pairs sort
MAX_LISTED_ITEMS = 8  # items of a task for minimax, which lists all their orders
MAX_OPTION_CHARACTERS = 1000  # characters of an option
