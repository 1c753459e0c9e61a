"""Signing up, confirming an address, forgetting a password, changing the address: through the pages and the mails."""

import time

import pytest
from allauth.account.models import EmailAddress
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client, RequestFactory

from shop.accounts.allauth_adapter import AccountAdapter
from shop.models import AccountMail
from tests.steps.accounts import (
    PASSWORD,
    confirmed,
    enter_password,
    enter_password_again,
    is_signed_in,
    link_in,
    one_mail,
    send_mails,
    sign_in,
    sign_up,
    turn_on,
)
from tests.steps.staff import messages_on

pytestmark = pytest.mark.django_db


def test_a_newcomer_confirms_the_address_and_then_signs_in_with_it(client: Client) -> None:
    answer = sign_up(client)
    assert answer.status_code == 302
    assert is_signed_in(client)  # buying does not wait for the mail
    message = one_mail()
    assert message.to == ["new@example.com"]
    assert message.subject == "Welcome to Stampede: please confirm your e-mail address"
    assert "Hello newcomer," in str(message.body)
    assert f": {settings.SHOP_URL}/accounts/confirm-email/" in str(message.body)
    assert sign_in(Client(), login="new@example.com").status_code == 200
    page = client.get(link_in(message)).content.decode()
    assert "Does <strong>new@example.com</strong> belong to the account “newcomer”?" in page
    assert not EmailAddress.objects.get().verified  # programs that open links confirm nothing
    assert client.post(link_in(message))["Location"] == "/accounts/"
    assert sign_in(Client(), login="new@example.com").status_code == 302
    assert sign_in(Client(), login="NEW＠example.com").status_code == 302
    assert sign_in(Client(), login="newcomer").status_code == 302


def test_after_signing_up_the_next_page_says_that_a_mail_waits(client: Client) -> None:
    assert sign_up(client)["Location"] == "/accounts/"
    assert any("We have sent a mail to" in text for text in messages_on(client.get("/accounts/")))
    assert messages_on(client.get("/accounts/")) == []


def test_a_message_that_could_not_be_shown_in_time_is_not_shown(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign_up(client)
    later = time.time() + 25 * 60
    monkeypatch.setattr("shop.http.fresh_messages.time.time", lambda: later)
    assert messages_on(client.get("/orders/")) == []


def test_a_link_to_confirm_works_in_another_browser_and_signs_nobody_in(client: Client) -> None:
    sign_up(client)
    link = link_in(one_mail())
    phone = Client()
    assert phone.get(link).status_code == 200
    assert phone.post(link)["Location"] == "/accounts/login/"
    assert EmailAddress.objects.get().verified
    assert not is_signed_in(phone)
    assert "This link does not work any more" in phone.get("/accounts/confirm-email/wrong:key/").content.decode()


def test_a_link_that_is_opened_while_its_address_is_replaced_does_not_bring_it_back(
    rf: RequestFactory, buyer: User
) -> None:
    address = EmailAddress.objects.create(user=buyer, email="former@example.com")
    EmailAddress.objects.filter(pk=address.pk).delete()
    assert not AccountAdapter().confirm_email(rf.post("/"), address)
    assert not EmailAddress.objects.exists()


def test_signing_up_leads_on_to_where_the_newcomer_was_going(client: Client) -> None:
    form = {"username": "newcomer", "email": "new@example.com", "password1": PASSWORD, "password2": PASSWORD}
    path = "/zh-hans/orders/"
    assert client.post(f"/accounts/signup/?next={path}", {**form, "next": path})["Location"] == path


def test_signing_up_wants_an_address_and_says_what_is_wrong(client: Client) -> None:
    page = sign_up(client, email="").content.decode()
    assert "This field is required." in page
    page = sign_up(client, username="me@example.com").content.decode()
    assert "Please choose a user name without “@”." in page
    assert "without “@”" in sign_up(client, username="me＠example.com").content.decode()
    assert "at most 150 characters" in sign_up(client, username="ﬃ" * 100).content.decode()
    assert not User.objects.exists()
    assert not AccountMail.objects.exists()


def test_a_name_that_looks_like_an_accounts_is_taken(client: Client) -> None:
    for name, lookalike in (("buyer", "ｂuyer"), ("Buyer", "BUYER"), ("Strasse", "straße")):
        User.objects.all().delete()
        User.objects.create_user(name)
        assert "already exists" in sign_up(client, username=lookalike).content.decode(), lookalike
        assert User.objects.get().username == name


def test_a_name_in_full_width_letters_is_kept_and_signs_in_in_plain_ones(client: Client) -> None:
    assert sign_up(client, username="Ｌｉ＿１").status_code == 302
    assert User.objects.get().username == "Li_1"
    assert sign_in(Client(), login="Ｌｉ＿１").status_code == 302
    assert sign_in(Client(), login="Li_1").status_code == 302


def test_signing_up_does_not_say_whether_an_address_has_an_account(client: Client, buyer: User) -> None:
    confirmed(buyer, "buyer@example.com")
    known = sign_up(Client(), username="first", email="buyer@example.com")
    unknown = sign_up(Client(), username="second", email="nobody@example.com")
    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
    to_known, to_unknown = sorted(send_mails(), key=lambda message: message.to)
    assert to_known.subject == to_unknown.subject
    # The link cannot take the address from the account that has it.
    page = client.get(link_in(to_known)).content.decode()
    assert "belongs to another account already" in page
    client.post(link_in(to_known))
    assert EmailAddress.objects.get(verified=True).user == buyer


def test_an_address_that_is_not_confirmed_signs_nobody_in(client: Client, buyer: User, stranger: User) -> None:
    EmailAddress.objects.create(user=stranger, email="mine@example.com", verified=False, primary=True)
    assert sign_in(client, login="mine@example.com", password="stranger-password").status_code == 200
    confirmed(buyer, "mine@example.com")
    assert sign_in(client, login="mine@example.com", password="stranger-password").status_code == 200
    assert sign_in(client, login="mine@example.com", password="buyer-password").status_code == 302
    assert str(buyer.pk) == client.session["_auth_user_id"]


def test_a_forgotten_password_is_replaced_by_a_link_that_works_once(client: Client, buyer: User) -> None:
    confirmed(buyer, "buyer@example.com")
    elsewhere = Client()
    elsewhere.force_login(buyer)
    asked = {"email": "Buyer@Example.com"}
    answer = client.post("/accounts/password/reset/", asked, follow=True, headers={"host": "localhost:4711"})
    assert "We have sent a mail to that address." in answer.content.decode()
    message = one_mail()
    assert message.subject == "Choose a new password"
    # The link has the address of the shop, and not what the request says.
    assert f": {settings.SHOP_URL}/accounts/password/reset/key/" in str(message.body)
    assert "localhost:4711" not in str(message.body)
    link = link_in(message)
    form = client.get(link, follow=True)
    assert form.redirect_chain[0][0].endswith("-set-password/")  # the key stays out of the address
    short = client.post(form.redirect_chain[0][0], {"password1": "abc", "password2": "abc"})
    assert "too short" in short.content.decode()
    done = client.post(form.redirect_chain[0][0], {"password1": PASSWORD, "password2": PASSWORD}, follow=True)
    assert "Sign in with the new password." in done.content.decode()
    assert not is_signed_in(elsewhere)
    assert sign_in(Client(), login="buyer", password="buyer-password").status_code == 200
    assert sign_in(Client(), login="buyer").status_code == 302
    told = one_mail()
    assert told.subject == "Your password was changed"
    assert "IP address: 127.0.0.1" in str(told.body)
    assert "This link does not work any more" in Client().get(link, follow=True).content.decode()


def test_the_page_of_a_forgotten_password_does_not_say_who_has_an_account(client: Client, buyer: User) -> None:
    confirmed(buyer, "buyer@example.com")
    known = client.post("/accounts/password/reset/", {"email": "buyer@example.com"})
    unknown = client.post("/accounts/password/reset/", {"email": "nobody@example.com"})
    assert (known.status_code, known["Location"]) == (unknown.status_code, unknown["Location"])
    subjects = {message.to[0]: message.subject for message in send_mails()}
    assert subjects == {
        "buyer@example.com": "Choose a new password",
        "nobody@example.com": "There is no account with this address",
    }


def test_however_many_accounts_claim_an_address_it_gets_three_mails(client: Client) -> None:
    for number in range(5):
        user = User.objects.create_user(f"claimer-{number}", email="mine@example.com", password=PASSWORD)
        EmailAddress.objects.create(user=user, email="mine@example.com", verified=False, primary=True)
    client.post("/accounts/password/reset/", {"email": "mine@example.com"})
    assert len(send_mails()) == 3


def test_a_new_address_takes_the_place_of_the_former_when_it_is_confirmed(as_buyer: Client, buyer: User) -> None:
    confirmed(buyer, "old@example.com")
    asked = as_buyer.post("/accounts/email/", {"email": "new@example.com", "action_add": ""})
    assert asked["Location"].startswith("/accounts/reauthenticate/")
    enter_password_again(as_buyer, "buyer-password")
    as_buyer.post("/accounts/email/", {"email": "new@example.com", "action_add": ""})
    message = one_mail()
    assert message.to == ["new@example.com"]
    buyer.refresh_from_db()
    assert buyer.email == "old@example.com"
    assert "Until then nothing changes." in as_buyer.get("/accounts/email/").content.decode()
    as_buyer.post(link_in(message))
    buyer.refresh_from_db()
    assert buyer.email == "new@example.com"
    assert list(EmailAddress.objects.values_list("email", "verified")) == [("new@example.com", True)]
    told = one_mail()
    assert (told.to, told.subject) == (["old@example.com"], "Your e-mail address was changed")
    assert "was changed from old@example.com to new@example.com" in str(told.body)
    assert not AccountMail.objects.exists()


def test_a_new_address_in_place_of_an_unconfirmed_one_gets_the_mails_at_once(client: Client) -> None:
    sign_up(client, email="mistyped@example.com")
    enter_password_again(client, PASSWORD)
    client.post("/accounts/email/", {"email": "right@example.com", "action_add": ""})
    user = User.objects.get()
    assert user.email == "right@example.com"
    assert list(EmailAddress.objects.values_list("email", "verified", "primary")) == [
        ("right@example.com", False, True)
    ]
    assert "<strong>right@example.com</strong> is not confirmed yet." in client.get("/accounts/email/").content.decode()
    client.post(link_in(send_mails()[-1]))
    user.refresh_from_db()
    assert (user.email, EmailAddress.objects.get().verified) == ("right@example.com", True)


def test_a_buyer_who_wants_no_mails_removes_the_address_and_gives_another_later(as_buyer: Client, buyer: User) -> None:
    confirmed(buyer, "old@example.com")
    enter_password_again(as_buyer, "buyer-password")
    as_buyer.post("/accounts/email/", {"email": "old@example.com", "action_remove": ""})
    buyer.refresh_from_db()
    assert buyer.email == ""
    assert not EmailAddress.objects.exists()
    assert one_mail().subject == "Your e-mail address was removed"
    assert "You have not given an address." in as_buyer.get("/accounts/email/").content.decode()
    # The first address of an account gets its mails at once.
    as_buyer.post("/accounts/email/", {"email": "first@example.com", "action_add": ""})
    buyer.refresh_from_db()
    assert buyer.email == "first@example.com"


def test_a_changed_password_ends_the_other_sessions_and_a_mail_says_so(client: Client, buyer: User) -> None:
    confirmed(buyer, "buyer@example.com")
    elsewhere = Client()
    for browser in (client, elsewhere):
        sign_in(browser, login="buyer", password="buyer-password")
    form = {"oldpassword": "buyer-password", "password1": PASSWORD, "password2": PASSWORD}
    assert client.post("/accounts/password/change/", form)["Location"] == "/accounts/"
    assert [is_signed_in(browser) for browser in (client, elsewhere)] == [True, False]
    assert one_mail().subject == "Your password was changed"


@pytest.mark.django_db(transaction=True)  # it is written after the commit
def test_a_mail_says_that_the_second_factor_is_on_or_off(client: Client, shop_manager: User) -> None:
    confirmed(shop_manager, "manager@example.com")
    enter_password(client)
    turn_on(client)
    assert [message.subject for message in send_mails()] == ["Two-step sign-in is on"]
    assert client.get("/accounts/2fa/recovery-codes/download/").status_code == 200
    client.post("/accounts/2fa/recovery-codes/generate/")
    assert one_mail().subject == "New recovery codes"
    client.post("/accounts/2fa/totp/deactivate/")
    assert one_mail().subject == "Two-step sign-in is off"
    assert enter_password(Client()) == "/admin/"


def test_taking_back_a_change_of_the_address_leaves_all_as_it_was(as_buyer: Client, buyer: User) -> None:
    confirmed(buyer, "old@example.com")
    enter_password_again(as_buyer, "buyer-password")
    as_buyer.post("/accounts/email/", {"email": "new@example.com", "action_add": ""})
    send_mails()
    as_buyer.post("/accounts/email/", {"email": "new@example.com", "action_remove": ""})
    assert list(EmailAddress.objects.values_list("email", "primary")) == [("old@example.com", True)]
    assert not send_mails()


def test_no_page_leads_to_another_site(buyer: User) -> None:
    for number, elsewhere in enumerate(("https://evil.example.com/", "//evil.example.com/", "/\\evil.example.com")):
        signed_in = Client()
        signed_in.force_login(buyer)
        new = {"username": f"new-{number}", "email": "n@example.com", "password1": PASSWORD, "password2": PASSWORD}
        for client, page, form in (
            (Client(), "login", {"login": "buyer", "password": "buyer-password"}),
            (Client(), "signup", new),
            (signed_in, "reauthenticate", {"password": "buyer-password"}),
            (signed_in, "logout", {}),
        ):
            answer = client.post(f"/accounts/{page}/?next={elsewhere}", {**form, "next": elsewhere})
            assert answer.status_code == 302, page
            assert "evil" not in answer["Location"], page
