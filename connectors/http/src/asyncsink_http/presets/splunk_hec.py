"""Splunk's HTTP event collector: events one behind another, each with what it is indexed by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from asyncsink_http.presets.preset import Preset, column_of, json_of


def _values(own: Mapping[str, str]) -> Mapping[str, Any]:
    fields = {"event": "{row}"}
    if "time" in own:
        fields["time"] = column_of("time", own["time"])
    fields |= {name: json_of(name, own[name]) for name in ("host", "index", "source", "sourcetype") if name in own}
    named = ",".join(f'"{name}":{value}' for name, value in fields.items())
    return {
        "body": "template",
        "template_row": f"{{{{{named}}}}}",
        "template_separator": "\n",
        "content_type": "application/json",
        "item_results": "splunk-hec",
        "authorization_scheme": "Splunk",
    }


SPLUNK_HEC: Final = Preset(
    r"/services/collector(/event)?(/1\.0)?/?$",
    "https://splunk.example.com:8088/services/collector/event",
    ("host", "index", "source", "sourcetype", "time"),
    _values,
)
