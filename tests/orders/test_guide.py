"""The purchases of docs/guide-api.md work as they stand there, against the shop's own processes."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User

from orders.models import Order, OrderStatus, ShippingMethod, ShippingPrice
from seckill.models import SaleItem
from shop.models import Product
from tests.deploy.programs import program
from tests.steps.shop import variant_of

pytestmark = pytest.mark.django_db(transaction=True)

GUIDE = (Path(__file__).parents[2] / "docs" / "guide-api.md").read_text()
SECONDS_MAX = 60


def block_of(language: str) -> str:
    (block,) = re.findall(rf"```{language}\n(.*?)```", GUIDE, flags=re.S)
    return str(block)


def run(*command: str, **environment: str) -> str:
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=SECONDS_MAX, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_both_purchases_reach_the_payment_page(live_shop: str, buyer: User, item: SaleItem, product: Product) -> None:
    post = ShippingMethod.objects.create(code="post", name="Post")
    ShippingPrice.objects.create(method=post, price_minor=800)
    program("curl", package="Debian: apt install curl")
    # The shop's processes do not know the quick hasher of the tests.
    hasher = PBKDF2PasswordHasher()
    User.objects.filter(pk=buyer.pk).update(password=hasher.encode("buyer-password", hasher.salt()))
    reserved = run(
        *("bash", "-euo", "pipefail", "-c", block_of("bash")),
        SHOP=live_shop,
        LOGIN=buyer.username,
        PASSWORD="buyer-password",
        ITEM=str(item.pk),
    )
    ordered = run(sys.executable, "-c", block_of("python"), SHOP=live_shop)
    # The flash sale: live figures, then what an order of one unit costs with its delivery, and its payment page
    assert reserved.splitlines()[:2] == ["available", "27.00"]
    assert reserved.splitlines()[2].startswith(f"{live_shop}/pay/simulated/")
    flash = Order.objects.get(buyer=buyer)
    assert (flash.status, flash.lines.get().sale_item) == (OrderStatus.AWAITING_PAYMENT, item)
    # The ordinary product: two held units and the guest's page
    guest = Order.objects.get(buyer=None)
    assert ordered.split()[0].replace("-", "") == guest.code
    assert ordered.split()[-1].startswith(live_shop)
    assert (guest.email, guest.lines.get().units, variant_of(product).held) == ("li.lei@example.com", 2, 2)


@pytest.mark.parametrize(
    "answer", ['{"status": "rejected", "order": null}', '{"status": 409, "code": "reservation_lost"}']
)
def test_the_wait_for_an_order_that_will_not_come_ends_with_a_word(answer: str) -> None:
    (step,) = re.findall(r"# 5\..*?(?=\n# 6\.)", block_of("bash"), flags=re.S)
    (field,) = re.findall(r"field\(\).*", block_of("bash"))
    # The status is not to be had, and the receipt brings this answer.
    curl = f"curl() {{ [ $1 = -s ] && echo '{answer}'; }}"
    lines = [field, curl, "YES='{\"receipt\": 1}'", step]
    done = subprocess.run(["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (1, f"No order to pay: {answer}\n")


def test_the_wait_for_the_order_goes_on_after_a_lost_connection(tmp_path: Path) -> None:
    (step,) = re.findall(r"# 5\..*?(?=\n# 6\.)", block_of("bash"), flags=re.S)
    (field,) = re.findall(r"field\(\).*", block_of("bash"))
    # The first call is lost, and so is the receipt after it.
    answer = '{"status": "awaiting_payment", "order": "7"}'
    curl = f"curl() {{ if [ -e lost ]; then echo '{answer}'; else [ $1 = -sf ] || touch lost; return 7; fi; }}"
    lines = ["set -euo pipefail", field, curl, "YES='{\"receipt\": 1}' API= RESERVATION= TOKEN=", step, "echo $ORDER"]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=tmp_path, capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stderr


def test_the_python_is_as_short_as_the_guide_promises() -> None:
    assert len([line for line in block_of("python").splitlines() if line.strip()]) <= 30
