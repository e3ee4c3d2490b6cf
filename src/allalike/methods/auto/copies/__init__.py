"""Copies: who departs from the others together, beyond chance and skill."""
