# Tables lent to a plugin: Arrow IPC streams in the memory file, read where they lie.
#
# The host writes five types of columns and no dictionaries, so this needs nothing but Python's own library. pyarrow,
# polars, pandas and NumPy take the same bytes where they are installed.

import struct


def _number(form, data, at):
    return struct.unpack_from(form, data, at)[0]


class _Record:
    """A table of a flatbuffer."""

    def __init__(self, data, at):
        self.data, self.at = data, at
        self.fields = at - _number("<i", data, at)
        self.reach = _number("<H", data, self.fields)

    def place(self, field):
        entry = 4 + 2 * field
        offset = _number("<H", self.data, self.fields + entry) if entry < self.reach else 0
        return self.at + offset if offset else None

    def number(self, field, form, default=0):
        place = self.place(field)
        return default if place is None else _number(form, self.data, place)

    def record(self, field):
        place = self.place(field)
        return _Record(self.data, place + _number("<I", self.data, place))

    def text(self, field):
        place = self.place(field)
        start = place + _number("<I", self.data, place)
        length = _number("<I", self.data, start)
        return bytes(self.data[start + 4 : start + 4 + length]).decode()

    def entries(self, field):
        """Place of the first entry of a vector, and how many there are."""
        place = self.place(field)
        if place is None:
            return 0, 0
        start = place + _number("<I", self.data, place)
        return start + 4, _number("<I", self.data, start)


def _column_type(field):
    kind, details = field.number(2, "<B"), field.record(3)
    if kind == 2 and details.number(0, "<i") == 64:
        return "i64" if details.number(1, "<B") else "u64"
    names = {3: "f64", 6: "bool", 20: "text"}
    if kind not in names:
        raise ValueError(f"a column of Arrow type {kind}, which no input has")
    return names[kind]


def _messages(stream):
    """Header type, header and body of each message."""
    at = 0
    while at + 8 <= len(stream):
        marker, length = struct.unpack_from("<Ii", stream, at)
        if marker != 0xFFFFFFFF or length == 0:
            return
        message = _Record(stream, at + 8 + _number("<I", stream, at + 8))
        body = at + 8 + length
        size = message.number(3, "<q")
        yield message.number(1, "<B"), message.record(2), stream[body : body + size]
        at = body + size


_FORMS = {"i64": "q", "u64": "Q", "f64": "d"}


class _Chunk:
    """Rows of one column in one batch."""

    def __init__(self, column_type, rows, nulls, buffers):
        self.type, self.rows, self.nulls = column_type, rows, nulls
        self.validity = buffers[0] if nulls else None
        self.buffers = buffers[1:]

    def values(self):
        if self.type == "text":
            offsets = self.buffers[0][: 8 * (self.rows + 1)].cast("q").tolist()
            data = self.buffers[1]
            return [str(data[a:b], "utf-8") for a, b in zip(offsets, offsets[1:])]
        if self.type == "bool":
            bits = self.buffers[0]
            return [bool(bits[row >> 3] >> (row & 7) & 1) for row in range(self.rows)]
        return self.view().tolist()

    def view(self):
        return self.buffers[0][: 8 * self.rows].cast(_FORMS[self.type])

    def to_list(self):
        values = self.values()
        if self.validity is not None:
            valid = self.validity
            for row in range(self.rows):
                if not valid[row >> 3] >> (row & 7) & 1:
                    values[row] = None
        return values


class Column:
    """A column of an input: a sequence of values, None where there is none."""

    def __init__(self, name, column_type, chunks):
        self.name, self.type, self._chunks, self._list = name, column_type, chunks, None

    def __len__(self):
        return sum(chunk.rows for chunk in self._chunks)

    def __iter__(self):
        return iter(self.to_list())

    def __getitem__(self, row):
        return self.to_list()[row]

    def __repr__(self):
        return f"Column({self.name!r}, {self.type}, {len(self)} rows)"

    @property
    def null_count(self):
        return sum(chunk.nulls for chunk in self._chunks)

    def to_list(self):
        """The values as a list, which is made once."""
        if self._list is None:
            self._list = [value for chunk in self._chunks for value in chunk.to_list()]
        return self._list

    def views(self):
        """Numbers where they lie, a memoryview a batch; of a row without a value the number means nothing."""
        if self.type not in _FORMS:
            raise TypeError(f"column {self.name} is of type {self.type}, not of numbers")
        return [chunk.view() for chunk in self._chunks]

    def to_numpy(self, null=None):
        """A NumPy array; rows without a value become `null`, which must be given where there are any (f64: NaN, text: None)."""
        import numpy

        if self.null_count and null is None:
            if self.type not in ("f64", "text"):
                raise ValueError(f"column {self.name} has rows without a value (hint: to_numpy(null=0))")
            null = float("nan") if self.type == "f64" else None
        if self.type not in _FORMS or self.null_count:
            values = [null if value is None else value for value in self.to_list()]
            kinds = {"i64": "int64", "u64": "uint64", "f64": "float64", "bool": "bool", "text": "object"}
            return numpy.array(values, dtype=kinds[self.type])
        arrays = [numpy.frombuffer(view, dtype=_FORMS[self.type]) for view in self.views()]
        if len(arrays) == 1:
            return arrays[0]
        return numpy.concatenate(arrays) if arrays else numpy.empty(0, dtype=_FORMS[self.type])

    def __array__(self, dtype=None, copy=None):
        array = self.to_numpy()
        return array if dtype is None else array.astype(dtype)


class Table:
    """An input: columns by name."""

    def __init__(self, name, stream):
        self.name, self._stream = name, stream
        types, chunks = {}, {}
        for kind, header, body in _messages(stream) if stream is not None else ():
            if kind == 1:
                first, count = header.entries(1)
                for entry in range(first, first + 4 * count, 4):
                    field = _Record(stream, entry + _number("<I", stream, entry))
                    column = field.text(0)
                    types[column], chunks[column] = _column_type(field), []
            elif kind == 3:
                self._batch(header, body, types, chunks)
        self._columns = {column: Column(column, types[column], chunks[column]) for column in types}

    @staticmethod
    def _batch(header, body, types, chunks):
        node, _ = header.entries(1)
        buffer, _ = header.entries(2)
        for column, column_type in types.items():
            rows, nulls = struct.unpack_from("<qq", header.data, node)
            node += 16
            buffers = []
            for _ in range(3 if column_type == "text" else 2):
                start, length = struct.unpack_from("<qq", header.data, buffer)
                buffers.append(body[start : start + length])
                buffer += 16
            chunks[column].append(_Chunk(column_type, rows, nulls, buffers))

    @property
    def columns(self):
        """Names of the columns."""
        return list(self._columns)

    @property
    def is_there(self):
        """False of an optional input whose table the run does not have."""
        return self._stream is not None

    def __len__(self):
        return len(next(iter(self._columns.values()), ()))

    def __contains__(self, column):
        return column in self._columns

    def __getitem__(self, column):
        try:
            return self._columns[column]
        except KeyError:
            there = ", ".join(self._columns) or "none"
            raise KeyError(f"input {self.name} has no column {column} (columns: {there})") from None

    def __iter__(self):
        """Rows, each a dict."""
        names = self.columns
        lists = [self._columns[name].to_list() for name in names]
        return (dict(zip(names, row)) for row in zip(*lists))

    def rows(self, *columns):
        """Rows of these columns, each a tuple."""
        return zip(*(self[column].to_list() for column in columns or self._columns))

    def __repr__(self):
        return f"Table({self.name!r}, {len(self)} rows: {', '.join(self.columns)})"

    def to_pyarrow(self):
        """A table of pyarrow over the same memory."""
        import pyarrow

        if self._stream is None:
            return pyarrow.table({})
        return pyarrow.ipc.open_stream(pyarrow.py_buffer(self._stream)).read_all()

    def to_polars(self):
        """A frame of polars."""
        import polars

        if self._stream is None:
            return polars.DataFrame()
        return polars.read_ipc_stream(bytes(self._stream))

    def to_pandas(self):
        """A frame of pandas; whole numbers with gaps are of its type Int64, so that none is rounded."""
        import pandas

        kinds = {"i64": "Int64", "u64": "UInt64", "bool": "boolean"}
        frame = {}
        for name, column in self._columns.items():
            if column.null_count and column.type in kinds:
                frame[name] = pandas.array(column.to_list(), dtype=kinds[column.type])
            else:
                frame[name] = column.to_numpy()
        return pandas.DataFrame(frame)
