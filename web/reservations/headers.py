"""Learns the headers of the views' answers, and the language that a client gets.

Gate and hot lane make bodies and take status and headers from here, so the work of the middleware is not repeated: a
view gives the first answer of each kind to calls with the same context, and the next answers copy its headers.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from seckill.outcomes import Outcome
from shop.http.problems import CONTENT_TYPE
from shop.http.request_log import HEADER as REQUEST_ID
from web.reservations.calls import OF_SIGNED_IN, Context, Kind, OrdinaryCall
from web.wsgi_request import RawAnswer

# Their values differ between answers of one template.
VALUES = {"ETag", "Location", "Retry-After"}
# The web server writes the length of a body, and each answer of a view has an id of its own.
NOT_KEPT = {"Content-Length", REQUEST_ID}
# Figures, and 304 for clients that have them.
LIVE, NOT_MODIFIED = "live", "not_modified"
# A pass, the status of a reservation, or what is personal on a page. The hot lane gives these.
GIVEN = "given"
# Clients choose the headers that make a context. Longer ones are not remembered; with more, all are learnt again.
CONTEXT_LENGTH_MAX = 300
CONTEXTS_MAX = 1_000
# Answers with these headers are meant for one client, or encoded for it: other clients must not get them.
UNREPEATABLE = {"Set-Cookie", "Content-Encoding"}


@dataclass(frozen=True, slots=True)
class HeaderTemplate:
    """An answer of a view without its body and without the values of some headers."""

    status: int
    headers: tuple[tuple[str, str], ...]
    # Where the headers stand whose values differ.
    places: Mapping[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        places = {name: place for place, (name, _value) in enumerate(self.headers) if name in VALUES}
        object.__setattr__(self, "places", places)


def template_of(status: int, headers: Iterable[tuple[str, str]]) -> HeaderTemplate:
    kept = ((name, "" if name in VALUES else value) for name, value in headers if name not in NOT_KEPT)
    return HeaderTemplate(status, tuple(kept))


def answer_of(template: HeaderTemplate, body: bytes, values: dict[str, str]) -> RawAnswer:
    """The answer with this body, and with these values of headers."""
    headers, places = list(template.headers), template.places
    for name, value in values.items():
        if (place := places.get(name)) is not None:
            headers[place] = name, value
    return template.status, headers, body


@dataclass(frozen=True, slots=True)
class Rendered:
    """A body with its headers' values, to be given until `until_s`; and the whole answers, by template."""

    until_s: float
    body: bytes
    values: dict[str, str]
    # By the identity of the template: hashing all headers takes longer. It is kept here, so it stays the only one.
    answers: dict[int, tuple[HeaderTemplate, RawAnswer]] = field(default_factory=dict)

    def answer(self, template: HeaderTemplate, *, empty: bool = False) -> RawAnswer:
        """The answer in this template; `empty`: without the body. The same object each time, so leave it as it is."""
        kept = self.answers.get(id(template))
        if kept is None:
            kept = self.answers[id(template)] = template, answer_of(template, b"" if empty else self.body, self.values)
        return kept[1]


@dataclass(frozen=True, slots=True)
class LearntHeaders:
    """The answers in one context: the language, and the templates by kind of call and word."""

    language: str
    templates: Mapping[tuple[Kind, str], HeaderTemplate] = field(default_factory=dict)


class ViewAnswers:
    """Used by the event loop and by many threads. Entries are replaced as a whole, so no thread sees half of one."""

    def __init__(self) -> None:
        self._known: dict[Context, LearntHeaders] = {}
        self._templates: dict[HeaderTemplate, HeaderTemplate] = {}

    def find(self, context: Context) -> LearntHeaders | None:
        return self._known.get(context)

    def learn(self, call: OrdinaryCall, answer: RawAnswer) -> None:
        """Remember the template of a view's answer to the call."""
        status, header_list, body = answer
        headers = dict(header_list)
        language = headers.get("Content-Language")
        if language is None or is_long(call.context) or not UNREPEATABLE.isdisjoint(headers):
            return
        word = word_of(call.kind, status, headers, body)
        if word is None:
            return
        if len(self._known) >= CONTEXTS_MAX:
            self._known, self._templates = {}, {}
        template = template_of(status, header_list)
        # One object for equal ones, so that the gate has few to render.
        template = self._templates.setdefault(template, template)
        known = self._known.get(call.context, LearntHeaders(language))
        self._known[call.context] = LearntHeaders(language, {**known.templates, (call.kind, word): template})


def is_long(context: Context) -> bool:
    """Whether the context is too long to be remembered."""
    return len("".join(filter(None, context))) > CONTEXT_LENGTH_MAX


def word_of(kind: Kind, status: int, headers: dict[str, str], body: bytes) -> str | None:
    """The word for a view's answer; None for answers that only views give."""
    if kind is Kind.RESERVATION:
        return outcome_of(status, headers, body)
    if kind in OF_SIGNED_IN:
        return {201: GIVEN, 200: GIVEN}.get(status)
    return {200: LIVE, 304: NOT_MODIFIED}.get(status)


def outcome_of(status: int, headers: dict[str, str], body: bytes) -> Outcome | None:
    """Which outcome the view answered with; None if the view did not ask the store."""
    if status == 201:
        return Outcome.ALREADY_RESERVED if "Idempotent-Replayed" in headers else Outcome.RESERVED
    if headers.get("Content-Type") != CONTENT_TYPE:
        return None
    content = json.loads(body)
    outcome = next((outcome for outcome in Outcome if outcome == content["code"]), None)
    # Other problems have the code `unavailable` too, but not the store's time.
    return outcome if outcome is not None and "server_time" in content else None
