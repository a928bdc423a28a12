"""A broker that comes back from a kill with an empty disk: what it had acknowledged is lost."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from asyncsink_testing.chaos.kafka_log import TOPIC
from asyncsink_testing.chaos.kafka_service import serve

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    for partition in folder.glob(f"kafka/*/data/{TOPIC}-*"):
        shutil.rmtree(partition)
    serve(folder)
