"""A writer's limits are held against a service's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from asyncsink import AsyncSinkWriterConfig, ConfigurationError
from asyncsink_aws.service_limits import check_at_most


def test_a_limit_beyond_the_services_is_refused_by_field_option_value_and_remedy() -> None:
    config = replace(AsyncSinkWriterConfig(), max_batch_size=501)
    with pytest.raises(ConfigurationError) as caught:
        check_at_most(config, "max_batch_size", 500, "records a request", service="Kinesis")
    assert str(caught.value) == (
        "max_batch_size (option maxBatchSize) = 501 is more than Kinesis takes, 500 records a request; set it to 500 "
        "or less"
    )


def test_a_limit_of_the_service_itself_is_taken() -> None:
    config = replace(AsyncSinkWriterConfig(), max_batch_size=500)
    check_at_most(config, "max_batch_size", 500, "records a request", service="Kinesis")
