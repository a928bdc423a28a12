"""Kinesis and Firehose as destinations of the checks."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Generic, Self, TypeVar

from asyncsink_testing.aws.fake import AwsFake
from asyncsink_testing.aws.firehose_fake import FirehoseFake
from asyncsink_testing.aws.kinesis_fake import KinesisFake
from asyncsink_testing.http_destination import HttpDestination
from asyncsink_testing.http_server import Reaction

FakeT = TypeVar("FakeT", bound=AwsFake)


class AwsDestination(HttpDestination, Generic[FakeT]):
    """A scripted server before a fake; its entries are the records' data."""

    def __init__(self, fake: FakeT, **whole: Reaction) -> None:
        # AWS's clients give each call an id of its own, and nothing else by which a repetition could be told.
        super().__init__(fake.entries, fake.answers(**whole), lambda request: None, fake.received)
        self.fake = fake

    @property
    def names(self) -> Mapping[str, str]:
        """``{stream}``, ``{arn}`` and ``{region}`` in the options of the sink are these."""
        return {"stream": self.fake.name, "arn": self.fake.arn, "region": self.fake.region}

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[Self]:
        """The server listens until this is left."""
        async with self._server:
            yield self


class KinesisDestination(AwsDestination[KinesisFake]):
    """One stream, all of whose PutRecords and PutRecord calls are seen and scripted.

    The calls that only ask (ListShards, DescribeStreamSummary) are answered whatever the script says, and stand in no
    list. Single records are throttled and fail, by index; one that is poison makes the whole request a
    ValidationException, for Kinesis looks into no record. What breaks a limit of the service, or is not signed for its
    region, is refused in its own words and stands among the requests as ``REJECTED``.
    """

    @classmethod
    @asynccontextmanager
    async def opened(  # type: ignore[override]  # what a request holds is known here
        cls, fake: KinesisFake | None = None, **whole: Reaction
    ) -> AsyncIterator[KinesisDestination]:
        """One whose server listens until this is left.

        :param fake: the stream; by default one without limits of capacity
        :param whole: answers in place of the service's own, such as ``fatal=refused("KMSDisabledException", "...")``;
            the others are ``throttled``, ``refused`` and ``rejected``
        """
        async with cls(fake or KinesisFake(), **whole).listening() as destination:
            yield destination


class FirehoseDestination(AwsDestination[FirehoseFake]):
    """One delivery stream, all of whose PutRecordBatch and PutRecord calls are seen and scripted.

    As :class:`KinesisDestination`, with DescribeDeliveryStream as the call that only asks.
    """

    @classmethod
    @asynccontextmanager
    async def opened(  # type: ignore[override]  # what a request holds is known here
        cls, fake: FirehoseFake | None = None, **whole: Reaction
    ) -> AsyncIterator[FirehoseDestination]:
        """One whose server listens until this is left; the parameters are those of a Kinesis stream."""
        async with cls(fake or FirehoseFake(), **whole).listening() as destination:
            yield destination
