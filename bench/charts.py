"""Charts as SVG files: a row for each thing that is compared, the first on top."""

from collections.abc import Sequence
from pathlib import Path

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.figure import Figure

# Text stays text, and the same run gives the same file.
rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "stampede", "font.size": 9})


def name_rows(axes: Axes, names: Sequence[str], *, title: str) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.invert_yaxis()
    axes.set_title(title, loc="left")
    axes.spines[["top", "right"]].set_visible(False)


def label(axes: Axes, length: float, row: int, text: str) -> None:
    """Write a text at the end of a bar."""
    axes.annotate(text, (length, row), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8)


def save(picture: Figure, path: Path) -> None:
    picture.savefig(path, format="svg", bbox_inches="tight", metadata={"Date": None, "Creator": None})
