"""/api/docs/ explains every call and every refusal, in the order of a purchase, with examples that run."""

import ast
import json
import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import translation
from django.utils.html import escape

from orders.checkout.placement import PlaceOutcome
from orders.life.cancelling import CancelOutcome
from orders.models import ShippingMethod, ShippingPrice
from orders.payments.sessions import StartOutcome
from seckill.guards.pass_guards import Guard
from seckill.line.place_in_line import LINE_REFUSALS
from seckill.models import NoPass, SaleItem
from seckill.outcomes import Outcome
from seckill.reservation import ACCEPTED
from seckill.waiting_room.standing import NotLetIn
from tests.deploy.programs import program
from tests.shop.http.schema_client import DOCUMENT
from tests.steps.drawing import make_draw
from tests.steps.shop import make_item, make_product
from web.api_docs.examples import CALLS, PREPARATION
from web.api_docs.problem_pages import BY_CODE, PROBLEMS

ROOT = Path(__file__).resolve().parents[3]
OPERATIONS = {
    (method.upper(), path): operation
    for path, operations in DOCUMENT["paths"].items()
    for method, operation in operations.items()
}
# A code is the first argument of these, or their argument or attribute `code`.
RAISERS = {"PassRefused"}
NAMES_A_CODE = re.compile(r"\bcode\b|\bdefault_code\b|\bPassRefused\(")
# DRF's own, which no line of ours names.
OF_DRF = {
    *("not_authenticated", "authentication_failed", "parse_error", "method_not_allowed", "not_acceptable"),
    *("unsupported_media_type",),
}
# Codes of single fields, under `errors`.
OF_FIELDS = {"unknown_field", "min_value", "max_decimal_places", "not_sold", "required"}


@cache
def codes_in_the_source() -> set[str]:
    return set(codes_of_problems())


def codes_of_problems() -> Iterator[str]:
    for app in ("shop", "seckill", "orders", "web"):
        for path in (ROOT / app).rglob("*.py"):
            source = path.read_text()
            # Most modules name no code, and parsing takes long.
            if NAMES_A_CODE.search(source):
                yield from (code for node in ast.walk(ast.parse(source)) for code in literal_codes(node))
    yield from (outcome for outcome in Outcome if outcome not in ACCEPTED)
    yield from LINE_REFUSALS
    yield from NoPass
    yield from NotLetIn
    yield from Guard
    yield from set(StartOutcome) - {StartOutcome.REPEATED, StartOutcome.ALREADY_OPEN, StartOutcome.OPENED}
    yield from set(CancelOutcome) - {CancelOutcome.CANCELLED}
    yield from set(PlaceOutcome) - {PlaceOutcome.PLACED}
    yield from OF_DRF


def literal_codes(node: ast.AST) -> Iterator[str]:
    found: list[ast.expr] = []
    if isinstance(node, ast.Call):
        found += [keyword.value for keyword in node.keywords if keyword.arg == "code"]
        found += node.args[:1] if isinstance(node.func, ast.Name) and node.func.id in RAISERS else []
    elif isinstance(node, ast.Assign):
        names = {target.id for target in node.targets if isinstance(target, ast.Name)}
        found += [node.value] if names & {"default_code"} else []
    elif isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        found += [value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "code"]
    yield from (value.value for value in found if isinstance(value, ast.Constant) and isinstance(value.value, str))


@pytest.mark.slow
def test_every_code_of_the_source_is_explained() -> None:
    missing = codes_in_the_source() - OF_FIELDS - set(BY_CODE)
    assert not missing, f"explain these codes in web/api_docs/problem_pages.py: {sorted(missing)}"


def test_no_code_is_explained_that_the_source_does_not_have() -> None:
    assert not set(BY_CODE) - codes_in_the_source()
    assert len(BY_CODE) == len(PROBLEMS)


def test_every_call_has_its_place_in_the_order_of_a_purchase() -> None:
    listed = [(call.method, call.path) for call in CALLS]
    missing = set(OPERATIONS) - set(listed)
    assert not missing, f"add these calls to web/api_docs/examples.sh, with an example: {sorted(missing)}"
    assert not set(listed) - set(OPERATIONS)
    # A path comes once, with all its methods.
    assert list(DOCUMENT["paths"]) == list(dict.fromkeys(path for _, path in listed))


def test_every_call_has_a_summary_a_description_and_its_refusals() -> None:
    for call, operation in OPERATIONS.items():
        assert operation["summary"], call
        text = operation["description"].partition("```")[0].strip()
        assert len(text) > 20, f"write what the call does as the docstring of its view: {call}"
        assert operation["tags"][0] in {tag["name"] for tag in DOCUMENT["tags"]}, call
        refused = {status: answer for status, answer in operation["responses"].items() if status.startswith(("4", "5"))}
        assert refused, f"name the codes with `refusals(…)`: {call}"
        for answer in refused.values():
            assert set(re.findall(r"`(\w+)`", answer["description"])) & set(BY_CODE), call


def test_the_introduction_has_the_table_of_all_codes() -> None:
    for explained in PROBLEMS:
        assert f"| [`{explained.code}`]({explained.address}) | {explained.status} |" in DOCUMENT["info"]["description"]


@pytest.mark.parametrize(("language", "words"), [("en", "What to do"), ("zh-hans", "处理办法")])
def test_the_type_of_every_problem_leads_to_its_page(client: Client, language: str, words: str) -> None:
    for code, explained in BY_CODE.items():
        answer = client.get(explained.address, headers={"Accept-Language": language})
        assert answer.status_code == 200, code
        with translation.override(language):
            for text in (code, words, escape(str(explained.meaning)), escape(str(explained.to_do))):
                assert text in answer.text, code


def test_a_page_lists_all_problems_and_an_unknown_code_has_no_page(client: Client, db: None) -> None:
    page = client.get("/api/docs/problems/").text
    assert all(f'id="{code}"' in page for code in BY_CODE)
    assert client.get("/api/docs/problems/no_such_code/").status_code == 404
    refusal = client.get("/api/v1/orders/", headers={"Accept": "application/json"})
    assert refusal.json()["type"] == BY_CODE["not_authenticated"].address


def test_an_example_that_waits_ends_with_a_word_where_nothing_will_come() -> None:
    for call, answer, word in (
        ("get_place", {"status": 401, "code": "place_invalid"}, "Place in the waiting room: None"),
        ("get_reservation", {"status": 404, "code": "not_found"}, "There is no order: "),
    ):
        (example,) = (each.example for each in CALLS if each.operation_id == call)
        curl = f"curl() {{ echo '{json.dumps(answer)}'; }}"
        command = ["bash", "-e", "-c", "\n".join([PREPARATION, curl, example])]
        assert subprocess.run(command, capture_output=True, text=True, timeout=30, check=True).stdout.startswith(word)


def test_the_example_that_waits_for_an_order_goes_on_while_it_may_still_come(tmp_path: Path) -> None:
    (example,) = (each.example for each in CALLS if each.operation_id == "get_reservation")
    statuses = ("429", '"waiting"', '"awaiting_payment", "order": 7')
    (tmp_path / "answers").write_text("lost\n" + "".join(f'{{"status": {status}}}\n' for status in statuses))
    curl = 'curl() { next=$(head -n 1 answers); sed -i 1d answers; [ "$next" != lost ] && echo "$next"; }'
    lines = [PREPARATION, curl, "RESERVATION= TOKEN=", example, "echo $ORDER"]
    command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == "7\n"


@pytest.mark.django_db(transaction=True)
def test_the_examples_buy_something_when_they_are_run_from_top_to_bottom(
    live_shop: str, buyer_with_password: User, item: SaleItem, tmp_path: Path
) -> None:
    program("curl", package="Debian: apt install curl")
    make_item(make_product(slug="biluochun", price_minor=9900), opens_in_seconds=-120, has_room=True)
    make_draw(make_product(slug="puer", price_minor=9900))
    # In a shop without ways of sending, orders need none; any is free there.
    ShippingPrice.objects.create(method=ShippingMethod.objects.create(code="post", name="Post"), price_minor=800)
    commands = [PREPARATION.replace("http://127.0.0.1:8000", live_shop), *(call.example for call in CALLS)]
    # `-x` names the command that failed.
    run = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "\n".join(commands)],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "BUYER": "buyer", "PASSWORD": "a-good-password", "SKU": "SKU-longjing"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert f"{live_shop}/pay/simulated/" in run.stdout
    assert "cancelled" in lines
    assert "signature_invalid" in lines
