"""The system: memory, progress, and files that are whole or not there."""
