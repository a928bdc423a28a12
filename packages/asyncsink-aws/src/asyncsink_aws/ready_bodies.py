"""Requests whose body is ready, by the events of a botocore client.

botocore builds a request's body record by record, and takes each record of the answer apart again: of a PutRecords of
500 small records that is five sixths of the time. Three of its client's events lead past that, and leave endpoint
rules, credentials, signing, errors and the connection to botocore:

- ``provide-client-params`` takes the ready body out of the parameters, so that there is nothing to serialise,
- ``before-call`` puts it into the request, which is not signed yet,
- ``before-parse`` decodes an answer that says stored, so that there is nothing to parse.

Where an event is not there the request fails, or its answer is merely parsed by botocore; rows are never lost by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from http import HTTPStatus
from io import BytesIO
from typing import TYPE_CHECKING, Any

from asyncsink.errors import ConfigurationError

if TYPE_CHECKING:
    from aiobotocore.client import AioBaseClient

DecodeAnswer = Callable[[bytes], "dict[str, Any] | None"]
"""From the body of an answer with status 200 to what the call returns; None to let botocore parse it."""

_BODY = "asyncsink.ready_body"
"""Where the body waits in the context of a call; botocore hands the same context to all events of it."""

_STREAMED_FROM_BYTES = 1 << 20
"""aiohttp warns of a larger body as bytes, which it would write without giving way to other tasks."""


class ReadyBody:
    """The whole body of a request, given in the place of its records.

    It is no list on purpose: a client on which :func:`register` was not called refuses it, and sends nothing.

    :param body: all fields of the request, the destination's name among them, in the service's JSON
    """

    __slots__ = ("body",)

    def __init__(self, body: bytes) -> None:
        self.body = body

    def __repr__(self) -> str:
        return f"<ReadyBody of {len(self.body)} bytes>"


def register(client: AioBaseClient, service: str, operation: str, decode_answer: DecodeAnswer) -> None:
    """Let calls of one operation take a :class:`ReadyBody` for ``Records``; calls with a list stay as they are.

    ``await client.put_records(StreamName="s", Records=ReadyBody(body))``: the other parameters decide about the
    endpoint, and must be in `body` as well. The client is one with ``parameter_validation=False``: botocore would
    look for the records otherwise.

    :param service: botocore's id of it, such as ``"kinesis"``
    :param operation: the API's name of it, such as ``"PutRecords"``
    :param decode_answer: called with the body of each answer of status 200; raises nothing
    :raises ConfigurationError: the client is of another service, or its operation takes no ``Records`` as JSON
    """
    _check(client, service, operation)
    events = client.meta.events
    event = f"{service}.{operation}"
    events.register(f"provide-client-params.{event}", _take_body)
    events.register(f"before-call.{event}", _put_body)
    events.register(f"before-parse.{event}", _answer_handler(decode_answer))


def _check(client: AioBaseClient, service: str, operation: str) -> None:
    model = client.meta.service_model
    found = str(model.service_id.hyphenize())
    if found != service:
        raise ConfigurationError(f"ready bodies for {service} were to be registered on a client of {found}")
    shape = model.operation_model(operation).input_shape
    if model.resolved_protocol != "json" or shape is None or "Records" not in shape.members:
        raise ConfigurationError(
            f"this botocore sends {service}'s {operation} by the protocol {model.resolved_protocol}, and ready bodies "
            "are JSON with Records: set readyBodies=false to have botocore build the requests"
        )


def _take_body(params: Mapping[str, Any], context: dict[str, Any], **_: Any) -> dict[str, Any] | None:
    records = params.get("Records")
    if not isinstance(records, ReadyBody):
        return None
    context[_BODY] = records.body
    return {**params, "Records": ()}


def _put_body(params: dict[str, Any], context: Mapping[str, Any], **_: Any) -> None:
    body = context.get(_BODY)
    if body is not None:
        params["body"] = body if len(body) <= _STREAMED_FROM_BYTES else BytesIO(body)


def _answer_handler(decode_answer: DecodeAnswer) -> Callable[..., None]:
    def decode(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
        if response_dict["status_code"] != HTTPStatus.OK:
            return
        answer = decode_answer(response_dict["body"])
        if answer is not None:
            customized_response_dict.update(answer)
            response_dict["body"] = b"{}"  # what botocore parses in its place

    return decode
