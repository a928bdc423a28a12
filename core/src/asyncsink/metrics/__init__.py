"""Counters, gauges and histograms in Flink's terms; who reads them, and what a writer tells of itself.

A connector registers its own in ``context.metric_group``, the group of its writer. Without :class:`Metrics` that is
:data:`UNREGISTERED`, which keeps nothing.

What every :class:`~asyncsink.AsyncSinkWriter` registers (:class:`WriterMetrics`):

========================  =========  ========  ==================================================  ====================
name                      type       unit      what it says                                        Flink's
========================  =========  ========  ==================================================  ====================
numRecordsIn              counter    elements  accepted                                            numRecordsIn
numRecordsRestored        counter    elements  taken over from restored states                     -
numRecordsOut             counter    elements  sent; one that is sent again counts again           numRecordsOut
numRecordsSend            counter    elements  the same                                            numRecordsSend
numBytesOut               counter    bytes     sent; what is sent again counts again               numBytesOut
numBytesSend              counter    bytes     the same                                            numBytesSend
numRecordsOutErrors       counter    elements  failed and sent again, each time, or rejected       numRecordsOutErrors
numRecordsSendErrors      counter    elements  the same                                            numRecordsSendErrors
numRecordsAcknowledged    counter    elements  stored by the destination, each counted once        -
numRecordsRetried         counter    elements  sent again, once for each time                      -
numRecordsThrottled       counter    elements  throttled by the service, once for each time        -
numRecordsRejected        counter    elements  given up, their dead letters durable or not yet     -
numRecordsDeadLettered    counter    elements  kept as dead letters                                -
numRecordsDropped         counter    elements  given up because ``on_rejected`` says so            -
numRequests               counter    requests  attempts: sends, resends included                   -
numRequestsFailed         counter    requests  ended without an answer for each entry              -
currentSendTime           gauge      ms        of the last request that ended; None before one     currentSendTime
numRecordsUnacknowledged  gauge      elements  buffered or in flight                               -
numRecordsBuffered        gauge      elements  waiting to be sent                                  -
numRecordsInFlight        gauge      elements  in requests under way                               -
numRequestsInFlight       gauge      requests  under way                                           -
numBytesUnacknowledged    gauge      bytes     of all that is not acknowledged                     -
rateLimit                 gauge      elements  that the next request may hold by the rate limit    -
queueTimeSeconds          histogram  s         from accepting a request's oldest entry to sending  -
batchFillRatio            histogram  share     entries of a request / ``max_batch_size``           -
requestTimeSeconds        histogram  s         from sending a request to its ending                -
========================  =========  ========  ==================================================  ====================

``numRecordsIn + numRecordsRestored = numRecordsAcknowledged + numRecordsDeadLettered + numRecordsDropped +
numRecordsUnacknowledged`` in every snapshot. A writer that follows another in the same group, as in Spark's next
micro-batch, counts and measures anew. `currentSendTime` starts as None, where Flink has the largest ``long``.
"""

from asyncsink.metrics.group import UNREGISTERED, MetricGroup
from asyncsink.metrics.metric import Counter, Gauge, Histogram, HistogramStatistics, ObservedCounter, ObservedHistogram
from asyncsink.metrics.registry import Metrics
from asyncsink.metrics.reporter import LoggingReporter, MetricReporter, load_reporter
from asyncsink.metrics.writer import WriterCounts, WriterMetrics

__all__ = [
    "UNREGISTERED",
    "Counter",
    "Gauge",
    "Histogram",
    "HistogramStatistics",
    "LoggingReporter",
    "MetricGroup",
    "MetricReporter",
    "Metrics",
    "ObservedCounter",
    "ObservedHistogram",
    "WriterCounts",
    "WriterMetrics",
    "load_reporter",
]
