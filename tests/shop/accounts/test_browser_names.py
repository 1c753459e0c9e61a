"""A session is named as its owner knows the browser."""

import pytest
from django.utils import translation

from shop.accounts.browser_names import browser_name

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("user_agent", "english", "chinese"),
    [
        (
            f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/130.0 Safari/537.36 Edg/130.0",
            "Edge on Windows",
            "Windows 上的 Edge",
        ),
        (
            f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {WEBKIT} Version/18.0 Safari/604.1",
            "Safari on iPhone",
            "iPhone 上的 Safari",
        ),
        ("Mozilla/5.0 (Linux; Android 15) MicroMessenger/8.0 Chrome/130.0", "WeChat on Android", "Android 上的 WeChat"),
        ("curl/8.0", "Unknown browser", "未知浏览器"),
        ("", "Unknown browser", "未知浏览器"),
    ],
)
def test_a_browser_has_a_name_and_no_programmers_text(user_agent: str, english: str, chinese: str) -> None:
    for language, name in (("en", english), ("zh-hans", chinese)):
        with translation.override(language):
            assert browser_name(user_agent) == name
