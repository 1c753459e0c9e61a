"""A page or an answer of the API in the forms in which memory serves it: plain, zipped, not modified."""

import gzip
from dataclasses import dataclass
from typing import Protocol

from shop.http.compression import takes_gzip
from shop.http.public_answers import CACHE_CONTROL
from web.wsgi_request import RawAnswer

# The end of the ETag of a zipped page.
ZIPPED = "-gzip"


class Headers(Protocol):
    """The headers of a request, by names in lower case."""

    def get(self, key: str, /) -> str | None: ...


@dataclass(slots=True)
class Shell:
    """One page, or one answer of the API."""

    plain: RawAnswer
    zipped: RawAnswer
    # Each names the ETag that the client has: by another one, a cache does not find what it has (RFC 9111, 4.3.4).
    not_modified: RawAnswer
    zipped_not_modified: RawAnswer
    # A part of each of its ETags; empty for a redirect.
    tag_part: str
    rendered_s: float
    # By the monotonic clock: until then it is served, and Django is not asked again.
    ask_again_s: float

    def answer(self, headers: Headers) -> RawAnswer:
        known = headers.get("if-none-match")
        if known and self.tag_part and (self.tag_part in known or known == "*"):
            return self.zipped_not_modified if f"{self.tag_part}{ZIPPED}" in known else self.not_modified
        return self.zipped if takes_gzip(headers.get("accept-encoding")) else self.plain


def page_shell(answer: RawAnswer, *, rendered_s: float, ask_again_s: float) -> Shell:
    status, headers, body = answer = plain_of(answer)
    values = dict(headers)
    digest = values.get("ETag", "").strip('"')
    if not digest:
        return Shell(answer, answer, answer, answer, "", rendered_s, ask_again_s)
    rest = [(name, value) for name, value in headers if name not in ("ETag", "Vary")]
    rest.append(("Vary", "Accept-Encoding"))
    zipped = gzip.compress(body, compresslevel=5, mtime=0)
    tag, zipped_tag = ("ETag", f'"{digest}"'), ("ETag", f'"{digest}{ZIPPED}"')
    known = [("Cache-Control", CACHE_CONTROL), ("Vary", "Accept-Encoding")]
    return Shell(
        plain=(status, [*rest, tag], body),
        zipped=(status, [*rest, zipped_tag, ("Content-Encoding", "gzip")], zipped),
        not_modified=(304, [tag, *known], b""),
        zipped_not_modified=(304, [zipped_tag, *known], b""),
        tag_part=digest,
        rendered_s=rendered_s,
        ask_again_s=ask_again_s,
    )


# The headers of an answer that its 304 has not.
NOT_IN_304 = {"Content-Type", "Content-Encoding", "Allow", "Link", "Total-Count"}


def answer_shell(answer: RawAnswer, *, rendered_s: float, ask_again_s: float) -> Shell:
    """Of an answer that Django gave to a client that takes gzip; it does not zip short ones."""
    _status, headers, _body = answer
    values = dict(headers)
    tag = values["ETag"].removeprefix("W/")
    vary = [name for name in values["Vary"].split(", ") if name != "Accept-Encoding"]
    of_304 = {"ETag": tag, "Vary": ", ".join(vary)}
    # Django's names the same tag, weak or not.
    not_modified = 304, [(name, of_304.get(name, value)) for name, value in headers if name not in NOT_IN_304], b""
    return Shell(
        plain=plain_of(answer),
        zipped=answer,
        not_modified=not_modified,
        zipped_not_modified=not_modified,
        tag_part=tag,
        rendered_s=rendered_s,
        ask_again_s=ask_again_s,
    )


def plain_of(answer: RawAnswer) -> RawAnswer:
    """The answer without zipping, and with the ETag that it has then."""
    status, headers, body = answer
    values = dict(headers)
    if "Content-Encoding" not in values:
        return answer
    text = gzip.decompress(body)
    tag = values["ETag"].removeprefix("W/")
    of_plain = ((name, tag if name == "ETag" else value) for name, value in headers if name != "Content-Encoding")
    return status, list(of_plain), text


def is_for_all(answer: RawAnswer) -> bool:
    return not any(name == "Set-Cookie" for name, _value in answer[1])


def may_be_kept(answer: RawAnswer) -> bool:
    """A public page, or the home page's redirect, which is kept under the language that it leads to."""
    status, headers, _body = answer
    public = status == 200 and dict(headers).get("Cache-Control") == CACHE_CONTROL
    return is_for_all(answer) and (public or status == 302)
