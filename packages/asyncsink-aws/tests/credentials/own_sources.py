"""Sources as users write them; `rotation` stands for what they ask."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, NoReturn

from asyncsink_aws import AwsKeys

rotation = {"key": "OWN-1", "loads": "0"}


def _keys() -> tuple[str, str, str | None, float | None]:
    rotation["loads"] = str(int(rotation["loads"]) + 1)
    return rotation["key"], "s3cret", "own-token", time.time() + 3600


def _password() -> str:
    return "s3cret"  # tracebacks show the lines that raise


def _ask_the_vault() -> NoReturn:
    error = KeyError("no such entry")
    error.add_note(_password())
    raise error


class Plain:
    def load(self) -> tuple[Any, ...]:
        return _keys()


class Async:
    async def load(self) -> AwsKeys:
        return AwsKeys(*_keys())


class ForEver:
    def load(self) -> tuple[str, str]:
        return "OWN-1", "s3cret"


class UntilADate:
    def load(self) -> AwsKeys:
        return AwsKeys("OWN-1", "s3cret", None, datetime(2999, 1, 1, tzinfo=UTC))


class Failing:
    def load(self) -> AwsKeys:
        try:
            _ask_the_vault()
        except KeyError as error:
            raise PermissionError(f"the vault was asked with {_password()}") from error


class Wrong:
    def load(self) -> AwsKeys:
        raise TypeError(_password())


class TimedOut:
    async def load(self) -> AwsKeys:
        raise TimeoutError(_password())


class NeedsSettings:
    def __init__(self) -> None:
        raise KeyError(_password())


class Hanging:
    async def load(self) -> AwsKeys:
        import anyio

        await anyio.sleep_forever()
        raise AssertionError


class NeedsArguments:
    def __init__(self, address: str) -> None:
        self.address = address


class NoLoad:
    pass


def returning(value: Any) -> Any:
    class Source:
        def load(self) -> Any:
            return value

    return Source()


a_dict = returning({"key": "s3cret"})
empty = returning(("AK", ""))
naive = returning(AwsKeys("AK", "s3cret", None, datetime(2999, 1, 1)))
a_date_as_text = returning(("AK", "s3cret", None, "2999-01-01"))
not_a_number = returning(("AK", "s3cret", None, float("nan")))
