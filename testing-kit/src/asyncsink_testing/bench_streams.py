"""A stream of small micro-batches, which any number of Spark's queries may read, and what each of them has taken."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

WARM_UP: Final = 5
"""Micro-batches at the start of each query that do not count: the first one alone takes seconds."""

TRIGGER: Final = "triggerExecution"
"""Spark's name for the whole of a micro-batch."""
ADD_BATCH: Final = "addBatch"
"""Spark's name for the part of it in which the sink is at work."""


class MicroBatches:
    """A folder of files of lines, so many a micro-batch.

    :param spark: the session of the queries
    :param folder: an empty one, for the lines and for checkpoints
    :param count: the micro-batches that are counted, those that warm up beside them
    :param rows: in each file
    :param files: of a micro-batch; Spark reads each in a task of its own, as long as it has so many cores
    """

    def __init__(
        self, spark: Any, folder: Path, count: int, *, rows: int = 10, files: int = 1, warm_up: int = WARM_UP
    ) -> None:
        self._spark, self._folder = spark, folder
        self._count, self._files, self._warm_up = count, files, warm_up
        self._lines = folder / "lines"
        self._lines.mkdir()
        add_files(self._lines, range(files * (warm_up + count)), rows)
        self.rows = rows * files * (warm_up + count)

    def median_ms(self, door: str, **options: str) -> float:
        """Send them all to a format, from an empty checkpoint on; the median of what Spark says each has taken."""
        return self.medians_ms(door, options)[TRIGGER]

    def medians_ms(self, door: str, options: Mapping[str, str]) -> dict[str, float]:
        """Likewise, of the whole and of each of its parts, by Spark's names for them."""
        lines = self._spark.readStream.option("maxFilesPerTrigger", self._files).text(str(self._lines))
        with TemporaryDirectory(dir=self._folder, prefix=f"{door}-") as checkpoint:
            writer = lines.writeStream.format(door).options(**options).option("checkpointLocation", checkpoint)
            query = writer.trigger(availableNow=True).start()
            query.awaitTermination()
        took = [progress["durationMs"] for progress in query.recentProgress if progress["numInputRows"]]
        if len(took) != self._warm_up + self._count:
            raise RuntimeError(
                f"{len(took)} micro-batches came of {self._warm_up + self._count} times {self._files} files; one each "
                "was expected"
            )
        counted = took[self._warm_up :]
        return {part: float(median(each[part] for each in counted)) for part in (TRIGGER, ADD_BATCH)}


def add_files(folder: Path, numbers: range, rows: int = 10) -> None:
    """Files of so many rows each, which Spark may be looking for already."""
    for number in numbers:
        draft = folder / f".{number:04}"
        draft.write_text("".join(f"{number} {row}\n" for row in range(rows)))
        draft.rename(folder / f"{number:04}.txt")
