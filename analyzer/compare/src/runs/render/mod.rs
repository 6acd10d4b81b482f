//! A comparison for people and for programs.

mod forest;
mod function_sheets;
mod grid;
mod headline;
mod job_sheets;
mod json;
mod operator_sheets;
mod operator_tables;
mod page;
mod page_tables;
mod sheets;
mod signature_sheets;
mod wording;

use trueno_model::width;
use trueno_render::markdown;
use trueno_render::style::{Meaning, Palette};

use super::Comparison;
pub use forest::forest;
pub use grid::{Grid, Holds};
pub use headline::headline;
pub use json::json;
pub use page::page;
use sheets::sheets;

pub struct Sheet {
    pub heading: &'static str,
    pub lead: Vec<String>,
    pub grid: Grid,
    pub left_out: usize,
}

/// For a terminal of `room` columns, with `top` rows of each table. In full, each differing property of devices is
/// listed.
pub fn terminal(
    comparison: &Comparison,
    room: usize,
    top: usize,
    is_full: bool,
    palette: Palette,
) -> String {
    let mut out = String::new();
    for line in width::wrap(&headline(comparison), room) {
        out.push_str(&palette.paint(Meaning::Heading, &line));
        out.push('\n');
    }
    out.push('\n');
    for sheet in sheets(comparison, top, is_full) {
        out.push_str(&palette.paint(Meaning::Heading, sheet.heading));
        out.push('\n');
        for line in &sheet.lead {
            for part in width::wrap(line, room - 2) {
                out.push_str(&format!("  {part}\n"));
            }
        }
        for line in sheet.grid.lines(room - 2, palette) {
            out.push_str(&format!("  {line}\n"));
        }
        if sheet.left_out > 0 {
            let more = format!("… and {} more", sheet.left_out);
            out.push_str(&format!("  {}\n", palette.paint(Meaning::Faint, &more)));
        }
        out.push('\n');
    }
    out.pop();
    out
}

pub fn markdown(comparison: &Comparison, top: usize) -> String {
    let mut out = format!("**{}**\n\n", markdown::text(&headline(comparison)));
    for (at, sheet) in sheets(comparison, top, false).into_iter().enumerate() {
        let level = if at == 0 { "##" } else { "###" };
        out.push_str(&format!("{level} {}\n\n", sheet.heading));
        for line in &sheet.lead {
            out.push_str(&format!("{}\n\n", markdown::text(line)));
        }
        out.push_str(&sheet.grid.markdown());
        if sheet.left_out > 0 {
            out.push_str(&format!("\n… and {} more\n", sheet.left_out));
        }
        out.push('\n');
    }
    out.pop();
    out
}
