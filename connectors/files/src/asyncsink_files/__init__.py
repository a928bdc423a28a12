"""Rows to files on a disk or on S3: ``format("asyncsink.files")`` in Spark, :class:`FilesSink` in any other program."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncsink_files.manifest import ManifestFile, read_manifest
    from asyncsink_files.options import FilesOptions
    from asyncsink_files.sink import FilesSink

    __version__: str

__all__ = ["FilesOptions", "FilesSink", "ManifestFile", "read_manifest"]

_MODULES = {"FilesOptions": "options", "FilesSink": "sink", "ManifestFile": "manifest", "read_manifest": "manifest"}


def __getattr__(name: str) -> Any:
    # Finding the connector imports this package first (PEP 562), and must not pay for more than that.
    if name in _MODULES:
        return getattr(import_module(f"asyncsink_files.{_MODULES[name]}"), name)
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        try:
            return version("asyncsink-files")
        except PackageNotFoundError:
            return "unknown"
    raise AttributeError(f"module 'asyncsink_files' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
