//! `trueno-analyze tree`.

mod json;
mod model;
mod page;
#[cfg(test)]
mod tests;

pub use model::{Item, Tree, TreeOptions};

use trueno_execution_graph::Limits;
use trueno_model::exit;
use trueno_render::style::Palette;

use super::graph_input::{GraphInput, Want};
use super::output::Output;
use super::runs::Runs;
use super::stderr::Stderr;
use super::stdout::page_width;
use crate::cli::TreeArgs;

const FIT_ROWS: usize = 200;

/// Prints the tree of rows. Exit code 3 if the run has none.
pub fn tree(
    args: &TreeArgs,
    palette: Palette,
    runs: &Runs<'_>,
    stderr: &Stderr,
) -> anyhow::Result<u8> {
    let to = Output::open(args.result.output.as_deref())?;
    let palette = to.palette(palette);
    let look = GraphInput::open(
        &args.graph,
        Want {
            edges: false,
            slack: args.result.is_json(),
            path_later: !args.path && !args.result.is_json(),
        },
        runs,
        stderr,
    )?;
    let filter = look.filter(args.only.as_deref())?;
    let whole = if args.result.is_json() {
        usize::MAX
    } else {
        10
    };
    let options = TreeOptions {
        limits: Limits {
            top: args.top.unwrap_or(whole),
            min_share: args.min_share,
        },
        depth: args.depth,
        fit_rows: if args.result.is_json() {
            usize::MAX
        } else {
            FIT_ROWS
        },
        merge: args.merge,
        filter: filter.as_ref(),
    };
    let tree = Tree::grow(&look.graph, &options);
    let text = if args.result.is_json() {
        json::json(&look, &tree, args.merge)
    } else {
        page::page(&look, &tree, args.merge, page_width(args.width), palette)
    };
    to.result(&text, args.result.is_json(), stderr)?;
    if look.graph.rows() == 0 {
        stderr.warn("the run holds no row with a time");
        return Ok(exit::NOT_MEASURABLE);
    }
    Ok(exit::FINE)
}
