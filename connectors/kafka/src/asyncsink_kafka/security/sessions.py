"""A connection that knows how long its broker lets it live (KIP-368)."""

from __future__ import annotations

import json
import math
import random
import time
from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka.conn import AIOKafkaConnection, CloseReason
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    RequestTimedOutError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.admin import SaslAuthenticateRequest, SaslHandShakeRequest

# Java's client begins at a random point of this part of a session, so that not all do so at once.
_EARLIEST, _LATEST = 0.85, 0.95
_RANDOM = random.Random()


class SessionConnection(AIOKafkaConnection):  # type: ignore[misc]  # aiokafka has no annotations
    """aiokafka's connection, which also reads what aiokafka skips in a broker's answers.

    These are the length of the session, the mechanisms that are enabled, and the error by which a broker refuses an
    OAUTHBEARER token: aiokafka takes that for success, and its next request ends in a broken connection without a
    reason.

    It also ends by itself: where an answer does not come in time, and, once retired, when nobody awaits one. aiokafka's
    client would close the connection in use, which after a renewal is another one.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        rng: random.Random = _RANDOM,
        **settings: Any,
    ) -> None:
        super().__init__(host, port, **settings)
        self._clock = clock
        self._rng = rng
        self._bearer = settings.get("sasl_mechanism") == "OAUTHBEARER"
        self._expires_at = math.inf
        self._renew_at = math.inf
        self._awaited = 0
        self._is_retired = False

    @property
    def is_due(self) -> bool:
        """Whether it is time for another connection in place of this one."""
        return self._clock() >= self._renew_at

    @property
    def has_expired(self) -> bool:
        """Whether the broker closes this connection at the next request."""
        return self._clock() >= self._expires_at

    def postpone(self, seconds: float) -> None:
        """Stay in use for so long, after a failure to open another."""
        self._renew_at = self._clock() + seconds

    def retire(self) -> None:
        """Close as soon as nobody awaits an answer any more. Nothing may be sent after that."""
        self._is_retired = True
        self._close_if_left()

    async def connect(self) -> Any:
        """Open the connection and authenticate. It raises OSError and KafkaError alone: another ends aiokafka's tasks.

        :raises SaslAuthenticationFailed: the broker refuses who we are, or its part of the exchange makes no sense
        :raises KafkaConnectionError: something else failed, such as GSSAPI where there is no ticket; there may be one
            later
        """
        try:
            return await super().connect()
        except (OSError, KafkaError):
            raise  # before the others: a certificate that is not trusted is both an OSError and a ValueError
        except (AssertionError, KeyError, ValueError) as error:
            # By these aiokafka tells of an answer to PLAIN or SCRAM that it cannot read.
            raise SaslAuthenticationFailed(
                f"the answer of {self.host}:{self.port} is none of {self._sasl_mechanism} ({type(error).__name__})"
            ) from error
        except Exception as error:
            raise KafkaConnectionError(
                f"no {self._security_protocol} connection to {self.host}:{self.port}: {type(error).__name__}: {error}"
            ) from error

    def send(self, request: Any, expect_response: bool = True) -> Awaitable[Any]:
        """Write the request now; what is returned awaits its answer.

        :raises RequestTimedOutError: there is none in time
        """
        asked_at = self._clock()
        answer = self._in_time(super().send(request, expect_response))
        self._awaited += 1
        if isinstance(request, SaslHandShakeRequest):
            return self._agreed(answer)
        if isinstance(request, SaslAuthenticateRequest):
            return self._authenticated(answer, asked_at)
        return answer

    async def _in_time(self, answer: Awaitable[Any]) -> Any:
        try:
            return await answer
        except TimeoutError as error:
            self.close(reason=CloseReason.CONNECTION_TIMEOUT)
            raise RequestTimedOutError(
                f"{self.host}:{self.port} has not answered in {self._request_timeout:g} s"
            ) from error
        finally:
            self._awaited -= 1
            self._close_if_left()

    def _close_if_left(self) -> None:
        if self._is_retired and not self._awaited:
            self.close(reason=CloseReason.IDLE_DROP)

    async def _agreed(self, answer: Awaitable[Any]) -> Any:
        response = await answer
        if response.error_code == UnsupportedSaslMechanismError.errno:
            raise UnsupportedSaslMechanismError(
                f"the broker has not enabled {self._sasl_mechanism}, but {', '.join(response.enabled_mechanisms)}"
            )
        return response

    async def _authenticated(self, answer: Awaitable[Any], asked_at: float) -> Any:
        response = await answer
        if response.error_code == 0:
            if self._bearer and response.sasl_auth_bytes:
                raise SaslAuthenticationFailed(_bearer_refusal(response.sasl_auth_bytes))
            # Version 0 of the answer, of brokers before 2.2, has no such field; 0 is a session without end.
            lifetime_ms = getattr(response, "session_lifetime_ms", 0)
            lifetime_s = lifetime_ms / 1000 if lifetime_ms > 0 else math.inf
            self._expires_at = asked_at + lifetime_s
            self._renew_at = asked_at + lifetime_s * self._rng.uniform(_EARLIEST, _LATEST)
        return response


def _bearer_refusal(said: bytes) -> str:
    """The sentence about a refused token: the broker's answer is JSON with a ``status`` (RFC 7628, 3.2.2)."""
    try:
        status = json.loads(said)["status"]
    except (KeyError, TypeError, ValueError):
        return "the broker refuses the OAUTHBEARER token"
    return f"the broker refuses the OAUTHBEARER token with status {status!r}"
