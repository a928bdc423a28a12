"""The driver: ``python stream.py FOLDER URL`` streams the flights from files into the API, one file a micro-batch.

A second run goes on from the checkpoint of the first; nothing here knows whether there was one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from flights import MISSING, SCHEMA


def main(folder: Path, url: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("asyncsink demo")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.python.daemon.module", "worker_log")
        .config("spark.sql.files.openCostInBytes", "0")
        .config("spark.sql.files.maxPartitionBytes", "900k")
        .getOrCreate()
    )
    flights = (
        spark.readStream.schema(SCHEMA)
        .option("nullValue", MISSING)
        .option("maxFilesPerTrigger", 1)
        .csv(str(folder / "flights"))
    )
    query = (
        flights.writeStream.format("asyncsink.http")
        .option("url", f"{url}/flights")
        .option("compression", "gzip")
        .option("maxBatchSize", 200)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
