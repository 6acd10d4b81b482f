//! Of a run of several ranks: whether all of them are here, on one timeline.

use trueno_plugin::{Result, Run, Severity, counted};

use crate::check::{Check, Spec};
use crate::facts::Facts;

const RANKS: Spec = Spec {
    name: "all_ranks",
    fault: "the job is not complete",
    expected: "every rank, on one timeline",
    severity: Severity::Warning,
    suggestion: "comparisons between ranks are not reliable; the problems of the report name the ranks and why",
};

/// The check of the ranks; `None` if the run has no ranks.
///
/// # Errors
/// An input lacks a column or has it in another type.
pub fn check(run: &mut Run, facts: &Facts) -> Result<Option<Check>> {
    let Some(here) = facts.ranks else {
        return Ok(None);
    };
    let problems = run.table("rank_problems")?.rows() as u64;
    let check = match problems {
        0 => RANKS.pass(
            counted(here, "rank", "ranks"),
            "none is missing or misplaced",
        ),
        more => RANKS
            .fail(
                format!(
                    "{}, and {} with ranks",
                    counted(here, "rank", "ranks"),
                    counted(more, "problem", "problems")
                ),
                more,
                "ranks are missing, could not be read, or have no place on the timeline",
            )
            .evidence("SELECT rank, code, text FROM problems"),
    };
    Ok(Some(check))
}
