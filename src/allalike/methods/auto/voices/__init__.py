"""Voices: who speaks with one voice, who has none, and how many voices a crowd is worth."""
