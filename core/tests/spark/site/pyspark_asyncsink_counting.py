"""Spark finds this module by its name."""

from asyncsink.spark import ConnectorDataSource


class DefaultSource(ConnectorDataSource):
    connector = "counting"
