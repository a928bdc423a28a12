"""Options: declared once as the fields of a dataclass, read from Spark's strings or from typed values."""

from asyncsink.options.fields import Alias, OptionInfo, option
from asyncsink.options.names import did_you_mean, folded
from asyncsink.options.parsing import SPARK_OPTIONS, parse_options
from asyncsink.options.sections import ConnectorOptions
from asyncsink.options.values import parse_duration, parse_size
from asyncsink.options.writer import WriterOptions

__all__ = [
    "SPARK_OPTIONS",
    "Alias",
    "ConnectorOptions",
    "OptionInfo",
    "WriterOptions",
    "did_you_mean",
    "folded",
    "option",
    "parse_duration",
    "parse_options",
    "parse_size",
]
