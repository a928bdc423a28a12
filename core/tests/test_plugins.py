from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace
from typing import Any

import pytest

from asyncsink.errors import ConfigurationError, ConnectorLoadError, ConnectorNotFoundError
from asyncsink.options import ConnectorOptions
from asyncsink.plugins import (
    API_VERSION,
    ConnectorInfo,
    available,
    connector_info,
    hookimpl,
    load_given,
    load_object,
    load_options,
    load_sink,
    register,
    unregister,
)
from asyncsink.sink import Sink

Install = Callable[..., None]

INFO = """
    from asyncsink.plugins import ConnectorInfo, hookimpl

    @hookimpl
    def asyncsink_connector():
        return ConnectorInfo("{name}", "{package}.sink:ToySink", "{package}.sink:ToyOptions", api_version={version})
"""

SINK = """
    from dataclasses import dataclass
    from asyncsink.options import ConnectorOptions
    from asyncsink.sink import Sink

    @dataclass(frozen=True, kw_only=True)
    class ToyOptions(ConnectorOptions):
        pass

    class ToySink(Sink):
        def create_writer(self, context, states=()):
            raise NotImplementedError
"""


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution with one connector on the path, as pip would."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("ASYNCSINK_DISABLED", raising=False)

    def put(
        name: str,
        *,
        distribution: str | None = None,
        calls_itself: str | None = None,
        api_version: int = API_VERSION,
        plugin: str = INFO,
        sink: str = SINK,
    ) -> None:
        dist = distribution or f"asyncsink-{name}"
        package = dist.replace("-", "_")
        metadata = tmp_path / f"{package}-1.2.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.2\n")
        (metadata / "entry_points.txt").write_text(f"[asyncsink]\n{name} = {package}._plugin\n")
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").touch()
        text = dedent(plugin).format(name=calls_itself or name, package=package, version=api_version)
        (tmp_path / package / "_plugin.py").write_text(text)
        (tmp_path / package / "sink.py").write_text(dedent(sink))

    yield put
    for module in set(sys.modules) - before:
        if module.startswith(("asyncsink_", "someone_")):
            del sys.modules[module]


def load_error(name: str) -> str:
    with pytest.raises(ConnectorLoadError) as caught:
        load_sink(name)
    return str(caught.value)


def test_available_names_distribution_and_version_and_imports_nothing(install: Install) -> None:
    install("toy")
    install("broken", plugin="raise RuntimeError('no')")
    found = {each.name: each for each in available()}
    assert found["toy"].origin == "asyncsink-toy 1.2"
    assert found["broken"].origin == "asyncsink-broken 1.2"
    assert "asyncsink_toy" not in sys.modules


def test_one_connector_is_loaded_and_the_others_are_left_alone(install: Install) -> None:
    install("toy")
    install("other")
    assert connector_info("toy") == ConnectorInfo(
        "toy", "asyncsink_toy.sink:ToySink", "asyncsink_toy.sink:ToyOptions", 1
    )
    assert "asyncsink_toy.sink" not in sys.modules
    assert "asyncsink_other" not in sys.modules


def test_sink_and_options_are_loaded_by_name(install: Install) -> None:
    install("toy")
    assert issubclass(load_sink("toy"), Sink)
    assert issubclass(load_options("toy"), ConnectorOptions)


@pytest.mark.parametrize("spelling", ["dynamic-toy", "dynamic_toy", "Dynamic-Toy"])
def test_dash_underscore_and_case_do_not_count_in_names(install: Install, spelling: str) -> None:
    install("dynamic-toy")
    assert connector_info(spelling).name == "dynamic-toy"


def test_a_connector_that_is_missing_says_what_to_install(install: Install) -> None:
    install("toy")
    with pytest.raises(ConnectorNotFoundError) as caught:
        load_sink("Kafka_Fast")
    text = str(caught.value)
    assert text.startswith("connector 'Kafka_Fast' is not installed (installed: ")
    assert "toy (asyncsink-toy 1.2)" in text
    assert text.endswith("to install it: pip install asyncsink-kafka-fast")


def test_a_misspelt_connector_gets_the_nearest_name(install: Install) -> None:
    install("kinesis-toy")
    with pytest.raises(ConnectorNotFoundError, match=r"is not installed; did you mean 'kinesis-toy'\?"):
        load_sink("kinesys-toy")


def test_a_connector_is_found_by_its_short_name_even_beside_a_broken_one(install: Install) -> None:
    install("broken", plugin="raise RuntimeError('no')")
    install("dynamic-toy", plugin=INFO.replace("api_version={version}", "api_version={version}, short_names=('dtoy',)"))
    assert connector_info("DTOY").name == "dynamic-toy"


def test_a_plugin_that_fails_to_import_names_its_distribution_and_leaves_others_usable(install: Install) -> None:
    install("broken", plugin="import a_module_that_is_not_there")
    install("toy")
    assert load_error("broken") == (
        "connector 'broken' from asyncsink-broken 1.2 failed to import: ModuleNotFoundError: "
        "No module named 'a_module_that_is_not_there'; "
        "reinstall asyncsink-broken or disable it by ASYNCSINK_DISABLED=broken"
    )
    assert load_sink("toy").__name__ == "ToySink"


def test_the_error_of_a_failed_import_is_the_cause(install: Install) -> None:
    install("broken", plugin="import a_module_that_is_not_there")
    with pytest.raises(ConnectorLoadError) as caught:
        load_sink("broken")
    assert isinstance(caught.value.__cause__, ModuleNotFoundError)


def test_a_sink_whose_client_library_is_missing_names_its_distribution(install: Install) -> None:
    install("toy", sink="import a_client_that_is_not_there")
    assert load_error("toy") == (
        "connector 'toy' from asyncsink-toy 1.2 failed to load: its sink 'asyncsink_toy.sink:ToySink' "
        "failed to import: ModuleNotFoundError: No module named 'a_client_that_is_not_there'; "
        "reinstall asyncsink-toy or disable it by ASYNCSINK_DISABLED=toy"
    )


def test_a_sink_that_is_none_is_refused(install: Install) -> None:
    install("toy", sink="ToySink = dict")
    assert load_error("toy").startswith(
        "connector 'toy' from asyncsink-toy 1.2 failed to load: its sink 'asyncsink_toy.sink:ToySink' "
        "is no subclass of Sink"
    )


def test_two_distributions_with_one_name_are_both_named(install: Install) -> None:
    install("toy")
    install("Toy", distribution="someone-elses-toy")
    text = load_error("toy")
    assert text.startswith("connector 'toy' is provided by ")
    assert {"asyncsink-toy 1.2", "someone-elses-toy 1.2"} <= set(
        text.split(" is provided by ")[1].split("; ")[0].split(" and ")
    )
    assert text.endswith("; uninstall all but one of them")


def test_a_misspelt_hook_is_an_error(install: Install) -> None:
    install("toy", plugin=INFO.replace("asyncsink_connector", "asyncsink_conector"))
    assert "PluginValidationError: unknown hook 'asyncsink_conector'" in load_error("toy")


def test_a_plugin_without_the_marker_says_what_is_missing(install: Install) -> None:
    install("toy", plugin=INFO.replace("@hookimpl", ""))
    assert "gave None for a ConnectorInfo; its entry point must name a module with a function" in load_error("toy")


def test_a_newer_connector_asks_for_a_newer_core(install: Install) -> None:
    install("toy", api_version=API_VERSION + 1)
    assert load_error("toy").endswith("the connector is newer; upgrade asyncsink-core")


def test_an_older_connector_is_to_be_upgraded(install: Install) -> None:
    install("toy", api_version=API_VERSION - 1)
    assert load_error("toy").endswith("the connector is older; upgrade asyncsink-toy")


def test_an_entry_point_must_have_the_name_of_its_connector(install: Install) -> None:
    install("toy", calls_itself="robot")
    assert load_error("toy").endswith("calls itself 'robot'; give its entry point the same name")


def test_disabled_connectors_are_not_found(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    install("toy")
    install("other-toy")
    monkeypatch.setenv("ASYNCSINK_DISABLED", "x, Other_Toy")
    assert {each.name: each.disabled for each in available() if "toy" in each.name} == {"toy": False, "other-toy": True}
    assert connector_info("toy").name == "toy"
    with pytest.raises(ConnectorNotFoundError, match="is disabled by the environment variable ASYNCSINK_DISABLED"):
        connector_info("other-toy")


class ToyPlugin:
    @hookimpl
    def asyncsink_connector(self) -> ConnectorInfo:
        return ConnectorInfo("toy", f"{__name__}:Missing", f"{__name__}:Missing", API_VERSION)


@pytest.fixture
def registered() -> Iterator[None]:
    register(ToyPlugin(), "toy")
    yield
    unregister("toy")


def test_a_program_can_register_a_connector_of_its_own(install: Install, registered: None) -> None:
    install("toy", plugin="raise RuntimeError('hidden by the registered one')")
    assert connector_info("Toy").name == "toy"
    assert [each.origin for each in available() if each.name == "toy"] == ["this program"]


def test_registering_a_name_twice_is_an_error(registered: None) -> None:
    with pytest.raises(ConfigurationError, match="connector 'TOY' is registered already; call unregister"):
        register(ToyPlugin(), "TOY")


def test_unregistering_what_is_not_registered_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="connector 'nothing' is not registered"):
        unregister("nothing")


def test_a_registered_object_that_gives_no_info_names_the_program() -> None:
    register(SimpleNamespace(), "odd")
    try:
        assert load_error("odd").startswith("connector 'odd' from this program gave None for a ConnectorInfo")
    finally:
        unregister("odd")


def test_load_object_finds_names_within_names() -> None:
    assert load_object("asyncsink.plugins:ConnectorInfo") is ConnectorInfo
    assert load_object("asyncsink.failures:FailureKind.FATAL").value == "fatal"


@pytest.mark.parametrize("path", ["asyncsink.plugins", "asyncsink.plugins:", ":Name", "a b:c", "os:system('x')", ""])
def test_what_is_no_import_path_is_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is no import path; write it as 'package.module:Name'"):
        load_object(path)


def test_load_given_says_what_was_given_and_what_to_do() -> None:
    with pytest.raises(
        ConfigurationError, match=r"option 'x': 'nowhere:X' failed to import: .*; install or mend it where"
    ):
        load_given("option 'x':", "nowhere:X")


def test_load_object_names_a_module_that_lacks_the_name() -> None:
    with pytest.raises(ConfigurationError, match=r"module 'asyncsink.plugins' has no 'Nothing', which"):
        load_object("asyncsink.plugins:Nothing")


def test_load_object_names_why_a_module_does_not_import() -> None:
    with pytest.raises(
        ConfigurationError, match=r"'nowhere.at_all:X' failed to import: ModuleNotFoundError: No module"
    ):
        load_object("nowhere.at_all:X")


def test_infos_can_be_compared_and_hashed() -> None:
    first: Any = ConnectorInfo("a", "b:c", "d:e", 1)
    assert {first, ConnectorInfo("a", "b:c", "d:e", 1)} == {first}
    assert first.guarantees == ("at-least-once",)
