"""The shop speaks Chinese: every text of ours has one, in the source as it stands now."""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

import pytest
from babel.messages.catalog import Catalog, Message
from babel.messages.extract import DEFAULT_KEYWORDS, extract
from babel.messages.pofile import read_po
from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import password_validators_help_texts
from django.template import Context, Template
from django.test import Client
from django.utils import translation
from django.utils.translation.template import templatize
from django.utils.translation.trans_real import DjangoTranslation

ROOT = Path(__file__).resolve().parent.parent.parent
# The folders whose texts stand in one catalogue: the tools that prove the shop have one of their own.
FOLDERS = {"shop": ("shop", "seckill", "orders", "web", "templates"), "bench": ("bench",)}

KEYWORDS = {
    **DEFAULT_KEYWORDS,
    "gettext_lazy": None,
    "gettext_noop": None,
    "ngettext_lazy": (1, 2),
    "pgettext_lazy": ((1, "c"), 2),
}
# %(name)s of Python and of the templates, {name} of the page's scripts.
PLACEHOLDERS = re.compile(r"%\(\w+\)[sd]|\{\w+\}")
LITERAL = r"""u?(?:'(?:[^'\\]|\.)*'|"(?:[^"\\]|\.)*")"""
# What templatize makes of a tag; everything around it is blanked out.
OF_TEMPLATE = re.compile(
    rf"""\b(?:pgettext\((?P<context>{LITERAL}), |n?gettext\()(?P<text>{LITERAL})|_\((?P<short>u?'(?:[^'\\]|\.)*')"""
)


class Text(NamedTuple):
    """A text, and what tells it from the same English words elsewhere, if anything does."""

    english: str
    context: str | None = None


def texts_of(app: str) -> Iterator[tuple[Text, str]]:
    for folder in FOLDERS[app]:
        for path in sorted((ROOT / folder).rglob("*.py")):
            if "migrations" not in path.parts:
                with path.open("rb") as file:
                    for _line, message, _comments, context in extract("python", file, KEYWORDS):
                        english = message if isinstance(message, str) else message[0]
                        yield Text(english, context), str(path.relative_to(ROOT))
        for path in sorted([*(ROOT / folder).rglob("*.html"), *(ROOT / folder).rglob("*.txt")]):
            code = templatize(path.read_text(), origin=str(path))
            for match in OF_TEMPLATE.finditer(code):
                # Literals, by the pattern above.
                english, context = eval(match["text"] or match["short"]), eval(match["context"] or "None")
                yield Text(english, context), str(path.relative_to(ROOT))


@cache
def catalogue_of(app: str) -> Catalog:
    with (ROOT / app / "locale" / "zh_Hans" / "LC_MESSAGES" / "django.po").open("rb") as file:
        return read_po(file, locale="zh_Hans")


each_catalogue = pytest.mark.parametrize(("app", "texts_min"), [("shop", 200), ("bench", 40)])


@each_catalogue
def test_the_chinese_catalogue_has_every_text_and_no_other(app: str, texts_min: int) -> None:
    texts = dict(texts_of(app))
    known = {Text(strings_of(message.id)[0], message.context) for message in messages_of(app)}
    assert len(texts) > texts_min
    missing = sorted(f"{path}: {text}" for text, path in texts.items() if text not in known)
    assert not missing, "run manage.py makemessages -l zh_Hans --no-location and translate:\n" + "\n".join(missing)
    assert not known - texts.keys()


@each_catalogue
def test_every_text_is_translated_with_its_placeholders_and_none_is_fuzzy(app: str, texts_min: int) -> None:
    messages = messages_of(app)
    unfinished = [message.id for message in messages if message.fuzzy or not all(strings_of(message.string))]
    assert not unfinished
    differing = [
        message.id
        for message in messages
        for translated in strings_of(message.string)
        if sorted(PLACEHOLDERS.findall(strings_of(message.id)[-1])) != sorted(PLACEHOLDERS.findall(translated))
    ]
    assert not differing


def messages_of(app: str) -> list[Message]:
    return [message for message in catalogue_of(app) if message.id]


def strings_of(text: str | Sequence[str] | None) -> Sequence[str]:
    """Singular and plural, or the only form there is."""
    return [text] if isinstance(text, str) else text or [""]


def test_the_hints_for_a_password_address_the_buyer_as_the_shop_does() -> None:
    with translation.override("zh-hans"):
        hints = password_validators_help_texts()
    assert len(hints) == 4
    assert all(hint.startswith("您的密码") and "你" not in hint for hint in hints)


@pytest.mark.parametrize(
    ("language", "price", "without_decimals"), [("en", "CN¥19.00", "¥1,900"), ("zh-hans", "¥19.00", "JP¥1,900")]
)
def test_a_price_is_written_as_its_reader_writes_it(language: str, price: str, without_decimals: str) -> None:
    template = Template("{% load amounts %}{{ 1900|money }} {{ 1900|money:'JPY' }}")
    with translation.override(language):
        assert template.render(Context()) == f"{price} {without_decimals}"


# What the shop no longer says: each of these has another word.
WITHDRAWN = (
    *("账户", "没有扣款", "统一排队", "没有成功", "等待开抢", "已付款，谢谢", "订单已过期", "订单已经结束"),
    *("活动", "账单", "商店", "本店", "店铺", "快递公司"),
    *("资格", "收入", "开场", "开抢时间", "支付渠道", "其他渠道", "支付服务商", "付款事件", "变更日志"),
)
CJK = "[\u4e00-\u9fff]"
HALF_WIDTH = re.compile(rf"{CJK} ?[,;:!?()]|[,;:!?()] ?{CJK}|{CJK}\.(?!\w)|{CJK} “|” {CJK}|{CJK} {CJK}")


@each_catalogue
def test_the_chinese_uses_one_word_for_one_thing_and_full_width_marks(app: str, texts_min: int) -> None:
    texts = [text for message in messages_of(app) for text in strings_of(message.string)]
    assert [text for text in texts if any(word in text for word in WITHDRAWN)] == []
    assert [text for text in texts if HALF_WIDTH.search(text)] == []


@pytest.mark.parametrize(
    ("language", "texts"),
    [("en", ["−88%", "−80%", "−50%", ""]), ("zh-hans", ["1.2折", "2折", "5折", ""])],
)
def test_a_discount_is_said_as_its_reader_says_it_and_never_exaggerated(language: str, texts: list[str]) -> None:
    template = Template("{% load amounts %}{{ price|discount:ordinary }}")
    with translation.override(language):
        said = [
            template.render(Context({"price": price, "ordinary": ordinary}))
            for price, ordinary in ((9_900, 89_900), (1_900, 9_900), (500, 1_000), (9_999, 10_000))
        ]
    assert said == texts


def texts_of_packages() -> Iterator[str | tuple[str, str]]:
    """What forms and their validators may say, in the source of Django, allauth and DRF."""
    for package in ("django.core", "django.forms", "django.contrib.auth", "allauth.account", "allauth.mfa"):
        (folder,) = import_module(package).__path__
        for path in sorted(Path(folder).rglob("*.py")):
            if not {"management", "migrations", "webauthn", "passkeys"} & set(path.parts):
                with path.open("rb") as file:
                    for _line, message, _comments, _context in extract("python", file, KEYWORDS):
                        yield message if isinstance(message, str) else (message[0], message[1] or "")


def test_no_message_of_a_form_is_in_english_for_a_chinese_reader() -> None:
    with translation.override("zh-hans"):
        english = {
            text
            for text in texts_of_packages()
            if (translation.gettext(text) if isinstance(text, str) else translation.ngettext(*text, 2)) in text
        }
    # Names and signs, which have no other form.
    assert english <= {"IPv4", "IPv6", "…", ":?.!", ":", "WebAuthn", ""}


def test_the_scripts_of_the_admin_speak_chinese() -> None:
    """Django's catalogue lacks some of what its script for two lists says."""
    script = (Path(str(files("django.contrib.admin"))) / "static/admin/js/SelectFilter2.js").read_text()
    said = {first or second for first, second in re.findall(r"""gettext\((?:'([^']+)'|"([^"]+)")""", script)}
    known = DjangoTranslation("zh-hans", domain="djangojs", localedirs=locales_of("django.contrib.admin", "shop"))
    assert len(said) > 10
    assert [text for text in said if known.gettext(text) == text] == []


def locales_of(*apps: str) -> list[str]:
    return [str(Path(str(files(app))) / "locale") for app in apps]


@pytest.mark.django_db
def test_a_permission_is_named_in_the_language_of_its_page(client: Client, admin_user: User) -> None:
    client.force_login(admin_user)
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = "zh-hans"
    for path in ("group/add", f"user/{admin_user.pk}/change"):
        page = client.get(f"/admin/auth/{path}/").text
        assert page.count(" | 可查看</option>") > 10
        assert "Can " not in page
    assert "请先保存账号" in client.get("/admin/auth/user/add/").text
    assert r"\u70b9\u51fb\u6e05\u9664" in client.get("/admin/jsi18n/").text


@pytest.mark.django_db
def test_the_sign_up_form_refuses_in_chinese(client: Client) -> None:
    sent = {"username": "买 家", "email": "x", "password1": "1", "password2": "2"}
    page = client.post("/zh-hans/accounts/signup/", sent).content.decode()
    assert "密码太短，至少需要 8 个字符。" in page
    assert "This " not in page
