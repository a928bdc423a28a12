"""What the fakes of single services share: who may call, which calls there are, and how they fail."""

from __future__ import annotations

import base64
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, ClassVar

from asyncsink_testing.aws.calls import AwsCall, answered, call_of, refused
from asyncsink_testing.aws.signatures import signature_refusal
from asyncsink_testing.faults import Fault
from asyncsink_testing.http_destination import HttpAnswers
from asyncsink_testing.http_server import HttpRequest, Reaction

ACCOUNT = "123456789012"
REGION = "us-east-1"

UNKNOWN_OPERATION = "UnknownOperationException"
INTERNAL_FAILURE, INTERNAL_SENTENCE = "InternalFailure", "Internal Service Failure"


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
    single: ClassVar[str] = "PutRecord"
    """The operation that brings one record."""
    several: ClassVar[str]
    """The operation that brings several, as its parameter ``Records``."""
    results: ClassVar[str]
    """What that answers for each record stands under this name."""
    throttled: ClassVar[tuple[str, int]]
    """The code, and the status, where there is no capacity."""

    received: Callable[[], Awaitable[Sequence[bytes]]] | None = None
    """Reads back what stands in the service, where there is one behind the fake."""

    def __init__(self, name: str, region: str, secrets: Mapping[str, str] | None, max_record_bytes: int) -> None:
        self.name, self.region = name, region
        self.max_record_bytes = max_record_bytes
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
    def one_of(self, call: AwsCall) -> Mapping[str, Any]:
        """The record that the operation for one record brings, as it stands in its parameters."""

    @abstractmethod
    def put(self, record: Mapping[str, Any], call: AwsCall) -> dict[str, Any]:
        """Store a record, and what is answered for it."""

    @abstractmethod
    def taken(self) -> list[bytes]:
        """What has been stored since the last call, which holds it no longer."""

    @abstractmethod
    def failure(self, record: Mapping[str, Any]) -> str:
        """What is said of a record for which there is no capacity."""

    @abstractmethod
    def total(self, failed: int) -> dict[str, Any]:
        """What is answered for a request of several records before that for each."""

    @abstractmethod
    def overloaded(self, call: AwsCall) -> Mapping[int, Fault]:
        """The records for which there is no capacity now; the capacity for the others is taken."""

    # ---- records -------------------------------------------------------------------------------------------------

    def records_in(self, call: AwsCall) -> Sequence[Mapping[str, Any]]:
        """The records that an operation brings, as they stand in its parameters."""
        if call.operation == self.single:
            return [self.one_of(call)]
        found = call.parameters.get("Records")
        return found if isinstance(found, list) else []

    def store(self, call: AwsCall, failed: Mapping[int, Fault]) -> Reaction:
        """Store all but those at these indices, and tell it."""
        records = enumerate(self.records_in(call))
        return self.told(
            call, [self.error(failed[at], each) if at in failed else self.put(each, call) for at, each in records]
        )

    def error(self, fault: Fault, record: Mapping[str, Any]) -> dict[str, Any]:
        """What is answered for a record that was not stored."""
        if fault is Fault.PARTLY_FAILED:
            return {"ErrorCode": INTERNAL_FAILURE, "ErrorMessage": INTERNAL_SENTENCE}
        return {"ErrorCode": self.throttled[0], "ErrorMessage": self.failure(record)}

    def told(self, call: AwsCall, results: Sequence[dict[str, Any]]) -> Reaction:
        """The answer to a request, of what is answered for each record."""
        # kinesis-local writes null for what there is not.
        failed = sum(each.get("ErrorCode") is not None for each in results)
        if call.operation == self.several:
            return answered({**self.total(failed), self.results: results})
        [result] = results
        if not failed:
            return answered(result)
        code, status = self.throttled
        return refused(result["ErrorCode"], result["ErrorMessage"], status if result["ErrorCode"] == code else 500)

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
        internal = refused(INTERNAL_FAILURE, INTERNAL_SENTENCE, 500)
        code, status = self.throttled
        throttled = refused(code, self.failure({}), status)
        return HttpAnswers(
            stored=lambda request: self.store(_known(request), {}),
            partly=lambda request, failed: self.store(_known(request), failed),
            # No service that is made for streams looks into a record: what it holds is no reason to refuse it alone.
            tells_poison=False,
            aside=self._aside,
            refusal=self._refusal,
            overload=lambda request: self.overloaded(_known(request)),
            throttled=whole.get("throttled", throttled),
            refused=whole.get("refused", internal),
            rejected=whole.get("rejected", validation_error("records.1.member.data", at_most(self.max_record_bytes))),
            fatal=whole.get("fatal", self._denied()),
        )

    def _denied(self) -> Reaction:
        user, action = f"arn:aws:sts::{ACCOUNT}:assumed-role/writer/spark", f"{self.service}:{self.several}"
        return refused(
            "AccessDeniedException",
            f"User: {user} is not authorized to perform: {action} on resource: {self.arn} because no identity-based "
            f"policy allows the {action} action",
        )

    def _aside(self, request: HttpRequest) -> Reaction | None:
        call = call_of(request)
        if call is None:
            return refused("SerializationException", "The request's body is no JSON object.")
        if call.operation in (self.single, self.several) and call.target == self.target:
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
    """What a record holds; nothing, if that is missing or no base64, for which :func:`data_refusal` refuses it."""
    try:
        return base64.b64decode(record["Data"], validate=True)
    except (KeyError, TypeError, ValueError):
        return b""


def data_refusal(position: int, record: Mapping[str, Any]) -> Reaction | None:
    """What is answered where the record at this position, from 1 as AWS counts, has no data or no base64."""
    text = record.get("Data")
    if text is None:
        return validation_error(f"records.{position}.member.data", "Member must not be null")
    try:
        base64.b64decode(text, validate=True)
    except (TypeError, ValueError):
        return refused("SerializationException", f"'{text}' can not be converted to a Blob: it is no base64")
    return None


def validation_error(where: str, constraint: str) -> Reaction:
    """As AWS's services refuse a parameter that breaks the model of their API."""
    return refused(
        "ValidationException",
        f"1 validation error detected: Value at '{where}' failed to satisfy constraint: {constraint}",
    )


def at_most(count: int) -> str:
    """The constraint on a length."""
    return f"Member must have length less than or equal to {count}"
