"""The bulk API of Elasticsearch and OpenSearch: a line that says what to do with the document in the next one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from asyncsink.errors import ConfigurationError
from asyncsink.options.names import did_you_mean
from asyncsink_http.presets.preset import Preset, column_of, json_of

_DOCUMENTS: Final[Mapping[str, str]] = {
    "index": "\n{row}",
    "create": "\n{row}",
    "update": '\n{{"doc":{row},"doc_as_upsert":true}}',
    "delete": "",
}
"""What follows the line of each action."""


def _values(own: Mapping[str, str]) -> Mapping[str, Any]:
    action = own.get("action", "index").strip().lower()
    if action not in _DOCUMENTS:
        raise ConfigurationError(
            f"option 'preset.action' = {action!r} is not known; {did_you_mean(action, _DOCUMENTS)}"
        )
    if action in ("update", "delete") and "id" not in own:
        raise ConfigurationError(
            f"option 'preset.action' = {action!r} needs the id of a document; set preset.id to its column, as in "
            "preset.id={id}"
        )
    fields = {f"_{name}": column_of(name, own[name]) for name in ("id",) if name in own}
    fields |= {"routing": column_of("routing", own["routing"])} if "routing" in own else {}
    fields |= {"_index": json_of("index", own["index"])} if "index" in own else {}
    named = ",".join(f'"{name}":{value}' for name, value in fields.items())
    return {
        "body": "template",
        "template_row": f'{{{{"{action}":{{{{{named}}}}}}}}}{_DOCUMENTS[action]}',
        "template_separator": "\n",
        "template_suffix": "\n",
        "content_type": "application/x-ndjson",
        "item_results": "elasticsearch",
    }


ELASTICSEARCH: Final = Preset(
    r"/_bulk/?$", "https://search.example.com:9200/flights/_bulk", ("action", "id", "index", "routing"), _values
)
