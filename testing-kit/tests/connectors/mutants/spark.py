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


@packaged(fails=["spark-stream"], through_spark=True)
class SameIdsInAllBatches(WirePackage):
    """It numbers the rows of each micro-batch alike, and the destination takes them for repetitions."""

    name = "same-ids-in-all-batches"
    sink = _with_prefix("{context.query_id}/{context.writer_id}")


@packaged(fails=["spark-task-retried"], through_spark=True)
class OtherIdsInEachAttempt(WirePackage):
    """It gives a row another id when its task is repeated, and the destination stores it twice."""

    name = "other-ids-in-each-attempt"
    sink = _with_prefix("{context.query_id}/{context.batch_id}/{context.writer_id}/{context.attempt}")


@packaged(fails=["spark-task-retried"], through_spark=True)
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
