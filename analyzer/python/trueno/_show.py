"""How runs and reports show themselves: a few lines in a shell, a short block of HTML in a notebook."""

from html import escape

#: Entries of a mapping, and characters of a line, that are shown.
SHOWN_VALUES = 8
LINE = 100


class Listed(dict):
    """A dict that shows the names and sizes of what it holds, not all of it."""

    def __repr__(self):
        if not self:
            return "{}"
        wide = max(len(str(key)) for key in self)
        lines = [f"{str(key).ljust(wide)}  {brief(value)}" for key, value in self.items()]
        return "\n".join(cut(line) for line in lines)

    def _repr_html_(self):
        return facts_html((key, brief(value)) for key, value in self.items())


def brief(value):
    """A value in a few words."""
    if isinstance(value, dict):
        return f"{{{counted(len(value), 'key', 'keys')}: {shortened(', '.join(map(str, value)), 60)}}}" if value else "{}"
    if isinstance(value, (list, tuple)):
        return f"[{counted(len(value), 'item', 'items')}]" if value else "[]"
    return shortened("–" if value is None else str(value), LINE)


def shortened(text, room):
    """The text, or what fits of it."""
    text = " ".join(text.split())
    return text if len(text) <= room else text[: room - 1] + "…"


def counted(number, one, many):
    """A number of things."""
    return f"{number:,} {one if number == 1 else many}"


def severity_word(level):
    """The word of reports for the severity of a finding or problem."""
    return {"warning": "medium", "error": "high"}.get(level, level)


def duration(ns):
    """A time with three digits, as the program writes it."""
    size = abs(ns)
    by, unit = next(
        (each for each in ((1, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")) if size < each[0] * 999.5), (1e9, "s")
    )
    value = ns / by
    decimals = 0 if value == int(value) or abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{decimals}f} {unit}"


def facts_html(pairs):
    """Names and values below each other."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(str(name))}</th><td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in pairs
    )
    return f"<table>{rows}</table>"


def grid(heads, rows, right=()):
    """Aligned columns; those of `right` are numbers. The last column is cut at the width of a line."""
    cells = [heads, *rows]
    widths = [max(len(row[at]) for row in cells) for at in range(len(heads))]
    lines = []
    for row in cells:
        padded = [
            cell.rjust(width) if at in right else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append(cut("  ".join(padded).rstrip()))
    return "\n".join(lines)


def cut(line):
    """The line, or what fits of it."""
    return line if len(line) <= LINE else line[: LINE - 1] + "…"


def grid_html(heads, rows, right=()):
    """The same as a table."""
    aligned = ["right" if at in right else "left" for at in range(len(heads))]

    def line(tag, cells):
        return "".join(
            f'<{tag} style="text-align:{align}">{escape(cell)}</{tag}>' for align, cell in zip(aligned, cells)
        )

    head = f"<thead><tr>{line('th', heads)}</tr></thead>"
    body = "".join(f"<tr>{line('td', row)}</tr>" for row in rows)
    return f"<table>{head}<tbody>{body}</tbody></table>"
