"""Lists of objects: boxes, spans and points."""
