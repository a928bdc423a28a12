"""PEM texts, as they come in options, for OpenSSL, which reads files."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap

_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)


def pem_lines(text: str) -> str:
    """PEM with its line breaks, which options often lack: Java's reader does without, OpenSSL's does not.

    A break may stand as the two characters ``\\n``, as a blank, or not at all.
    """
    return _BLOCK.sub(_block, text.replace("\\n", "\n"))


@contextmanager
def as_file(text: str) -> Iterator[str]:
    """A path under which OpenSSL reads `text`: in memory where there is a way, because it may be a private key."""
    content = pem_lines(text).encode()
    if hasattr(os, "memfd_create") and Path("/proc/self/fd").is_dir():
        descriptor = os.memfd_create("pem", os.MFD_CLOEXEC)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.TemporaryDirectory() as folder:  # for its owner alone
        path = Path(folder, "pem")
        path.write_bytes(content)
        yield str(path)


def _block(match: re.Match[str]) -> str:
    kind, body = match.groups()
    # Old encrypted keys have headers before the base64, such as DEK-Info; their lines must be there already.
    lines = body.strip() if ":" in body else "\n".join(wrap("".join(body.split()), 64))
    return f"\n-----BEGIN {kind}-----\n{lines}\n-----END {kind}-----\n"
