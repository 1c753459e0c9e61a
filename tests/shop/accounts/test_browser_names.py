"""A session is named as its owner knows the browser."""

from django.utils import translation

from shop.accounts.browser_names import browser_name

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


KNOWN = [
    (f"Mozilla/5.0 (Windows NT 10.0) {WEBKIT} Chrome/130.0 Safari/537.36 Edg/130.0", "Edge on Windows"),
    (f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {WEBKIT} Version/18.0 Safari/604.1", "Safari on iPhone"),
    ("Mozilla/5.0 (Linux; Android 15) MicroMessenger/8.0 Chrome/130.0", "WeChat on Android"),
    ("curl/8.0", "Unknown browser"),
    ("", "Unknown browser"),
]


def test_a_browser_has_a_name_and_no_programmers_text() -> None:
    assert [browser_name(user_agent) for user_agent, _ in KNOWN] == [name for _, name in KNOWN]
    with translation.override("zh-hans"):
        assert browser_name(KNOWN[0][0]) == "Windows 上的 Edge"
