//! The interface of a form of reports.

use std::fmt::Debug;
use std::io::{self, Write};

use trueno_model::Report;
use trueno_model::evidence::Evidence;
use trueno_model::timeline::{StackPicture, Timeline};

use crate::commands::Commands;
use crate::style::Palette;

pub const DEFAULT_ROWS: usize = 10;

pub trait ReportForm: Debug + Sync {
    fn name(&self) -> &'static str;

    fn about(&self) -> &'static str;

    fn old_names(&self) -> &'static [&'static str] {
        &[]
    }

    fn is_json(&self) -> bool {
        false
    }

    /// Whether the output is not text.
    fn is_binary(&self) -> bool {
        false
    }

    /// Whether it shows the timeline, which takes time to read.
    fn shows_timeline(&self) -> bool {
        false
    }

    /// Whether it shows evidence rows of findings, which take time to look up.
    fn shows_evidence(&self) -> bool {
        self.shows_timeline()
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Those of `to`.
    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()>;
}

/// Options of the reader, and data besides the report. A form uses what it shows.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    pub width: usize,
    /// Rows shown of each table; `None` uses the form's default.
    pub top: Option<usize>,
    pub detail: Detail,
    /// On a page, show only the summary and the timeline.
    pub is_summary: bool,
    pub palette: Palette,
    /// `None` if it could not be read; the report then has a problem about it.
    pub timeline: Option<&'a Timeline>,
    pub stacks: &'a [StackPicture],
    pub evidence: Option<&'a Evidence>,
    pub commands: &'a Commands,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Opening and problems, without sections.
    Head,
    /// Like `Head`, with tables of each section that fit into a dozen lines; others are named.
    Brief,
    Findings,
    /// All findings in full, and all tables cut to a number of rows.
    Full,
}
