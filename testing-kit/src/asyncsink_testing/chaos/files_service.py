"""A folder as a destination: ``python -m …chaos.files_service FOLDER`` makes it, and ends with its stdin.

Nothing of it can be killed: what takes the files is the kernel.
"""

from __future__ import annotations

import sys
from pathlib import Path

from asyncsink_testing.chaos.files_folder import NAME


def serve(folder: Path) -> None:
    """Make the folder and say where it is."""
    (folder / NAME).mkdir(exist_ok=True)
    draft = folder / "endpoint.draft"
    draft.write_text(str(folder / NAME))
    draft.replace(folder / "endpoint")
    sys.stdin.read()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
