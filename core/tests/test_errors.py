from __future__ import annotations

import inspect
import pickle

import pytest

import asyncsink.errors
from asyncsink.errors import AsyncSinkError, ConfigurationError, RequestError
from asyncsink.failures import ErrorTable, Failure, FailureKind

ERRORS = [value for value in vars(asyncsink.errors).values() if inspect.isclass(value)]

TABLE = ErrorTable.of(
    throttled=["429"],
    retryable=("503", "500"),
    rejected={"400"},
    fatal={"401": "check the token"},
    exceptions={LookupError: FailureKind.REJECTED, KeyError: FailureKind.THROTTLED, ConnectionError: FailureKind.FATAL},
)


@pytest.mark.parametrize("kind", ERRORS)
def test_every_error_has_one_root_and_survives_pickling(kind: type[AsyncSinkError]) -> None:
    error = pickle.loads(pickle.dumps(kind("what happened")))
    assert isinstance(error, AsyncSinkError)
    assert type(error) is kind
    assert str(error) == "what happened"


@pytest.mark.parametrize("kind", ERRORS)
def test_the_tree_in_the_docstring_has_every_error_under_its_parent(kind: type[AsyncSinkError]) -> None:
    tree = [line for line in (asyncsink.errors.__doc__ or "").splitlines() if "+- " in line or "AsyncSinkError" in line]
    depth = {line.replace("|", " ").replace("+- ", "").split()[0]: line.index(line.strip("| ")[0]) for line in tree}
    assert kind.__name__ in depth
    parent = kind.__bases__[0]
    if parent in ERRORS:
        assert depth[parent.__name__] < depth[kind.__name__]


def test_a_request_error_keeps_its_parts_over_pickling() -> None:
    error = pickle.loads(pickle.dumps(RequestError("503", "busy", 2.5)))
    assert (error.code, error.message, error.retry_after_s, str(error)) == ("503", "busy", 2.5, "503: busy")


def test_a_request_error_without_a_message_is_its_code() -> None:
    assert str(RequestError("503")) == "503"


def test_configuration_errors_are_value_errors() -> None:
    assert issubclass(ConfigurationError, ValueError)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("429", FailureKind.THROTTLED),
        ("500", FailureKind.RETRYABLE),
        ("400", FailureKind.REJECTED),
        ("401", FailureKind.FATAL),
        ("418", None),
    ],
)
def test_the_table_gives_the_kind_of_a_code(code: str, kind: FailureKind | None) -> None:
    assert TABLE.kind_of(code) is kind


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (KeyError(), FailureKind.THROTTLED),
        (IndexError(), FailureKind.REJECTED),
        (ConnectionResetError(), FailureKind.FATAL),
        (FileNotFoundError(), FailureKind.RETRYABLE),
        (TimeoutError(), FailureKind.RETRYABLE),
        (TypeError(), FailureKind.FATAL),
    ],
)
def test_the_nearest_named_base_decides_on_an_exception(error: Exception, kind: FailureKind) -> None:
    assert TABLE.kind_of_exception(error) is kind


def test_a_fatal_code_has_its_remedy() -> None:
    assert TABLE.remedy("401") == "check the token"
    assert TABLE.remedy("429") == ""


@pytest.mark.parametrize(
    "groups",
    [{"throttled": ["1"], "retryable": ["1"]}, {"rejected": ["1"], "fatal": {"1": "x"}}],
)
def test_a_code_of_two_kinds_is_refused(groups: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"codes \['1'\] are of more than one kind in an ErrorTable; name each once"):
        ErrorTable.of(**groups)  # type: ignore[arg-type]


@pytest.mark.parametrize("table", [TABLE, ErrorTable(), ErrorTable(throttled=frozenset("1"))])
def test_tables_survive_pickling(table: ErrorTable) -> None:
    assert pickle.loads(pickle.dumps(table)) == table


def test_a_failure_is_a_value() -> None:
    assert Failure("503", "busy") == Failure("503", "busy", None, None, None)
    assert pickle.loads(pickle.dumps(Failure("1", replacement=b"x"))).replacement == b"x"
