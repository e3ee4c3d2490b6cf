"""Label types that are lists of objects: boxes, spans and points."""
