"""How rows become the bytes of a file, by format."""

from __future__ import annotations

from asyncsink_files.formats.format import Encoder, Format, Piece
from asyncsink_files.options import FilesOptions

__all__ = ["Encoder", "Format", "Piece", "format_of"]


def format_of(options: FilesOptions) -> Format:
    """The format that the options ask for."""
    if options.file_format == "json":
        from asyncsink_files.formats.json_lines import JsonLines

        return JsonLines(options.codec)
    from asyncsink_files.formats.parquet import Parquet

    return Parquet(options.codec, options.max_file_size)
