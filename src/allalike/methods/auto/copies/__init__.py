"""Copies among workers whose labels have a distance."""
