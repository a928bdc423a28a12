"""The page on the AWS post's connector shows what stands in its file, no longer than the post's; and it works."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from asyncsink.plugins import ConnectorInfo, hookimpl, register, unregister
from asyncsink_testing import Capabilities, SinkConformance
from asyncsink_testing.aws import KinesisDestination

TUTORIAL = Path(__file__).resolve().parents[1] / "tutorial"
PAGE = (TUTORIAL / "the-aws-posts-connector.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
APPLY, SUBMIT, TABLE, PROGRAM, SPARK = BLOCKS
OF_THE_POST = {"apply": 7, "submit_request_entries": 34}
"""Lines of the two methods in Java, blank ones and comments with them."""


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where botocore looks for them first."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")


@pytest.mark.parametrize("block", [APPLY, SUBMIT, TABLE], ids=["apply", "submit", "errors"])
def test_what_the_page_shows_of_the_sink_stands_in_its_file(block: str) -> None:
    assert block in (TUTORIAL / "simple_kinesis" / "simple_kinesis.py").read_text()


@pytest.mark.parametrize(("name", "block"), [("apply", APPLY), ("submit_request_entries", SUBMIT)])
def test_neither_method_is_longer_than_the_posts(name: str, block: str) -> None:
    assert f"def {name}(" in block
    assert block.count("\n") <= OF_THE_POST[name]


class Plugin:
    @hookimpl
    def asyncsink_connector(self) -> ConnectorInfo:
        sink, options = "simple_kinesis:SimpleKinesisSink", "simple_kinesis:SimpleKinesisOptions"
        return ConnectorInfo(name="simple-kinesis", sink=sink, options=options, api_version=1)


@pytest.fixture(scope="module", autouse=True)
def registered() -> Iterator[None]:
    register(Plugin(), "simple-kinesis")
    yield
    unregister("simple-kinesis")


# aiohttp hands more than a megabyte over in one go and says so, in a warning that Python hides unless it is asked.
@pytest.mark.filterwarnings("ignore:Sending a large body directly with raw bytes:ResourceWarning")
class TestSimpleKinesis(SinkConformance):
    connector = "simple-kinesis"
    capabilities = Capabilities(
        guarantee="at-least-once",
        ordering="none",
        partial_failure=True,
        atomic_requests=False,
        idempotent=False,
        rejects_entries=True,
        retry_after=False,
        keeps_state=True,
        commits=False,
        max_batch_entries=500,
        max_batch_bytes=5 << 20,
        max_record_bytes=1 << 20,
        client_modules=("aiobotocore", "botocore", "aiohttp"),
    )
    tuning: ClassVar = {**SinkConformance.tuning, "requestTimeout": "2s"}

    @pytest.fixture
    def destination(self) -> object:
        return KinesisDestination.opened

    @pytest.fixture
    def sink_options(self) -> Mapping[str, str]:
        return {"stream": "{stream}", "region": "{region}", "endpoint": "{endpoint}"}

    def row(self, payload: Any) -> Mapping[str, Any]:
        """An event is a dictionary, and its string Python's way to write one."""
        found: Mapping[str, Any] = ast.literal_eval(payload.decode())
        return found
