"""The checks of packaging look at distributions, and say what is wrong with one and where."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from packages import PLUGIN, SHIM, SINK, Package
from reference import registered, subject_of

from asyncsink_testing.conformance import Check, ConformanceError, NotApplicableError, all_checks, run_check
from asyncsink_testing.conformance.distribution import core_ranges, distribution_of

CHECKS = {each.id: each for each in all_checks() if each.group == "packaging"}


def message(package: type[Package], check: str) -> str:
    """What a check says of a broken distribution."""
    with package.installed(), pytest.raises(ConformanceError) as caught:
        run_check(CHECKS[check], subject_of(package.name))
    return str(caught.value)


@pytest.fixture(scope="module")
def good() -> Iterator[str]:
    with Package.installed():
        yield Package.name


@pytest.mark.parametrize("check", CHECKS.values(), ids=str)
def test_a_distribution_as_it_must_be_passes(check: Check, good: str) -> None:
    run_check(check, subject_of(good))


def test_a_connector_without_a_distribution_is_asked_for_its_pickle_alone() -> None:
    with registered("unpackaged", "reference:ReferenceSink"):
        run_check(CHECKS["pickles"], subject_of("unpackaged"))
        for check in CHECKS.values():
            if check.id != "pickles":
                with pytest.raises(NotApplicableError, match="no distribution to look at"):
                    run_check(check, subject_of("unpackaged"))


def test_who_imported_a_client_is_named_by_file_and_line() -> None:
    class Eager(Package):
        name = "test-eager"
        plugin = PLUGIN + "\nimport sqlite3.dbapi2\n"

    told = message(Eager, "light-discovery")
    assert "imports sqlite3, imported by " in told
    assert "asyncsink_test_eager/_plugin.py, line 8" in told


def test_what_a_shim_raises_is_told_with_what_it_met() -> None:
    class Raising(Package):
        name = "test-raising"
        shim = SHIM.replace("except Exception", "except ImportError")

    told = message(Raising, "spark-shim")
    assert "importing pyspark_asyncsink_test_raising raises (RuntimeError: RuntimeError: asyncsink" in told
    assert "ImportError: ImportError" not in told


def test_a_shim_that_exits_is_one_that_raises() -> None:
    class Exiting(Package):
        name = "test-exiting"
        shim = "import sys\nsys.exit(3)\n"

    assert "as it is: SystemExit: 3" in message(Exiting, "spark-shim")


def test_a_shim_that_stands_beside_the_distribution_is_not_part_of_it(tmp_path: Path) -> None:
    class Stray(Package):
        name = "test-stray"
        shim = None

    (tmp_path / "pyspark_asyncsink_test_stray.py").write_text(SHIM)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        assert "asyncsink-test-stray does not hold it" in message(Stray, "spark-shim")


def test_two_distributions_of_one_connector_are_both_named() -> None:
    class Other(Package):
        name = "test-other"
        entry_point = "packaged"

    with Package.installed():
        told = message_of_packaged(Other)
    assert "is provided by asyncsink-packaged 1.0 and asyncsink-test-other 1.0" in told


def message_of_packaged(other: type[Package]) -> str:
    with other.installed(), pytest.raises(ConformanceError) as caught:
        run_check(CHECKS["entry-point"], subject_of(Package.name))
    return str(caught.value)


def test_a_connector_that_nobody_provides_is_told_how_to_become_one() -> None:
    with pytest.raises(ConformanceError, match=r"no distribution has an entry point 'nobody'"):
        run_check(CHECKS["entry-point"], subject_of("nobody"))


def test_a_sink_that_cannot_be_imported_is_told_by_the_checks_that_need_it() -> None:
    class Broken(Package):
        name = "test-broken"
        sink = "import no_such_client\n" + SINK

    assert "No module named 'no_such_client'" in message(Broken, "entry-point")
    assert "the sink could not be made: ConnectorLoadError" in message(Broken, "pickles")


@pytest.mark.parametrize(
    "asked", [">=0.1,<1", "<1,>=0.1", "~=0.1", "==0.*", " (>=0.1,<1)", "[arrow]>=0.1,<1", ">=0.1,!=0.2,<1"]
)
def test_ranges_with_two_ends_pass(asked: str) -> None:
    class Ranged(Package):
        name = "test-ranged"
        requires = f"Requires-Dist: asyncsink-core{asked}"

    with Ranged.installed():
        run_check(CHECKS["core-range"], subject_of(Ranged.name))


@pytest.mark.parametrize("asked", ["", "==0.1.0", "===0.1.0", ">=0.1", "<1", '; extra == "x"'])
def test_what_is_no_range_with_two_ends_fails(asked: str) -> None:
    class Ranged(Package):
        name = "test-ranged"
        requires = f"Requires-Dist: asyncsink-core{asked}"

    assert "asyncsink-core>=0.1,<1" in message(Ranged, "core-range")


def test_only_asyncsink_core_counts_as_the_kernel() -> None:
    class Others(Package):
        name = "test-others"
        requires = "Requires-Dist: asyncsink-core-extras>=0.1,<1\nRequires-Dist: asyncsink_core>=0.2,<1; extra == 'x'"

    with Others.installed():
        assert core_ranges(distribution_of(Others.name)) == [">=0.2,<1"]
