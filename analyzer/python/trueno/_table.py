"""Tables: columns in Arrow's memory layout, for any library that reads it."""

from html import escape

from ._native import Batches

_SHOWN_ROWS = 10


class Table:
    """A table. It has `__arrow_c_stream__`: pyarrow, polars, pandas, DuckDB and others take it as it is.

    `pyarrow.table(t)` and `polars.DataFrame(t)` share its memory.
    """

    def __init__(self, batches, name=None):
        self._batches = batches
        #: Name of the table, where it has one.
        self.name = name

    @classmethod
    def _from_rows(cls, name, columns, rows):
        names = [column["name"] for column in columns]
        types = [column["type"] for column in columns]
        values = [[row[at] for row in rows] for at in range(len(names))]
        return cls(Batches.from_columns(names, types, values), name)

    @property
    def num_rows(self):
        """Number of rows."""
        return self._batches.num_rows

    @property
    def column_names(self):
        """Names of the columns, in order."""
        return self._batches.column_names

    @property
    def schema(self):
        """Names and types of the columns."""
        return dict(zip(self._batches.column_names, self._batches.column_types))

    def __len__(self):
        return self.num_rows

    def __getitem__(self, column):
        """Values of a column, as a list; what was not measured is None."""
        try:
            at = self.column_names.index(column)
        except ValueError:
            known = ", ".join(self.column_names)
            raise KeyError(f"there is no column {column} (hint: there are {known})") from None
        return self._batches.column(at)

    def __iter__(self):
        """Rows, as dicts."""
        names = self.column_names
        for row in zip(*(self._batches.column(at) for at in range(len(names)))):
            yield dict(zip(names, row))

    def to_dict(self):
        """Lists of values by the names of the columns."""
        return {name: self._batches.column(at) for at, name in enumerate(self.column_names)}

    def __arrow_c_stream__(self, requested_schema=None):
        return self._batches.__arrow_c_stream__(requested_schema)

    def __arrow_c_schema__(self):
        return self._batches.__arrow_c_schema__()

    def to_pyarrow(self):
        """A `pyarrow.Table` over the same memory."""
        import pyarrow

        return pyarrow.table(self)

    def to_polars(self):
        """A `polars.DataFrame`."""
        import polars

        return polars.DataFrame(self)

    def to_pandas(self):
        """A `pandas.DataFrame`. Whole numbers with gaps are pandas' `Int64`, so that none of them is rounded.

        With pyarrow, which pandas knows, columns are taken over whole; without it value by value.
        """
        import pandas

        try:
            import pyarrow
        except ImportError:
            return self._to_pandas_by_value(pandas)
        columns = {}
        for name, column in zip(self.column_names, pyarrow.table(self).columns):
            mapper = None
            if column.null_count and pyarrow.types.is_integer(column.type):
                mapper = _nullable(pandas, pyarrow)
            columns[name] = column.to_pandas(types_mapper=mapper)
        return pandas.DataFrame(columns)

    def _to_pandas_by_value(self, pandas):
        columns = {}
        for at, (name, ty) in enumerate(self.schema.items()):
            values = self._batches.column(at)
            dtype = None
            if ty.rstrip("0123456789") in ("Int", "UInt"):
                # numpy's own where nothing is missing.
                dtype = ty if None in values else ty.lower()
            elif ty.startswith("Float"):
                dtype = ty.lower()
            elif ty.endswith("Utf8"):
                # What this pandas keeps texts as, also where there is none.
                dtype = pandas.Series([""]).dtype
            columns[name] = pandas.Series(values, dtype=dtype)
        return pandas.DataFrame(columns)

    def __repr__(self):
        head = self._head()
        names = self.column_names
        cells = [names, *([_text(value) for value in row] for row in head)]
        widths = [min(max(len(row[at]) for row in cells), 40) for at in range(len(names))]
        lines = [
            "  ".join(cell[:width].ljust(width) for cell, width in zip(row, widths)).rstrip()
            for row in cells
        ]
        if self.num_rows > len(head):
            lines.append(f"{len(head)} of {self.num_rows:,} rows shown")
        return "\n".join(lines)

    def _repr_html_(self):
        head = "".join(f"<th>{escape(name)}</th>" for name in self.column_names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_text(value))}</td>" for value in row) + "</tr>"
            for row in self._head()
        )
        more = f"<p>{self.num_rows:,} rows</p>" if self.num_rows > _SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"

    def _head(self):
        columns = range(len(self.column_names))
        return list(zip(*(self._batches.column(at, _SHOWN_ROWS) for at in columns)))


def _text(value):
    # As the program shows what was not measured.
    return "–" if value is None else str(value)


def _nullable(pandas, pyarrow):
    names = [f"{sign}Int{bits}" for sign in ("", "U") for bits in (8, 16, 32, 64)]
    kinds = {getattr(pyarrow, name.lower())(): getattr(pandas, f"{name}Dtype")() for name in names}
    return kinds.get
