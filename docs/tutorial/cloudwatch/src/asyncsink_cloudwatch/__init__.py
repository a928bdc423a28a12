"""Rows to Amazon CloudWatch: ``format("asyncsink.cloudwatch")``, or :class:`CloudWatchSink` without Spark."""


def __getattr__(name: str) -> type:
    if name != "CloudWatchSink":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from asyncsink_cloudwatch.sink import CloudWatchSink  # when it is asked for, and not for finding the connector

    return CloudWatchSink
