"""A barcode (Code 128) as an SVG without styles, which the shop's content policy would refuse."""

from django.utils.html import format_html
from django.utils.safestring import SafeString
from reportlab.graphics.barcode.code128 import Code128

# Scanners want so many modules of white on each side.
QUIET_MODULES = 10
# Simple scanners and the cameras of phones read a third of a millimetre.
MODULE_MM = 0.33
HEIGHT_MODULES = 40


def barcode_svg(text: str) -> SafeString:
    """`text` has letters and digits. Screen readers read it in place of the bars."""
    widths = module_widths(text)
    bars, left = [], QUIET_MODULES
    for place, width in enumerate(widths):
        if place % 2 == 0:
            bars.append(f"M{left} 0h{width}v{HEIGHT_MODULES}h-{width}z")
        left += width
    total = left + QUIET_MODULES
    return format_html(
        '<svg class="barcode" role="img" aria-label="{}" width="{}mm" height="{}mm" viewBox="0 0 {} {}" '
        'preserveAspectRatio="none" shape-rendering="crispEdges"><path d="{}"/></svg>',
        text,
        f"{total * MODULE_MM:.2f}",
        f"{HEIGHT_MODULES * MODULE_MM:.2f}",
        total,
        HEIGHT_MODULES,
        " ".join(bars),
    )


def module_widths(text: str) -> list[int]:
    """The widths of bars and gaps in turn. Reportlab writes them as letters, A for 1."""
    code = Code128(text)
    code.validate()
    code.encode()
    code.decompose()
    return [ord(letter.upper()) - ord("A") + 1 for letter in code.decomposed]
