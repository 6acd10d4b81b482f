//! The attribute `instrument` (feature `macros`).

/// Records each call of a function as a row of `bricks`, however the function ends.
///
/// ```
/// use trueno_recorder::{Recorder, instrument};
///
/// struct Model {
///     rec: Recorder,
/// }
///
/// impl Model {
///     #[instrument(self.rec, attributes(batch = inputs.len(), task = task))]
///     fn predict(&self, inputs: &[f32], task: &str) -> Option<f32> {
///         let first = inputs.first()?;
///         Some(first + 1.0)
///     }
/// }
///
/// #[instrument(rec, name = "load weights", kind = "brick")]
/// fn load(rec: &Recorder) -> Vec<f32> {
///     vec![0.5; 64]
/// }
/// # let folder = tempfile::tempdir()?;
/// # let rec = Recorder::create(folder.path().join("run"))?;
/// # load(&rec);
/// # assert_eq!(Model { rec: rec.clone() }.predict(&[], "none"), None);
/// # let summary = rec.finish()?;
/// # assert_eq!((summary.tables["bricks"].rows, summary.tables["attributes"].rows), (2, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// The first argument is any expression for the recorder, or for what derefs to one: a parameter, `self.rec`, a
/// static. Then, in any order:
///
/// - `name = "…"`: the row's name, in place of the function's;
/// - `kind = "brick"` or `kind = "function"`, which it is without;
/// - `attributes(key = value, …)`: [attributes](crate::BrickGuard::set) of the row, whose values are computed when the
///   function begins, and only if the recorder records; `"a.key"` is a key as well.
///
/// Generic functions, methods, `?`, `return` and `impl Trait` are as they were. File and line of the row are those of
/// the function's name. It costs what [`Recorder::function`](crate::Recorder::function) costs with a
/// [`Name`](crate::Name). A function that may move or change what the recorder lies in (`&mut self`, `self`, a parameter
/// that is no `&`) clones it, which is two locked instructions.
///
/// An async function is refused: a guard stays on its thread, and a future may not.
///
/// ```compile_fail
/// #[trueno_recorder::instrument(rec)]
/// async fn fetch(rec: &trueno_recorder::Recorder) {}
/// ```
///
/// So is a function without a recorder:
///
/// ```compile_fail
/// #[trueno_recorder::instrument]
/// fn load() {}
/// ```
pub use trueno_recorder_macros::instrument;
