"""The layouts as the README shows them."""

from __future__ import annotations

import re
from pathlib import Path

from asyncsink_dynamic_kafka.metadata.layout import read_layout
from asyncsink_dynamic_kafka.metadata.parsing import parse_json, parse_yaml

README = (Path(__file__).parents[2] / "README.md").read_text()


def shown(language: str) -> bytes:
    """The one example in that language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)
    return str(found).encode()


def test_both_layouts_say_the_same() -> None:
    document = read_layout(parse_yaml(shown("yaml")))
    assert document == read_layout(parse_json(shown("json")))
    clusters = document.streams["orders"].cluster_metadata_map
    assert {name: set(each.topics) for name, each in clusters.items()} == {
        "blue": {"orders", "orders-large"},
        "green": {"orders"},
    }
    assert [document.is_active(name) for name in clusters] == [True, False]
    assert clusters["green"].properties == {"bootstrap.servers": "green-1:9093", "security.protocol": "SSL"}
