"""Ingest: routing of rows in any order to partitions of whole tasks."""
