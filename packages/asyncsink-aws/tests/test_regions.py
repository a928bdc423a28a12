"""Which region a client is for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from asyncsink import ConfigurationError
from asyncsink_aws import AwsOptions
from asyncsink_aws.client import connect
from asyncsink_aws.regions import region_of as region_of_session
from asyncsink_aws.sessions import session_for

pytestmark = pytest.mark.usefixtures("no_aws")


@dataclass(frozen=True, kw_only=True)
class OptionsWithArn(AwsOptions):
    @property
    def default_region(self) -> str | None:
        return self.region or "sa-east-1"


def region_of(options: AwsOptions) -> str:
    return region_of_session(options, session_for(options)).name


def write_config(home: Path, text: str) -> None:
    (home / ".aws").mkdir()
    (home / ".aws" / "config").write_text(text)


def test_without_any_region_the_error_names_the_four_places() -> None:
    with pytest.raises(ConfigurationError) as raised:
        region_of(AwsOptions())
    for place in (
        "set option 'region', such as eu-west-1",
        "by its ARN",
        "AWS_REGION",
        "in the profile where tasks run",
    ):
        assert place in str(raised.value)


def test_the_option_goes_before_the_arn_the_environment_and_the_profile(
    no_aws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_config(no_aws, "[default]\nregion = eu-south-1\n[profile team]\nregion = eu-north-1\n")
    assert region_of(AwsOptions()) == "eu-south-1"
    assert region_of(AwsOptions(profile="team")) == "eu-north-1"
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")
    assert region_of(AwsOptions(profile="team")) == "us-west-2"
    monkeypatch.setenv("AWS_REGION", "us-west-1")
    assert region_of(AwsOptions()) == "us-west-1"
    assert region_of(OptionsWithArn()) == "sa-east-1"
    assert region_of(OptionsWithArn(region="eu-west-1")) == "eu-west-1"


def test_a_profile_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigurationError, match="option 'profile' = 'team' is not in the shared configuration"):
        region_of(AwsOptions(profile="team"))
    monkeypatch.setenv("AWS_PROFILE", "other")
    with pytest.raises(ConfigurationError, match=r"profile 'other' \(of AWS_PROFILE\) is not in the shared config"):
        region_of(AwsOptions())


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("given", "variables", "sentence"),
    [
        ({"region": "eu-west1"}, {}, r"option 'region' = 'eu-west1' is no region of AWS; did you mean 'eu-west-\d'\?"),
        ({"region": "moon"}, {}, "option 'region' = 'moon' is no region of AWS; write for example eu-west-1"),
        ({}, {"AWS_REGION": "eu-west1"}, "^AWS_REGION = 'eu-west1' is no region of AWS"),
        ({}, {"AWS_DEFAULT_REGION": "eu-west1"}, "^AWS_DEFAULT_REGION = 'eu-west1' is no region of AWS"),
        ({}, {}, "^region of profile 'default' = 'mars' is no region of AWS"),
        ({"profile": "team"}, {}, "^region of profile 'team' = 'venus' is no region of AWS"),
        (
            {"region": "moon"},
            {"AWS_ENDPOINT_URL": "http://localhost:1", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
            "option 'region' = 'moon' is no region of AWS",
        ),
    ],
)
async def test_a_region_that_aws_cannot_have_is_refused(
    no_aws: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, str],
    variables: dict[str, str],
    sentence: str,
) -> None:
    write_config(no_aws, "[default]\nregion = mars\n[profile team]\nregion = venus\n")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=sentence):
        async with connect(AwsOptions.from_options(given), "kinesis", max_in_flight=1):
            raise AssertionError("there is a client")


@pytest.mark.anyio
async def test_a_region_of_an_arn_is_named_as_such() -> None:
    @dataclass(frozen=True, kw_only=True)
    class OnTheMoon(AwsOptions):
        @property
        def default_region(self) -> str | None:
            return "moon"

    with pytest.raises(ConfigurationError, match=r"^the region of the stream's ARN = 'moon' is no region of AWS"):
        async with connect(OnTheMoon(), "kinesis", max_in_flight=1):
            raise AssertionError("there is a client")


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("variable", "config"),
    [
        ("AWS_ENDPOINT_URL", ""),
        ("AWS_ENDPOINT_URL_KINESIS", ""),
        (None, "[default]\nendpoint_url = http://localhost:4566\n"),
        (None, "[default]\nservices = local\n[services local]\nkinesis =\n  endpoint_url = http://localhost:4566\n"),
    ],
)
async def test_a_region_need_not_be_awss_where_another_endpoint_is_configured(
    no_aws: Path, monkeypatch: pytest.MonkeyPatch, variable: str | None, config: str
) -> None:
    write_config(no_aws, config)
    if variable is not None:
        monkeypatch.setenv(variable, "http://localhost:4566")
    async with connect(AwsOptions(region="local"), "kinesis", max_in_flight=1) as client:
        assert client.meta.endpoint_url == "http://localhost:4566"
