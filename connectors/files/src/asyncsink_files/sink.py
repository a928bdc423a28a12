"""The sink: where its writer and its committers come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from asyncsink.config import AsyncSinkWriterConfig
from asyncsink.configured_sink import ConfiguredSink
from asyncsink.context import InitContext, Schema, WriterInitContext
from asyncsink.errors import ConfigurationError
from asyncsink.json_text import encode_row
from asyncsink.limits.description import RateLimit
from asyncsink.serializer import SimpleVersionedSerializer
from asyncsink_files.committable import (
    COMMITTABLES,
    GLOBAL_COMMITTABLES,
    STATES,
    CommittedFiles,
    OpenFile,
    PendingFile,
)
from asyncsink_files.converter import FilesConverter
from asyncsink_files.options import FilesOptions
from asyncsink_files.storage import Storage, open_manifest, open_storage

if TYPE_CHECKING:
    from asyncsink.blocking_writer import BlockingSinkWriter
    from asyncsink_files.committer import FilesCommitter
    from asyncsink_files.manifest import Manifest, ManifestCommitter
    from asyncsink_files.writer import FilesWriter

_NO_REQUESTS = "a file system takes no requests"
_NO_RETRY = "what a file system refuses fails the task, and Spark repeats that"
_NO_REJECTS = "a row that cannot be written fails the task"


class FilesSink(ConfiguredSink[Any, PendingFile, OpenFile, CommittedFiles]):
    """Rows to files in a folder or on S3: ``FilesSink(path="s3://bucket/flights", file_format="parquet")``.

    Elements are rows as mappings. Delivery is exactly once where a runner commits, as Spark and
    :func:`asyncsink.run_local` do: a file has its final name when its batch is committed, and the manifest lists it.
    Files of dead attempts stay where no reader looks, and are swept.

    :raises ConfigurationError: an option breaks its rule
    """

    options_type: ClassVar[type[FilesOptions]] = FilesOptions
    defaults: ClassVar[AsyncSinkWriterConfig] = AsyncSinkWriterConfig(rate_limit=RateLimit.none())
    not_offered: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("maxBatchSize", "maxInFlightRequests", "maxBatchSizeInBytes"), _NO_REQUESTS),
        **dict.fromkeys(("maxBufferedRequests", "maxBufferedSizeInBytes", "maxTimeInBuffer"), _NO_REQUESTS),
        **dict.fromkeys(("requestTimeout", "failOnTimeout", "stallTimeout", "maxRecordSizeInBytes"), _NO_REQUESTS),
        **dict.fromkeys(("retry.maxAttempts", "retry.timeout", "retry.initialBackoff"), _NO_RETRY),
        **dict.fromkeys(("retry.maxBackoff", "retry.retryAfterCap"), _NO_RETRY),
        **dict.fromkeys(("rateLimit", "rateLimit.requestsPerSecond", "rateLimit.requestsPerMinute"), _NO_REQUESTS),
        **dict.fromkeys(("rateLimit.recordsPerSecond", "rateLimit.bytesPerSecond"), _NO_REQUESTS),
        **dict.fromkeys(("rateLimit.burst", "rateLimit.writers"), _NO_REQUESTS),
        **dict.fromkeys(("onRejected", "maxRejected", "deadLetter.path", "deadLetter.format"), _NO_REJECTS),
        "batching": _NO_REQUESTS,
        "ordering": "the rows of a task stand in its files in the order in which they come",
    }
    committable_serializer: SimpleVersionedSerializer[PendingFile] | None = COMMITTABLES
    global_committable_serializer: SimpleVersionedSerializer[CommittedFiles] | None = GLOBAL_COMMITTABLES
    writer_state_serializer: SimpleVersionedSerializer[OpenFile] | None = STATES

    options: FilesOptions

    def check_config(self, config: AsyncSinkWriterConfig) -> None:
        super().check_config(config)
        if config.on_rejected != "fail":
            raise ConfigurationError(
                f"option 'onRejected' = {config.on_rejected!r} is not for files: {_NO_REJECTS}; leave it and "
                "deadLetter.path out, and filter such rows out"
            )
        if config.ordering != "none":
            raise ConfigurationError(
                f"option 'ordering' = {config.ordering!r} is not for files: {self.not_offered['ordering']}; leave it "
                "out"
            )

    def storage(self) -> Storage:
        """Where the files go; another back end takes the place of this."""
        return open_storage(self.options)

    def manifest(self) -> Manifest:
        """Where commits are listed."""
        from asyncsink_files.manifest import Manifest

        return Manifest(open_manifest(self.options.path), self.options.path)

    def converter(self, schema: Schema | None) -> FilesConverter:
        return FilesConverter(schema, self.options.file_format)

    def sizes(self, entries: Sequence[Mapping[str, Any]]) -> Sequence[int]:
        """The bytes of each row as a line of JSON, for those who ask; files count their own."""
        return [len(encode_row(entry)) for entry in entries]

    def create_writer(self, context: InitContext, states: Sequence[OpenFile] = ()) -> FilesWriter:
        from asyncsink_files.writer import FilesWriter

        return FilesWriter(self, context, states)

    def create_committer(self) -> FilesCommitter | None:
        from asyncsink_files.committer import FilesCommitter

        return FilesCommitter(self.storage()) if self.options.is_transactional else None

    def create_global_committer(self) -> ManifestCommitter | None:
        from asyncsink_files.manifest import ManifestCommitter

        return ManifestCommitter(self.manifest()) if self.options.has_manifest else None

    def open(self) -> FilesWriter:
        """A writer for programs without Spark: ``async with sink.open() as writer: await writer.write(row)``.

        Nobody commits then: each flush shows files, at least once. :func:`asyncsink.run_local` commits.
        """
        return self.create_writer(WriterInitContext())

    def open_blocking(self) -> BlockingSinkWriter[Any, Mapping[str, Any]]:
        """A writer for programs without an event loop: ``with sink.open_blocking() as writer: writer.write(row)``.

        It runs on a loop in a thread of its own, and shows files as that of :meth:`open` does.
        """
        from asyncsink.blocking_writer import BlockingSinkWriter

        return BlockingSinkWriter(self.open())
