"""Facts of a run and its tables, as dicts that fit on a screen."""

import textwrap
from html import escape

from ._show import LINE, SHOWN_VALUES, Listed, counted, duration, facts_html, grid, grid_html, severity_word, shortened

#: Columns of a table that its line names.
_NAMED_COLUMNS = 6


class Info(Listed):
    """Facts of a run, as `trueno-analyze info --format json` has them."""

    @property
    def completeness(self):
        """A word for whether rows are missing."""
        words = {True: "complete", False: "INCOMPLETE", None: "completeness not known"}
        return words[self.get("complete")]

    def lines(self):
        """Names and values that a reader wants first."""
        program, host = self.get("program") or {}, self.get("host") or {}
        cpus, memory = host.get("logical_cpus"), host.get("memory_bytes")
        machine = [
            host.get("name"),
            host.get("cpu_model"),
            cpus and counted(cpus, "CPU", "CPUs"),
            memory and f"{memory / 1e9:.3g} GB",
            host.get("os"),
        ]
        ranks = self.get("ranks") or []
        pairs = [
            ("label", self.get("label")),
            ("ranks", len(ranks) or None),
            ("state", f"{self.get('state')}, {self.completeness}{self._missing()}"),
            ("wall", self.wall()),
            ("rows", self.rows()),
            ("program", shortened(" ".join(program.get("argv") or []), 200)),
            ("host", ", ".join(part for part in machine if part)),
        ]
        values = self.get("values") or {}
        shown = list(values.items())[:SHOWN_VALUES]
        pairs += [(key, shortened(value, 200)) for key, value in shown]
        if len(values) > len(shown):
            pairs.append(("more values", f"{len(values) - len(shown)}, in run.info[\"values\"]"))
        pairs += [(severity_word(each["severity"]), each["text"]) for each in self.get("problems") or []]
        return [(name, value) for name, value in pairs if value]

    def wall(self):
        """Wall time of the run."""
        ns = self.get("wall_ns")
        return "not measured" if ns is None else duration(ns)

    def rows(self):
        """Rows that can be read, and in how many tables."""
        filled = [table for table in self.get("tables") or [] if table["rows_read"]]
        return f"{counted(self.get('rows', 0), 'row', 'rows')} in {counted(len(filled), 'table', 'tables')}"

    def _missing(self):
        counts = [(self.get("dropped"), "dropped"), (self.get("rows_lost"), "lost"), (self.get("open"), "still open")]
        missing = [f"{counted(count, 'row', 'rows')} {what}" for count, what in counts if count]
        return f" ({', '.join(missing)})" if missing else ""

    def __repr__(self):
        return grid(["fact", "value"], [[str(name), str(value)] for name, value in self.lines()])

    def _repr_html_(self):
        return facts_html(self.lines())


class TableInfo(Listed):
    """A table: rows, and names, types and units of columns."""

    def _lines(self):
        return [
            [
                column["name"],
                column["type"] + ("?" if column.get("nullable") else ""),
                column.get("unit") or "",
                column.get("doc") or "",
            ]
            for column in self["columns"]
        ]

    def _title(self):
        rows = self.get("rows")
        known = "rows are counted when it is read" if rows is None else counted(rows, "row", "rows")
        return f"{self['name']}: {self.get('doc') or ''}, {known}"

    def __repr__(self):
        return f"{textwrap.fill(self._title(), LINE)}\n{grid(_COLUMN_HEADS, self._lines())}\n?: may be None"

    def _repr_html_(self):
        return f"<p>{escape(self._title())}</p>{grid_html(_COLUMN_HEADS, self._lines())}<p>?: may be None</p>"


_COLUMN_HEADS = ["column", "type", "unit", "holds"]
_TABLE_HEADS = ["table", "rows", "columns"]


class Tables(Listed):
    """Tables of a run by name."""

    def _lines(self):
        return [
            [table["name"], "–" if table["rows"] is None else f"{table['rows']:,}", _columns(table)]
            for table in self.values()
            if table["rows"] != 0
        ]

    def _empty(self):
        empty = [name for name, table in self.items() if table["rows"] == 0]
        return f"no rows: {', '.join(empty)}" if empty else ""

    def __repr__(self):
        empty = textwrap.fill(self._empty(), LINE, subsequent_indent="  ")
        return "\n".join(part for part in (grid(_TABLE_HEADS, self._lines(), right=(1,)), empty) if part)

    def _repr_html_(self):
        empty = f"<p>{escape(self._empty())}</p>" if self._empty() else ""
        return grid_html(_TABLE_HEADS, self._lines(), right=(1,)) + empty


def _columns(table):
    names = [column["name"] for column in table["columns"]]
    more = f", … ({len(names)})" if len(names) > _NAMED_COLUMNS else ""
    return ", ".join(names[:_NAMED_COLUMNS]) + more
