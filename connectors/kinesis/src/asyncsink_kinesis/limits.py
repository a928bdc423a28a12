"""What a writer's configuration may be, by what the service takes and the options ask for."""

from __future__ import annotations

from functools import partial

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.errors import ConfigurationError
from asyncsink_aws.service_limits import check_at_most
from asyncsink_kinesis.aggregation.sizes import MAX_KEY_BYTES, MAX_ROW_BYTES, least_frame_bytes
from asyncsink_kinesis.entry import MAX_RECORDS, MAX_REQUEST_BYTES
from asyncsink_kinesis.options import KinesisOptions


def check_limits(options: KinesisOptions, config: AsyncSinkWriterConfig) -> None:
    """Refuse limits beyond the service's, and such as contradict an option.

    :raises ConfigurationError: names the field, its value, the limit and the remedy
    """
    packed = options.aggregation == "kpl"
    check = partial(check_at_most, config, service="Kinesis")
    if not packed:
        check("max_batch_size", MAX_RECORDS, "records a request")
    check("max_batch_size_in_bytes", MAX_ROW_BYTES if packed else MAX_REQUEST_BYTES, "bytes a request")
    if packed:
        _check_aggregation(options, config)
    if options.strict_ordering:
        _check_strict(config)


def _check_aggregation(options: KinesisOptions, config: AsyncSinkWriterConfig) -> None:
    given, least = options.aggregation_max_size_in_bytes, least_frame_bytes(config.max_batch_size_in_bytes)
    if given < least:
        raise ConfigurationError(
            f"option 'aggregationMaxSize' = {given} would make more than {MAX_RECORDS} records of "
            f"max_batch_size_in_bytes (option maxBatchSizeInBytes) = {config.max_batch_size_in_bytes}; raise the "
            f"former to {least} or lower the latter"
        )
    most = config.max_record_size_in_bytes - MAX_KEY_BYTES
    if given > most:
        raise ConfigurationError(
            f"option 'aggregationMaxSize' = {given} exceeds max_record_size_in_bytes (option maxRecordSizeInBytes) = "
            f"{config.max_record_size_in_bytes}, the limit of every record, with the up to {MAX_KEY_BYTES} bytes of "
            f"its partition key; lower the former to {most}"
        )


def _check_strict(config: AsyncSinkWriterConfig) -> None:
    if config.max_batch_size != 1:
        raise ConfigurationError(
            f"max_batch_size (option maxBatchSize) = {config.max_batch_size} contradicts ordering=strict, which sends "
            "one record a request; leave it out or set it to 1"
        )
    if config.ordering != "key":
        raise ConfigurationError(
            f"ordering = {config.ordering!r} contradicts strictOrdering, which keeps the order of each key; leave "
            "ordering out or set it to strict"
        )
