"""The mistake of the tutorial, as a plugin: ``pytest -p forgetful`` tests a connector that knows no throttles."""

from __future__ import annotations

from dataclasses import replace

from asyncsink_cloudwatch.sink import CloudWatchSink

CloudWatchSink.errors = replace(CloudWatchSink.errors, throttled=frozenset())
