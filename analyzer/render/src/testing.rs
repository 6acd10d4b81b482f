//! Reports to test their forms with.

use std::collections::BTreeMap;

use trueno_model::{
    ClockFacts, Finding, Header, HostFacts, Level, ProgramFacts, Report, RunFacts, RunState,
    Section, SectionStatus, TableFacts, WallSource,
};
use trueno_plugin::Table;

pub fn report(sections: Vec<Section>) -> Report {
    let facts = RunFacts {
        imports: Vec::new(),
        joined: Vec::new(),
        ranks: Vec::new(),
        run_id: Some("00000000000000aa".into()),
        label: Some("decode".into()),
        directory: Some("decode.run".into()),
        state: RunState::Finished,
        clean_end: true,
        complete: Some(true),
        wall_ns: Some(1_000_000_000),
        wall_source: WallSource::Recorded,
        dropped: Some(0),
        open: 0,
        rows: 1_234,
        rows_lost: 0,
        format_minor: Some(0),
        producer: Some("trueno-recorder 0.1.0".into()),
        host: HostFacts {
            name: Some("box".into()),
            cpu_model: Some("A processor with a name that goes on and on".into()),
            logical_cpus: Some(2),
            memory_bytes: Some(16_000_000_000),
            ..HostFacts::default()
        },
        program: ProgramFacts {
            argv: vec!["./decode".into(), "--tokens".into(), "64".into()],
            pid: Some(7),
        },
        clock: ClockFacts::default(),
        cost_ns_per_span: Some(31.5),
        recorder_ns: None,
        recorder_cpu_ns: None,
        tables: vec![TableFacts {
            name: "bricks".into(),
            rows_read: 1_234,
            rows_lost: Some(0),
            ..TableFacts::default()
        }],
        values: BTreeMap::new(),
    };
    Report {
        header: Header {
            facts,
            coverage: Some(0.973),
            spans: 1_234,
            window: None,
        },
        sections,
        problems: Vec::new(),
    }
}

pub fn section(plugin: &str, tables: Vec<Table>) -> Section {
    Section {
        plugin: plugin.into(),
        version: "0.1.0".into(),
        summary: "What it is about.".into(),
        status: SectionStatus::Ok,
        message: None,
        tables,
        findings: Vec::new(),
        charts: Vec::new(),
    }
}

pub fn finding(severity: Level, title: &str) -> Finding {
    Finding {
        code: "some_code".into(),
        severity,
        title: title.into(),
        detail: Some(
            "What was seen, in a sentence that is long enough to be wrapped on a narrow page."
                .into(),
        ),
        suggestion: Some("What to do.".into()),
        evidence: None,
    }
}
