//! The interface of a form of reports.

use std::fmt::Debug;
use std::io::{self, Write};

use trueno_model::Report;
use trueno_model::evidence::Evidence;
use trueno_model::timeline::{StackPicture, Timeline};

use crate::commands::Commands;
use crate::style::Palette;

/// Rows of each table where no other number is asked for.
pub const DEFAULT_ROWS: usize = 10;

/// Form that a report is written in.
pub trait ReportForm: Debug + Sync {
    /// Name, as `--format` takes it.
    fn name(&self) -> &'static str;

    /// Line of help.
    fn about(&self) -> &'static str;

    /// Earlier names, which `--format` still takes.
    fn old_names(&self) -> &'static [&'static str] {
        &[]
    }

    /// Tells whether all of it is JSON.
    fn is_json(&self) -> bool {
        false
    }

    /// Tells whether it is no text.
    fn is_binary(&self) -> bool {
        false
    }

    /// Tells whether it shows when things ran, which takes time to read.
    fn shows_timeline(&self) -> bool {
        false
    }

    /// Tells whether it shows the rows that findings rest on, which take time to look up.
    fn shows_evidence(&self) -> bool {
        self.shows_timeline()
    }

    /// Writes the report.
    ///
    /// # Errors
    /// Those of `to`.
    fn write(&self, report: &Report, layout: &Layout<'_>, to: &mut dyn Write) -> io::Result<()>;
}

/// Wishes of the reader, and data beside the report. A form takes of it what it shows.
#[derive(Clone, Copy, Debug)]
pub struct Layout<'a> {
    /// Columns of text.
    pub width: usize,
    /// Rows shown of each table; `None`: as many as the form likes.
    pub top: Option<usize>,
    /// Level of detail.
    pub detail: Detail,
    /// Of a page, only its summary and the timeline.
    pub is_summary: bool,
    /// Colours or none.
    pub palette: Palette,
    /// Timeline of the run; `None` when it could not be read, which is then a problem of the report.
    pub timeline: Option<&'a Timeline>,
    /// Stacks of functions, where they were sampled.
    pub stacks: &'a [StackPicture],
    /// Rows and places of findings.
    pub evidence: Option<&'a Evidence>,
    /// Commands that show what the report leaves out.
    pub commands: &'a Commands,
}

/// Level of detail of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Opening of a report, and its problems: no sections.
    Head,
    /// The same, and of each section the tables that fit a dozen lines; the others are named.
    Brief,
    /// All findings, in full, and no tables.
    Findings,
    /// All tables, each cut to a number of rows, and all that findings say.
    Full,
}
