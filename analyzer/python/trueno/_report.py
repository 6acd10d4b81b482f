"""Reports: what the analyses found, as data, and as pages for a notebook."""

import json
import tempfile
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from ._program import ask
from ._show import Listed, counted, duration, severity_word, shortened
from ._table import Table


@dataclass(frozen=True)
class Finding:
    """A conclusion of a plugin."""

    plugin: str
    code: str
    severity: str
    title: str
    detail: str | None
    suggestion: str | None
    #: A query, or ids of rows, that show it.
    evidence: str | list | None


@dataclass(frozen=True)
class Chart:
    """A chart, drawn."""

    title: str
    svg: str = field(repr=False)

    def _repr_svg_(self):
        return self.svg

    def _repr_html_(self):
        return self.svg


@dataclass(frozen=True)
class Section:
    """Results of one plugin."""

    plugin: str
    summary: str
    #: "ok", "failed" or "skipped"; `message` says why.
    status: str
    message: str | None
    tables: dict
    findings: list
    charts: list

    def __getitem__(self, table):
        try:
            return self.tables[table]
        except KeyError:
            known = ", ".join(self.tables) or "none"
            raise KeyError(f"{self.plugin} made no table {table} (hint: it made {known})") from None

    def __repr__(self):
        state = self.summary if self.status == "ok" else f"{self.status}: {self.message}"
        counts = [
            counted(len(self.findings), "finding", "findings"),
            counted(len(self.charts), "chart", "charts"),
            f"tables: {', '.join(self.tables) or 'none'}",
        ]
        lead = f"{self.plugin}: {shortened(state, 200)}" if state else self.plugin
        return f"<trueno.Section {lead} ({', '.join(counts)})>"

    def _repr_html_(self):
        parts = [f"<h4>{escape(self.plugin)}</h4><p>{escape(self.summary)}</p>"]
        if self.message:
            parts.append(f"<p>{escape(self.status)}: {escape(self.message)}</p>")
        parts += [_finding_html(finding) for finding in self.findings]
        parts += [chart.svg for chart in self.charts]
        for name, table in self.tables.items():
            parts.append(f"<h5>{escape(name)}</h5>{table._repr_html_()}")
        return "".join(parts)


class Report:
    """What the analyses found of a run."""

    def __init__(self, data, page, charts):
        #: All of it, as `docs/report.schema.json` says.
        self.data = Listed(data)
        #: The opening: what holds the run back, with what a fix would save.
        self.top = Listed(data["top"])
        #: Problems of the run and of the report itself.
        self.problems = data["problems"]
        #: Sections by the id of their plugin.
        self.sections = {}
        for section in data["sections"]:
            plugin = section["plugin"]
            self.sections[plugin] = Section(
                plugin=plugin,
                summary=section["summary"],
                status=section["status"],
                message=section.get("message"),
                tables={
                    table["name"]: Table._from_rows(table["name"], table["columns"], table["rows"])
                    for table in section["tables"]
                },
                findings=[Finding(plugin=plugin, **finding) for finding in section["findings"]],
                charts=charts.get(plugin, []),
            )
        self._page = page

    @property
    def headline(self):
        """What the report opens with: how long, how busy, what bounds the run and what would help most.

        None where the plugin `summary` did not run.
        """
        return self.data["headline"]

    @property
    def findings(self):
        """Findings of all sections, errors first, then warnings."""
        worst = {"error": 0, "warning": 1, "info": 2}
        everything = [one for section in self.sections.values() for one in section.findings]
        return sorted(everything, key=lambda finding: worst[finding.severity])

    @property
    def charts(self):
        """Charts of all sections."""
        return [chart for section in self.sections.values() for chart in section.charts]

    def __getitem__(self, plugin):
        """The section of a plugin; `report["roofline.points"]` is a table of it."""
        plugin, _, table = plugin.partition(".")
        try:
            section = self.sections[plugin]
        except KeyError:
            known = ", ".join(self.sections) or "none"
            raise KeyError(f"there is no section {plugin} (hint: there are {known})") from None
        return section[table] if table else section

    def __str__(self):
        """The page that `trueno-analyze report` prints."""
        return self._page

    def __repr__(self):
        lines = [f"{severity}: {text}" for severity, text in self._opening()]
        counts = [
            counted(len(self.sections), "section", "sections"),
            counted(len(self.findings), "finding", "findings"),
            counted(len(self.charts), "chart", "charts"),
        ]
        missing = [f"{lead}: {text}" for lead, text in self._missing()]
        return "\n".join([*missing, self._title(), *lines, f"{', '.join(counts)}; print(report) shows the page"])

    def _repr_html_(self):
        parts = [_line_html(*line) for line in self._missing()]
        parts.append(f"<h3>{escape(self._title())}</h3>")
        parts += [_line_html(*line) for line in self._opening()]
        shown = {text for one in self.top["findings"] for text in (one["code"], one["sentence"])}
        worst = [one for one in self.findings if one.severity != "info" and shown.isdisjoint({one.code, one.title})]
        parts += [_finding_html(finding) for finding in worst]
        parts += [_line_html(severity_word(problem["severity"]), problem["text"]) for problem in self.problems]
        parts += [f"<figure><figcaption>{escape(chart.title)}</figcaption>{chart.svg}</figure>" for chart in self.charts]
        sections = ", ".join(f"<code>{escape(plugin)}</code>" for plugin in self.sections)
        parts.append(f"<p>Sections, by <code>report[…]</code>: {sections}</p>")
        return "".join(parts)

    def _title(self):
        return self.headline or f"report of {self.data['run']['title']}"

    def _missing(self):
        """What is missing from the run, and from the report."""
        failed = [self.sections[plugin] for plugin in self.data["failed"]]
        # The headline says itself what is missing from the run.
        reasons = [] if self.headline else self.data["incomplete"]
        lines = [("INCOMPLETE", reason) for reason in reasons]
        return lines + [("failed", f"{section.plugin}: {section.message}") for section in failed]

    def _opening(self):
        """What would help most, with its severity."""
        lines = [(one["severity"], one["sentence"] + _gain(one)) for one in self.top["findings"]]
        if lines:
            return lines
        if "bottleneck" not in self.sections:
            # The reader chose other plugins: what each of them sums up to.
            return [(section.plugin, section.summary) for section in self.sections.values() if section.summary]
        lacking = self.top.get("not_measurable")
        lacked = f'; {counted(lacking, "check", "checks")} lacked data: report["bottleneck.not_measurable"]' if lacking else ""
        return [("bottlenecks", self.top.get("reason") or f"none found{lacked}")]


def _gain(line):
    """What a fix saves, where the sentence does not say it."""
    ns, share = line["gain_ns"], line["gain_share"]
    if ns is None or duration(ns) in line["sentence"]:
        return ""
    return f" (saves up to {duration(ns)}" + (f", {share * 100:.1f} % of the wall)" if share is not None else ")")


def _line_html(lead, text, more=""):
    return f"<p><b>{escape(lead)}</b> {escape(text)}{more}</p>"


def _finding_html(finding):
    more = f"<br>{escape(finding.suggestion)}" if finding.suggestion else ""
    return _line_html(f"{severity_word(finding.severity)} [{finding.plugin}]", finding.title, more)


def report(
    path,
    general,
    *,
    plugins=None,
    skip=None,
    options=None,
    baseline=None,
    window=None,
    what_if=None,
    categories=None,
    plugin_files=(),
    charts=True,
):
    """Runs the analyses over the run at `path`."""
    from ._run import _path, settings

    with tempfile.TemporaryDirectory(prefix="trueno-") as folder:
        folder = Path(folder)
        arguments = [*general, "report", path, "--format", "text", "--json", folder / "report.json"]
        if charts:
            arguments += ["--charts", folder / "charts"]
        if plugins is not None:
            arguments += ["--plugin-id", ",".join([plugins] if isinstance(plugins, str) else plugins)]
        if skip is not None:
            arguments += ["--skip", ",".join([skip] if isinstance(skip, str) else skip)]
        if baseline is not None:
            arguments += ["--baseline", _path(baseline)]
        if window is not None:
            arguments += ["--window", window]
        if categories is not None:
            arguments += ["--categories", categories]
        for target, value in (what_if or {}).items():
            arguments += ["--what-if", f"{target}={value}"]
        for file in plugin_files:
            arguments += ["--plugin-file", file]
        arguments += settings(options)
        # 1: a section failed, 3: nothing in it can be measured. The report says so.
        page = ask(arguments, fine=(0, 1, 3))
        data = json.loads((folder / "report.json").read_bytes())
        return Report(data, page.decode(), _charts(folder / "charts", data))


def _charts(folder, data):
    """Charts by plugin: files are named PLUGIN.N-title.svg, in the order of the section's charts."""
    drawn = {}
    for section in data["sections"]:
        plugin = section["plugin"]
        for number, chart in enumerate(section["charts"], 1):
            for file in folder.glob(f"{plugin}.{number}-*.svg"):
                drawn.setdefault(plugin, []).append(Chart(chart["title"], file.read_text()))
    return drawn
