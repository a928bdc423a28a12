"""The driver: ``python stream.py FOLDER METADATA GUARANTEE`` sends flights from files into the stream ``flights``.

METADATA is the file, or the URL, that says which topics of which clusters the stream is on. Nothing here knows of any.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession


def main(folder: Path, metadata: str, guarantee: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .appName("asyncsink demo")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.files.openCostInBytes", "0")
        .config("spark.sql.files.maxPartitionBytes", "900k")
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", "500")
        .getOrCreate()
    )
    flights = spark.readStream.option("maxFilesPerTrigger", 1).text(str(folder / "source"))
    query = (
        flights.selectExpr("substring_index(value, ',', 1) AS key", "value")
        .writeStream.format("asyncsink.dynamic_kafka")
        .option("streamIds", "flights")
        .options(**metadata_service(metadata))
        .option("stream-metadata-discovery-interval-ms", 200)
        .option("deliveryGuarantee", guarantee)
        # So that there is time to look on, and few rows are on their way when the stream moves.
        .option("maxBatchSize", 500)
        .option("maxBufferedRequests", 1_000)
        .option("rateLimit.recordsPerSecond", 8_000)
        .option("rateLimit.burst", 1_000)
        .option("rateLimit.writers", 2)
        .option("checkpointLocation", str(folder / "checkpoint"))
        .start()
    )
    query.awaitTermination()


def metadata_service(metadata: str) -> dict[str, str]:
    if metadata.startswith("http:"):
        return {"metadataService": "http", "metadataService.url": metadata}
    return {"metadataService": "file", "metadataService.path": metadata}


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
