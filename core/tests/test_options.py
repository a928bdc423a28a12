from __future__ import annotations

import pickle
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, nan
from typing import Any, ClassVar, Literal

import pytest

from asyncsink.errors import ConfigurationError
from asyncsink.options import Alias, ConnectorOptions, OptionInfo, option, parse_options


@dataclass(frozen=True, kw_only=True, slots=True)
class ToyOptions(ConnectorOptions):
    refused: ClassVar[Mapping[str, str]] = {"toy.legacy-mode": "the toy has one mode; leave it out"}

    url: str = option(doc="Where the toy is.", aliases=["http.url"])
    api_token: str | None = option(None, doc="Who may play.", secret=True, aliases=["auth.token"])
    headers: Mapping[str, str] = option(doc="Headers.", prefix="header.", aliases=["http.sink.header."])
    header_timeout: int | None = option(None, name="header.timeout", doc="An option that a prefix would match.")
    body: Literal["json-array", "ndjson"] = option("ndjson", doc="Shape.")
    level: str = option("low", doc="How much.", choices=["low", "high"])
    compress: bool = option(False, doc="Whether to compress.")
    share: float = option(0.5, doc="A share.")
    tries: int = option(3, doc="Tries.")
    connect_timeout_s: float = option(
        5.0, doc="Patience.", unit="s", aliases=[Alias("connectTimeoutMS", unit="ms"), Alias("toy.wait", unit="ms")]
    )
    chunk: int = option(1024, doc="Bytes a chunk.", unit="bytes")

    def __post_init__(self) -> None:
        if self.tries > 9:
            raise ConfigurationError(f"tries = {self.tries} must be at most 9")


@dataclass(frozen=True, kw_only=True)
class OtherOptions(ConnectorOptions):
    max_speed: int = option(1, doc="Speed.")


def toy(**options: str) -> ToyOptions:
    return ToyOptions.from_options({"url": "u", **{name.replace("__", "."): text for name, text in options.items()}})


def message(options: Mapping[str, str], *sections: type[ConnectorOptions]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        parse_options(options, *(sections or (ToyOptions,)))
    return str(caught.value)


@pytest.mark.parametrize(
    "key", ["connectTimeout", "connecttimeout", "connect-timeout", "connect_timeout", "CONNECT_TIMEOUT"]
)
def test_keys_compare_without_case_dash_and_underscore(key: str) -> None:
    assert ToyOptions.from_options({"url": "u", key: "7"}).connect_timeout_s == 7.0


def test_dots_in_keys_count() -> None:
    assert "'connect.timeout' is not known" in message({"url": "u", "connect.timeout": "7"})


def test_defaults_hold_where_nothing_is_given() -> None:
    options = ToyOptions.from_options({"url": "u"})
    assert (options.url, options.api_token, options.headers, options.body) == ("u", None, {}, "ndjson")
    assert (options.compress, options.share, options.tries, options.connect_timeout_s) == (False, 0.5, 3, 5.0)


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("http.url", "v", "url", "v"),
        ("auth.token", "t", "api_token", "t"),
        ("body", "JSON_ARRAY", "body", "json-array"),
        ("level", " High ", "level", "high"),
        ("compress", "True", "compress", True),
        ("compress", "false", "compress", False),
        ("share", "0.25", "share", 0.25),
        ("tries", "9", "tries", 9),
        ("header.timeout", "4", "header_timeout", 4),
        ("connectTimeout", "500ms", "connect_timeout_s", 0.5),
        ("connectTimeoutMS", "500", "connect_timeout_s", 0.5),
        ("toy.wait", "2 s", "connect_timeout_s", 2.0),
        ("connectTimeout", "inf", "connect_timeout_s", inf),
        ("chunk", "4mb", "chunk", 4 << 20),
    ],
)
def test_text_is_read_by_the_type_of_the_field(key: str, text: str, field: str, value: object) -> None:
    options = {"url": "u"} | {key: text} if key != "http.url" else {key: text}
    read = getattr(ToyOptions.from_options(options), field)
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "expected"),
    [
        ("body", "xml", "option 'body' = 'xml' must be 'json-array' or 'ndjson'"),
        ("compress", "yes", "option 'compress' = 'yes' must be true or false"),
        ("tries", "many", "option 'tries' = 'many' must be a whole number"),
        ("tries", "1.5", "option 'tries' = '1.5' must be a whole number"),
        ("share", "half", "option 'share' = 'half' must be a number"),
        ("share", "nan", "option 'share' = nan must be a number"),
        (
            "Connect-Timeout",
            "soon",
            "option 'Connect-Timeout' = 'soon' must be a duration such as 500ms, 5s, 1min or 2h",
        ),
        ("connectTimeout", "-1", "option 'connectTimeout' = -1.0 must be 0 or more"),
        ("chunk", "1.3b", "option 'chunk' = '1.3b' must be a size of whole bytes such as 4096, 64k, 4mb or 1g"),
        ("tries", "10", "tries = 10 must be at most 9"),
    ],
)
def test_an_unreadable_value_is_named_with_what_was_expected(key: str, text: str, expected: str) -> None:
    assert message({"url": "u", key: text}) == expected


def test_a_missing_required_option_is_named_with_its_doc() -> None:
    assert message({}) == "option 'url' is missing: Where the toy is."


def test_an_unknown_option_names_the_nearest_of_all_sections() -> None:
    assert message({"url": "u", "maxSped": "1"}, ToyOptions, OtherOptions).endswith("did you mean 'maxSpeed'?")
    assert message({"url": "u", "urll": "1"}, ToyOptions, OtherOptions).endswith("did you mean 'url'?")


def test_an_unknown_option_without_a_near_one_lists_them_all() -> None:
    assert message({"qqqqqq": "1"}, OtherOptions) == "option 'qqqqqq' is not known; known are maxSpeed"


def test_a_refused_name_says_what_to_use() -> None:
    expected = "option 'Toy.LegacyMode' is not supported: the toy has one mode; leave it out"
    assert message({"url": "u", "Toy.LegacyMode": "1"}) == expected


@pytest.mark.parametrize("key", ["path", "checkpointLocation", "checkpointlocation", "queryName", "outputMode", "sink"])
def test_options_that_belong_to_spark_are_ignored(key: str) -> None:
    assert ToyOptions.from_options({"url": "u", key: "x"}) == ToyOptions(url="u")


def test_two_spellings_with_the_same_value_do_no_harm() -> None:
    assert toy(connectTimeout="5", connectTimeoutMS="5000", connect_timeout="5s").connect_timeout_s == 5.0


def test_two_spellings_with_different_values_are_both_named() -> None:
    expected = (
        "options 'connectTimeout' = 5.0 and 'toy.wait' = 6.0 are two names of 'connectTimeout' with different values; "
        "give one of them"
    )
    assert message({"url": "u", "connectTimeout": "5", "toy.wait": "6000"}) == expected


def test_a_prefix_collects_every_key_that_starts_with_it() -> None:
    options = ToyOptions.from_options(
        {"url": "u", "header.X-Api-Key": "k", "HTTP.sink.header.a.b": "c", "header.timeout": "4"}
    )
    assert options.headers == {"X-Api-Key": "k", "a.b": "c"}
    assert options.header_timeout == 4


def test_a_prefix_with_nothing_behind_it_is_an_error() -> None:
    assert "names nothing after its prefix; write for example 'header.name'" in message({"url": "u", "header.": "x"})


def test_one_name_under_two_prefixes_must_have_one_value() -> None:
    assert toy(header__a="1", http__sink__header__A="1").headers == {"a": "1"}
    text = message({"url": "u", "header.a": "1", "http.sink.header.A": "2"})
    assert text.startswith("options 'header.a' = '1' and 'http.sink.header.A' = '2' are two names")


def test_several_sections_share_one_mapping() -> None:
    own, other = parse_options({"url": "u", "maxSpeed": "4"}, ToyOptions, OtherOptions)
    assert own == ToyOptions(url="u")
    assert other == OtherOptions(max_speed=4)


def test_a_name_that_two_sections_claim_is_a_bug_of_their_authors() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Rival(ConnectorOptions):
        velocity: int = option(1, doc="Speed.", aliases=["max-speed"])

    with pytest.raises(TypeError, match=r"'max-speed' names .*Rival.velocity and OtherOptions.max_speed; rename one"):
        parse_options({}, OtherOptions, Rival)


def test_of_takes_typed_values_and_makes_whole_numbers_floats() -> None:
    options = ToyOptions.of(url="u", connect_timeout_s=5, headers={"a": "b"}, compress=True)
    assert type(options.connect_timeout_s) is float
    assert options == ToyOptions(url="u", connect_timeout_s=5.0, headers={"a": "b"}, compress=True)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "option 'url' is missing: Where the toy is."),
        ({"url": "u", "heders": {}}, "option 'heders' is not known; did you mean 'headers'?"),
        (
            {"url": "u", "connectTimeoutS": 1},
            "option 'connectTimeoutS' is not known; did you mean 'connect_timeout_s'?",
        ),
        ({"url": 3}, "option 'url' = 3 of type int must be a string"),
        ({"url": None}, "option 'url' = None must be a string"),
        ({"url": "u", "tries": True}, "option 'tries' = True of type bool must be a whole number"),
        ({"url": "u", "tries": 1.0}, "option 'tries' = 1.0 of type float must be a whole number"),
        ({"url": "u", "compress": 1}, "option 'compress' = 1 of type int must be True or False"),
        ({"url": "u", "share": nan}, "option 'share' = nan must be a number"),
        (
            {"url": "u", "connect_timeout_s": "5s"},
            "option 'connect_timeout_s' = '5s' of type str must be a number of seconds",
        ),
        ({"url": "u", "connect_timeout_s": -1}, "option 'connect_timeout_s' = -1.0 must be 0 or more"),
        ({"url": "u", "chunk": 1.5}, "option 'chunk' = 1.5 of type float must be a whole number of bytes"),
        ({"url": "u", "body": "xml"}, "option 'body' = 'xml' must be 'json-array' or 'ndjson'"),
        (
            {"url": "u", "headers": {"a": 1}},
            "option 'headers' = {'a': 1} of type dict must be a mapping of strings to strings",
        ),
    ],
)
def test_of_names_what_is_wrong(values: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ToyOptions.of(**values)
    assert str(caught.value) == expected


def test_of_copies_a_mapping_so_that_its_caller_cannot_change_it() -> None:
    headers = {"a": "b"}
    options = ToyOptions.of(url="u", headers=headers)
    headers["a"] = "c"
    assert options.headers == {"a": "b"}


def test_repr_never_shows_a_secret() -> None:
    options = ToyOptions.of(url="u", api_token="s3cret")
    assert "api_token='***'" in repr(options)
    assert "url='u'" in str(options)
    assert "s3cret" not in f"{options!r} {options}"
    assert "api_token=None" in repr(ToyOptions.of(url="u"))


@pytest.mark.parametrize(
    "options",
    [
        {"url": "u", "apiToken": "s3cret", "auth.token": "other-s3cret"},
        {"url": "u", "apiToken": "s3cret", "unknown": "x"},
        {"apiToken": "s3cret"},
    ],
)
def test_no_error_shows_a_secret(options: dict[str, str]) -> None:
    assert "s3cret" not in message(options)


def test_a_secret_of_the_wrong_type_is_not_shown() -> None:
    with pytest.raises(ConfigurationError, match=r"option 'api_token' = '\*\*\*' of type bytes must be a string"):
        ToyOptions.of(url="u", api_token=b"s3cret")


def test_the_fingerprint_covers_every_value_and_shows_none() -> None:
    base = ToyOptions.of(url="u", api_token="one")
    others = [
        ToyOptions.of(url="v", api_token="one"),
        ToyOptions.of(url="u", api_token="two"),
        ToyOptions.of(url="u"),
        ToyOptions.of(url="u", api_token="one", headers={"a": "b"}),
    ]
    assert len({each.fingerprint() for each in (base, *others)}) == 5
    assert base.fingerprint() == ToyOptions.from_options({"apiToken": "one", "url": "u"}).fingerprint()
    assert "one" not in base.fingerprint()
    assert len(base.fingerprint()) == 64


def test_the_fingerprint_does_not_depend_on_the_order_of_a_mapping() -> None:
    first, second = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"})
    assert ToyOptions.of(url="u", headers=first).fingerprint() == ToyOptions.of(url="u", headers=second).fingerprint()


def test_options_survive_pickling() -> None:
    options = ToyOptions.of(url="u", api_token="t", headers={"a": "b"})
    assert pickle.loads(pickle.dumps(options)) == options


def test_describe_gives_a_row_for_each_option() -> None:
    rows = {row.name: row for row in ToyOptions.describe()}
    assert [*rows][:5] == ["url", "apiToken", "header.", "header.timeout", "body"]
    assert rows["url"] == OptionInfo("url", ("http.url",), "string", "required", None, "Where the toy is.", False)
    assert rows["connectTimeout"].aliases == ("connectTimeoutMS (ms)", "toy.wait (ms)")
    assert rows["connectTimeout"].unit == "s"
    assert [
        rows[name].type for name in ("connectTimeout", "chunk", "body", "compress", "share", "tries", "header.")
    ] == [
        "duration",
        "size",
        "json-array | ndjson",
        "boolean",
        "number",
        "integer",
        "prefix",
    ]
    assert [rows[name].default for name in ("compress", "apiToken", "header.", "chunk")] == ["false", "", "", "1024"]
    assert rows["apiToken"].secret


def test_a_section_that_is_no_frozen_dataclass_is_refused() -> None:
    class Bare(ConnectorOptions):
        size: int = 1

    with pytest.raises(TypeError, match=r"Bare must be decorated with @dataclass\(frozen=True, kw_only=True\)"):
        Bare.describe()


def test_a_field_without_option_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Plain(ConnectorOptions):
        size: int = 1

    with pytest.raises(TypeError, match=r"Plain.size must be declared with option\(...\)"):
        Plain.describe()


def test_a_type_that_cannot_be_read_is_refused() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Odd(ConnectorOptions):
        sizes: tuple[int, ...] = option(doc="Sizes.")

    with pytest.raises(TypeError, match=r"Odd.sizes is of type tuple\[int, \.\.\.\]"):
        Odd.describe()


def test_a_prefix_must_end_with_a_dot() -> None:
    with pytest.raises(TypeError, match=r"prefix 'header' of an option must end with a dot"):
        option(doc="Headers.", prefix="header")


@dataclass(frozen=True, kw_only=True)
class LendingOptions(ConnectorOptions):
    lent: ClassVar[Mapping[str, Alias]] = {"connectTimeout": Alias("lent.wait", unit="ms"), "chunk": Alias("lent.size")}


def test_a_section_may_name_options_of_another_that_is_read_with_it() -> None:
    given = {"url": "u", "lent.wait": "250", "lent.size": "2k"}
    for sections in ((LendingOptions, ToyOptions), (ToyOptions, LendingOptions)):
        found = {type(each): each for each in parse_options(given, *sections)}
        assert (found[ToyOptions].connect_timeout_s, found[ToyOptions].chunk) == (0.25, 2048)
    assert "'lent.wait' is not known" in message({"lent.wait": "250"}, LendingOptions)
    assert "'lent.wait' is not known" in message(given, ToyOptions)


def test_an_alias_that_is_lent_may_not_be_another_options_name() -> None:
    @dataclass(frozen=True, kw_only=True)
    class Clumsy(ConnectorOptions):
        lent: ClassVar[Mapping[str, Alias]] = {"maxSpeed": Alias("url")}

    with pytest.raises(TypeError, match=r"'url' names OtherOptions.max_speed and ToyOptions.url; rename one"):
        parse_options({"url": "u"}, ToyOptions, Clumsy, OtherOptions)


@pytest.mark.parametrize("key", ["alowComplete", "allow-complet"])
def test_a_slip_in_the_doors_own_option_is_known_too(key: str) -> None:
    assert message({"url": "u", key: "true"}) == f"option {key!r} is not known; did you mean 'allowComplete'?"


def test_the_doors_own_option_is_never_its_own_remedy() -> None:
    assert "allowComplete" not in message({"url": "u", "allowcomplete": "true"})


@dataclass(frozen=True, kw_only=True)
class TranslatedOptions(ConnectorOptions):
    brokers: str = option(doc="Where to begin.")

    @classmethod
    def translated(cls, options: Mapping[str, str]) -> Mapping[str, str]:
        names = {"old.brokers": "brokers", "old.speed": "maxSpeed"}
        return {names.get(name, name): text.removeprefix("old:") for name, text in options.items()}


@pytest.mark.parametrize("sections", [(TranslatedOptions, OtherOptions), (OtherOptions, TranslatedOptions)])
def test_a_section_translates_what_it_and_others_read(sections: tuple[type[ConnectorOptions], ...]) -> None:
    read = parse_options({"old.brokers": "old:here", "old.speed": "7"}, *sections)
    assert sorted(map(repr, read)) == ["OtherOptions(max_speed=7)", "TranslatedOptions(brokers='here')"]
    assert TranslatedOptions.from_options({"old.brokers": "there"}).brokers == "there"
