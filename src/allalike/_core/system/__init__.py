"""The system: memory, processes, progress, bytes, and atomic files."""
