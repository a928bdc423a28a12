"""Every error that asyncsink raises.

::

    AsyncSinkError
     +- ConfigurationError (also ValueError)     an option, a configuration field or a combination of them
     |   +- SchemaError                          a column that is missing or has the wrong type
     |   +- ConnectorNotFoundError               no installed distribution provides this connector
     |   +- ConnectorLoadError                   the connector is installed, but does not load
     +- RejectedEntryError                       one element that can never be delivered
     |   +- OversizedEntryError                  larger than max_record_size_in_bytes
     |   +- ConversionError                      its ElementConverter raised
     +- RequestError                             a connector's word that a whole request failed
     +- DeliveryError                            the destination did not take what was accepted
     |   +- RequestRejectedError                 it refused entries for what they hold
     |   +- FatalRequestError                    it gave an answer that no retry can mend
     |   +- RequestTimedOutError                 it did not answer in time, and fail_on_timeout is set
     |   +- DestinationUnavailableError          it did not answer for longer than retry.timeout_s
     |   +- StalledError                         nothing was acknowledged for stall_timeout_s
     |   +- TooManyRejectedError                 it refused more than max_rejected of all entries
     |   +- DeadLetterError                      dead letters cannot be kept
     |   +- AccountingError                      the counts do not add up: a bug, found before rows are lost by it
     +- CommitError                              what writers have prepared could not be committed
     |   +- CommitTimedOutError                  not within commitTimeout; it stays prepared
     |   +- LostCommittablesError                a committer's word that the destination has them no more
     +- LedgerError                              what is kept beside a query's checkpoint cannot be read or written
     |   +- LedgerUnavailableError               nothing can be kept there: no back end for it, or not installed
     +- WriterError
         +- WriterFailedError                    a call after the writer has failed
         +- WriterClosedError                    a call after, or a wait cut short by, aclose
         +- WouldBlock                           write_nowait, while the buffer is full

They cross process borders under Spark, so every one of them can be pickled: their state is in ``args``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class AsyncSinkError(Exception):
    """The root of all errors of asyncsink and of its connectors."""


class ConfigurationError(AsyncSinkError, ValueError):
    """An option or a configuration field has a value that breaks a rule.

    The message names the option, the value, the rule and the remedy; never a secret.
    """


class SchemaError(ConfigurationError):
    """The rows do not have the columns that the connector needs, or not of its types."""


class ConnectorNotFoundError(ConfigurationError):
    """No installed distribution provides the connector that was asked for."""


class ConnectorLoadError(ConfigurationError):
    """An installed connector failed to import, is provided twice or speaks another API version."""


class RejectedEntryError(AsyncSinkError):
    """An element can never be delivered as it is. The writer has not accepted it and goes on."""


class OversizedEntryError(RejectedEntryError):
    """An entry is larger than ``max_record_size_in_bytes``; the message names both numbers."""


class ConversionError(RejectedEntryError):
    """The :class:`~asyncsink.ElementConverter` raised for an element; chained to what it raised."""


class RequestError(AsyncSinkError):
    """A request failed as a whole; raised by ``submit_request_entries``.

    :param code: the service's own code (``"503"``, ``"ProvisionedThroughputExceededException"``), looked up in the
        sink's :class:`~asyncsink.ErrorTable`
    :param message: what the service said, without secrets and without payload
    :param retry_after_s: seconds for which the service asked to be left alone, if it did
    """

    def __init__(self, code: str, message: str = "", retry_after_s: float | None = None) -> None:
        super().__init__(code, message, retry_after_s)
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s

    def __str__(self) -> str:
        return f"{self.code}: {self.message}" if self.message else self.code


class DeliveryError(AsyncSinkError):
    """The destination did not take what was accepted. The entries stay in ``snapshot_state``."""


class RequestRejectedError(DeliveryError):
    """The destination refused entries for what they hold, and ``on_rejected`` is ``"fail"``."""


class FatalRequestError(DeliveryError):
    """The destination gave an answer that no retry can mend, such as missing permission; or the connector has a bug."""


class RequestTimedOutError(DeliveryError):
    """A request had no answer within ``request_timeout_s``, and ``fail_on_timeout`` is set (FLIP-451)."""


class DestinationUnavailableError(DeliveryError):
    """No answer has stored or judged an entry for ``retry.timeout_s``."""


class StalledError(DeliveryError):
    """Nothing was acknowledged for ``stall_timeout_s`` though entries were waiting; the message holds the counters."""


class TooManyRejectedError(DeliveryError):
    """More than ``max_rejected`` of the entries could not be delivered: rather a mistake than bad rows."""


class DeadLetterError(DeliveryError):
    """Dead letters could not be written, so that the entries in them may not count as done."""


class AccountingError(DeliveryError):
    """``accepted + restored = acknowledged + dead_lettered + dropped + unacknowledged`` does not hold."""


class CommitError(AsyncSinkError):
    """What writers have prepared could not be committed, or only a part of it; the message says which, and what to do.

    Nothing is lost by it unless the message says so: what is decided is committed when the job starts again.
    """


class CommitTimedOutError(CommitError):
    """A committer has not committed everything within the time that a commit may take. The batch stays prepared."""


class LostCommittablesError(CommitError):
    """Raised by a committer: the destination does not have some committables any more; nobody can commit them.

    It has tried all the others before it raises this: those that are neither lost nor to be committed again are
    committed.

    :param message: what the destination said, without secrets and without payload
    :param lost: the committables that are lost, at least one: whatever is not named counts as committed
    :param again: those that are to be committed again
    :param may_be_committed: whether the destination cannot tell, of one that is lost, if it was committed before
    """

    def __init__(
        self, message: str, lost: Sequence[Any] = (), again: Sequence[Any] = (), *, may_be_committed: bool = False
    ) -> None:
        super().__init__(message, lost, again)
        self.lost, self.again, self.may_be_committed = tuple(lost), tuple(again), may_be_committed

    def __str__(self) -> str:
        return str(self.args[0])


class LedgerError(AsyncSinkError):
    """What the sink keeps beside a query's checkpoint cannot be read or written, or does not belong to the query.

    The message names the operation, the file, the location, the cause and the remedy; never a credential.
    """


class LedgerUnavailableError(LedgerError):
    """Nothing can be kept at a location: there is no back end for its scheme, or a package for it is not installed."""


class WriterError(AsyncSinkError):
    """The writer is not in a state in which it can do what was asked."""


class WriterFailedError(WriterError):
    """The writer has failed before, and the error has been raised already; chained to it."""


class WriterClosedError(WriterError):
    """The writer is closed, was closed while the call waited, or has not been entered."""


class WouldBlock(WriterError):
    """The buffer is full: ``write_nowait`` has not accepted the element."""
