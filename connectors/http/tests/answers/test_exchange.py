"""The user's function for answers, over real sockets."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from asyncsink import ConfigurationError, FatalRequestError
from asyncsink_http import HttpExchange, HttpOptions, HttpSink
from asyncsink_testing import FaultyHttpServer, Reaction

from . import readers

pytestmark = pytest.mark.anyio


@pytest.fixture
def exchanges() -> Iterator[list[HttpExchange]]:
    readers.exchanges.clear()
    yield readers.exchanges
    readers.exchanges.clear()


def calling(server: FaultyHttpServer, name: str) -> HttpSink:
    return HttpSink.from_options(
        {
            "url": f"{server.url}/in?sig=s3cret-query",
            "bearerToken": "s3cret-token",
            "header.X-Api-Key": "s3cret-key",
            "responseCallback": f"{readers.__name__}:{name}",
            "maxInFlightRequests": "1",
            "retry.initialBackoff": "1ms",
        }
    )


async def test_it_sees_every_answer_with_its_request_and_no_credentials(exchanges: list[HttpExchange]) -> None:
    answers = [Reaction.throttle(), Reaction.refuse(503, b"later"), Reaction.drop_after_storing(), Reaction(body=b"ok")]
    async with FaultyHttpServer(answers) as server:
        async with calling(server, "keep").open() as writer:
            await writer.write_many([{"id": 1}, {"id": 2}])
    # The one whose connection broke had no answer.
    assert [each.answer.status for each in exchanges] == [429, 503, 200]
    assert [each.answer.body for each in exchanges] == [b"", b"later", b"ok"]
    assert all(each.request.body == b'[{"id":1},{"id":2}]' and each.request.rows == 2 for each in exchanges)
    assert [each.request.attempt for each in exchanges[1:]] == [1, 3]
    assert all(each.seconds > 0 for each in exchanges)
    for each in exchanges:
        assert "s3cret" not in repr(each)
        assert not {b"authorization", b"x-api-key"} & {name.lower() for name, _ in each.request.headers}


async def test_what_it_raises_makes_the_writer_fail_and_names_it() -> None:
    async with FaultyHttpServer() as server:
        with pytest.raises(
            FatalRequestError, match=r"readers:fail raised KeyError: .*responseCallback names; the rows"
        ):
            async with calling(server, "fail").open() as writer:
                await writer.write({"id": 1})
    assert len(server.received) == 1
    assert writer.snapshot_state()[0].entries == (b'{"id":1}',)


async def test_what_it_quotes_of_an_answer_shows_no_secret() -> None:
    async with FaultyHttpServer([Reaction(body=b"you are s3cret-token")]) as server:
        with pytest.raises(FatalRequestError, match=r"readers:quote raised ValueError: you are \*\*\*\.") as raised:
            async with calling(server, "quote").open() as writer:
                await writer.write({"id": 1})
    assert "s3cret" not in str(raised.value)


@pytest.mark.parametrize("name", ["keep_later", "no_function", "missing"])
async def test_what_cannot_be_called_stops_before_any_row(name: str) -> None:
    async with FaultyHttpServer() as server:
        with pytest.raises(ConfigurationError, match=f"option 'responseCallback' = .*{name}"):
            async with calling(server, name).open():
                pass
    assert server.received == []


def test_a_path_of_no_function_is_refused_when_the_options_are_read() -> None:
    with pytest.raises(ConfigurationError, match="option 'responseCallback' = 'keep' is no import path"):
        HttpOptions(url="https://api.example.com", response_callback="keep")
