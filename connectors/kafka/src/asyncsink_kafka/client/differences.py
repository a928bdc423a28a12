"""What of the installed aiokafka is not as we know it: of the parts that the private handover rests on.

Two other places use names that are not public. :mod:`~asyncsink_kafka.client.watching` tells produce requests by their
class, on both ways, so that without :mod:`aiokafka.protocol.produce` there is none. What the renewal of sessions needs
is looked at by :mod:`asyncsink_kafka.security.renewal`.
"""

from __future__ import annotations

import inspect
from importlib.metadata import version
from typing import Final

from asyncsink_kafka.private_names import KNOWN_VERSIONS, absent, find, source_of

_LOWEST, _BEYOND = (0, 14), (0, 15)
_BATCH_BUILDER: Final = "aiokafka.producer.message_accumulator.BatchBuilder"
_REQUEST: Final = "aiokafka.protocol.produce.ProduceRequest"
_NEWEST_REQUEST: Final = "aiokafka.protocol.produce.ProduceRequest_v7"
_FIELDS: Final = ("transactional_id", "required_acks", "timeout", "topics")
_BUILDER: Final = {
    "append": ("timestamp", "key", "value", "headers"),
    "close": (),
    "closed": (),
    "record_count": (),
    "size": (),
    "_build": (),
    "_serialize": ("key", "value"),
    "_set_producer_state": ("producer_id", "producer_epoch", "base_sequence"),
}
_WRITTEN: Final = "message = header.encode() + request_struct.encode()"
# By class: what a constructor or a property of it must set or give. Looked for in the source, as no instance can be
# made without an event loop.
_ATTRIBUTES: Final[dict[str, tuple[str, ...]]] = {
    "aiokafka.AIOKafkaProducer": ("self._sender =", "self._closed =", "self.client =", "self._txn_manager ="),
    "aiokafka.producer.transaction_manager.TransactionManager": (
        "def producer_id(",
        "def producer_epoch(",
        "def is_empty_transaction(",
        "def wait_for_transaction_end(",
    ),
    "aiokafka.producer.sender.Sender": ("def sender_task(",),
    "aiokafka.AIOKafkaClient": ("self._conns =",),
    "aiokafka.conn.AIOKafkaConnection": ("self._writer =", _WRITTEN, "self._writer.write(size + message)"),
}
_NAMES: Final = (*_ATTRIBUTES, _BATCH_BUILDER, _REQUEST, _NEWEST_REQUEST, "aiokafka.protocol.types.String")


def differences() -> list[str]:
    """What is not as we know it, each in a few words; empty for a version that can be used."""
    installed = version("aiokafka")
    found = [] if _LOWEST <= _release(installed) < _BEYOND else [f"version {installed} is not {KNOWN_VERSIONS}"]
    found += [f"{path} is missing" for path in absent(_NAMES)]
    return found + _in_the_builder() + _in_the_sources() + _in_the_request()


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(each) for each in text.split(".")[:2] if each.isdecimal())


def _in_the_builder() -> list[str]:
    if (builder := find(_BATCH_BUILDER)) is None:
        return []
    methods = {name: each for name, each in vars(builder).items() if inspect.isfunction(each) and name[:2] != "__"}
    found = [f"BatchBuilder.{name} is new" for name in sorted(methods.keys() - _BUILDER.keys())]
    for name, expected in _BUILDER.items():
        if name not in methods:
            found.append(f"BatchBuilder.{name} is missing")
        elif (actual := tuple(inspect.signature(methods[name]).parameters)[1:]) != expected:
            found.append(f"BatchBuilder.{name} takes {actual} and not {expected}")
    return found


def _in_the_sources() -> list[str]:
    found = []
    for path, texts in _ATTRIBUTES.items():
        if (kind := find(path)) is not None:
            source = source_of(kind)
            found += [
                f"{kind.__name__} has no {text.removesuffix(' =').strip('(')}" for text in texts if text not in source
            ]
    return found


def _in_the_request() -> list[str]:
    """Whether a request is made of the fields that the lean one copies, and the answer holds what the watch reads."""
    request, newest = find(_REQUEST), find(_NEWEST_REQUEST)
    if request is None or newest is None:
        return []
    try:
        names = request(None, -1, 1000, []).build(newest).SCHEMA.names
        answered = newest.RESPONSE_TYPE.SCHEMA.names
    except Exception as error:
        return [f"ProduceRequest is made otherwise: {type(error).__name__}: {error}"]
    found = [] if tuple(names) == _FIELDS else [f"ProduceRequest has {tuple(names)} and not {_FIELDS}"]
    return found + [
        f"the answer to ProduceRequest has no {name}" for name in ("topics", "throttle_time_ms") if name not in answered
    ]
