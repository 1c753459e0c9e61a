"""The bars are those of Code 128, as a scanner reads them."""

import re

from orders.fulfilment.barcode import HEIGHT_MODULES, QUIET_MODULES, barcode_svg

# Bars and gaps of some symbols, from the standard: the beginning with letters (set B), K, 7 and the end.
START_B, SYMBOL_K, SYMBOL_7, STOP = "211214", "112331", "312131", "2331112"


def read(svg: str) -> str:
    """The widths of bars and gaps from left to right, as a scanner sees them."""
    bars = [(int(left), int(width)) for left, width in re.findall(r"M(\d+) 0h(\d+)v", svg)]
    assert bars[0][0] == QUIET_MODULES
    widths, end = "", QUIET_MODULES
    for left, width in bars:
        widths += f"{left - end or ''}{width}"
        end = left + width
    assert f'viewBox="0 0 {end + QUIET_MODULES} {HEIGHT_MODULES}"' in svg
    return widths


def test_a_code_begins_with_its_letters_and_ends_with_the_stop() -> None:
    widths = read(barcode_svg("K7"))
    assert widths.startswith(START_B + SYMBOL_K + SYMBOL_7)
    assert widths.endswith(STOP)
    # Beginning, two letters, check symbol, end: eleven modules each, thirteen for the end.
    assert sum(map(int, widths)) == 4 * 11 + 13


def test_each_number_is_as_wide_as_its_symbols_and_fits_on_a_slip() -> None:
    for text in (
        "K7M2Q9XT",
        "ABCDEFGH",
        "22345678",
        "22222222",
    ):
        svg = barcode_svg(text)
        # The content policy refuses styles.
        assert "style" not in svg
        assert sum(map(int, read(svg))) % 11 == 13 % 11, text
        match = re.search(r'width="([\d.]+)mm"', svg)
        assert match is not None, text
        assert float(match[1]) < 60, text
