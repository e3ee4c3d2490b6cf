"""Things: boxes, spans and points, of which an answer holds any number."""
