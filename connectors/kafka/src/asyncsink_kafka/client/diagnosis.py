"""Why no connection comes about: aiokafka logs the reasons and raises an error without them, so that we ask again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from asyncsink.failures import FailureKind
from asyncsink_kafka.client.codes import name_of_exception
from asyncsink_kafka.client.errors import ERRORS
from asyncsink_kafka.security import authentication_refusal, why_unreachable

_TIMEOUT_S: Final = 5.0
_SECURITY: Final = ("security_protocol", "ssl_context")


class Reason(NamedTuple):
    """Why somebody does not answer, or refuses."""

    text: str
    may_mend: bool = True
    """Whether time may mend it."""


async def ask(addresses: Iterable[tuple[str, int]], arguments: Mapping[str, Any]) -> list[Reason]:
    """Connect to each as aiokafka does, and close again; what those say with which that fails.

    :param arguments: those of the producer
    """
    security = {name: arguments[name] for name in arguments if name in _SECURITY or name.startswith("sasl_")}
    timeout_s = min(_TIMEOUT_S, arguments["request_timeout_ms"] / 1000)
    found = []
    for host, port in addresses:
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        error = await why_unreachable(address, security, client_id=arguments["client_id"], timeout_s=timeout_s)
        if error is not None:
            found.append(reason_of(error, address))
    return found


def reason_of(error: BaseException, address: str = "") -> Reason:
    """Kafka's name of an error that came up while connecting, what it says, and the remedy if there must be one."""
    place = f"{address}: " if address else ""
    if (refusal := authentication_refusal(error)) is not None:
        return Reason(f"{place}{refusal}.", may_mend=False)
    code, said = name_of_exception(error), str(error) or type(error).__name__
    if ERRORS.kind_of(code) is FailureKind.FATAL:
        return Reason(f"{place}{code} ({said}). {ERRORS.remedy(code)}", may_mend=False)
    return Reason(f"{place}{code} ({said})")
