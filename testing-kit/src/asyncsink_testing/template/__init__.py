"""A third party's distribution to begin with: the files beside this one, under the name of the new connector.

Each of them ends with ``.tmpl``, so that no tool takes it for a part of the kit, and speaks of a connector ``parrot``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from asyncsink.options.names import folded
from asyncsink.plugins import available

SUFFIX: Final = ".tmpl"
MAX_LENGTH: Final = 20
"""Characters of a name: longer ones would break the lines of the files."""
_NAME: Final = re.compile(r"[a-z][a-z0-9]*([-_][a-z0-9]+)*")
_OURS: Final = ("core", "http", "testing")
"""Distributions ``asyncsink-<name>`` that asyncsink itself publishes."""
_PARROT: Final = re.compile(r"_parrot|parrot_|Parrot|parrot")


class TemplateError(Exception):
    """No distribution can be written; the message says why, and what helps."""


def write_distribution(name: str, directory: Path) -> Path:
    """Write a distribution ``asyncsink-<name>`` into a new folder of that name, and return the folder.

    :raises TemplateError: the name is not allowed or taken, or the folder is there
    """
    name = _checked(name)
    folder = directory / f"asyncsink-{name}"
    if folder.exists():
        raise TemplateError(f"{str(folder)!r} is there already; move it away, or give another --directory")
    for path, text in sorted(distribution(name).items()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return folder


def distribution(name: str) -> dict[str, str]:
    """The text of each file by its path within the distribution, for a name that is allowed."""
    return {_renamed(path, name): _renamed(text, name) for path, text in _templates(files(__name__), "")}


def _templates(folder: Traversable, prefix: str) -> Iterator[tuple[str, str]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _templates(each, f"{prefix}{each.name}/")
        elif each.name.endswith(SUFFIX):
            yield prefix + each.name.removesuffix(SUFFIX), each.read_text(encoding="utf-8")


def _renamed(text: str, name: str) -> str:
    module = name.replace("-", "_")
    spellings = {
        "_parrot": f"_{module}",
        "parrot_": f"{module}_",
        "Parrot": "".join(part.capitalize() for part in name.split("-")),
        "parrot": name,
    }
    return _PARROT.sub(lambda found: spellings[found[0]], text)


def _checked(name: str) -> str:
    """The name as distributions spell it, with ``-`` for ``_``."""
    if not _NAME.fullmatch(name):
        raise TemplateError(
            f"{name!r} cannot be the name of a connector; write small letters and digits, a letter first, with single "
            "hyphens between them, such as 'parrot' or 'grey-parrot'"
        )
    if len(name) > MAX_LENGTH:
        raise TemplateError(f"{name!r} has {len(name)} characters; the name of a connector has at most {MAX_LENGTH}")
    for each in available():
        if folded(each.name) == folded(name):
            raise TemplateError(f"{name!r} is taken by {each}, which is installed here; choose another name")
    module = f"asyncsink_{name.replace('-', '_')}"
    if folded(name) in map(folded, _OURS) or find_spec(module) is not None:
        raise TemplateError(f"{name!r} is taken: there is a package {module} already; choose another name")
    return name.replace("_", "-")
