"""Queries whose rows are staged in files, with their ledgers on a disk and in S3."""

from __future__ import annotations

import json
from collections.abc import Callable, Set
from pathlib import Path

from asyncsink_testing.crash_points import queries
from asyncsink_testing.crash_points.queries import BATCHES, ROWS

BACK_ENDS = ("local", "s3")
"""Where ledgers lie: in files of this machine, and in S3."""

UNDER_WAY = "slot-2, under way"
"""Where the decision on attempt 2 has left the process that has made it, and not arrived yet."""

Key = tuple[str, str]
"""A back end, and where a query was interrupted."""


class Query(queries.Query):
    """A query of the staging connector, which keeps all in the query's folder."""

    def __init__(self, folder: Path, ledgers: str) -> None:
        options = {"sink": "stopping", "folder": str(folder)}
        super().__init__(folder, ledgers, ["CAST(value AS BIGINT) AS id"], options)

    def path_of(self, name: str) -> str:
        """Where a file of its transactions lies in S3: bucket and key."""
        return f"/{self.ledger.partition('://')[2]}/asyncsink/stopping/transactions/{name}"

    def staged(self) -> list[Path]:
        """What is prepared and not committed."""
        return sorted((self.folder / "staged").glob("*"))

    def check(self, attempts: Set[int]) -> None:
        """See that each row is visible once and nothing is left, and by which attempts the rows were written."""
        files = sorted((self.folder / "visible").glob("*"))
        rows = [json.loads(line)["id"] for path in files for line in path.read_text().splitlines()]
        assert sorted(rows) == [*range(BATCHES * ROWS)], f"{sorted(rows)} are visible in {self.folder}"
        written = {int(path.name.split("-")[1]) for path in files}
        assert written == attempts, f"attempts {written} have written what is visible in {self.folder}, not {attempts}"
        assert self.staged() == [], f"{self.staged()} are left"


MakeQuery = Callable[[str], Query]
"""Makes a query with its ledger in a back end."""

Ended = queries.Ended[Query]
