"""What ruff does not look at: white space, line ends, left-over merges, large files, licences and fragments' names."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

LARGEST_FILE = 200_000
FRAGMENT = re.compile(r"[a-z0-9-]+\.(feature|fix|deprecation|doc)\.md")


def tracked_files(root: Path) -> list[Path]:
    """The files that are in git or would be: ignored ones are nobody's business."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return sorted({root / name for name in names.split("\0") if name and (root / name).is_file()})


def faults(path: Path, root: Path) -> Iterator[str]:
    """What is wrong with one file, a sentence each."""
    data = path.read_bytes()
    if len(data) > LARGEST_FILE:
        yield f"holds {len(data)} bytes; at most {LARGEST_FILE} belong in the repository"
    if path.parent.name == "changes" and not FRAGMENT.fullmatch(path.name):
        yield "is no fragment's name; it must read <slug>.<feature|fix|deprecation|doc>.md"
    if path.name == "LICENSE" and data != (root / "LICENSE").read_bytes():
        yield "differs from the LICENSE at the root; copy that one"
    if b"\0" not in data:
        yield from text_faults(data.decode())


def text_faults(text: str) -> Iterator[str]:
    if text and not text.endswith("\n"):
        yield "does not end with a line end; add one"
    if text.endswith("\n\n"):
        yield "ends with an empty line; remove it"
    for number, line in enumerate(text.split("\n"), 1):
        if line != line.rstrip():
            yield f"line {number} ends with white space or a carriage return; remove it"
        if re.match(r"(<{7}|>{7}) ", line):
            yield f"line {number} is left over from a merge; resolve it"


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    found = [f"{path.relative_to(root)}: {fault}" for path in tracked_files(root) for fault in faults(path, root)]
    sys.stdout.write("".join(f"{line}\n" for line in found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
