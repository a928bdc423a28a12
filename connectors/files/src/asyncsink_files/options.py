"""The connector's own options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, Literal

from asyncsink.config import MiB
from asyncsink.errors import ConfigurationError
from asyncsink.options import ConnectorOptions, option
from asyncsink_files.place import place_of

COMPRESSIONS: Final[Mapping[str, tuple[str, ...]]] = {
    "json": ("none", "gzip"),
    "parquet": ("snappy", "zstd", "gzip", "none"),
}
"""What each format of files knows, the default first."""

_PREFIX: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.=_-]{0,99}")
_WITH_EACH_COMMIT: Final = "a file is finished with each commit, or at maxFileSize; trigger less often for larger files"
_ONE_FOLDER: Final = "all files lie in one folder, whatever their rows hold; leave it out"


@dataclass(frozen=True, kw_only=True)
class FilesOptions(ConnectorOptions):
    """Where files lie, what is in them, and when they are seen."""

    refused: ClassVar[Mapping[str, str]] = {
        "sink.rolling-policy.rollover-interval": _WITH_EACH_COMMIT,
        "sink.rolling-policy.inactivity-interval": _WITH_EACH_COMMIT,
        "sink.rolling-policy.check-interval": _WITH_EACH_COMMIT,
        "auto-compaction": _WITH_EACH_COMMIT,
        "partitionBy": _ONE_FOLDER,
        "partition.default-name": _ONE_FOLDER,
        "sink.parallelism": "a task writes each partition of the DataFrame; use repartition",
    }

    path: str = option(
        doc="Folder of the files: on this machine or mounted by all, as a path or a file: URL; or on S3, as s3://bucket/folder."
    )
    file_format: Literal["json", "parquet"] = option(
        "json", doc="What a file holds: json a JSON object a line, parquet Apache Parquet.", aliases=["format"]
    )
    compression: Literal["none", "gzip", "snappy", "zstd"] | None = option(
        None,
        doc="Of json files none or gzip, of parquet files snappy, zstd, gzip or none; by default none for json and "
        "snappy for parquet.",
    )
    max_file_size: int = option(
        128 * MiB,
        doc="Size at which a file is finished and another one begun.",
        unit="bytes",
        aliases=["sink.rolling-policy.file-size"],
    )
    file_prefix: str = option("part", doc="What the names of the files begin with.")
    manifest: bool | None = option(
        None,
        doc="Whether each commit lists its files in the folder _manifest, so that readers can take all files of a "
        "commit or none; by default it does where delivery is exactly once.",
    )
    delivery_guarantee: Literal["exactly-once", "at-least-once"] = option(
        "exactly-once",
        doc="exactly-once shows files when their batch is committed, at-least-once shows those of each task when that "
        "has written all its rows.",
        aliases=["sink.delivery-guarantee"],
    )

    def __post_init__(self) -> None:
        # Spark's workers have working directories of their own.
        object.__setattr__(self, "path", place_of(self.path).shown)
        self._check_compression()
        if self.max_file_size < 1:
            raise ConfigurationError(
                f"option 'maxFileSize' = {self.max_file_size} must be at least 1 byte; give for example 128mb"
            )
        if not _PREFIX.fullmatch(self.file_prefix):
            raise ConfigurationError(
                f"option 'filePrefix' = {self.file_prefix!r} must be at most 100 letters, digits and . = _ - and begin "
                "with a letter or a digit: readers pass over names that begin with . or _"
            )
        if self.manifest and not self.is_transactional:
            raise ConfigurationError(
                "option 'manifest' = true needs commits, and 'deliveryGuarantee' = 'at-least-once' makes none; leave "
                "one of them out"
            )

    @property
    def is_transactional(self) -> bool:
        """Whether files are shown by a commit."""
        return self.delivery_guarantee == "exactly-once"

    @property
    def has_manifest(self) -> bool:
        """Whether commits are listed."""
        return self.is_transactional and self.manifest is not False

    @property
    def codec(self) -> str:
        """The compression, with the format's own where none is given."""
        return self.compression or COMPRESSIONS[self.file_format][0]

    def _check_compression(self) -> None:
        known = COMPRESSIONS[self.file_format]
        if self.compression is not None and self.compression not in known:
            raise ConfigurationError(
                f"option 'compression' = {self.compression!r} is not for 'fileFormat' = {self.file_format!r}, which "
                f"knows {', '.join(known)}; give one of these, or leave it out"
            )
