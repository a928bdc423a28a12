"""Options of bodies: what is accepted, and what is refused in which words."""

from __future__ import annotations

import sys

import pytest

from asyncsink import ConfigurationError
from asyncsink_http import HttpOptions

URL = "https://api.example.com/rows"


def read(**options: str) -> HttpOptions:
    return HttpOptions.from_options({"url": URL, **options})


def test_texts_of_templates_are_taken_as_they_are() -> None:
    options = read(
        body="template",
        **{"template.prefix": " [\n", "template.separator": "\n", "template.suffix": "\t] ", "template.row": " {row}"},
    )
    assert (options.template_prefix, options.template_separator) == (" [\n", "\n")
    assert (options.template_suffix, options.template_row) == ("\t] ", " {row}")


@pytest.mark.parametrize(
    ("alias", "field"),
    [
        ("payload_prefix", "template_prefix"),
        ("batch.prefix", "template_prefix"),
        ("batch.separator", "template_separator"),
        ("payload_suffix", "template_suffix"),
        ("batch.suffix", "template_suffix"),
    ],
)
def test_other_sinks_names_are_aliases(alias: str, field: str) -> None:
    assert getattr(read(body="template", **{alias: "x"}), field) == "x"


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"template.row": "{row}", "body": "ndjson"}, "option 'template.row' says how body=template is written, and"),
        ({"template.prefix": "", "body": "single"}, "set body=template, or leave 'template.prefix' out"),
        ({"template.row": "{", "body": "template"}, "option 'template.row' holds a brace"),
        ({"template.row": "x", "body": "template"}, "option 'template.row' = 'x' has no place for anything of a row"),
        ({"compressionLevel": "3"}, "option 'compressionLevel' = 3 has nothing to work on, as compression is none"),
        ({"compressionLevel": "10", "compression": "gzip"}, "'compressionLevel' = 10 is none of gzip's levels"),
        ({"compressionLevel": "0", "compression": "zstd"}, "is none of zstd's levels, which are 1 to 22"),
        ({"compression": "brotli"}, "brotli"),
        ({"contentType": "a\nb"}, "option 'contentType' holds a line break"),
    ],
)
def test_options_that_break_their_rule_are_refused(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        read(**options)
    assert sentence in str(raised.value)


def test_a_text_of_a_template_is_refused_beside_the_default_body() -> None:
    options = read(**{"template.suffix": "]"})
    with pytest.raises(ConfigurationError, match=r"option 'template.suffix' says how body=template is written"):
        options.resolved()


def test_zstd_without_any_library_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("zstandard", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ConfigurationError, match=r"pip install 'asyncsink-http\[zstd\]', or set compression=gzip"):
        read(compression="zstd")
