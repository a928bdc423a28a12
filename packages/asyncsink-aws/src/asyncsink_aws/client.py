"""Clients of AWS services by aiobotocore, with our options, credentials and limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import anyio
import anyio.to_thread
from aiobotocore.client import AioBaseClient

from asyncsink.errors import ConfigurationError
from asyncsink_aws.arn import AwsService
from asyncsink_aws.client_config import client_config
from asyncsink_aws.credentials import CurrentCredentials, loader_of, renew_when_expired
from asyncsink_aws.regions import check_region, has_configured_endpoint, region_of
from asyncsink_aws.sessions import session_for, verification, warm_up

if TYPE_CHECKING:
    from asyncsink_aws.options import AwsOptions
    from asyncsink_aws.ready_bodies import DecodeAnswer

CLOSE_TIMEOUT_S: Final = 10.0

BULK_OPERATIONS: Final = {"kinesis": "PutRecords", "firehose": "PutRecordBatch"}
"""By service: the operation that takes many records."""


@asynccontextmanager
async def connect(
    options: AwsOptions, service: AwsService, *, max_in_flight: int, ready_bodies: DecodeAnswer | None = None
) -> AsyncIterator[AioBaseClient]:
    """One client of a service; nothing is sent until it is asked to.

    botocore repeats nothing and checks no parameters: the kernel does the one, converters the other. Credentials are
    looked for when the first request is signed, so that an outage there is retried as any other; each request is
    signed with the present ones. Leaving closes every connection within 10 s.

    :param max_in_flight: requests at once; each has a connection of its own
    :param ready_bodies: decodes the answers to the service's bulk operation, which then takes a
        :class:`~asyncsink_aws.ready_bodies.ReadyBody`; without it botocore serialises and parses
    :raises ConfigurationError: no region is given anywhere or there is none of that name, a profile or an import path
        does not exist, or the event loop is not asyncio's
    """
    _check_loop()
    # Files are read, and some are of megabytes.
    await anyio.to_thread.run_sync(warm_up, service)
    made, credentials = await anyio.to_thread.run_sync(partial(_make, options, service, max_in_flight))
    client = await made.__aenter__()
    try:
        renew_when_expired(client, credentials)
        if ready_bodies is not None:
            # What is shared with users without ready bodies needs none of its libraries.
            from asyncsink_aws.ready_bodies import register

            register(client, service, BULK_OPERATIONS[service], ready_bodies)
        yield client
    finally:
        # Connections of aiohttp want to be closed to their end, which cancellation by level would not let them.
        with anyio.CancelScope(shield=True, deadline=anyio.current_time() + CLOSE_TIMEOUT_S):
            await made.__aexit__(None, None, None)


def _make(
    options: AwsOptions, service: AwsService, max_in_flight: int
) -> tuple[AbstractAsyncContextManager[AioBaseClient], CurrentCredentials]:
    session = session_for(options)
    region = region_of(options, session)
    if options.endpoint is None and not has_configured_endpoint(session, service):
        check_region(session, region)
    credentials = CurrentCredentials(loader_of(options, region.name))
    session.register_component("credential_provider", _Given(credentials))
    made: Any = session.create_client(
        service,
        region_name=region.name,
        endpoint_url=options.endpoint,
        verify=verification(options),
        config=client_config(options, max_in_flight=max_in_flight),
    )
    return made, credentials


class _Given:
    """Takes the place of botocore's chain of providers in a session."""

    def __init__(self, credentials: CurrentCredentials) -> None:
        self._credentials = credentials

    async def load_credentials(self) -> CurrentCredentials:
        return self._credentials


def _check_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise ConfigurationError(
            "clients of AWS need the event loop of asyncio, and this is another one, such as trio's; run the program "
            "by anyio.run(main, backend='asyncio')"
        ) from None
