"""Distributions written into a folder, as an installation leaves them: what the checks of packaging look at."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

METADATA = """\
Metadata-Version: 2.1
Name: {distribution}
Version: 1.0
{requires}
"""

PLUGIN = """\
from asyncsink.plugins import ConnectorInfo, hookimpl


@hookimpl
def asyncsink_connector() -> ConnectorInfo:
    return ConnectorInfo("{name}", "{package}.sink:PackagedSink", "{package}.sink:PackagedOptions", api_version=1)
"""

SINK = """\
from dataclasses import dataclass
from reference import ReferenceOptions, ReferenceSink


@dataclass(frozen=True, kw_only=True)
class PackagedOptions(ReferenceOptions):
    pass


class PackagedSink(ReferenceSink):
    options_type = PackagedOptions
"""

SHIM = """\
from __future__ import annotations

FAILURE: Exception | None = None

try:
    from asyncsink.spark import ConnectorDataSource

    class DefaultSource(ConnectorDataSource):
        connector = "{name}"

except Exception as error:
    FAILURE = error
"""


class Package:
    """A distribution that carries the reference connector and does everything right; a subclass breaks one thing.

    Every text may hold ``{name}``, ``{package}`` and ``{distribution}``.
    """

    name: ClassVar[str] = "packaged"
    entry_point: ClassVar[str] = "{name}"
    requires: ClassVar[str] = "Requires-Dist: asyncsink-core>=0.1,<1"
    plugin: ClassVar[str] = PLUGIN
    sink: ClassVar[str] = SINK
    shim: ClassVar[str | None] = SHIM
    is_typed: ClassVar[bool] = True

    @classmethod
    def files(cls) -> Mapping[str, str]:
        """What stands in site-packages, RECORD excepted."""
        module = cls.name.replace("-", "_")
        package, info = f"asyncsink_{module}", f"asyncsink_{module}-1.0.dist-info"
        texts = {
            f"{package}/__init__.py": "",
            f"{package}/_plugin.py": cls.plugin,
            f"{package}/sink.py": cls.sink,
            f"{info}/METADATA": METADATA.replace("{requires}", cls.requires),
            f"{info}/entry_points.txt": f"[asyncsink]\n{cls.entry_point} = {{package}}._plugin\n",
        }
        if cls.is_typed:
            texts[f"{package}/py.typed"] = ""
        if cls.shim is not None:
            texts[f"pyspark_{package}.py"] = cls.shim
        known = {"{name}": cls.name, "{package}": package, "{distribution}": f"asyncsink-{cls.name}"}
        return {path: _filled(text, known) for path, text in texts.items()}

    @classmethod
    def write(cls, folder: Path) -> None:
        """Install it into a folder."""
        files = cls.files()
        info = next(path for path in files if path.endswith("METADATA")).removesuffix("METADATA")
        record = "".join(f"{path},,\n" for path in [*files, f"{info}RECORD"])
        for path, text in {**files, f"{info}RECORD": record}.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text)

    @classmethod
    @contextmanager
    def installed(cls) -> Iterator[None]:
        """Have it on the path of this Python; what was imported from it is forgotten afterwards."""
        with TemporaryDirectory() as folder:
            cls.write(Path(folder))
            sys.path.insert(0, folder)
            try:
                yield
            finally:
                sys.path.remove(folder)
                for module in [name for name, each in sys.modules.items() if _stands_in(each, folder)]:
                    del sys.modules[module]


def _filled(text: str, known: Mapping[str, str]) -> str:
    for placeholder, value in known.items():
        text = text.replace(placeholder, value)
    return text


def _stands_in(module: object, folder: str) -> bool:
    return str(getattr(module, "__file__", None) or "").startswith(folder)
