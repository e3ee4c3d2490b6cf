"""The system: memory, processes, progress, bytes, and files that are whole or not there."""
