//! Resources: tables of the run format, and pages about analyses. They are this program's own words; no run is in them.

use std::fmt::Write as _;

use rmcp::model::{Resource, ResourceContents, ResourceTemplate};
use trueno_format::schema::{self, Provenance};

use crate::analyses;

const MIME_TYPE: &str = "text/markdown";
const TABLES: &str = "trueno://tables";
const ANALYSES: &str = "trueno://analyses";

pub(crate) fn all() -> Vec<Resource> {
    let resource = |uri: String, name: String, about: String| {
        let resource = Resource::new(uri, name).with_description(about);
        resource.with_mime_type(MIME_TYPE)
    };
    let mut all = vec![
        resource(
            TABLES.to_owned(),
            "tables".to_owned(),
            "The tables of a run, a line each.".to_owned(),
        ),
        resource(
            ANALYSES.to_owned(),
            "analyses".to_owned(),
            "The analyses, a line each.".to_owned(),
        ),
    ];
    all.extend(schema::TABLES.iter().map(|table| {
        let uri = format!("{TABLES}/{}", table.name);
        resource(uri, format!("table {}", table.name), table.doc.to_owned())
    }));
    all.extend(analyses::PAGES.iter().map(|(id, page)| {
        let uri = format!("{ANALYSES}/{id}");
        resource(uri, format!("analysis {id}"), analyses::opening(page))
    }));
    all
}

pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: String, name: &str, about: &str| {
        let template = ResourceTemplate::new(uri, name).with_description(about);
        template.with_mime_type(MIME_TYPE)
    };
    vec![
        template(
            format!("{TABLES}/{{table}}"),
            "table",
            "Columns of a recorded table: type, provenance, meaning.",
        ),
        template(
            format!("{ANALYSES}/{{analysis}}"),
            "analysis",
            "An analysis: its tables, definitions, formulas, and what it abstains from.",
        ),
    ]
}

/// `None` if there is no such resource.
pub(crate) fn read(uri: &str) -> Option<ResourceContents> {
    let text = match uri {
        TABLES => table_list(),
        ANALYSES => analysis_list(),
        uri => {
            if let Some(id) = below(uri, ANALYSES) {
                analyses::page(id)?.to_owned()
            } else {
                let name = below(uri, TABLES)?;
                columns(schema::TABLES.iter().find(|table| table.name == name)?)
            }
        }
    };
    Some(ResourceContents::text(text, uri).with_mime_type(MIME_TYPE))
}

fn below<'a>(uri: &'a str, folder: &str) -> Option<&'a str> {
    uri.strip_prefix(folder)?.strip_prefix('/')
}

fn table_list() -> String {
    let mut text = "# Recorded tables\n\n".to_owned();
    for table in schema::TABLES {
        let _ = writeln!(text, "- `{}`: {}", table.name, table.doc);
    }
    text
}

fn analysis_list() -> String {
    let mut text = "# Analyses\n\n".to_owned();
    for (id, page) in analyses::PAGES {
        let _ = writeln!(text, "- `{id}`: {}", analyses::opening(page));
    }
    text
}

fn columns(table: &schema::Table) -> String {
    let mut text = format!("# Table `{}`\n\n{}.\n\n", table.name, table.doc);
    text.push_str("| column | type | provenance | meaning |\n| --- | --- | --- | --- |\n");
    for column in table.columns {
        let null = if column.nullable { ", may be null" } else { "" };
        let provenance = match column.provenance {
            Provenance::Measured => "measured",
            Provenance::Declared => "declared",
            Provenance::Identity => "identity",
        };
        let doc = column.doc.replace('|', "\\|");
        let ty = column.ty.name();
        let _ = writeln!(
            text,
            "| `{}` | {ty}{null} | {provenance} | {doc} |",
            column.name
        );
    }
    text.push_str("\nNull means not measured. Times are nanoseconds since the start of the run.\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(uri: &str) -> String {
        match read(uri) {
            Some(ResourceContents::TextResourceContents { text, .. }) => text,
            other => panic!("{uri}: {other:?}"),
        }
    }

    #[test]
    fn each_resource_that_is_listed_can_be_read() {
        for resource in all() {
            assert!(!text(&resource.uri).is_empty(), "{}", resource.uri);
        }
        assert!(all().len() > 40);
        for uri in [
            "trueno://tables/nonsense",
            "trueno://analyses/",
            "trueno://tablesx",
            "file:///etc/passwd",
        ] {
            assert!(read(uri).is_none(), "{uri}");
        }
    }

    #[test]
    fn columns_tell_their_provenance() {
        let kernels = text("trueno://tables/kernels");
        assert!(
            kernels.contains("| `dur_ns` | i64 | measured | how long it lasted |"),
            "{kernels}"
        );
        assert!(
            kernels.contains("| `flops` | u64, may be null | declared |"),
            "{kernels}"
        );
    }
}
