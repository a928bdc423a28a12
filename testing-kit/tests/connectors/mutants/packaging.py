"""Mutants whose distribution is not as it must be."""

from __future__ import annotations

from packages import PLUGIN, SHIM, SINK, Package

from mutants import packaged


@packaged(fails=["light-discovery"])
class EagerClient(Package):
    """Its entry point names a module that imports the client library."""

    name = "eager-client"
    plugin = "import sqlite3\n" + PLUGIN


@packaged(fails=["entry-point"])
class OtherName(Package):
    """Its entry point and its ConnectorInfo spell its name in two ways."""

    name = "other-name"
    entry_point = "other_name"


@packaged(fails=["entry-point"])
class MovedOptions(Package):
    """Its options have moved to another module, and ConnectorInfo names the old one."""

    name = "moved-options"
    plugin = PLUGIN.replace("{package}.sink:PackagedOptions", "{package}.options:PackagedOptions")


@packaged(fails=["entry-point"])
class OtherOptions(Package):
    """ConnectorInfo names options that the sink does not take."""

    name = "other-options"
    sink = SINK.replace("    options_type = PackagedOptions\n", "    pass\n")


@packaged(fails=["spark-shim"])
class RaisingShim(Package):
    """Its shim imports what may be missing without a guard."""

    name = "raising-shim"
    shim = """\
from asyncsink.spark import ConnectorDataSource


class DefaultSource(ConnectorDataSource):
    connector = "{name}"
"""


@packaged(fails=["spark-shim"])
class HalfGuardedShim(Package):
    """Its shim expects that an import fails with ImportError only."""

    name = "half-guarded-shim"
    shim = SHIM.replace("except Exception", "except ImportError")


@packaged(fails=["spark-shim"])
class NoShim(Package):
    """Its wheel does not hold the shim."""

    name = "no-shim"
    shim = None


@packaged(fails=["typed"])
class Untyped(Package):
    """Its wheel does not hold py.typed."""

    name = "untyped"
    is_typed = False


@packaged(fails=["pickles"])
class MadeWithALock(Package):
    """Its sink makes a lock when it is made, which cannot be pickled."""

    name = "made-with-a-lock"
    sink = f"""\
import threading
{SINK}
    def __init__(self, *arguments, **values):
        super().__init__(*arguments, **values)
        self.lock = threading.Lock()
"""


@packaged(fails=["pickles"])
class PicklesNoSecrets(Package):
    """It leaves secrets out of what is pickled, and so every task writes without them."""

    name = "pickles-no-secrets"
    sink = f"""\
from dataclasses import replace
{SINK}
    def __getstate__(self):
        return {{**vars(self), "options": replace(self.options, token=None)}}
"""


@packaged(fails=["core-range"])
class Pinned(Package):
    """It asks for one version of asyncsink-core and no other."""

    name = "pinned"
    requires = "Requires-Dist: asyncsink-core==0.1.0"
