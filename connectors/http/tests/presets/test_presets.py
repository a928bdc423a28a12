"""Presets: what they set, what users set besides, and what contradicts them."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pyarrow as pa
import pytest

from asyncsink import Column, ConfigurationError, Schema, SchemaError
from asyncsink_http import HttpOptions
from asyncsink_http.bodies.payloads import RowPayloads, payloads_of
from asyncsink_http.bodies.row_template import row_template

BULK = "https://search.example.com:9200/flights/_bulk"
HEC = "https://splunk.example.com:8088/services/collector/event"
ROW = {"id": 7, "city": 'a"{b}', "at": 1.5}


def read(preset: str, **options: str) -> HttpOptions:
    own = {name.replace("__", "."): text for name, text in options.items()}
    url = BULK if preset == "elasticsearch" else HEC
    return HttpOptions.from_options({"url": url, "preset": preset, **own})


def lines_of(options: HttpOptions) -> list[Any]:
    """What becomes of a row, each line read as JSON."""
    text = row_template(options.resolved().template_row).render({**ROW, "row": json.dumps(ROW)})
    return [json.loads(line) for line in text.split("\n")]


@pytest.mark.parametrize(
    ("options", "action", "document"),
    [
        ({}, {"index": {}}, ROW),
        ({"preset__id": "{id}"}, {"index": {"_id": 7}}, ROW),
        ({"preset__action": "Create", "preset__index": "a{b"}, {"create": {"_index": "a{b"}}, ROW),
        (
            {"preset__index": "{city}", "preset__routing": "{city}"},
            {"index": {"_index": ROW["city"], "routing": ROW["city"]}},
            ROW,
        ),
        (
            {"preset__action": "update", "preset__id": "{id}"},
            {"update": {"_id": 7}},
            {"doc": ROW, "doc_as_upsert": True},
        ),
    ],
)
def test_elasticsearch_has_a_line_for_the_action_and_one_for_the_document(
    options: dict[str, str], action: object, document: object
) -> None:
    assert lines_of(read("elasticsearch", **options)) == [action, document]


def test_elasticsearch_deletes_by_the_id_alone() -> None:
    assert lines_of(read("elasticsearch", preset__action="delete", preset__id="{id}")) == [{"delete": {"_id": 7}}]


def test_splunk_has_an_event_with_what_it_is_indexed_by() -> None:
    assert lines_of(read("splunk-hec")) == [{"event": ROW}]
    options = read("splunk-hec", preset__time="{at}", preset__host="{city}", preset__sourcetype='_"json')
    assert lines_of(options) == [{"event": ROW, "time": 1.5, "host": ROW["city"], "sourcetype": '_"json'}]
    resolved = options.resolved()
    assert (resolved.authorization_scheme, resolved.item_results) == ("Splunk", "splunk-hec")


def schema_of(**columns: str) -> Schema:
    return Schema(tuple(Column(name, kind) for name, kind in columns.items()))


def payloads(preset: str, schema: Schema, **options: str) -> RowPayloads:
    return payloads_of(read(preset, **options).resolved(), schema, ("body", "value"))


@pytest.mark.parametrize("text", ['{"a":1}} {"event":2', '{"a":1', "a", '{"a":1} {}', "\ufeff1"])
def test_a_payload_that_is_ready_is_one_value_of_json(text: str) -> None:
    found = payloads("splunk-hec", schema_of(body="string"))
    assert found.of({"body": '{"a":1}'}) == b'{"event":{"a":1}}'
    for convert in (lambda: found.of({"body": text}), lambda: found.column_of(pa.record_batch({"body": [text]}))):
        with pytest.raises(ValueError, match="the payload is no JSON value, and this preset writes it into a JSON"):
            convert()


def test_a_document_without_its_id_is_refused_as_each_sending_would_make_another() -> None:
    found = payloads("elasticsearch", schema_of(ID="string", at="int"), preset__id="{id}")
    batch = pa.RecordBatch.from_pydict({"ID": ["x", None], "at": pa.array([1, 2], pa.int32())})
    assert found.of(batch.to_pylist()[0]).startswith(b'{"index":{"_id":"x"}}\n')
    assert found.column_of(batch.slice(0, 1)).to_pylist() == [found.of(batch.to_pylist()[0])]
    for convert in (lambda: found.of(batch.to_pylist()[1]), lambda: found.column_of(batch)):
        with pytest.raises(ValueError, match=r"column 'ID' cannot be written into option 'template\.row': it is null"):
            convert()


@pytest.mark.parametrize("kind", ["timestamp", "timestamp_ntz", "date", "boolean", "binary", "array<int>"])
def test_a_time_of_splunk_is_a_number(kind: str) -> None:
    with pytest.raises(SchemaError, match=f"column 'At' is of type {kind}, and option 'preset.time' has a place for"):
        payloads("splunk-hec", schema_of(At=kind, text="string"), preset__time="{at}")
    for number in ("double", "bigint", "decimal(16,6)", "string"):
        found = payloads("splunk-hec", schema_of(At=number), preset__time="{at}")
        assert found.of({"At": 2}).endswith(b',"time":2}')


def test_what_the_user_sets_counts_before_the_preset() -> None:
    options = read("elasticsearch", contentType="application/json", itemResults="company.bulk:read").resolved()
    assert (options.content_type, options.item_results) == ("application/json", "company.bulk:read")
    assert (options.body, options.template_separator, options.template_suffix) == ("template", "\n", "\n")
    assert pickle.loads(pickle.dumps(options)) == options
    assert options.resolved() == options


@pytest.mark.parametrize("spelling", ["Preset.ID", "preset.id"])
def test_names_compare_without_case(spelling: str) -> None:
    options = HttpOptions.from_options({"url": BULK, "preset": "elasticsearch", spelling: "{id}"})
    assert lines_of(options)[0] == {"index": {"_id": 7}}


@pytest.mark.parametrize(
    ("preset", "options", "sentence"),
    [
        ("elasticsearch", {"preset__ids": "{id}"}, "option 'preset.ids' is not known; did you mean 'id'?"),
        ("elasticsearch", {"preset__action": "upsert"}, "option 'preset.action' = 'upsert' is not known"),
        (
            "elasticsearch",
            {"preset__action": "update"},
            "'update' needs the id of a document; set preset.id to its column",
        ),
        ("elasticsearch", {"preset__id": "id"}, "write the name of its column in braces, as in {id}"),
        ("splunk-hec", {"preset__time": "now"}, "option 'preset.time' = 'now' differs from row to row"),
        (
            "elasticsearch",
            {"preset__index": "flights-{city}"},
            "option 'preset.index' = 'flights-{city}' has a column within a text, and is either of them; make a column",
        ),
        ("splunk-hec", {"preset__host": "{city}.example.com"}, "and write its name in braces, as in {host}"),
        (
            "splunk-hec",
            {"preset__host": "web", "template__row": '{{"event":{row}}}'},
            "option 'preset.host' would do nothing beside 'template.row'",
        ),
        ("splunk-hec", {"body": "ndjson"}, "option 'body' = 'ndjson' contradicts preset=splunk-hec; leave one"),
        (
            "elasticsearch",
            {"url": "https://search.example.com/flights"},
            "is no address of preset=elasticsearch; write",
        ),
        (
            "splunk-hec",
            {"url": "https://splunk.example.com/services/collector/raw"},
            "is no address of preset=splunk-hec",
        ),
        ("kibana", {}, "option 'preset' = 'kibana' must be 'elasticsearch' or 'splunk-hec'"),
    ],
)
def test_what_contradicts_a_preset_is_refused(preset: str, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(preset, **options)
    assert sentence in str(raised.value)


def test_what_a_preset_does_needs_a_preset() -> None:
    with pytest.raises(ConfigurationError, match=r"option 'preset\.id' is given without 'preset'; set preset to"):
        HttpOptions.from_options({"url": BULK, "preset.id": "{id}"})
