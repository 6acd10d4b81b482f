from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

import pandas
import polars
import pyarrow

_Path = str | PathLike[str]
_F = TypeVar("_F", bound=Callable[..., Any])

class Error(Exception): ...
class NotMeasurableError(Error): ...
class ProgramNotFoundError(Error): ...
class RecordError(Exception): ...
class TruenoWarning(UserWarning): ...

class Table:
    name: str | None
    @property
    def num_rows(self) -> int: ...
    @property
    def column_names(self) -> list[str]: ...
    @property
    def schema(self) -> dict[str, str]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, column: str) -> list[Any]: ...
    def __iter__(self) -> Iterator[dict[str, Any]]: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def to_pyarrow(self) -> pyarrow.Table: ...
    def to_polars(self) -> polars.DataFrame: ...
    def to_pandas(self) -> pandas.DataFrame: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class Finding:
    plugin: str
    code: str
    severity: Literal["info", "warning", "error"]
    title: str
    detail: str | None
    suggestion: str | None
    evidence: str | list[int] | None

class Chart:
    title: str
    svg: str

class Section:
    plugin: str
    summary: str
    status: Literal["ok", "failed", "skipped"]
    message: str | None
    tables: dict[str, Table]
    findings: list[Finding]
    charts: list[Chart]
    def __getitem__(self, table: str) -> Table: ...

class Report:
    data: dict[str, Any]
    top: dict[str, Any]
    problems: list[dict[str, str]]
    sections: dict[str, Section]
    @property
    def headline(self) -> str | None: ...
    @property
    def findings(self) -> list[Finding]: ...
    @property
    def charts(self) -> list[Chart]: ...
    def __getitem__(self, plugin: str) -> Section | Table: ...

class Comparison:
    data: dict[str, Any]
    def __getitem__(self, key: str) -> Any: ...

class Run:
    path: str
    info: dict[str, Any]
    def __init__(self, path: _Path, *, cache: bool = True) -> None: ...
    @property
    def title(self) -> str: ...
    @property
    def tables(self) -> dict[str, dict[str, Any]]: ...
    def __contains__(self, table: str) -> bool: ...
    def __getitem__(self, table: str) -> Table: ...
    def query(
        self,
        sql: str,
        *,
        runs: Mapping[str, Run | _Path] | None = None,
        baseline: Run | _Path | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        timeout: float | str | None = None,
    ) -> Table: ...
    def timeline(self, start: int | str = 0, end: int | str | None = None) -> Table: ...
    def report(
        self,
        *,
        plugins: str | Sequence[str] | None = None,
        skip: str | Sequence[str] | None = None,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        baseline: Run | _Path | None = None,
        window: str | None = None,
        what_if: Mapping[str, float | str] | None = None,
        categories: _Path | None = None,
        plugin_files: Iterable[_Path] = (),
        charts: bool = True,
    ) -> Report: ...
    def compare(
        self,
        after: Run | _Path | Sequence[Run | _Path],
        *,
        threshold: float | None = None,
        categories: _Path | None = None,
        path: bool = True,
    ) -> Comparison: ...

class Span:
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def __call__(self, function: _F) -> _F: ...
    def set(self, key: str, value: object) -> Self: ...
    def declare(
        self,
        *,
        elements: int | None = None,
        flops: int | None = None,
        bytes: int | None = None,
        bytes_read: int | None = None,
        bytes_written: int | None = None,
    ) -> Self: ...
    def shapes(self, dims: Sequence[Sequence[int]], element_types: Sequence[str]) -> Self: ...
    def again(self) -> Span: ...

class Recorder:
    def __init__(
        self,
        path: _Path,
        *,
        label: str | None = None,
        overwrite: bool = False,
        on_overflow: Literal["grow", "drop", "block"] = "grow",
        ring_records: int | None = None,
        checksum_every: int | None = None,
        without: Sequence[str] = (),
    ) -> None: ...
    @staticmethod
    def disabled() -> Recorder: ...
    @property
    def is_enabled(self) -> bool: ...
    @property
    def status(self) -> tuple[int, int, list[str]]: ...
    def brick(
        self,
        name: str,
        *,
        elements: int | None = None,
        flops: int | None = None,
        bytes_read: int | None = None,
        bytes_written: int | None = None,
        backend: str | None = None,
        category: str | None = None,
    ) -> Span: ...
    def function(self, name: str) -> Span: ...
    def kernel(
        self,
        name: str,
        *,
        elements: int | None = None,
        flops: int | None = None,
        bytes: int | None = None,
        bytes_read: int | None = None,
        bytes_written: int | None = None,
        backend: str | None = None,
    ) -> Span: ...
    def layer(self, number: int) -> Span: ...
    def iteration(self, number: int) -> Span: ...
    def instant(self, name: str, **arguments: object) -> None: ...
    def counter(
        self,
        name: str,
        value: float,
        unit: str = "",
        *,
        source: Literal["measured", "declared", "computed", "nominal"] = "declared",
    ) -> None: ...
    def checksum(self, name: str, tensor: object, *, position: int | None = None) -> None: ...
    def value(self, key: str, value: object) -> None: ...
    def finish(self) -> tuple[int, int, int]: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        raised: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...

def load_ipython_extension(shell: Any) -> None: ...
def open(path: _Path, *, cache: bool = True) -> Run: ...
def import_(
    files: _Path | Sequence[_Path],
    output: _Path,
    *,
    format: str | None = None,
    ranks: Sequence[int] | None = None,
    overwrite: bool = False,
    partial: bool = False,
) -> Run: ...
def compare(
    before: Run | _Path | Sequence[Run | _Path],
    after: Run | _Path | Sequence[Run | _Path],
    *,
    threshold: float | None = None,
    categories: _Path | None = None,
    path: bool = True,
) -> Comparison: ...
def record(
    path: _Path,
    *,
    label: str | None = None,
    overwrite: bool = False,
    on_overflow: Literal["grow", "drop", "block"] = "grow",
    ring_records: int | None = None,
    checksum_every: int | None = None,
    without: Sequence[str] = (),
) -> Recorder: ...
def disabled() -> Recorder: ...
def version() -> str: ...
