//! `trueno-analyze tree`.

mod json;
mod model;
mod page;
#[cfg(test)]
mod tests;

pub use model::{Item, Tree, Wish};

use super::look::{Look, Want};
use super::talk::Talk;
use super::{page_width, to_stdout};
use crate::cli::TreeArgs;
use crate::exit;
use crate::graph::Limits;
use crate::report::style::Palette;

/// Rows of a page, where the depth is not given.
const FIT_ROWS: usize = 200;

/// Shows what ran inside what. No row at all is exit code 3.
pub fn tree(args: &TreeArgs, palette: Palette, talk: &Talk) -> anyhow::Result<u8> {
    let look = Look::open(
        &args.graph,
        Want {
            edges: false,
            slack: args.json,
        },
        talk,
    )?;
    let filter = look.filter(args.only.as_deref())?;
    let whole = if args.json { usize::MAX } else { 10 };
    let wish = Wish {
        limits: Limits {
            top: args.top.unwrap_or(whole),
            min_share: args.min_share,
        },
        depth: args.depth,
        fit_rows: if args.json { usize::MAX } else { FIT_ROWS },
        merge: args.merge,
        filter: filter.as_ref(),
    };
    let tree = Tree::grow(&look.graph, &wish);
    let text = if args.json {
        json::json(&look, &tree, args.merge)
    } else {
        page::page(&look, &tree, args.merge, page_width(args.width), palette)
    };
    to_stdout(text.as_bytes())?;
    if look.graph.rows() == 0 {
        talk.warn("the run holds no row with a time");
        return Ok(exit::NOT_MEASURABLE);
    }
    Ok(exit::FINE)
}
