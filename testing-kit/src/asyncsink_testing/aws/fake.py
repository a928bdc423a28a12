"""What the fakes of single services share: who may call, which calls there are, and how they fail."""

from __future__ import annotations

import base64
import binascii
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from asyncsink_testing.aws.calls import AwsCall, call_of, refused
from asyncsink_testing.aws.signatures import signature_refusal
from asyncsink_testing.faults import Fault
from asyncsink_testing.http_destination import HttpAnswers
from asyncsink_testing.http_server import HttpRequest, Reaction

ACCOUNT = "123456789012"
REGION = "us-east-1"

UNKNOWN_OPERATION = "UnknownOperationException"
INTERNAL_FAILURE = "InternalFailure"


class AwsFake(ABC):
    """One stream of one service, as far as a sink sees it; it holds what it is sent.

    It answers by itself (:meth:`react`, for a :class:`~asyncsink_testing.FaultyHttpServer`), or where a script of
    faults says so (:meth:`answers`, for a :class:`~asyncsink_testing.HttpDestination`).

    :param name: of the stream
    :param region: that requests must be signed for
    :param secrets: the secret access keys by the ids that are known; None for any
    """

    service: ClassVar[str]
    """Its name in a signature and in an ARN."""
    target: ClassVar[str]
    """The version of its API."""
    puts: ClassVar[frozenset[str]]
    """The operations that bring records."""

    received: Callable[[], Awaitable[Sequence[bytes]]] | None = None
    """Reads back what stands in the service, where there is one behind the fake."""

    def __init__(self, name: str, region: str = REGION, secrets: Mapping[str, str] | None = None) -> None:
        self.name, self.region = name, region
        self._secrets = secrets

    # ---- what each service has of its own ------------------------------------------------------------------------

    @property
    @abstractmethod
    def arn(self) -> str:
        """Of the stream."""

    @abstractmethod
    def describe(self, call: AwsCall) -> Reaction | None:
        """The answer to an operation that brings no records; None if the service has no such operation."""

    @abstractmethod
    def check(self, call: AwsCall) -> Reaction | None:
        """What is wrong with an operation that brings records; None if nothing is."""

    @abstractmethod
    def records_in(self, call: AwsCall) -> Sequence[Mapping[str, Any]]:
        """The records that an operation brings, one of several too, as they stand in its parameters."""

    @abstractmethod
    def store(self, call: AwsCall, failed: Mapping[int, Fault]) -> Reaction:
        """Store all but those at these indices, and tell it."""

    @abstractmethod
    def overloaded(self, call: AwsCall) -> Mapping[int, Fault]:
        """The records for which there is no capacity now; the capacity for the others is taken."""

    @abstractmethod
    def faults(self) -> HttpAnswers:
        """How the service refuses requests whole."""

    # ---- requests ------------------------------------------------------------------------------------------------

    def react(self, request: HttpRequest) -> Reaction:
        """What the service does with a request when nothing is wrong with it."""
        answer = self._aside(request) or self._refusal(request)
        if answer is not None:
            return answer
        call = _known(request)
        return self.store(call, self.overloaded(call))

    def entries(self, request: HttpRequest) -> Sequence[bytes]:
        """The data of each record in a request."""
        return [data_in(each) for each in self.records_in(_known(request))]

    def answers(self, **whole: Reaction) -> HttpAnswers:
        """For a destination of the checks.

        :param whole: in place of the service's own: ``throttled``, ``refused``, ``rejected``, ``fatal``
        """
        own = self.faults()
        return HttpAnswers(
            stored=lambda request: self.store(_known(request), {}),
            partly=lambda request, failed: self.store(_known(request), failed),
            # No service that is made for streams looks into a record: what it holds is no reason to refuse it alone.
            tells_poison=False,
            aside=self._aside,
            refusal=self._refusal,
            overload=lambda request: self.overloaded(_known(request)),
            throttled=whole.get("throttled", own.throttled),
            refused=whole.get("refused", own.refused),
            rejected=whole.get("rejected", own.rejected),
            fatal=whole.get("fatal", own.fatal),
        )

    def _aside(self, request: HttpRequest) -> Reaction | None:
        call = call_of(request)
        if call is None:
            return refused("SerializationException", "The request's body is no JSON object.")
        if call.operation in self.puts and call.target == self.target:
            return None
        refusal = signature_refusal(request, self.service, self.region, self._secrets)
        if refusal is not None:
            return refusal
        known = self.describe(call) if call.target == self.target else None
        return known or refused(UNKNOWN_OPERATION, f"{call.target}.{call.operation} is not known here.")

    def _refusal(self, request: HttpRequest) -> Reaction | None:
        refusal = signature_refusal(request, self.service, self.region, self._secrets)
        return refusal or self.check(_known(request))


def _known(request: HttpRequest) -> AwsCall:
    call = call_of(request)
    if call is None:
        raise ValueError("a request without a JSON object was not refused before")
    return call


def data_in(record: Mapping[str, Any]) -> bytes:
    """What a record holds; as it was sent, if that is no base64."""
    text = record.get("Data", "")
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, TypeError, ValueError):
        return str(text).encode()


def validation_error(where: str, constraint: str) -> Reaction:
    """As AWS's services refuse a parameter that breaks the model of their API."""
    return refused(
        "ValidationException",
        f"1 validation error detected: Value at '{where}' failed to satisfy constraint: {constraint}",
    )


def at_most(count: int) -> str:
    """The constraint on a length."""
    return f"Member must have length less than or equal to {count}"
