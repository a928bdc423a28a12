"""What the registry reads to find the connector: it imports nothing else of it."""

from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    sink, options = "asyncsink_cloudwatch.sink:CloudWatchSink", "asyncsink_cloudwatch.sink:CloudWatchOptions"
    return ConnectorInfo(name="cloudwatch", sink=sink, options=options, api_version=1)
