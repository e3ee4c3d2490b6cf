"""Ingest: from rows in any order to shards of whole tasks."""
