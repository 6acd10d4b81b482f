//! Types that an author writes or names: a [`Plugin`], with its [`Input`]s.

use serde::de::DeserializeOwned;

use crate::abi;
use crate::error::Result;
use crate::run::Run;

/// One pure function from tables to tables.
///
/// It sees no path, no clock and no environment, prints nothing, and leaves no
/// thread behind. The same input and options give the same bytes of output.
pub trait Plugin {
    /// Matches `[a-z][a-z0-9_]*`, which is checked at compile time. Used as the folder, the file name
    /// (`libtrueno_plugin_<id>.so`), the name in reports, and the namespace of the plugin's tables.
    const ID: &'static str;
    /// One line for `plugins list`.
    const SUMMARY: &'static str;
    /// The tables that the plugin reads, as queries.
    const INPUTS: &'static [Input];
    /// Options that the user may set: `()` for none, or a struct with `#[derive(Default, Deserialize)]
    /// #[serde(default)]`. Unknown keys are rejected with a list of the known ones.
    type Options: DeserializeOwned + Default;

    /// The analysis.
    ///
    /// # Errors
    /// Anything that prevents a result; the report shows the text. What was emitted before
    /// stays.
    fn run(run: &mut Run, options: Self::Options) -> Result<()>;
}

/// A plugin that can work on the ranks of a job one by one, so that a job needs the memory of
/// one rank: `export!(Plugin, parts)`.
///
/// Both ways give the same: [`Plugin::run`] over all rows, and [`merge`](Parts::merge) over the
/// parts of the ranks, in any grouping. Sums of integers, extremes, and lists of values with
/// their counts (for quantiles) can be merged; a median cannot.
///
/// Here one function does all three, since a part has the columns of the rows it is made from:
///
/// ```
/// # use std::collections::BTreeMap;
/// # use trueno_plugin::{Input, Parts, Plugin, Result, Run, Table, export, testing};
/// struct Longest;
///
/// impl Plugin for Longest {
///     const ID: &'static str = "longest";
///     const SUMMARY: &'static str = "Calls of each name, and the longest.";
///     const INPUTS: &'static [Input] =
///         &[Input::sql("calls", "SELECT name, 1 AS calls, dur_ns AS longest_ns FROM bricks")];
///     type Options = ();
///
///     fn run(run: &mut Run, _options: ()) -> Result<()> {
///         add_up(run, "by_name")
///     }
/// }
///
/// impl Parts for Longest {
///     const MERGE_INPUTS: &'static [Input] =
///         &[Input::sql("calls", "SELECT name, calls, longest_ns FROM longest.calls")];
///
///     fn part(run: &mut Run, _options: ()) -> Result<()> {
///         add_up(run, "calls")
///     }
///
///     fn merge(run: &mut Run, _options: ()) -> Result<()> {
///         let table = if run.is_final() { "by_name" } else { "calls" };
///         add_up(run, table)
///     }
/// }
///
/// fn add_up(run: &mut Run, table: &str) -> Result<()> {
///     let rows = run.table("calls")?;
///     let (name, calls, longest_ns) = (rows.text("name")?, rows.i64("calls")?, rows.i64("longest_ns")?);
///     let mut by_name: BTreeMap<&str, (i64, Option<i64>)> = BTreeMap::new();
///     for row in 0..rows.rows() {
///         let (Some(name), Some(calls)) = (name.get(row), calls.get(row)) else { continue };
///         let of_name = by_name.entry(name).or_default();
///         *of_name = (of_name.0.saturating_add(calls), of_name.1.max(longest_ns.get(row)));
///     }
///     run.emit(
///         Table::build(table)
///             .text("name", by_name.keys())
///             .i64("calls", by_name.values().map(|(calls, _)| *calls))
///             .i64("longest_ns", by_name.values().map(|(_, longest_ns)| *longest_ns)),
///     )
/// }
///
/// export!(Longest, parts);
///
/// // In a test: merged from the ranks, or whole.
/// # fn main() -> Result<()> {
/// let rank = |names: &[&str], ns: &[i64]| {
///     let calls = Table::build("calls").text("name", names.iter().copied());
///     calls.i64("calls", ns.iter().map(|_| 1)).i64("longest_ns", ns.iter().copied())
/// };
/// let parts = [
///     testing::part::<Longest>([rank(&["norm", "ffn"], &[3, 7])], "{}")?,
///     testing::part::<Longest>([rank(&["norm"], &[5])], "{}")?,
/// ];
/// let merged = testing::merge::<Longest>(&parts, [], "{}", true)?;
/// let whole = testing::run::<Longest>([rank(&["norm", "ffn", "norm"], &[3, 7, 5])], "{}")?;
/// assert_eq!(merged, whole);
/// # Ok(())
/// # }
/// ```
pub trait Parts: Plugin {
    /// The inputs of [`merge`](Parts::merge): queries over `<id>.<table>` (the tables of the parts, one rank
    /// after another), over tables of other plugins, and over small tables of the whole job such as `run` and
    /// `ranks`. Name each input after the table of the part that it reads, so that
    /// [`testing::merge`](crate::testing::merge) finds it.
    const MERGE_INPUTS: &'static [Input];

    /// Reads [`Plugin::INPUTS`] with the rows of one rank, and emits tables that only `merge` reads:
    /// no findings, no charts. It emits all of them with the same columns, even without rows.
    /// Several ranks may run at once, each on its own thread.
    ///
    /// # Errors
    /// Anything that prevents a result; the rank is then left out, and the report says so.
    fn part(run: &mut Run, options: Self::Options) -> Result<()>;

    /// Merges parts: into what [`Plugin::run`] emits if [`Run::is_final`], else into the tables of
    /// one part.
    ///
    /// # Errors
    /// Anything that prevents a result; the report shows the text.
    fn merge(run: &mut Run, options: Self::Options) -> Result<()>;
}

/// One table that a plugin reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Input {
    name: &'static str,
    sql: &'static str,
    flags: u32,
}

impl Input {
    /// A query over the published tables, or over another plugin's output
    /// (`plugin_id.table`). State `ORDER BY` when the order of rows matters.
    /// The columns are those of the query, in the types i64, u64, f64, bool and text.
    pub const fn sql(name: &'static str, sql: &'static str) -> Self {
        Self {
            name,
            sql,
            flags: 0,
        }
    }

    /// The plugin works without it: a missing table reads as one without rows
    /// ([`Table::is_missing`](crate::Table::is_missing)).
    pub const fn optional(mut self) -> Self {
        self.flags |= abi::INPUT_OPTIONAL;
        self
    }

    /// Asks the baseline run, not the subject.
    pub const fn baseline(mut self) -> Self {
        self.flags |= abi::INPUT_BASELINE;
        self
    }

    /// Name within the plugin.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The query.
    pub const fn query(&self) -> &'static str {
        self.sql
    }

    /// Returns whether the plugin works without it.
    pub const fn is_optional(&self) -> bool {
        self.flags & abi::INPUT_OPTIONAL != 0
    }

    /// Returns whether it reads the baseline run.
    pub const fn is_baseline(&self) -> bool {
        self.flags & abi::INPUT_BASELINE != 0
    }

    pub(crate) const fn descriptor(&self) -> abi::Input {
        abi::Input {
            struct_size: size_of::<abi::Input>() as u32,
            flags: self.flags,
            name: abi::Str::lend(self.name),
            sql: abi::Str::lend(self.sql),
        }
    }
}
