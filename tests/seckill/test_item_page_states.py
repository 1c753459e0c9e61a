"""What the sale page shows of one item, event by event: `item_state.js` as a table, in an engine without a page.

The stock beside it, `item_stock.js`, too.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import quickjs

SCRIPTS = Path(__file__).parents[2] / "seckill" / "static" / "seckill"

OPENS_MS, CLOSES_MS = 100_000, 200_000
NOW_MS = 150_000

BOUGHT = {"status_url": "/api/v1/reservations/1/", "units": 2, "expires_at": "2026-01-01T12:15:00Z"}
OTHER = {**BOUGHT, "status_url": "/api/v1/reservations/2/"}

State = dict[str, Any]
Event = dict[str, Any]


class Script:
    """The functions that the modules export, called with what JSON can say."""

    def __init__(self) -> None:
        self._engine = quickjs.Context()
        for name in ("item_buttons.js", "item_state.js", "item_stock.js"):
            script = re.sub(r"^import .*$", "", (SCRIPTS / name).read_text(), flags=re.MULTILINE)
            self._engine.eval(script.replace("export ", ""))

    def __call__(self, function: str, *arguments: object) -> Any:
        return json.loads(self._engine.eval(f"JSON.stringify({function}(...{json.dumps(arguments)}))"))

    def value(self, expression: str) -> Any:
        return json.loads(self._engine.eval(f"JSON.stringify({expression})"))


@pytest.fixture(scope="module")
def script() -> Script:
    return Script()


def state_of(script: Script, **changed: object) -> State:
    """The state of a page that was just opened, in an open sale of which a buyer may have three, with these changes."""
    fresh = script("initialState", {"availability": "available", "paused": False, "max": 3})
    assert changed.keys() <= fresh.keys()
    return {**fresh, **changed}


def in_step(script: Script, step: str) -> State:
    """A state as it is in this step."""
    fields: Mapping[str, Mapping[str, object]] = {
        "idle": {},
        "scheduled": {"units": 2, "message": {"tone": "scheduled", "kind": "scheduled", "units": 2}},
        "reserving": {"units": 2},
        "reserved": {"units": 2, "reservation": BOUGHT, "message": {"tone": "reserved", "kind": "reserved"}},
    }
    return state_of(script, step=step, **fields[step])


def refusal(code: str) -> State:
    return {"code": code, "atMs": NOW_MS}


def message(tone: str, kind: str = "refused", **more: object) -> State:
    return {"tone": tone, "kind": kind, **more}


def refused(code: str) -> State:
    return {"refusal": refusal(code), "message": message("refused", code=code)}


def on(kind: str, **fields: object) -> Event:
    return {"type": kind, **fields}


def live(
    availability: str, *, left: int | None = 0, phase: str = "open", per_buyer_max: int = 3, **event: object
) -> Event:
    answer = {"availability": availability, "phase": phase, "left": left, "per_buyer_max": per_buyer_max}
    return on("live", **{"live": answer, "askedMs": NOW_MS + 1, "nowMs": NOW_MS + 2, "units": 1, **event})


def answered(code: str, **body: object) -> Event:
    return on("answered", ok=False, code=code, body=body, nowMs=NOW_MS)


def loaded(**changed: object) -> Event:
    fields = {"phase": "open", "sinceOpeningMs": 1, "reservation": None, "unanswered": False, "waitingFor": 0}
    return on("loaded", **{**fields, **changed})


def followed(status: State | None, **changed: object) -> Event:
    return on("followed", **{"reservation": BOUGHT, "quietly": False, "status": status, **changed})


def bought(detail: str, **changed: object) -> State:
    """What a buyer hears of a reservation."""
    told = {"detail": detail, "units": 2, "expires_at": BOUGHT["expires_at"]}
    return message("reserved", "reserved", **{**told, **changed})


ACCEPTED = on("answered", ok=True, body=BOUGHT, nowMs=NOW_MS)

PLACE = {"place": 3, "units": 1, "note": "Wait.", "status_url": "/api/v1/reservations/3/"}
IN_LINE = message("wait", "waiting", place=3, units=1, note="Wait.")

# Each event in each step, and the step that follows. A dash: it cannot come in this step.
STEPS = ("idle", "scheduled", "reserving", "reserved")
TABLE: list[tuple[Event, str]] = [
    (on("pressed", phase="upcoming", units=1), "scheduled  idle       reserving  scheduled"),
    (on("pressed", phase="open", units=1), "reserving  scheduled  reserving  reserving"),
    (on("pressed", phase="paused", units=1), "idle       idle       reserving  reserved"),
    (on("pressed", phase="ended", units=1), "idle       scheduled  reserving  reserved"),
    (on("units_chosen", units=1), "idle       scheduled  reserving  reserved"),
    (on("turn_came"), "idle       reserving  reserving  reserved"),
    (loaded(), "idle       -          -          -"),
    (loaded(reservation=BOUGHT), "reserved   -          -          -"),
    (loaded(unanswered=True), "reserving  -          -          -"),
    (loaded(unanswered=True, reservation=BOUGHT), "reserved   -          -          -"),
    (loaded(waitingFor=2, phase="upcoming"), "scheduled  -          -          -"),
    (loaded(waitingFor=2, sinceOpeningMs=9_999), "reserving  -          -          -"),
    (loaded(waitingFor=2, sinceOpeningMs=10_000), "idle       -          -          -"),
    (loaded(waitingFor=2, phase="paused"), "scheduled  -          -          -"),
    (loaded(waitingFor=2, phase="paused", sinceOpeningMs=10_000), "scheduled  -          -          -"),
    (loaded(waitingFor=2, phase="ended"), "idle       -          -          -"),
    (on("sent"), "-          -          reserving  -"),
    (on("retrying", attempt=1), "-          -          reserving  -"),
    (ACCEPTED, "-          -          reserved   -"),
    (answered("sold_out"), "-          -          idle       -"),
    (on("found", reservation=BOUGHT), "-          -          reserved   -"),
    (on("pass_refused", status=403, code="x", hasText=False), "-          idle       idle       -"),
    (on("pass_refused", code="closed", hasText=True), "-          idle       idle       -"),
    (on("gave_up", unanswered=True, nowMs=NOW_MS), "-          -          idle       -"),
    (on("gave_up", unanswered=False, nowMs=NOW_MS), "-          -          idle       -"),
    (on("failed"), "-          -          idle       -"),
    (followed({"status": "awaiting_payment"}), "idle       scheduled  reserving  reserved"),
    (followed({"status": "expired"}), "idle       scheduled  reserving  idle"),
    (followed({"status": "lost", "code": "x"}), "idle       scheduled  reserving  idle"),
    (followed(None), "idle       scheduled  reserving  idle"),
    (followed({"status": "signed_out"}), "idle       scheduled  reserving  reserved"),
    (followed(None, reservation=OTHER), "idle       scheduled  reserving  reserved"),
    (on("room_changed", room="called"), "idle       scheduled  reserving  reserved"),
    (on("had", units=1, changes=0), "idle       scheduled  reserving  reserved"),
    (on("hold_seen", hold=BOUGHT), "idle       scheduled  reserving  reserved"),
    (on("heard", limit=None), "idle       scheduled  reserving  reserved"),
    (live("sold_out"), "idle       scheduled  reserving  reserved"),
    (live("available", phase="paused"), "idle       scheduled  reserving  reserved"),
    (on("join_pressed"), "idle       -          -          -"),
    (on("joined", place=PLACE), "idle       -          -          -"),
    (on("join_refused", code="line_full", body={}, nowMs=NOW_MS), "idle       -          -          -"),
    (on("place_seen", place=PLACE), "idle       scheduled  reserving  reserved"),
    (on("leave_pressed"), "idle       scheduled  reserving  reserved"),
    (on("place_kept"), "idle       scheduled  reserving  reserved"),
    (on("left_line"), "idle       scheduled  reserving  reserved"),
    (on("place_lost"), "idle       scheduled  reserving  reserved"),
    (on("place_hidden"), "idle       scheduled  reserving  reserved"),
    (on("line_ended", place=PLACE), "idle       scheduled  reserving  reserved"),
]


def test_the_table_has_every_event(script: Script) -> None:
    assert {event["type"] for event, _ in TABLE} == set(script.value("Object.keys(EVENTS)"))


def test_each_event_leads_from_step_to_step(script: Script) -> None:
    states = {step: in_step(script, step) for step in STEPS}
    for event, row in TABLE:
        for step, then in zip(STEPS, row.split(), strict=True):
            if then != "-":
                assert script("next", states[step], event)["step"] == then, (step, event)


def test_the_phase_follows_the_clock_and_a_pause_before_the_opening_leaves_the_buyer_the_choice_to_wait(
    script: Script,
) -> None:
    for paused, now_ms, phase, for_buyer in (
        (False, OPENS_MS - 1, "upcoming", "upcoming"),
        (False, OPENS_MS, "open", "open"),
        (False, CLOSES_MS - 1, "open", "open"),
        (False, CLOSES_MS, "ended", "ended"),
        (True, OPENS_MS - 1, "paused", "upcoming"),
        (True, OPENS_MS, "paused", "paused"),
        (True, CLOSES_MS, "ended", "ended"),
    ):
        state, times = state_of(script, paused=paused), {"nowMs": now_ms, "opensMs": OPENS_MS, "closesMs": CLOSES_MS}
        assert (script("phaseOf", state, times), script("buyerPhase", state, times)) == (phase, for_buyer), (
            paused,
            now_ms,
        )


NO_MORE = {"remaining": 0, "max": 3}


# What is special about an idle page, and its phase: what the button says, and whether it is off.
BUTTONS: list[tuple[State, str, str, bool]] = [
    ({}, "upcoming", "schedule", False),
    ({}, "open", "reserve", False),
    ({}, "paused", "paused", True),
    ({}, "ended", "ended", True),
    ({"step": "scheduled"}, "upcoming", "scheduled", False),
    ({"step": "scheduled"}, "paused", "scheduled", False),
    ({"step": "scheduled"}, "open", "reserving", True),
    ({"step": "reserving"}, "open", "reserving", True),
    ({"step": "reserving"}, "ended", "reserving", True),
    ({"step": "reserved"}, "open", "more", False),
    ({"step": "reserved"}, "paused", "paused", True),
    ({"step": "reserved"}, "ended", "ended", True),
    ({"step": "reserved", "availability": "sold_out"}, "open", "sold_out", True),
    ({"step": "reserved", "availability": "held_by_others"}, "open", "more", True),
    ({"retryable": True}, "open", "retry", False),
    ({"availability": "sold_out"}, "open", "sold_out", True),
    ({"availability": "sold_out"}, "upcoming", "schedule", False),
    ({"availability": "held_by_others"}, "open", "reserve", False),
    ({"availability": "unavailable"}, "open", "reserve", False),
    ({"limit": NO_MORE}, "open", "limit_reached", True),
    ({"limit": NO_MORE, "availability": "sold_out"}, "open", "sold_out", True),
    ({"room": "waiting"}, "upcoming", "not_called", True),
    ({"room": "waiting"}, "open", "not_called", True),
    ({"room": "waiting", "retryable": True}, "open", "not_called", True),
    ({"room": "waiting"}, "paused", "paused", True),
    ({"room": "waiting"}, "ended", "ended", True),
    ({"room": "waiting", "availability": "sold_out"}, "open", "sold_out", True),
    ({"room": "waiting", "limit": NO_MORE}, "open", "limit_reached", True),
    ({"room": "waiting", "step": "reserving"}, "open", "reserving", True),
    ({"room": "waiting", "step": "reserved"}, "open", "more", False),
    ({"room": "called"}, "open", "reserve", False),
    ({"room": "called"}, "upcoming", "not_called", True),
]


def test_the_button_says_what_a_press_will_do(script: Script) -> None:
    for changed, phase, text, off in BUTTONS:
        state = state_of(script, **changed)
        assert script("buttonOf", state, phase) == {"text": text, "off": off, "hidden": False}, (changed, phase)
        if off:
            assert script("next", state, on("pressed", phase=phase, units=1)) == state, (changed, phase)


# The same of the button of the waiting list; None: it is hidden.
LINE_BUTTONS: list[tuple[State, str, tuple[str, bool] | None]] = [
    ({"line": None, "availability": "sold_out"}, "open", None),
    ({"availability": "available"}, "open", None),
    ({"availability": "unavailable"}, "open", None),
    ({"availability": "sold_out"}, "open", ("join", False)),
    ({"availability": "held_by_others"}, "open", ("join", False)),
    ({"availability": "held_by_others"}, "paused", None),
    ({"availability": "held_by_others"}, "ended", None),
    ({"availability": "held_by_others", "limit": NO_MORE}, "open", None),
    ({"availability": "held_by_others", "step": "reserving"}, "open", None),
    ({"availability": "held_by_others", "step": "reserved"}, "open", None),
    ({"availability": "held_by_others", "step": "reserved", "message": bought("order_ready")}, "open", None),
    ({"availability": "sold_out", "step": "reserved", "message": bought("paid")}, "open", ("join", False)),
    ({"availability": "held_by_others", "line": "joining"}, "open", ("joining", True)),
    ({"availability": "held_by_others", "line": "waiting"}, "open", ("leave", False)),
    ({"availability": "available", "line": "waiting"}, "paused", ("leave", False)),
    ({"availability": "held_by_others", "line": "leaving"}, "open", ("leave", True)),
]


def test_the_button_of_the_waiting_list_is_there_for_what_cannot_be_reserved(script: Script) -> None:
    for changed, phase, shown in LINE_BUTTONS:
        button = script("lineButtonOf", state_of(script, **{"line": "none", **changed}), phase)
        found = None if button["hidden"] else (button["text"], button["off"])
        assert found == shown, (changed, phase)


def test_a_waiting_buyer_sees_the_button_only_where_units_are_left_for_others(script: Script) -> None:
    for availability, phase, hidden in (
        ("held_by_others", "open", True),
        ("sold_out", "open", True),
        ("available", "paused", True),
        ("available", "open", False),
    ):
        for line in ("waiting", "leaving"):
            state = state_of(script, line=line, availability=availability)
            assert script("buttonOf", state, phase)["hidden"] == hidden, (availability, phase, line)


def test_a_buyer_who_has_all_sees_no_button(script: Script) -> None:
    assert script("buttonOf", state_of(script, step="reserved", limit=NO_MORE), "open")["hidden"]


def test_a_reservation_is_open_paid_or_ended(script: Script) -> None:
    for kind, statuses in {
        "open": "reserved awaiting_payment",
        "paid": "paid shipped completed",
        "ended": "expired cancelled rejected refund_due refunded lost",
    }.items():
        for status in statuses.split():
            found = (script("isPaid", status), script("hasEnded", status))
            assert found == (kind == "paid", kind == "ended"), status


def test_a_session_that_has_ended_is_told_from_other_refusals(script: Script) -> None:
    for status, code, signed_out in (
        (401, "authentication_failed", True),
        (403, "not_authenticated", True),
        (403, "csrf_failed", False),
        (404, "not_found", False),
    ):
        answer = {"ok": False, "status": status, "code": code}
        assert script("isSignedOut", answer) == signed_out, code
    assert not script("isSignedOut", {"ok": True, "status": 200})


def test_a_pass_that_can_still_be_had_before_the_opening_is_not_refused_for_good(script: Script) -> None:
    times = {"nowMs": OPENS_MS - 50_000, "opensMs": OPENS_MS}
    for code, retry_after, for_good in (
        ("mail_not_confirmed", None, True),
        ("proof_needed", None, True),
        ("proof_refused", None, False),
        ("too_early", 40, False),
        ("account_too_new", 49, False),
        ("account_too_new", 50, True),
        ("unpaid_too_often", 3600, True),
    ):
        refused = {"code": code, "body": {"retry_after": retry_after} if retry_after else {}}
        assert script("isRefusedForGood", refused, times) == for_good, (code, retry_after)


def test_these_refusals_may_be_tried_again(script: Script) -> None:
    for code in ("held_by_others", "too_few_left", "paused", "hold_ended"):
        assert script("next", in_step(script, "reserving"), answered(code))["retryable"], code


KNOWN = {"limitIsKnown": True}
REFUSED_BY_PAUSE = {"refusal": refusal("paused"), "retryable": True, "message": message("refused")}
WITHOUT_UNITS = {"refusal": refusal("held_by_others"), "retryable": True, "message": message("refused")}
AT_THE_LIMIT = {"refusal": refusal("limit_reached"), "message": message("refused", code="limit_reached")}
UNITS_CAME_BACK = {"refusal": refusal("units_back"), "message": message("", "units_back")}
ENDED = {"message": message("refused", "reservation_ended")}
UNKNOWN_CODE = message("refused", code="odd", title="Odd", detail="So odd.")

HAS_EARLIER = {"earlier": {"reservation": BOUGHT, "message": bought("order_ready", order="7")}}
NO_MORE_OF_IT = bought("order_ready", order="7", refusal=message("refused", code="held_by_others"))
EARLIER_IS_BACK = {
    **{"step": "reserved", "reservation": BOUGHT, "earlier": None},
    **{"refusal": refusal("held_by_others"), "message": NO_MORE_OF_IT},
}

WAITING = {"line": "waiting", "message": IN_LINE}
FOUND = on("found", reservation={**BOUGHT, "units": 1})

# From a state (a step, or what is special about an idle page) by an event: what has changed in the state then.
CHANGES: dict[str, tuple[str | State, Event, State]] = {
    "who asks for a place sees what became of it and no old refusal": (
        {"line": "none", **WITHOUT_UNITS},
        on("join_pressed"),
        {"line": "joining", "refusal": None, "message": None},
    ),
    "a place that is refused says why": (
        {"line": "joining"},
        on("join_refused", code="line_full", body={"title": "Full", "detail": "So."}, nowMs=NOW_MS),
        {
            "line": "none",
            "refusal": refusal("line_full"),
            "message": message("refused", code="line_full", title="Full", detail="So."),
        },
    ),
    "a place of another page is shown too": (
        {"line": "none", **refused("sold_out")},
        on("place_seen", place=PLACE),
        {"line": "waiting", "refusal": None, "message": IN_LINE},
    ),
    "a place is not said again": (WAITING, on("place_seen", place=PLACE), {}),
    "a place that moves is said": (
        WAITING,
        on("place_seen", place={**PLACE, "place": 2}),
        {"message": {**IN_LINE, "place": 2}},
    ),
    "a place stays quiet beside a reservation": (
        {"step": "reserved", "line": "none"},
        on("place_seen", place=PLACE),
        {"line": "waiting"},
    ),
    "who leaves waits until that is done": (WAITING, on("leave_pressed"), {"line": "leaving"}),
    "a place that could not be left is kept": (
        {"line": "leaving", "message": IN_LINE},
        on("place_kept"),
        {"line": "waiting"},
    ),
    "a place is kept by a buyer who was signed out, also after a reload": (
        {"line": "none"},
        on("place_hidden"),
        {"line": "waiting", "message": message("refused", "signed_out")},
    ),
    "but one that is shown there moves on": (
        {"step": "reserved", **WAITING},
        on("place_seen", place={**PLACE, "place": 2}),
        {"message": {**IN_LINE, "place": 2}},
    ),
    "a hidden place stays quiet beside a reservation": (
        {"step": "reserved", "line": "waiting"},
        on("place_hidden"),
        {},
    ),
    "the end of the line says what it means": (
        WAITING,
        on("line_ended", place=PLACE),
        {"line": "none", "message": message("refused", "line_ended", note="Wait.")},
    ),
    "a place becomes a reservation": (
        WAITING,
        FOUND,
        {
            "line": "none",
            "step": "reserved",
            "reservation": FOUND["reservation"],
            "message": bought("creating_order", units=1),
        },
    ),
    "figures of others do not hide a place": (WAITING, live("sold_out"), {"availability": "sold_out"}),
    "a press before the start waits with the chosen units": (
        {},
        on("pressed", phase="upcoming", units=2),
        {"step": "scheduled", "units": 2, "message": message("scheduled", "scheduled", units=2)},
    ),
    "another choice while it waits is taken over": (
        "scheduled",
        on("units_chosen", units=3),
        {"units": 3, "message": message("scheduled", "scheduled", units=3)},
    ),
    "a page whose turn has come asks for what it waited for": (
        "scheduled",
        on("turn_came"),
        {"step": "reserving", "waited": True, "message": None},
    ),
    "a page that waited waits on if the sale is paused": (
        {"step": "reserving", "units": 2, "waited": True},
        answered("paused"),
        {"step": "scheduled", "paused": True, "message": message("scheduled", "scheduled", units=2)},
    ),
    "a page that waits hears that the sale is over": (
        "scheduled",
        live("available", left=1, phase="ended"),
        {
            "step": "idle",
            "refusal": {"code": "closed", "atMs": NOW_MS + 2},
            "message": message("refused", code="closed"),
        },
    ),
    "a call forgets the refusal before": (
        WITHOUT_UNITS,
        on("pressed", phase="open", units=1),
        {"step": "reserving", "units": 1, "retryable": False, "refusal": None, "message": None},
    ),
    "a reload waits with the units that were chosen, at most those that are possible": (
        {"limit": {"remaining": 1, "max": 3}},
        loaded(phase="upcoming", waitingFor=3),
        {"step": "scheduled", "units": 1, "message": message("scheduled", "scheduled", units=1)},
    ),
    "a reload waits with one unit even where none is possible now": (
        {"limit": NO_MORE},
        loaded(phase="upcoming", waitingFor=3),
        {"step": "scheduled", "units": 1, "message": message("scheduled", "scheduled", units=1)},
    ),
    "a reload follows a reservation without a message": (
        {},
        loaded(reservation=BOUGHT),
        {"step": "reserved", "reservation": BOUGHT},
    ),
    "a call that is sent may change what the buyer has": ("reserving", on("sent"), {"changes": 1}),
    "a yes counts against a limit that is known": (
        {"step": "reserving", **KNOWN},
        ACCEPTED,
        {
            "step": "reserved",
            "reservation": BOUGHT,
            "limit": {"remaining": 1, "max": 3},
            "message": bought("creating_order"),
        },
    ),
    "a yes leaves a limit that is not known": (
        {
            "step": "reserving",
            "message": {"kind": "reserved", "tone": "reserved", "units": 2, "detail": "creating_order"},
        },
        {**ACCEPTED, "body": {"units": 2}},
        {"step": "reserved", "reservation": {"units": 2}},
    ),
    "held units may come back": (
        "reserving",
        answered("held_by_others"),
        {"step": "idle", "retryable": True, "availability": "held_by_others", **refused("held_by_others")},
    ),
    "sold out is for good": (
        "reserving",
        answered("sold_out"),
        {"step": "idle", "availability": "sold_out", **refused("sold_out")},
    ),
    "more is reserved beside what was reserved before": (
        {"step": "reserved", "reservation": BOUGHT, "message": bought("order_ready", order="7")},
        on("pressed", phase="open", units=1),
        {"step": "reserving", "units": 1, "reservation": None, "message": None, **HAS_EARLIER},
    ),
    "which is back where more is refused, with the reason": (
        {"step": "reserving", **HAS_EARLIER},
        answered("held_by_others"),
        {"availability": "held_by_others", **EARLIER_IS_BACK},
    ),
    "until units have come back": (
        {"step": "reserved", "refusal": refusal("held_by_others"), "message": NO_MORE_OF_IT},
        live("available", left=1),
        {"refusal": refusal("units_back"), "message": {**NO_MORE_OF_IT, "refusal": message("", "units_back")}},
    ),
    "a sale that goes on takes away that it was paused, and leaves the reservation": (
        {"step": "reserved", "refusal": refusal("paused"), "message": NO_MORE_OF_IT},
        live("available", left=1),
        {"refusal": None, "message": {**NO_MORE_OF_IT, "refusal": None}},
    ),
    "or where no pass is to be had": (
        {"step": "reserving", **HAS_EARLIER},
        on("pass_refused", status=409, code="held_by_others", hasText=True, nowMs=NOW_MS),
        EARLIER_IS_BACK,
    ),
    "news of it leave the reason": (
        {"step": "reserved", "reservation": BOUGHT, "message": NO_MORE_OF_IT},
        followed({"status": "awaiting_payment", "order": "7"}),
        {"message": NO_MORE_OF_IT},
    ),
    "a yes to more takes its place": (
        {"step": "reserving", **HAS_EARLIER},
        {**ACCEPTED, "body": OTHER},
        {"step": "reserved", "reservation": OTHER, "earlier": None, "message": bought("creating_order")},
    ),
    "a refusal by a pause shows the pause": (
        "reserving",
        answered("paused"),
        {"step": "idle", "retryable": True, "paused": True, **refused("paused")},
    ),
    "a refusal at the limit says what is possible": (
        "reserving",
        answered("limit_reached", remaining=1, per_buyer_max=2),
        {"step": "idle", "limit": {"remaining": 1, "max": 2}, **refused("limit_reached")},
    ),
    "a refusal that the page does not know keeps the words of the API": (
        "reserving",
        answered("odd", title="Odd", detail="So odd."),
        {"step": "idle", "refusal": refusal("odd"), "message": UNKNOWN_CODE},
    ),
    "a pass is refused to a buyer who was signed out": (
        "reserving",
        on("pass_refused", status=401, code="x", hasText=False),
        {"step": "idle", "message": message("refused", "signed_out")},
    ),
    "a session that ended has a code of its own": (
        "reserving",
        on("pass_refused", status=403, code="not_authenticated", hasText=False),
        {"step": "idle", "message": message("refused", "signed_out")},
    ),
    "a pass is refused for a reason without a text": (
        "reserving",
        on("pass_refused", status=400, code="x", hasText=False),
        {"step": "idle", "message": message("refused", "failed")},
    ),
    "a pass is refused as a reservation would be": (
        "reserving",
        on("pass_refused", status=409, code="closed", hasText=True, nowMs=NOW_MS),
        {"step": "idle", **refused("closed")},
    ),
    "no answer at all may be a yes": (
        "reserving",
        on("gave_up", unanswered=True, nowMs=NOW_MS),
        {"step": "idle", "message": message("refused", "no_answer")},
    ),
    "a sale that ended before a call was sent is closed": (
        "reserving",
        on("gave_up", unanswered=False, nowMs=NOW_MS),
        {"step": "idle", **refused("closed")},
    ),
    "a repeated call says so": (
        "reserving",
        on("retrying", attempt=2, code="unavailable"),
        {"message": message("wait", "retrying", attempt=2, code="unavailable")},
    ),
    "an order that awaits its payment is ready": (
        "reserved",
        followed({"status": "awaiting_payment", "order": "7", "expires_at": "later"}),
        {"message": bought("order_ready", expires_at="later", order="7")},
    ),
    "an order that is paid says so": (
        "reserved",
        followed({"status": "shipped", "order": "7"}),
        {"message": bought("paid", order="7")},
    ),
    "a buyer who was signed out hears that the units are still held": (
        "reserved",
        followed({"status": "signed_out"}),
        {"message": bought("signed_out")},
    ),
    "after a reload too": (
        "reserved",
        followed({"status": "signed_out"}, quietly=True),
        {"message": bought("signed_out")},
    ),
    "an ended reservation gives its units back": (
        {"step": "reserved", "reservation": BOUGHT, "limit": {"remaining": 0, "max": 3}},
        followed({"status": "expired"}),
        {"step": "idle", "reservation": None, "limit": {"remaining": 2, "max": 3}, **ENDED},
    ),
    "never more than the limit": (
        {"step": "reserved", "reservation": BOUGHT, "limit": {"remaining": 2, "max": 3}},
        followed({"status": "cancelled"}),
        {"step": "idle", "reservation": None, "limit": {"remaining": 3, "max": 3}, **ENDED},
    ),
    "after a reload they are back already": (
        {"step": "reserved", "reservation": BOUGHT, "limit": {"remaining": 1, "max": 3}},
        followed(None, quietly=True),
        {"step": "idle", "reservation": None},
    ),
    "one that is lost for good says why, also after a reload": (
        {"step": "reserved", "reservation": BOUGHT, "limit": {"remaining": 1, "max": 3}},
        followed({"status": "lost", "code": "odd", "title": "Odd"}, quietly=True, nowMs=NOW_MS),
        {
            "step": "idle",
            "reservation": None,
            "limit": {"remaining": 3, "max": 3},
            "refusal": refusal("odd"),
            "message": message("refused", code="odd", title="Odd", status="lost"),
        },
    ),
    "what the buyer has is known": (
        {},
        on("had", units=2, changes=0),
        {"limitIsKnown": True, "limit": {"remaining": 1, "max": 3}},
    ),
    "more than the limit leaves nothing": ({}, on("had", units=5, changes=0), {"limitIsKnown": True, "limit": NO_MORE}),
    "an answer from before a call is not believed": ({"changes": 1}, on("had", units=2, changes=0), {}),
    "nor during a call": ("reserving", on("had", units=2, changes=0), {}),
    "an order of another device is shown": (
        {},
        on("hold_seen", hold={**BOUGHT, "order": "7"}),
        {"message": bought("order_ready", order="7")},
    ),
    "but not over a refusal": (WITHOUT_UNITS, on("hold_seen", hold=BOUGHT), {}),
    "at the limit the refusal leads to it": (
        AT_THE_LIMIT,
        on("hold_seen", hold={**BOUGHT, "order": "7"}),
        {"message": message("refused", code="limit_reached", order="7")},
    ),
    "nor over a reservation": ("reserved", on("hold_seen", hold=BOUGHT), {}),
    "another tab says the limit": (
        {},
        on("heard", limit=NO_MORE),
        {"changes": 1, "limitIsKnown": True, "limit": NO_MORE},
    ),
    "another tab does not know the limit": (KNOWN, on("heard", limit=None), {"changes": 1, "limitIsKnown": False}),
    "units that come back are announced": (WITHOUT_UNITS, live("available", left=1), UNITS_CAME_BACK),
    "so is an unlimited stock": (
        WITHOUT_UNITS,
        live("unlimited", left=None),
        {"availability": "unlimited", **UNITS_CAME_BACK},
    ),
    "an answer that was asked for before the refusal says nothing": (
        WITHOUT_UNITS,
        live("available", left=1, askedMs=NOW_MS),
        {},
    ),
    "too few are too few until there are enough": (
        {"refusal": refusal("too_few_left")},
        live("available", left=2, units=3),
        {},
    ),
    "enough are enough": ({"refusal": refusal("too_few_left")}, live("available", left=3, units=3), UNITS_CAME_BACK),
    "an unlimited stock is enough": (
        {"refusal": refusal("too_few_left")},
        live("unlimited", left=None, units=3),
        {"availability": "unlimited", **UNITS_CAME_BACK},
    ),
    "units that are gone again are not announced any more": (
        UNITS_CAME_BACK,
        live("held_by_others"),
        {"availability": "held_by_others", "refusal": None, "message": None},
    ),
    "a pause that is over takes its refusal along": (
        {**REFUSED_BY_PAUSE, "paused": True},
        live("available", left=1),
        {"paused": False, "refusal": None, "message": None},
    ),
    "also before the opening": (
        {**REFUSED_BY_PAUSE, "paused": True},
        live("available", left=1, phase="upcoming"),
        {"paused": False, "refusal": None, "message": None},
    ),
    "a sale that opens later goes on refusing": (refused("not_open"), live("available", left=1, phase="upcoming"), {}),
    "a page that waits again forgets the refusal, and so goes on saying that it waits": (
        REFUSED_BY_PAUSE,
        on("pressed", phase="upcoming", units=2),
        {
            "step": "scheduled",
            "units": 2,
            "refusal": None,
            "message": message("scheduled", "scheduled", units=2),
        },
    ),
    "so does a sale that is open after all": (
        {"refusal": refusal("not_open")},
        live("available", left=1),
        {"refusal": None, "message": None},
    ),
    "or open again": ({"refusal": refusal("closed")}, live("available", left=1), {"refusal": None, "message": None}),
    "sold out is said once": (
        {"refusal": refusal("sold_out"), "retryable": True},
        live("sold_out", phase="paused"),
        {"availability": "sold_out", "paused": True},
    ),
    "a pause that goes on does not": (
        {**REFUSED_BY_PAUSE, "paused": True},
        live("available", left=1, phase="paused"),
        {},
    ),
    "a refusal at the limit stays": ({"refusal": refusal("limit_reached")}, live("available", left=1), {}),
    "but not beside another limit": (
        {"refusal": refusal("limit_reached"), "limit": {"remaining": 1, "max": 3}},
        live("available", left=1, per_buyer_max=5),
        {"refusal": None, "message": None, "limit": {"remaining": 3, "max": 5}},
    ),
    "which an older answer does not know": (
        {"refusal": refusal("limit_reached")},
        live("available", left=1, per_buyer_max=2, askedMs=NOW_MS),
        {},
    ),
    "a limit below what the buyer has leaves nothing": (
        {"limit": {"remaining": 1, "max": 3}},
        live("available", left=1, per_buyer_max=1),
        {"limit": {"remaining": 0, "max": 1}},
    ),
    "what might have come back is sold": (
        WITHOUT_UNITS,
        live("sold_out"),
        {
            "availability": "sold_out",
            "refusal": {"code": "sold_out", "atMs": NOW_MS + 2},
            "message": message("refused", code="sold_out"),
        },
    ),
    "an answer without a phase leaves the pause": (
        {"paused": True},
        {**live("unavailable"), "live": {"availability": "unavailable"}},
        {"availability": "unavailable"},
    ),
}


def test_an_event_changes_this_and_nothing_else(script: Script) -> None:
    for what, (given, event, changed) in CHANGES.items():
        before = in_step(script, given) if isinstance(given, str) else state_of(script, **given)
        assert script("next", before, event) == {**before, **changed}, what


FIGURES = {"availability": "available", "phase": "open", "quantity": 1, "left": 1, "held": 0, "sold": 0}


def test_the_stock_says_the_same_as_the_answer_until_newer_figures_come(script: Script) -> None:
    for answer, expected in (
        ({"ok": False, "code": "sold_out"}, {"availability": "sold_out", "left": 0, "sold": 1}),
        ({"ok": False, "code": "held_by_others"}, {"availability": "held_by_others", "left": 0, "held": 1}),
        ({"ok": True, "units": 1}, {"availability": "held_by_others", "left": 0, "held": 1}),
    ):
        told = script("stockAfterAnswer", FIGURES, {**answer, "nowMs": NOW_MS})
        assert told == {**FIGURES, **expected, "toldMs": NOW_MS}, answer
        # Figures that were asked for before the answer do not say "1 of 1 left" beside "sold out".
        assert script("stockAfterLive", told, FIGURES, NOW_MS) == told, answer
        assert script("stockAfterLive", told, FIGURES, NOW_MS + 1) == {**FIGURES, "toldMs": NOW_MS}, answer


def test_an_answer_that_says_nothing_about_the_stock_leaves_the_figures(script: Script) -> None:
    assert script("stockAfterAnswer", FIGURES, {"ok": False, "code": "limit_reached", "nowMs": NOW_MS}) == FIGURES
    unlimited = {**FIGURES, "quantity": None, "left": None, "availability": "unlimited"}
    assert script("stockAfterAnswer", unlimited, {"ok": True, "units": 1, "nowMs": NOW_MS}) == unlimited
