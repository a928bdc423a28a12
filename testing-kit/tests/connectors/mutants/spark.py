"""Mutants that only Spark sees: it has many writers for one write, and repeats some of them."""

from __future__ import annotations

from packages import SHIM, Package

from mutants import packaged

SINK = """\
from dataclasses import dataclass
from wire import WireConverter, WireOptions, WireSink


@dataclass(frozen=True, kw_only=True)
class PackagedOptions(WireOptions):
    pass


class PackagedConverter(WireConverter):
    pass


class PackagedSink(WireSink):
    options_type = PackagedOptions
    converter_type = PackagedConverter
"""


class WirePackage(Package):
    """A distribution that carries the connector over HTTP and does everything right."""

    name = "wire"
    sink = SINK


def _with_prefix(prefix: str) -> str:
    method = f"    def prefix_of(self, context):\n        return f{prefix!r}\n"
    head = "class PackagedConverter(WireConverter):\n"
    return SINK.replace(f"{head}    pass\n", f"{head}{method}")


@packaged(fails=["spark-batch"], through_spark=True)
class SameIdsInAllPartitions(WirePackage):
    """It numbers the rows of each partition alike, and the destination takes them for repetitions."""

    name = "same-ids-in-all-partitions"
    sink = _with_prefix("{context.query_id}/{context.batch_id}")


@packaged(fails=["spark-stream", "spark-replay"], through_spark=True)
class SameIdsInAllBatches(WirePackage):
    """It numbers the rows of each micro-batch alike, and the destination takes them for repetitions."""

    name = "same-ids-in-all-batches"
    sink = _with_prefix("{context.query_id}/{context.writer_id}")


@packaged(fails=["spark-task-retried", "spark-replay", "spark-kill-worker"], through_spark=True)
class OtherIdsInEachAttempt(WirePackage):
    """It gives a row another id when its task is repeated, and the destination stores it twice."""

    name = "other-ids-in-each-attempt"
    sink = _with_prefix("{context.query_id}/{context.batch_id}/{context.writer_id}/{context.attempt}")


@packaged(fails=["spark-task-retried", "spark-replay"], through_spark=True)
class TakesRefusalForSuccess(WirePackage):
    """It looks for errors of the server only, and takes 401 for an answer like any other."""

    name = "takes-refusal-for-success"
    sink = (
        SINK
        + """
    async def post(self, body):
        status = await super().post(body)
        return status if status >= 500 else 200
"""
    )


@packaged(fails=["spark-wrong-columns"], through_spark=True)
class HidesColumns(WirePackage):
    """Its data source leaves out of its plan the columns that it does not know."""

    name = "hides-columns"
    shim = SHIM.replace(
        '        connector = "{name}"\n',
        """\
        connector = "{name}"

        def writer(self, schema, overwrite):
            known = [field for field in schema.fields if "interval" not in field.dataType.simpleString()]
            return super().writer(type(schema)(known), overwrite)
""",
    )


@packaged(fails=["spark-wrong-columns"], through_spark=True)
class ComplainsUnreadably(WirePackage):
    """Its data source looks at the columns itself, and raises what users take for a bug."""

    name = "complains-unreadably"
    shim = SHIM.replace(
        '        connector = "{name}"\n',
        """\
        connector = "{name}"

        def writer(self, schema, overwrite):
            columns = {"bigint": int, "string": str}
            assert all(columns[field.dataType.simpleString()] for field in schema.fields)
            return super().writer(schema, overwrite)
""",
    )


@packaged(fails=["spark-replay"], through_spark=True)
class OtherIdsInEachPlanning(WirePackage):
    """It gives a row another id when its micro-batch is planned anew, and the destination stores it twice."""

    name = "other-ids-in-each-planning"
    sink = """\
from uuid import uuid4

""" + SINK.replace(
        "    converter_type = PackagedConverter\n",
        """\

    def __init__(self, *values, **named):
        super().__init__(*values, **named)
        self.planning = uuid4().hex

    def converter(self, schema):
        converter = PackagedConverter()
        converter.prefix_of = lambda context: f"{self.planning}/{context.batch_id}/{context.writer_id}"
        return converter
""",
    )


NOTING_SINK = f"""\
import json
from pathlib import Path

{SINK}
    def notes(self, name):
        folder = Path(__file__).with_name("notes")
        folder.mkdir(exist_ok=True)
        return folder / name.replace("/", "-")
"""
"""Keeps notes in files of the installation, which outlive every process."""


@packaged(fails=["spark-replay"], through_spark=True)
class TakesBegunForDelivered(WirePackage):
    """It notes on disk which requests of micro-batches it has begun, and leaves out those that it finds there."""

    name = "takes-begun-for-delivered"
    sink = f"""\
{NOTING_SINK}
    async def post(self, body):
        uid = json.loads(body.split(b"\\n")[0])["uid"]
        note = self.notes(uid)
        if note.exists():
            return 200
        if "/None/" not in uid:
            note.touch()
        return await super().post(body)
"""


@packaged(fails=["spark-kill-worker"], through_spark=True)
class CleansUpInItsErrorHandler(WirePackage):
    """It notes on disk what it sends, so as not to send it twice, and strikes it out if sending fails."""

    name = "cleans-up-in-its-error-handler"
    sink = f"""\
{NOTING_SINK}
    async def post(self, body):
        note = self.notes(json.loads(body.split(b"\\n")[0])["uid"])
        if note.exists():
            return 200
        note.touch()
        try:
            status = await super().post(body)
        except BaseException:
            note.unlink()
            raise
        if status != 200:
            note.unlink()
        return status
"""


@packaged(fails=["spark-kill-worker"], through_spark=True)
class AcknowledgesEarly(WirePackage):
    """It reports what is not answered soon as stored, and goes on sending it beside the next task."""

    name = "acknowledges-early"
    sink = f"""\
import threading
from urllib.error import HTTPError
from urllib.request import urlopen

from anyio.to_thread import run_sync

{SINK}
    async def post(self, body):
        statuses = []

        def send():
            try:
                with urlopen(self.options.url, body) as answer:
                    statuses.append(answer.status)
            except HTTPError as error:
                statuses.append(error.code)

        sending = threading.Thread(target=send, daemon=True)
        sending.start()
        await run_sync(sending.join, 0.7)
        return statuses[0] if statuses else 200
"""
