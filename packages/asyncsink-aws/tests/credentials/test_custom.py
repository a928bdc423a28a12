"""A user's own source: what it may be, and what is said of one that does not do."""

from __future__ import annotations

import threading
import traceback

import pytest
from botocore.exceptions import CredentialRetrievalError

from asyncsink import ConfigurationError
from asyncsink_aws.client import connect
from asyncsink_aws.credentials.custom import custom_credentials

from . import own_sources
from .stub import AwsStub

pytestmark = pytest.mark.anyio

HERE = own_sources.__name__


async def first_key(name: str, timeout_s: float = 30.0) -> str:
    return str((await custom_credentials(f"{HERE}:{name}", timeout_s)().get_frozen_credentials()).access_key)


@pytest.mark.parametrize("name", ["Plain", "Async", "ForEver", "UntilADate"])
async def test_a_source_is_a_class_with_a_method_load(name: str) -> None:
    assert await first_key(name) == "OWN-1"


async def test_a_source_that_is_not_async_runs_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[threading.Thread] = []

    def keys() -> tuple[str, str]:
        threads.append(threading.current_thread())
        return "AK", "s3cret"

    monkeypatch.setattr(own_sources, "_keys", keys)
    await first_key("Plain")
    assert threads[0] is not threading.current_thread()


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("NeedsArguments", "cannot be made without arguments: TypeError"),
        ("NoLoad", "names nothing that has a method load()"),
        ("Missing", "has no 'Missing'"),
        ("a.b c", "is no import path; write it as"),
    ],
)
async def test_what_is_no_source_is_refused_before_anything_is_sent(stub: AwsStub, name: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        async with connect(stub.options(custom_credentials=f"{HERE}:{name}"), "kinesis", max_in_flight=1):
            raise AssertionError("it was taken")
    assert sentence in str(raised.value)
    assert str(raised.value).startswith("option 'customCredentials'")


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("a_dict", "load() returned a dict; it must return AwsKeys(access_key_id, "),
        ("empty", "load() returned a key or a secret that is no string, or empty"),
        ("naive", "load() returned a time of expiry without a time zone"),
        ("a_date_as_text", "load() returned a time of expiry of type str"),
        ("not_a_number", "load() returned a time of expiry that is no number"),
    ],
)
async def test_what_it_returns_is_checked_and_not_shown(name: str, sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await first_key(name)
    assert sentence in str(raised.value)
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("Failing", "load() raised PermissionError"),
        ("Wrong", "load() raised TypeError"),
        ("TimedOut", "or has timed out by itself"),
        ("NeedsSettings", "cannot be made without arguments: KeyError"),
    ],
)
async def test_what_it_raises_is_told_by_its_kind_alone(name: str, sentence: str) -> None:
    with pytest.raises((ConfigurationError, CredentialRetrievalError)) as raised:
        await first_key(name)
    assert sentence in str(raised.value)
    assert "s3cret" not in "".join(traceback.format_exception(raised.value))


async def test_where_it_raises_is_shown() -> None:
    with pytest.raises(CredentialRetrievalError) as raised:
        await first_key("Failing")
    shown = "".join(traceback.format_exception(raised.value))
    for frame in ("in _ask_the_vault", "KeyError", "in load", "PermissionError", "in _fetch"):
        assert frame in shown


async def test_a_bug_in_it_is_no_outage() -> None:
    with pytest.raises(ConfigurationError, match=r"load\(\) raised TypeError; mend it where the writers run"):
        await first_key("Wrong")


async def test_a_source_that_does_not_return_is_given_up() -> None:
    with pytest.raises(CredentialRetrievalError, match=r"load\(\) has not returned within 0.01 s"):
        await first_key("Hanging", 0.01)
