"""Clients: what they are configured with, which connections they open, and what is left when they are closed."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import trustme
from anyio.streams.tls import TLSListener, TLSStream
from botocore import configloader
from botocore.exceptions import ClientError, ProxyConnectionError, SSLError

from asyncsink import ConfigurationError
from asyncsink_aws import AwsOptions
from asyncsink_aws.client import connect
from asyncsink_aws.client_config import client_config, nested_config
from asyncsink_aws.ready_bodies import ReadyBody
from asyncsink_aws.sessions import session_for
from asyncsink_testing.conformance.watching import until
from asyncsink_testing.http_server import FaultyHttpServer, Reaction

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("no_aws")]

KEYS = {"access_key_id": "AK", "secret_access_key": "s3cret"}
STORED = Reaction(body=b'{"FailedRecordCount":0,"Records":[]}')


def options(**values: Any) -> AwsOptions:
    return AwsOptions(**{"region": "eu-west-1", **KEYS, **values})


async def put(client: Any, records: Any = ({"Data": b"{}", "PartitionKey": "1"},)) -> Any:
    return await client.put_records(StreamName="s", Records=records)


async def put_at_once(client: Any, count: int) -> None:
    async with anyio.create_task_group() as group:
        for _ in range(count):
            group.start_soon(put, client)


async def test_there_are_as_many_connections_as_requests_may_be_in_flight() -> None:
    async with FaultyHttpServer(lambda _: STORED.after(0.02)) as server:
        async with connect(options(endpoint=server.url), "kinesis", max_in_flight=3) as client:
            await put_at_once(client, 9)
            await put_at_once(client, 9)
        assert (server.connections, server.peak_in_flight, len(server.received)) == (3, 3, 18)


async def test_leaving_closes_every_connection() -> None:
    async with FaultyHttpServer(lambda _: STORED.after(0.02)) as server:
        async with connect(options(endpoint=server.url), "kinesis", max_in_flight=3) as client:
            await put_at_once(client, 3)
            assert server.open_connections == 3
        assert await until(lambda: server.open_connections == 0, 5)


async def test_leaving_by_cancellation_closes_a_connection_in_use() -> None:
    async with FaultyHttpServer([Reaction.hang()]) as server:
        with anyio.CancelScope() as scope:
            async with connect(options(endpoint=server.url), "kinesis", max_in_flight=3) as client:
                async with anyio.create_task_group() as group:
                    group.start_soon(put, client)
                    await server.wait_received(1)
                    scope.cancel()
        assert await until(lambda: server.open_connections == 0, 5)


async def test_botocore_repeats_nothing() -> None:
    async with FaultyHttpServer(lambda _: Reaction.refuse(500, b'{"__type":"InternalFailure"}')) as server:
        async with connect(options(endpoint=server.url), "kinesis", max_in_flight=1) as client:
            with pytest.raises(ClientError, match="InternalFailure"):
                await put(client)
        assert len(server.received) == 1


async def test_parameters_are_not_checked_for_each_record() -> None:
    async with FaultyHttpServer(lambda _: STORED) as server:
        async with connect(options(endpoint=server.url), "kinesis", max_in_flight=1) as client:
            await put(client, [{"Data": b"{}", "PartitionKey": ""}])  # which botocore's own check refuses
        assert len(server.received) == 1


async def test_the_service_sees_who_sends() -> None:
    async with FaultyHttpServer(lambda _: STORED) as server:
        async with connect(options(endpoint=server.url), "kinesis", max_in_flight=1) as client:
            await put(client)
        assert "asyncsink/" in server.received[0].headers["user-agent"]


async def test_ready_bodies_are_taken_where_their_answers_can_be_read() -> None:
    body = b'{"StreamName":"s","Records":[{"Data":"e30=","PartitionKey":"1"}]}'
    async with FaultyHttpServer(lambda _: STORED) as server:
        given: dict[str, Any] = {"max_in_flight": 1, "ready_bodies": lambda _: {"FailedRecordCount": "read"}}
        async with connect(options(endpoint=server.url), "kinesis", **given) as client:
            assert (await put(client, ReadyBody(body)))["FailedRecordCount"] == "read"
            assert server.received[0].body == body


@pytest.mark.parametrize(
    ("given", "service", "endpoint"),
    [
        ({}, "kinesis", "https://kinesis.eu-west-1.amazonaws.com"),
        ({}, "firehose", "https://firehose.eu-west-1.amazonaws.com"),
        ({"region": "us-east-1", "fips": True}, "kinesis", "https://kinesis-fips.us-east-1.amazonaws.com"),
        ({"dual_stack": True}, "kinesis", "https://kinesis.eu-west-1.api.aws"),
        ({"region": "cn-north-1"}, "kinesis", "https://kinesis.cn-north-1.amazonaws.com.cn"),
        ({"endpoint": "http://localhost:4567", "region": "local"}, "kinesis", "http://localhost:4567"),
    ],
)
async def test_the_endpoint_is_awss_unless_another_is_given(given: dict[str, Any], service: Any, endpoint: str) -> None:
    async with connect(options(**given), service, max_in_flight=1) as client:
        assert client.meta.endpoint_url == endpoint


async def test_the_endpoint_of_a_profile(no_aws: Path) -> None:
    (no_aws / ".aws").mkdir()
    (no_aws / ".aws" / "config").write_text("[profile vpc]\nendpoint_url = http://vpc:1\nuse_fips_endpoint = true\n")
    async with connect(AwsOptions(region="eu-west-1", profile="vpc"), "kinesis", max_in_flight=1) as client:
        assert client.meta.endpoint_url == "http://vpc:1"
        assert client.meta.config.use_fips_endpoint


async def test_the_shared_configuration_is_read_beside_the_loop(no_aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (no_aws / ".aws").mkdir()
    (no_aws / ".aws" / "config").write_text("[profile team]\nregion = eu-west-1\n")
    threads: list[threading.Thread] = []
    parse = configloader.raw_config_parse

    def noted(*arguments: Any, **options: Any) -> Any:
        threads.append(threading.current_thread())
        return parse(*arguments, **options)

    monkeypatch.setattr(configloader, "raw_config_parse", noted)
    async with connect(AwsOptions(profile="team"), "kinesis", max_in_flight=1):
        assert threads
    assert threading.current_thread() not in threads


async def test_keys_of_the_options_need_no_profile(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "gone")
    async with FaultyHttpServer(lambda _: STORED) as server:
        async with connect(options(endpoint=server.url), "kinesis", max_in_flight=1) as client:
            await put(client)
        assert len(server.received) == 1
        with pytest.raises(ConfigurationError, match=r"profile 'gone' \(of AWS_PROFILE\) is not in the shared config"):
            async with connect(AwsOptions(region="eu-west-1", endpoint=server.url), "kinesis", max_in_flight=1):
                raise AssertionError("there is such a profile")


@pytest.mark.parametrize("anyio_backend", ["trio"])
async def test_under_another_loop_than_asyncios_the_error_says_so(anyio_backend: str) -> None:
    with pytest.raises(
        ConfigurationError, match=r"need the event loop of asyncio, .* anyio.run\(main, backend='asynci"
    ):
        async with connect(options(), "kinesis", max_in_flight=1):
            raise AssertionError("there is a client")


@asynccontextmanager
async def tls_server(tmp_path: Path) -> AsyncIterator[tuple[str, str]]:
    """The URL of a server with a certificate of its own authority, and that authority's file."""
    authority = trustme.CA()
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(context)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    plain = await anyio.create_tcp_listener(local_host="127.0.0.1")
    listener = TLSListener(plain, ssl_context=context, standard_compatible=False)

    async def serve(stream: TLSStream) -> None:
        async with stream:
            request = b""
            while b'"PartitionKey"' not in request:
                request += await stream.receive()
            head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(STORED.body)}\r\n\r\n".encode()
            await stream.send(head + STORED.body)

    async with anyio.create_task_group() as group:
        group.start_soon(listener.serve, serve)
        port = plain.extra(anyio.abc.SocketAttribute.local_port)
        yield f"https://localhost:{port}", str(tmp_path / "ca.pem")
        group.cancel_scope.cancel()
    await listener.aclose()


async def test_the_bundle_of_the_options_is_trusted(tmp_path: Path) -> None:
    async with tls_server(tmp_path) as (url, ca_bundle):
        async with connect(options(endpoint=url, ca_bundle=ca_bundle), "kinesis", max_in_flight=1) as client:
            assert (await put(client))["FailedRecordCount"] == 0


async def test_an_unknown_authority_is_trusted_only_where_all_are(tmp_path: Path) -> None:
    async with tls_server(tmp_path) as (url, _):
        async with connect(options(endpoint=url), "kinesis", max_in_flight=1) as client:
            with pytest.raises(SSLError, match="certificate verify failed"):
                await put(client)
        async with connect(options(endpoint=url, verify_tls=False), "kinesis", max_in_flight=1) as client:
            assert (await put(client))["FailedRecordCount"] == 0


async def test_requests_go_by_the_proxy_whose_password_is_in_no_error() -> None:
    async with FaultyHttpServer([Reaction.refuse(407)]) as proxy:
        given = {"proxy": proxy.url, "proxy_username": "me", "proxy_password": "s3cret:@/"}
        async with connect(options(**given), "kinesis", max_in_flight=1) as client:
            with pytest.raises(ProxyConnectionError) as raised:
                await put(client)
        (asked,) = proxy.received
    assert (asked.method, asked.path) == ("CONNECT", "kinesis.eu-west-1.amazonaws.com:443")
    assert asked.headers["proxy-authorization"] == "Basic bWU6czNjcmV0OkAv"
    assert "s3cret" not in str(raised.value)
    assert "s3cret" not in repr(raised.value)


def test_clients_that_fetch_credentials_go_by_the_same_proxy_and_timeouts() -> None:
    given = options(proxy="http://proxy:3128", read_timeout_s=7.0, connect_timeout_s=float("inf"))
    for config in (client_config(given, max_in_flight=1), nested_config(given)):
        assert (config.read_timeout, config.connect_timeout) == (7.0, None)
        assert config.proxies == {"http": "http://proxy:3128", "https": "http://proxy:3128"}
    assert client_config(options(), max_in_flight=1).proxies is None


def test_sessions_that_look_for_credentials_trust_whom_the_options_say() -> None:
    trusted: list[dict[str, Any]] = [{}, {"ca_bundle": "/etc/ca.pem"}, {"verify_tls": False}]
    found = [session_for(options(**each)).get_config_variable("ca_bundle") for each in trusted]
    assert found == [None, "/etc/ca.pem", False]


def test_how_often_an_instance_is_asked_is_for_the_environment_and_the_profile_to_say(
    no_aws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def found() -> tuple[int, int]:
        session = session_for(options())
        names = ("metadata_service_num_attempts", "metadata_service_timeout")
        return session.get_config_variable(names[0]), session.get_config_variable(names[1])

    assert found() == (3, 2)
    (no_aws / ".aws").mkdir()
    (no_aws / ".aws" / "config").write_text("[default]\nmetadata_service_num_attempts = 5\n")
    monkeypatch.setenv("AWS_METADATA_SERVICE_TIMEOUT", "7")
    assert found() == (5, 7)


def test_sockets_are_kept_alive() -> None:
    make: Callable[..., socket.socket] = client_config(options(), max_in_flight=1).connector_args["socket_factory"]
    with make((socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 80))) as made:
        assert made.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_sessions_of_a_process_read_the_services_models_once() -> None:
    one, two = (session_for(options()).get_component("data_loader") for _ in range(2))
    assert one is two
