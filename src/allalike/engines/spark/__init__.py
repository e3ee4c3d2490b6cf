"""The Spark engine: answers on the executors of a cluster."""

from allalike.engines.spark.engine import Spark

__all__ = ["Spark"]
