"""The page on which a result is seen: what it shows, as plain data, and how that becomes one file."""
