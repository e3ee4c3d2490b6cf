"""Faces of other libraries, so that programs written for these run here."""
