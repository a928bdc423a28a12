"""The distribution: how it is found, what that costs, and what it must carry."""

from __future__ import annotations

from asyncsink_testing.conformance.check import check
from asyncsink_testing.conformance.distribution import (
    core_ranges,
    distribution_of,
    probed,
    providers,
    shim_of,
)
from asyncsink_testing.conformance.trial import Trial


@check("entry-point", since="0.1")
async def entry_point(trial: Trial) -> None:
    """One installed distribution provides the connector, under one name, and its sink and options load.

    Looks at the entry points of the group ``asyncsink``, and in a fresh Python at what the one of this name gives. Its
    name must be that of ``ConnectorInfo``, letter by letter, ``sink`` must name a ``Sink``, and ``options`` the
    ``ConnectorOptions`` that this sink takes. What fails is usually a path that was not renamed with its module: look
    at ``[project.entry-points.asyncsink]`` in ``pyproject.toml`` and at the module that it names.
    """
    distribution_of(trial.subject.connector)
    found = providers(trial.subject.connector)
    if len(found) > 1:
        origins = " and ".join(each.origin for each in found)
        trial.fail(f"connector {trial.subject.connector!r} is provided by {origins}: give one of them another name")
    answer = probed(trial).answer
    error = answer["discovery"]["error"] or answer["loading"]["error"]
    if error:
        trial.fail(f"the entry point of {found[0].origin} gives no connector in a fresh Python: {error}")
    called = answer["discovery"]["info"]["name"]
    if called != found[0].name:
        trial.fail(
            f"the entry point is called {found[0].name!r} and ConnectorInfo.name is {called!r}: messages, metrics and "
            "documents would name one connector in two ways; write them alike"
        )


@check("light-discovery", since="0.1")
async def light_discovery(trial: Trial) -> None:
    """Finding the connector imports neither PySpark, Arrow, NumPy and pandas nor its own client library.

    ``connector_info(name)`` is called in a fresh Python; none of these modules and none of
    ``Capabilities.client_modules`` may have been imported by then. Whoever lists connectors would pay for them, with
    seconds and with the errors of libraries that are not needed. Look at the module of the entry point and at the
    ``__init__`` of its package: import the client where it is used, and name sink and options by their paths.
    """
    distribution_of(trial.subject.connector)
    discovery = probed(trial).answer["discovery"]
    if discovery["error"]:
        trial.fail(f"the connector cannot be found in a fresh Python: {discovery['error']}")
    if discovery["imported"]:
        told = "; ".join(f"{name}, imported by {where}" for name, where in discovery["imported"].items())
        trial.fail(
            f"finding the connector imports {told}. The module of the entry point and the packages above it must "
            "import nothing but asyncsink.plugins: import the rest in the module of the sink, or where it is used"
        )


@check("spark-shim", since="0.1")
async def spark_shim(trial: Trial) -> None:
    """The distribution has a module ``pyspark_asyncsink_<name>``, and importing it never raises.

    It is imported in a fresh Python as it is, and again where all that it imports raises ``ImportError``, and then
    ``RuntimeError``. Spark imports every top-level module named ``pyspark_*`` without a guard: one that raises hides
    all Python data sources of a session, those of other distributions too. Put everything but ``from __future__ import
    annotations`` under ``try`` and ``except Exception``, and make sure that the wheel holds the module.
    """
    distribution = distribution_of(trial.subject.connector)
    module = shim_of(trial.subject.connector)
    shim = probed(trial).answer["shim"]
    if not shim["found"]:
        why = f" ({shim['error']})" if shim["error"] else ""
        trial.fail(
            f"there is no module {module}{why}, so Spark does not know format('asyncsink.{trial.subject.connector}'): "
            f"add {module}.py beside the package, and to the files of the wheel"
        )
    files = [str(each) for each in distribution.files or [] if each.suffix == ".py"]
    # An editable installation lists none of its modules.
    if files and f"{module}.py" not in files and f"{module}/__init__.py" not in files:
        trial.fail(f"{module} can be imported here, and {distribution.name} does not hold it: add it to the wheel")
    if shim["raised"]:
        told = "; ".join(f"{what}: {error}" for what, error in shim["raised"].items())
        trial.fail(
            f"importing {module} raises ({told}). Spark imports it without a guard, and an error there hides every "
            "Python data source of the session: put all of it under try and `except Exception as error`"
        )


@check("typed", since="0.1")
async def typed(trial: Trial) -> None:
    """The package carries ``py.typed``.

    Looks for it in the package of the path that ``ConnectorInfo.sink`` names. Without it type checkers take everything
    that the package exports for ``Any``. It usually stands in the sources and not in the wheel.
    """
    distribution_of(trial.subject.connector)
    found = probed(trial).answer["typed"]
    if found is None:
        trial.fail("the connector cannot be found in a fresh Python, so its package is not known")
    if not found["marked"]:
        trial.fail(
            f"package {found['package']} has no file py.typed, so type checkers ignore its annotations (PEP 561): add "
            "an empty one beside its __init__.py, and to the files of the wheel; a single module needs a package"
        )


@check("pickles", since="0.1")
async def pickles(trial: Trial) -> None:
    """A sink that was made of options survives pickling, into another process too, with its fingerprint.

    Spark pickles the sink on the driver and unpickles it in every task; tasks whose sinks have equal fingerprints share
    a client. What breaks it is usually something made in ``__init__`` that belongs into ``connect`` or ``converter``:
    a client, a lock, an open file, a function without a name. Look also at a ``__getstate__`` or ``__reduce__`` that
    leaves an option out.
    """
    seen = probed(trial)
    if seen.unpicklable is not None:
        trial.fail(
            f"{seen.unpicklable}. A sink is a description: what cannot be pickled is made in connect() or converter()"
        )
    there = seen.answer["unpickled"]
    if there["error"]:
        trial.fail(f"a fresh Python cannot unpickle the sink: {there['error']}; its class must be importable by name")
    if there["of"] != seen.fingerprint:
        trial.fail(
            f"the sink, a {there['kind']}, has another fingerprint once it is unpickled elsewhere: pickling has lost "
            "or changed an option, or the fingerprint is made of what differs from process to process, such as hash()"
        )


@check("core-range", since="0.1", level="optional")
async def core_range(trial: Trial) -> None:
    """The distribution asks for a range of versions of asyncsink-core, with two ends.

    Looks at what its metadata require. A pinned version (``==``) cannot be installed beside another connector, no upper
    end lets the next major version break those who have installed it, and no lower one lets them have what never ran.
    Write ``asyncsink-core>=0.1,<1`` into ``dependencies``.
    """
    distribution = distribution_of(trial.subject.connector)
    ranges = core_ranges(distribution)
    if not ranges:
        trial.fail(f"{distribution.name} does not require asyncsink-core: add 'asyncsink-core>=0.1,<1' to dependencies")
    for each in ranges:
        if _is_range(each):
            return
    trial.fail(
        f"{distribution.name} requires asyncsink-core {ranges[0] or 'in any version'}, which is no range with two "
        "ends: write 'asyncsink-core>=0.1,<1', with the versions that it was tested with"
    )


def _is_range(text: str) -> bool:
    clauses = [each.strip() for each in text.split(",")]
    from_below = any(each.startswith(">") for each in clauses)
    from_above = any(each.startswith("<") for each in clauses)
    return (from_below and from_above) or any(each.startswith("~=") or _is_family(each) for each in clauses)


def _is_family(clause: str) -> bool:
    return clause.startswith("==") and clause.endswith(".*")
