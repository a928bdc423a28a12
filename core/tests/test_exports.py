from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import asyncsink
import asyncsink.errors
import asyncsink.limits
import asyncsink.options


@pytest.mark.parametrize("module", [asyncsink, asyncsink.limits, asyncsink.options])
def test_all_is_sorted_as_ruff_sorts_it_and_names_what_is_there(module: ModuleType) -> None:
    names = module.__all__
    assert len(set(names)) == len(names)
    assert all(hasattr(module, name) for name in names)
    assert sorted(names, key=_order) == names


def _order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_every_error_is_public() -> None:
    errors = {name for name, value in vars(asyncsink.errors).items() if inspect.isclass(value)}
    assert errors <= set(asyncsink.__all__)


def test_everything_public_that_is_imported_stands_in_all() -> None:
    here = {
        name
        for name, value in vars(asyncsink).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("asyncsink.")
    }
    assert here <= set(asyncsink.__all__)


def test_every_public_class_and_function_has_a_docstring() -> None:
    objects = {name: getattr(asyncsink, name) for name in asyncsink.__all__}
    bare = [name for name, value in objects.items() if callable(value) and not inspect.getdoc(value)]
    assert bare == []


def test_an_unknown_attribute_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'asyncsink' has no attribute 'nothing'"):
        asyncsink.nothing  # noqa: B018


def test_the_version_is_a_string() -> None:
    assert isinstance(asyncsink.__version__, str)
