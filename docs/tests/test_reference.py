"""The pages of options and of settings say what the code does, row by row."""

from __future__ import annotations

import re

import pytest

from asyncsink import OptionInfo, WriterOptions, parse_options
from asyncsink.plugins import available, load_options

from .scripts import DOCS, reference_script

SAMPLES = {"string": "text", "integer": "7", "number": "1.5", "boolean": "true", "duration": "30", "size": "4096"}
"""By type."""

ROLE = "arn:aws:iam::123456789012:role/writer"
OWN_SAMPLES = {
    "path": "/data/rows",
    "url": "http://127.0.0.1:1/",
    "bootstrapServers": "127.0.0.1:1",
    "partitioner": "sticky",
    "streamArn": "arn:aws:kinesis:eu-west-1:123456789012:stream/rows",
    "deliveryStream": "rows",
    "endpoint": "http://127.0.0.1:1",
    "stsEndpoint": "http://127.0.0.1:1",
    "proxy": "http://127.0.0.1:1",
    "credentialsProvider": "auto",
    "customCredentials": "package.module:Class",
    "roleArn": ROLE,
    "method": "PUT",
    **dict.fromkeys(("successCodes", "ignoreCodes", "retryCodes", "throttleCodes"), "418"),
    "oauth2.tokenUrl": "http://127.0.0.1:1/token",
}
"""Of options that take only some texts, and of those that a connector cannot do without."""

ONE_CLUSTER = {
    "streamIds": "orders",
    "metadataService": "single-cluster",
    "metadataService.clusterId": "blue",
    "bootstrapServers": OWN_SAMPLES["bootstrapServers"],
}
"""What the sink to streams is made of."""

OAUTH2 = {key: OWN_SAMPLES.get(key, "text") for key in ("oauth2.tokenUrl", "oauth2.clientId", "oauth2.clientSecret")}
KEYS, PROXY = {"accessKeyId": "id", "secretAccessKey": "secret"}, {"proxy": OWN_SAMPLES["proxy"]}
BESIDE: dict[str, dict[str, str]] = {
    **dict.fromkeys(("accessKeyId", "secretAccessKey", "sessionToken"), KEYS),
    **{key: {"roleArn": ROLE} for key in ("roleSessionName", "roleExternalId", "stsEndpoint", "webIdentityTokenFile")},
    "proxyUsername": {**PROXY, "proxyPassword": "secret"},
    "proxyPassword": {**PROXY, "proxyUsername": "anne"},
    "transactionalIdPrefix": {"deliveryGuarantee": "exactly-once"},
    "username": {"password": "secret"},
    "password": {"username": "anne"},
    **{f"oauth2.{key}": OAUTH2 for key in ("tokenUrl", "clientId", "clientSecret", "scope", "refreshBefore")},
    "tls.keyFile": {"tls.certificateFile": "/keys/client.pem"},
    **{key: {"packing": "rows"} for key in ("packedRecordSize", "packedRecordRows")},
}
"""What has to be given with an option."""


def rows() -> list[tuple[str, OptionInfo, str]]:
    """Every alias of every option: connector, option, alias."""
    return [
        (each.name, row, alias)
        for each in available()
        for row in (*load_options(each.name).describe(), *WriterOptions.describe())
        for alias in row.aliases
    ]


def read(connector: str, option: str, key: str, value: str) -> object:
    """What the two sections make of one option by one of its names, beside those that have to be there."""
    options = load_options(connector)
    required = {row.name: OWN_SAMPLES[row.name] for row in options.describe() if row.default == "required"}
    if connector == "kinesis" and option not in ("streamName", "streamArn"):
        required["streamName"] = "rows"  # the one or the other
    if connector == "dynamic_kafka":
        required |= ONE_CLUSTER
    beside = {**required, **BESIDE.get(option, {})}
    beside.pop(option, None)
    return parse_options({**beside, key: value}, options, WriterOptions)


def test_the_page_is_what_the_generator_makes() -> None:
    made = reference_script("generate").page()
    page = (DOCS / "reference" / "options.md").read_text()
    assert page == made, "run: python docs/reference/generate.py"


def test_the_page_of_kafkas_settings_is_what_its_generator_makes() -> None:
    made = reference_script("kafka_settings").page()
    page = (DOCS / "reference" / "kafka-settings.md").read_text()
    assert page == made, "run: python docs/reference/kafka_settings.py"


def test_the_page_has_every_connector_of_the_repository() -> None:
    # The generator knows those that are installed: run where none is, it would make a page without options.
    page = (DOCS / "reference" / "options.md").read_text()
    folders = [each.parent.name for each in (DOCS.parent / "connectors").glob("*/pyproject.toml")]
    names = [each.replace("-", "_") for each in folders]
    assert names
    assert [name for name in names if f"\n## asyncsink.{name}\n" not in page] == []


@pytest.mark.parametrize(("connector", "row", "alias"), rows(), ids=lambda value: getattr(value, "name", value))
def test_an_alias_reads_as_its_option(connector: str, row: OptionInfo, alias: str) -> None:
    name, unit = re.fullmatch(r"(\S+)(?: \((\w+)\))?", alias).groups()  # type: ignore[union-attr]
    sample = OWN_SAMPLES.get(row.name) or SAMPLES.get(row.type, row.type.split(" | ")[-1])
    if row.type == "prefix":
        aliased, plain = (read(connector, row.name, f"{each}X-Sample", "a") for each in (name, row.name))
        assert aliased == plain
        return
    written = "30000" if unit == "ms" else sample
    assert read(connector, row.name, name, written) == read(connector, row.name, row.name, sample)
