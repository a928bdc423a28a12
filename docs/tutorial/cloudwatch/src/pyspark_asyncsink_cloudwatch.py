"""Spark imports every module named ``pyspark_*``, and so learns of ``format("asyncsink.cloudwatch")``."""

try:
    from asyncsink.spark import ConnectorDataSource

    class DefaultSource(ConnectorDataSource):
        connector = "cloudwatch"

except Exception as error:  # raised here, it would hide every Python data source of the session
    FAILURE = error
