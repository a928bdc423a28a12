"""From rows to whom they go to: what options and columns say of it, for single rows and for whole batches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from asyncsink.context import Schema
from asyncsink_http.entries.row_columns import NamedColumns
from asyncsink_http.entries.target import Target
from asyncsink_http.options import HttpOptions
from asyncsink_http.options.header_rules import (
    ASCII_HEADER_VALUE,
    CREDENTIAL_HEADERS,
    HEADER_NAME,
    OWN_HEADERS,
    is_header_value,
)
from asyncsink_http.options.request_options import METHODS
from asyncsink_http.templates.encoders import TEXT
from asyncsink_http.templates.template import Placeholder, Template
from asyncsink_http.urls import DOT_SEGMENT

if TYPE_CHECKING:
    import pyarrow as pa

Headers = tuple[tuple[str, str], ...]

_MOST_CHARACTERS: Final = 65_536  # of an address that httpx reads
_NOT_FROM_ROWS = CREDENTIAL_HEADERS | OWN_HEADERS.keys()


def default_target(options: HttpOptions) -> Target:
    """Whom rows without a target of their own go to."""
    return Target(options.method_template.literal, options.url_template.literal)


class Targets:
    """Makes the targets of rows, and refuses a row that would go where the options do not let it.

    :param options: resolved ones
    :param columns: the columns of `schema` that decide it
    :param one_row: whether a request carries one row, without which none can be a DELETE
    :raises SchemaError: a template names a column that is not there, or of a type that has no text
    """

    def __init__(self, schema: Schema | None, options: HttpOptions, columns: NamedColumns, *, one_row: bool) -> None:
        method = options.method_template if columns.method is None else _whole("method", columns.method)
        url = options.url_template if columns.url is None else _whole("url", columns.url)
        self._method, self._url = method.bound(schema), url.bound(schema)
        self._headers = {name: each.bound(schema) for name, each in options.header_templates.items()}
        self._headers_column = columns.headers
        self._allowed = None if columns.url is None else options.allowed_urls
        self._one_row = one_row
        self._has_own_key = options.idempotency_key
        self._only_ascii = options.transport == "aiohttp"

    @property
    def are_fixed(self) -> bool:
        """Whether all rows go to the target of the options."""
        return not self.columns and self._headers_column is None

    @property
    def columns(self) -> list[str]:
        """The columns of templates, each once."""
        found = (name for each in (self._method, self._url, *self._headers.values()) for name in each.columns)
        return list(dict.fromkeys(found))

    def of(self, row: Mapping[str, Any]) -> Target:
        """The target of a row.

        :raises ValueError: it cannot go where its values lead
        """
        headers = [(name, each.render(row)) for name, each in self._headers.items()]
        own = None if self._headers_column is None else row[self._headers_column]
        return self._target(self._method.render(row), self._url.render(row), headers, tuple((own or {}).items()))

    def of_batch(self, batch: pa.RecordBatch) -> tuple[list[Target], Any]:
        """The distinct targets of a batch, and for each row the index of its own; raises as :meth:`of` does."""
        from asyncsink_http.templates import columns

        names = list(self._headers)
        maps = [] if self._headers_column is None else [columns.maps(batch, self._headers_column)]
        texts = (columns.dictionary(each, batch) for each in (self._method, self._url, *self._headers.values()))
        found, indices = columns.combined([*texts, *maps])

        def target(method: str, url: str, *rest: Any) -> Target:
            own: Headers = rest[len(names)] if maps else ()
            return self._target(method, url, list(zip(names, rest[: len(names)], strict=True)), own)

        return [target(*each) for each in found], indices

    def _target(self, method: str, url: str, headers: Sequence[tuple[str, str]], own: Headers) -> Target:
        if len(url) > _MOST_CHARACTERS:
            raise ValueError(
                f"the address of the row has {len(url)} characters, and no more than {_MOST_CHARACTERS} can be sent; "
                "shorten the column, or filter such rows out"
            )
        if self._allowed is not None:
            self._check_address(url)
        elif DOT_SEGMENT.search(url.partition("?")[0]):
            raise ValueError(
                "a column makes a segment . or .. of the path of option 'url', which would lead elsewhere; filter such "
                "rows out"
            )
        return Target(self._checked_method(method), url, self._checked_headers(headers, own))

    def _check_address(self, url: str) -> None:
        assert self._allowed is not None
        try:
            self._allowed.check(url)
        except ValueError as error:
            raise ValueError(f"column 'url' cannot be used: {error}") from error

    def _checked_method(self, text: str) -> str:
        method = text.strip().upper()
        if method not in METHODS:
            raise ValueError(f"the method of the row must be {' or '.join(METHODS)}, and is {text[:20]!r}")
        if method == "DELETE" and not self._one_row:
            raise ValueError("the method of the row is DELETE, which carries no body; set body=single to send it")
        return method

    def _checked_headers(self, headers: Sequence[tuple[str, str]], own: Headers) -> Headers:
        """Those of the row and, of other names, those of templates."""
        names = {name.lower() for name, _ in own}
        for name, value in own:
            self._check_own_header(name, value)
        if len(names) < len(own):
            raise ValueError("two headers of the row have the same name; give one of them")
        merged = (*(each for each in headers if each[0].lower() not in names), *own)
        for name, value in merged:
            if not is_header_value(value):
                raise ValueError(
                    f"the row's header {name!r} holds a line break or a character beyond Latin-1, or begins or ends "
                    "with a blank, which no header can carry; clean the column, or filter such rows out"
                )
            if self._only_ascii and not ASCII_HEADER_VALUE.fullmatch(value):
                raise ValueError(
                    f"the row's header {name!r} holds a character beyond ASCII, which transport=aiohttp cannot send; "
                    "clean the column, or leave transport out"
                )
        return merged

    def _check_own_header(self, name: str, value: str | None) -> None:
        if not HEADER_NAME.fullmatch(name):
            raise ValueError("a key of column 'headers' names no header; letters, digits and - are allowed")
        if value is None:
            raise ValueError(f"the row's header {name!r} is null; leave it out of the map")
        if name.lower() in _NOT_FROM_ROWS and (name.lower() != "idempotency-key" or self._has_own_key):
            raise ValueError(
                f"the row's header {name!r} is not for rows to set; credentials and what tells of the body are set by "
                "options"
            )


def _whole(option: str, column: str) -> Template:
    """A template that is the value of a column as it is."""
    return Template(option, (Placeholder(column, TEXT),))
