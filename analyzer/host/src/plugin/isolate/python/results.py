# What a plugin gives: tables, findings and charts, made into the host's messages.

import binascii
import json
import re
import struct

_TYPES = ("i64", "u64", "f64", "bool", "text")
_PACKED = {"i64": "q", "u64": "Q", "f64": "d", "bool": "?"}
_SEVERITIES = ("info", "warning", "error")
_IDENTIFIER = re.compile("[a-z][a-z0-9_]*", re.ASCII)


class BadInput(Exception):
    """The data breaks what a query promised."""


class Failed(Exception):
    """The plugin cannot say anything, and why."""


class Result:
    """Tables, findings and charts in the order in which they are added."""

    def __init__(self):
        self.tables, self.findings, self.charts = [], [], []

    def table(self, name, columns):
        """Adds a table: columns by name, or a frame of pandas, polars or pyarrow."""
        self.tables.append((name, columns))
        return self

    def finding(self, code, severity, title, detail=None, suggestion=None, evidence=None):
        """Adds a finding; the severity is info, warning or error."""
        said = {"code": code, "severity": severity, "title": title, "detail": detail}
        self.findings.append({**said, "suggestion": suggestion, "evidence": evidence})
        return self

    def chart(self, kind, title, table, x, y, **more):
        """Adds a chart of a table that is given, as docs/abi.md describes it."""
        self.charts.append({"kind": kind, "title": title, "table": table, "x": x, "y": y, **more})
        return self


class NotTaken(Exception):
    """A result that cannot be sent, and why."""


def _columns_of(given):
    """Columns by name of what a plugin calls a table."""
    if isinstance(given, Table):
        return dict(given._columns)
    if hasattr(given, "column_names") and hasattr(given, "columns"):  # pyarrow
        return dict(zip(given.column_names, given.columns))
    if hasattr(given, "get_columns"):  # polars
        return {column.name: column for column in given.get_columns()}
    if hasattr(given, "dtypes") and hasattr(given, "columns"):  # pandas
        return {name: given[name] for name in given.columns}
    if isinstance(given, dict):
        return given
    raise NotTaken(f"it is of type {type(given).__name__}, not columns by name or a frame")


def _values_of(column):
    """The values as a list, and the type where the container says it."""
    if isinstance(column, Column):
        return column.to_list(), column.type
    if isinstance(column, (str, bytes)):
        raise NotTaken("it is one text, not a sequence of values")
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    known = {"i": "i64", "u": "u64", "f": "f64", "b": "bool"}.get(kind)
    if hasattr(column, "isna") and hasattr(column, "array"):  # pandas: what is not there is NaN
        values = [None if gone else value for value, gone in zip(column.tolist(), column.isna().tolist())]
        return values, known
    for method in ("to_pylist", "to_list", "tolist"):  # pyarrow, polars, NumPy
        if hasattr(column, method):
            return getattr(column, method)(), known
    try:
        return list(column), None
    except TypeError:
        raise NotTaken(f"it is of type {type(column).__name__}, not a sequence of values") from None


def _plain(value):
    """A scalar of NumPy as Python's own."""
    item = getattr(value, "item", None)
    return item() if item is not None and not isinstance(value, (int, float, str)) else value


def _inferred(values):
    kinds = {type(value) for value in values if value is not None}
    if not kinds:
        return None
    if kinds == {bool}:
        return "bool"
    if kinds == {str}:
        return "text"
    if kinds == {int}:
        largest = max(value for value in values if value is not None)
        return "u64" if largest > 0x7FFF_FFFF_FFFF_FFFF else "i64"
    if kinds <= {int, float}:
        return "f64"
    raise NotTaken(f"its values are of the types {', '.join(sorted(kind.__name__ for kind in kinds))}")


_HOLDS = {"i64": (int,), "u64": (int,), "f64": (int, float), "bool": (bool,), "text": (str,)}


def _packed(values, column_type):
    """Each value behind a byte that says whether there is one."""
    holds = _HOLDS[column_type]
    for row, value in enumerate(values):
        if value is not None and (not isinstance(value, holds) or isinstance(value, bool) != (column_type == "bool")):
            raise NotTaken(f"row {row} is of type {type(value).__name__}, and the column of type {column_type}")
    if column_type == "text":
        parts = []
        for row, value in enumerate(values):
            try:
                data = b"" if value is None else value.encode()
            except UnicodeEncodeError:
                raise NotTaken(f"row {row} is a text that is not Unicode") from None
            parts.append(struct.pack("<?Q", value is not None, len(data)) + data)
        return b"".join(parts)
    cells = []
    for value in values:
        cells += (value is not None, 0 if value is None else value)
    try:
        return struct.pack("<" + ("?" + _PACKED[column_type]) * len(values), *cells)
    except (struct.error, OverflowError):
        raise NotTaken(f"a number does not fit the type {column_type}") from None


def _text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def table_bytes(name, given, declared):
    """A table as the host reads it."""
    if not isinstance(name, str) or not _IDENTIFIER.fullmatch(name):
        raise NotTaken(f"the table name {name!r} does not fit [a-z][a-z0-9_]*")
    try:
        columns = _columns_of(given)
    except NotTaken as why:
        raise NotTaken(f"table {name}: {why}") from None
    missing = [column for column in declared if column not in columns]
    if missing:
        raise NotTaken(f"table {name} has no column {missing[0]}, which the manifest declares")
    rows, parts = None, []
    for column, given_values in columns.items():
        try:
            if not isinstance(column, str):
                raise NotTaken("its name is not a text")
            values, known = _values_of(given_values)
            values = [value if value is None else _plain(value) for value in values]
            column_type = declared.get(column) or known or _inferred(values)
            if column_type is None:
                raise NotTaken(
                    "it has no value, so its type is not known "
                    f'(hint: in the manifest, [tables.{name}] and {column} = "i64", f64, text, …)'
                )
            if rows is not None and len(values) != rows:
                raise NotTaken(f"it has {len(values)} rows, those before it {rows}")
            rows = len(values)
            parts.append(_text(column) + bytes([_TYPES.index(column_type)]) + _packed(values, column_type))
        except NotTaken as why:
            raise NotTaken(f"table {name}, column {column}: {why}") from None
    return struct.pack("<I", len(name)) + name.encode() + struct.pack("<Q", rows or 0) + b"".join(parts)


def finding_bytes(finding):
    """A finding as the host reads it."""
    for field in ("code", "severity", "title"):
        if not isinstance(finding[field], str):
            raise NotTaken(f"a finding cannot be read: its {field} is not a text")
    if finding["severity"] not in _SEVERITIES:
        raise NotTaken(f"a finding cannot be read: severity {finding['severity']!r} is none of {', '.join(_SEVERITIES)}")
    return json_bytes(finding, "a finding")


def json_bytes(value, what):
    """Anything of findings and charts as JSON."""
    try:
        return json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise NotTaken(f"{what} cannot be read: {error}") from None


# Kinds of messages, as in message.rs; this bit says that the hash is CRC-32, which Python's library has.
TABLE, FINDING, END, _CRC = 3, 4, 5, 0x40


def message(kind, says):
    """Kind, length, hash, and what it says."""
    return struct.pack("<BQQ", kind | _CRC, len(says), binascii.crc32(says, kind)) + says
