"""The connector's own options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from asyncsink.errors import ConfigurationError
from asyncsink.options import option
from asyncsink_aws.arn import StreamName, agreed_region, parse_stream
from asyncsink_aws.options import AwsOptions
from asyncsink_firehose.delimiter import NEWLINE, parse_delimiter
from asyncsink_firehose.limits import BILLED_STEP_BYTES, MAX_DEAGGREGATED_ROWS, MAX_RECORD_BYTES
from asyncsink_firehose.packing import Packing


@dataclass(frozen=True, kw_only=True)
class FirehoseOptions(AwsOptions):
    """Which delivery stream, what stands between rows there, how they are packed, and who sends."""

    refused: ClassVar[Mapping[str, str]] = {
        **AwsOptions.refused,
        "compression": "let Firehose compress what it delivers, in the settings of the stream's destination",
    }

    delivery_stream: str = option(doc="Name or ARN of the delivery stream.", aliases=["streamName", "stream"])
    delimiter: str = option(
        "auto",
        doc="What stands behind each row: none, newline, or characters of your own; auto is newline for rows that "
        "become JSON and for packed ones, and none for a column data or value that is sent as it is.",
    )
    packing: Literal["none", "rows"] = option(
        "none",
        doc="rows packs many rows into each record, since every record is billed in steps of 5 KB; maxBatchSize still "
        "counts rows.",
    )
    packed_record_size: int | None = option(
        None,
        doc="Bytes of a packed record, from 5 KiB to 1000 KiB, which is the default and is billed best; a larger row "
        "goes alone.",
        unit="bytes",
    )
    packed_record_rows: int | None = option(
        None,
        doc="Rows of a packed record; by default 500, the most that Firehose takes apart again for dynamic "
        "partitioning.",
    )
    ready_bodies: bool = option(
        True,
        doc="Whether the bodies of requests are built at once; false leaves them to botocore, which costs several "
        "times as much.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        agreed_region(self.stream, self.region)
        parse_delimiter(self.delimiter)
        self._check_packing()

    @cached_property
    def stream(self) -> StreamName:
        """The delivery stream by its name or its ARN; requests name it by ``short_name``."""
        try:
            return parse_stream(self.delivery_stream, "firehose")
        except ConfigurationError as error:
            raise ConfigurationError(f"option 'deliveryStream': {error}") from None

    @property
    def default_region(self) -> str | None:
        return agreed_region(self.stream, self.region)

    @property
    def delimiter_bytes(self) -> bytes | None:
        """What stands behind each row; None where that depends on whether the row becomes JSON."""
        chosen = parse_delimiter(self.delimiter)
        return NEWLINE if chosen is None and self.packing == "rows" else chosen

    @property
    def packed(self) -> Packing | None:
        """How rows share records; None where each is a record of its own."""
        if self.packing == "none":
            return None
        return Packing(self.packed_record_size or MAX_RECORD_BYTES, self.packed_record_rows or MAX_DEAGGREGATED_ROWS)

    def _check_packing(self) -> None:
        size, rows = self.packed_record_size, self.packed_record_rows
        for name, value in (("packedRecordSize", size), ("packedRecordRows", rows)):
            if value is not None and self.packing == "none":
                raise ConfigurationError(f"option {name!r} is given, but packing=none; set packing=rows too")
        if rows is not None and rows < 1:
            raise ConfigurationError(f"option 'packedRecordRows' = {rows} must be 1 or more")
        if size is not None and size < BILLED_STEP_BYTES:
            raise ConfigurationError(
                f"option 'packedRecordSize' = {size} must be at least {BILLED_STEP_BYTES} (5 KiB), as which "
                "every record is billed"
            )
        if size is not None and size > MAX_RECORD_BYTES:
            raise ConfigurationError(
                f"option 'packedRecordSize' = {size} is more than Firehose takes: a record has at most "
                f"{MAX_RECORD_BYTES} bytes (1000 KiB)"
            )
        if self.packing == "rows" and not self.delimiter_bytes:
            raise ConfigurationError(
                "option 'delimiter' = 'none' contradicts packing=rows: nobody could tell the rows of a record apart; "
                "leave it out, or name characters that no row holds"
            )
