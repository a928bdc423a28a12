"""Tokens from a user's own class or function, by its import path."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Iterator
from datetime import date
from typing import Any

import pytest
from aiokafka.abc import AbstractTokenProvider

from asyncsink.errors import ConfigurationError
from asyncsink_kafka.security.token_providers import load_token_provider
from asyncsink_kafka.security.tokens import TokenRefusedError, TokenUnavailableError

from .jwts import unsigned

pytestmark = pytest.mark.anyio

FAR = 4_000_000_000


class Provider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka has no annotations
    async def token(self) -> str:
        return "from a class"

    def extensions(self) -> dict[str, str]:
        return {"logicalCluster": "lkc-1"}


class Demanding(Provider):
    def __init__(self, key: str) -> None:
        self.key = key


@pytest.fixture
def module() -> Iterator[Any]:
    """A module of a user, to be filled by the test."""
    made = types.ModuleType("company_tokens")
    sys.modules[made.__name__] = made
    yield made
    del sys.modules[made.__name__]


async def test_a_class_is_made_and_its_extensions_are_sent(module: Any) -> None:
    module.Tokens = Provider
    provider = load_token_provider("company_tokens:Tokens")
    assert await provider.token() == "from a class"
    assert provider.extensions() == {"logicalCluster": "lkc-1"}


async def test_an_instance_serves_as_it_is(module: Any) -> None:
    module.tokens = Demanding("key")
    assert await load_token_provider("company_tokens:tokens").token() == "from a class"


async def test_an_async_function_is_asked_once_while_its_token_lives(module: Any) -> None:
    asked = []

    async def token() -> tuple[str, float]:
        asked.append(1)
        return f"token {len(asked)}", FAR

    module.token = token
    provider = load_token_provider("company_tokens:token")
    assert [await provider.token(), await provider.token()] == ["token 1"] * 2


async def test_the_end_of_a_json_web_token_is_known_without_being_told(module: Any) -> None:
    asked = []

    async def token() -> str:
        asked.append(1)
        return unsigned(exp=FAR)

    module.token = token
    provider = load_token_provider("company_tokens:token")
    assert await provider.token() == await provider.token()
    assert len(asked) == 1


async def test_a_plain_function_runs_in_a_thread(module: Any) -> None:
    ran_in = []

    def token() -> str:
        ran_in.append(threading.current_thread())
        return "opaque"

    module.token = token
    assert await load_token_provider("company_tokens:token").token() == "opaque"
    assert ran_in[0] is not threading.current_thread()


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ConnectionResetError("down"), TokenUnavailableError),
        (RuntimeError("busy"), TokenUnavailableError),
        (TokenRefusedError("revoked"), TokenRefusedError),
        (KeyError("ACCOUNT"), TokenRefusedError),
        (TypeError("bug"), TokenRefusedError),
    ],
)
@pytest.mark.parametrize("as_class", [False, True])
async def test_an_outage_may_pass_and_a_bug_may_not(
    module: Any, error: Exception, expected: type[Exception], as_class: bool
) -> None:
    async def token(*_: Any) -> str:
        raise error

    module.token = type("Failing", (Provider,), {"token": token}) if as_class else token
    with pytest.raises(expected, match=str(error.args[0])):
        await load_token_provider("company_tokens:token").token()


@pytest.mark.parametrize(
    ("error", "expected"), [(RuntimeError("busy"), TokenUnavailableError), (ValueError("bug"), TokenRefusedError)]
)
def test_errors_of_extensions_are_told_like_those_of_the_token(
    module: Any, error: Exception, expected: type[Exception]
) -> None:
    def extensions(_: Any) -> dict[str, str]:
        raise error

    module.tokens = type("Failing", (Provider,), {"extensions": extensions})
    with pytest.raises(expected, match=f"company_tokens:tokens.* raised {type(error).__name__}: {error}") as caught:
        load_token_provider("company_tokens:tokens").extensions()
    assert caught.value.__cause__ is error


@pytest.mark.parametrize(
    "returned", [None, "", b"bytes", 3, ("a", 1.0, 2), ("Bearer", "s3cr3t"), ("a", date(2030, 1, 1))]
)
async def test_what_is_no_token_is_an_error_that_does_not_show_it(module: Any, returned: Any) -> None:
    module.token = lambda: returned
    with pytest.raises(TokenRefusedError, match=f"company_tokens:token.*returned {type(returned).__name__}") as caught:
        await load_token_provider("company_tokens:token").token()
    assert "s3cr3t" not in str(caught.value)


@pytest.mark.parametrize(
    ("value", "said"),
    [(3, "names neither"), (dict, "names neither"), (Demanding, "cannot be made without arguments: TypeError")],
)
def test_what_is_no_provider_is_an_error(module: Any, value: Any, said: str) -> None:
    module.token = value
    with pytest.raises(ConfigurationError, match=f"saslTokenProvider.*{said}"):
        load_token_provider("company_tokens:token")


def test_what_does_not_load_is_an_error_with_the_remedy() -> None:
    with pytest.raises(ConfigurationError, match=r"saslTokenProvider.*no_such_module.*on the workers under Spark"):
        load_token_provider("no_such_module:token")
