//! Set-up: calls that happen once and take much of the window.
//!
//! Evidence is the longest of three times, at least `set_up_share` of the window; the gain is that time. Below that, the one-time calls
//! that are certain, if they are at least `first_call_share`: calls and rows that load or compile code or a model (ONNX Runtime), first calls that are unlike all
//! others of their name, first copies that took far longer than copying does ([`SlowStart`](crate::facts::SlowStart)), and the call
//! in which the process began to use a device: the first of its API that takes 2 % of the window, before any device work, and ten times
//! as long as later calls of its name or, without any, as the median of other names. A shorter call before it that needs a context shows that
//! there was one. In PyTorch's and JAX's traces, and of a call that may
//! wait for a device, only if the start of the device is recorded (`cuModuleGetLoadingMode`): else it may wait for earlier work.
//!
//! - **One-time calls**: names of API calls that load code, or whose longest call has most of their time; names of the
//!   host that were over before the first iteration began; names of the host whose first call of at least five has most
//!   of their time and took ten times as long as the median one; first calls of a first round, at least three names whose first of two
//!   to four calls took ten times as long as the others together, where the first calls of all such names took 50 times as long as the
//!   others (inferred; not of operators, which have one name for work of any size). Each takes at least 2 % of the window and lies on the
//!   critical path. Waits, copies and the profiler's own work do not count. A call that waits for devices if it must, such as
//!   `cudaFree`, counts as far as there was nothing to wait for.
//!   The range of the program in which the process began to use a device counts from its start to the first call of the device's API
//!   (which must state that: `cuModuleGetLoadingMode`), if nothing but such calls follow in it (inferred): the API starts there.
//! - **Work before the device**: work of the host on the path before the first work of a device is launched, or begins
//!   if no launch is recorded, or before the first iteration begins. Time without a record is not promised, calls that only wait,
//!   such as `pthread_join`, are no work, and loading input is [data loading](super::loader), with all it calls.
//! - **Capture of graphs**: work of the host on the path from a call `…BeginCapture` to its `…EndCapture`, and between captures
//!   while no graph is launched. Launches in it run nothing on a device.

use super::draft::Draft;
use super::{Options, Rule, tear_down};
use crate::class::Class;
use crate::facts::{Facts, Piece, SlowStart, Without, Work};
use crate::options::thresholds;
use crate::verdict::{Confidence, Verdicts};
use crate::wording::{percent, short, time};
use trueno_analysis::evidence::Evidence;
use trueno_analysis::intervals::{IntervalSet, SaturatingSum};
use trueno_analysis::producer::Producer;
use trueno_analysis::vendors::{self, Call};
use trueno_analysis::waits::names_a_wait;
use trueno_plugin::counted;

/// A single call below this share of the window does not count as set-up.
const MIN_SHARE: f64 = 0.02;
/// A range of calls has at most one part in so many of its own besides them.
const OWN_PART: i64 = 10;
/// Calls that wait for someone to type: no start is faster for it.
const INPUT: [&str; 3] = ["getc", "getchar", "fgetc"];
/// TensorFlow waits for the input of a step, which comes again with the next.
const NEXT_INPUT: [&str; 2] = ["iteratorgetnext", "queuedequeue"];
const WAITS_AND_COPIES: [&str; 8] = [
    "synchronize",
    "memcpy",
    "memset",
    "wait",
    "poll",
    "sleep",
    "mpi_send",
    "mpi_recv",
];

/// Calls that load code or create a context. The driver loads a kernel's code at its first launch, and a profiler
/// makes each of these calls longer.
const LOADS: [&str; 10] = [
    "moduleload",
    "libraryload",
    "codeobjectload",
    "linkadddata",
    "linkcomplete",
    "nvrtccompile",
    "hiprtccompile",
    "ctxcreate",
    "primaryctxretain",
    "comminitrank",
];

/// Rows of the host, by letters and digits of their names, that compile or load code for a device: of the program, or of the
/// profiler.
const CODE_ROWS: [&str; 4] = [
    "nvrtccompile",
    "hiprtccompile",
    "runtimetriggeredmoduleloading",
    "lazyfunctionloading",
];

/// Rows in which ONNX Runtime loads a model and prepares it.
const SESSION_ROWS: [&str; 2] = ["model_loading_", "session_initialization"];

pub const CLASS: Class = Class::new("set_up", 16);

/// Returns whether code for a device is compiled or loaded in host rows of that name.
pub fn is_code_row(name: &str) -> bool {
    let letters = name.chars().filter(char::is_ascii_alphanumeric);
    let letters: String = letters.map(|letter| letter.to_ascii_lowercase()).collect();
    CODE_ROWS.iter().any(|part| letters.contains(part))
}

fn waits_or_copies(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    names_a_wait(name, false) || WAITS_AND_COPIES.iter().any(|part| lower.contains(part))
}

/// Something that a process does once, as it starts.
struct Once<'f> {
    ns: i64,
    name: &'f str,
    /// It is known to be set-up, and not only to have run once.
    is_certain: bool,
    copy: Option<&'f SlowStart>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    OneTimeCalls,
    BeforeDevices,
    Captures,
}

thresholds! {
    pub struct SetUp {
        set_up_share: f64 = 0.3,
        /// From this share of the window on, calls count that happen once for certain.
        first_call_share: f64 = 0.10,
    }
}

/// Time on the path of calls that wait for devices if they must, while there was nothing to wait for: before the process
/// launched anything, or while no work ran on a device whose work is recorded.
fn not_waiting_ns(facts: &Facts, name: &str) -> i64 {
    let device = &facts.device;
    let launched_ns = first_work_ns(facts);
    let is_recorded = !device.work.is_empty() && device.bound == 0;
    let busy = device.busy(None, |_| true);
    let not_waiting_ns = |piece: &Piece| {
        let end_ns = piece.start_ns.saturating_add(piece.dur_ns);
        if launched_ns.is_none_or(|ns| end_ns <= ns) {
            if device.was_in_use { 0 } else { piece.dur_ns }
        } else if is_recorded {
            piece.dur_ns - busy.within_ns(piece.start_ns, end_ns)
        } else {
            0
        }
    };
    facts
        .path
        .work_of(name)
        .map(not_waiting_ns)
        .saturating_sum()
}

/// When the first work of a device was launched, or began.
fn first_work_ns(facts: &Facts) -> Option<i64> {
    let work = facts.device.work.iter();
    let launched = work.map(|work| work.launch.map_or(work.start_ns, |launch| launch.0));
    launched.chain(facts.bricks.first_launch_ns).min()
}

/// The name of the call in which the process began to use a device.
fn starting_call(facts: &Facts) -> Option<&str> {
    if facts.window.is_part || facts.device.was_in_use {
        return None;
    }
    let least_ns = (MIN_SHARE * facts.window.wall_ns as f64) as i64;
    let first = facts
        .bricks
        .starting_call(least_ns, first_work_ns(facts)?)?;
    let started_ns = facts.bricks.device_started_ns;
    let is_start_recorded = started_ns.is_some_and(|ns| ns <= first.times.0);
    let may_wait = matches!(
        facts.producer,
        Producer::PyTorch | Producer::Jax | Producer::TensorFlow
    ) || vendors::call(&first.name) == Some(Call::MayWait);
    (is_start_recorded || !may_wait).then_some(first.name.as_str())
}

/// The range of the program in which a process began to use a device, with its time until then, if all that follows in it are calls
/// of the device's API: the first of them makes the API start, and that is recorded nowhere else.
fn range_before_start(facts: &Facts) -> Option<Once<'_>> {
    if facts.window.is_part || facts.device.was_in_use {
        return None;
    }
    let started_ns = facts.bricks.device_started_ns?;
    let pieces = &facts.path.pieces;
    let until = pieces.partition_point(|piece| piece.start_ns < started_ns);
    let before = pieces[..until].last()?;
    let name = before.name.as_deref().filter(|_| before.kind == "work")?;
    let is_call = |name: &str| facts.bricks.calls.iter().any(|call| call.0 == name);
    let of_program = facts.bricks.names.iter();
    let mut of_program =
        of_program.filter(|row| matches!(row.kind.as_str(), "brick" | "function" | "layer"));
    if before.start_ns.saturating_add(before.dur_ns) != started_ns
        || is_call(name)
        || !of_program.any(|row| row.name == name)
    {
        return None;
    }
    let (mut calls_ns, mut own_ns) = (0_i64, 0_i64);
    for piece in pieces[until..]
        .iter()
        .filter(|piece| piece.lane == before.lane)
    {
        match piece.name.as_deref() {
            Some(of) if is_call(of) => calls_ns = calls_ns.saturating_add(piece.dur_ns),
            Some(of) if of == name => own_ns = own_ns.saturating_add(piece.dur_ns),
            _ => break,
        }
    }
    (calls_ns > 0 && own_ns.saturating_mul(OWN_PART) <= calls_ns).then_some(Once {
        ns: before.dur_ns,
        name,
        is_certain: true,
        copy: None,
    })
}

/// First copies with what of them is set-up and on the critical path.
fn slow_copies(facts: &Facts) -> impl Iterator<Item = Once<'_>> {
    let on_path_ns = |start: &SlowStart| {
        if facts.path.pieces.is_empty() {
            return start.ns;
        }
        let pieces = facts.path.pieces.iter().filter(|piece| piece.kind != "gap");
        let within = |piece: &Piece| {
            let end_ns = piece
                .start_ns
                .saturating_add(piece.dur_ns)
                .min(start.times.1);
            end_ns
                .saturating_sub(piece.start_ns.max(start.times.0))
                .max(0)
        };
        pieces.map(within).saturating_sum().min(start.ns)
    };
    facts.slow_starts.iter().map(move |start| Once {
        ns: on_path_ns(start),
        name: if start.is_up {
            "first copy to a device"
        } else {
            "first copy from a device"
        },
        is_certain: true,
        copy: Some(start),
    })
}

impl Rule for SetUp {
    fn classes(&self) -> &'static [Class] {
        &[CLASS]
    }

    fn judge(&self, facts: &Facts, options: &Options, verdicts: &mut Verdicts) {
        let torn_down = tear_down::judge(facts, options, verdicts);
        let torn_down_ns = |name: &str| {
            let mut rows = torn_down.iter();
            rows.find(|row| row.0 == name).map_or(0, |row| row.1)
        };
        let own_ns = |name: &str| -> i64 {
            let rows = facts
                .path
                .names
                .iter()
                .filter(|row| row.0 == name && row.1 == "work");
            rows.map(|row| row.3).saturating_sum()
        };
        let is_profiler = |name: &str| facts.category_of(name) == Some("profiler");
        let mut rows: Vec<Once<'_>> = slow_copies(facts).collect();
        let range = range_before_start(facts).filter(|row| facts.share(row.ns) >= MIN_SHARE);
        let range_name = range.as_ref().map(|row| row.name);
        rows.extend(range);
        rows.retain(|row| facts.share(row.ns) >= MIN_SHARE);
        let starting_call = starting_call(facts);
        for (name, _, all_ns, longest_ns) in &facts.bricks.calls {
            let lower = name.to_ascii_lowercase();
            let loads = LOADS.iter().any(|part| lower.contains(part));
            let once_ns = if loads { *all_ns } else { *longest_ns };
            let own_ns = match vendors::call(name) {
                Some(Call::MayWait) => not_waiting_ns(facts, name),
                _ => own_ns(name),
            };
            let ns = once_ns.min(own_ns.saturating_sub(torn_down_ns(name)));
            if once_ns.saturating_mul(2) >= *all_ns
                && facts.share(ns) >= MIN_SHARE
                && !is_profiler(name)
                && !INPUT.contains(&name.as_str())
                && !waits_or_copies(name)
            {
                rows.push(Once {
                    ns,
                    name,
                    is_certain: loads
                        || facts.bricks.unlike_calls.contains(name)
                        || starting_call == Some(name),
                    copy: None,
                });
            }
        }
        let of_bricks = facts.bricks.before_steps.iter();
        let of_bricks = of_bricks.map(|(name, all_ns)| (name.as_str(), *all_ns));
        let first_calls = facts.bricks.first_calls.iter();
        // What waits, copies, loads or communicates does so for the other side, not to set something up.
        let sets_up = |name: &str| {
            let category = facts.category_of(name).unwrap_or_default();
            !["communication", "data loading", "waiting"].contains(&category)
                && !facts.bricks.loader_names.contains(name)
                && !waits_or_copies(name)
        };
        let first_calls = first_calls.filter(|row| sets_up(&row.0));
        let first_calls = first_calls.map(|(name, dur_ns)| (name.as_str(), *dur_ns));
        let of_host = facts.bricks.names.iter();
        let is_session = |name: &str| SESSION_ROWS.iter().any(|row| name.starts_with(row));
        let code = of_host.filter(|row| {
            row.lane_kind == "host" && (is_code_row(&row.name) || is_session(&row.name))
        });
        let code = code.filter_map(|row| Some((row.name.as_str(), row.inclusive_ns?)));
        let certain = code.chain(first_calls).map(|row| (row, true));
        let first_round = facts.bricks.first_round.iter();
        let first_round = first_round.filter(|row| sets_up(&row.0));
        let first_round = first_round.map(|(name, dur_ns)| (name.as_str(), *dur_ns));
        let others = of_bricks.chain(first_round).map(|row| (row, false));
        for ((name, once_ns), is_certain) in certain.chain(others) {
            let ns = once_ns.min(own_ns(name));
            if facts.share(ns) >= MIN_SHARE
                && !is_profiler(name)
                && !rows.iter().any(|row| row.name == name)
            {
                rows.push(Once {
                    ns,
                    name,
                    is_certain,
                    copy: None,
                });
            }
        }
        rows.sort_by(|a, b| b.ns.cmp(&a.ns).then(a.name.cmp(b.name)));
        let single_ns = rows.iter().map(|row| row.ns).saturating_sum();
        // Work that was launched and has not begun waits for the device, not for the host.
        let launched_ns = |work: &Work| {
            let launched = work.launch.map(|(_, returned_ns)| returned_ns);
            launched.map_or(work.start_ns, |ns| ns.min(work.start_ns))
        };
        let first_work = facts.device.work.iter().map(launched_ns).min();
        // An iteration comes again: what lies in it is no set-up.
        let step_ns = facts.bricks.first_step_ns.unwrap_or(i64::MAX);
        let first = match first_work {
            Some(launched_ns) if step_ns < launched_ns => "the first iteration begins",
            _ => "the host launches the first device work",
        };
        let first_work = first_work.map(|first| first.min(step_ns).max(facts.window.from_ns));
        let until_ns = first_work.map_or(0, |first| first.saturating_sub(facts.window.from_ns));
        // What is loaded for a step comes again with the next.
        let loads = |name: &str| {
            facts.bricks.loader_names.contains(name) && !facts.bricks.is_before_steps(name)
        };
        let is_work = |name: &str| {
            let lower = name.to_ascii_lowercase();
            !is_profiler(name)
                && !loads(name)
                && !INPUT.contains(&name)
                && !NEXT_INPUT.iter().any(|part| lower.contains(part))
                && !names_a_wait(name, false)
        };
        let work_ns = first_work.map_or(0, |first| {
            let profiler = &facts.bricks.profiler;
            let loaders = facts.bricks.loaders.iter().filter(|load| loads(&load.name));
            let loading = loaders.map(|load| load.range);
            let loading: IntervalSet<i64> = loading.chain(profiler.ranges().to_vec()).collect();
            // Other threads may set something up meanwhile.
            let lanes = facts.path.lanes_of(loads);
            let except = |piece: &Piece| {
                if lanes.contains(&piece.lane) {
                    &loading
                } else {
                    profiler
                }
            };
            facts.path.work_before_ns(first, except, is_work)
        });
        let before_ns = until_ns.min(work_ns);
        let captured_ns = facts.path.work_within_ns(&facts.captures.times, |_| true);
        let mut all_ns = single_ns.max(before_ns).max(captured_ns);
        if facts.share(all_ns) < self.set_up_share {
            rows.retain(|row| row.is_certain);
            all_ns = rows.iter().map(|row| row.ns).saturating_sum();
            if facts.share(all_ns) < self.first_call_share {
                return;
            }
        }
        let single_ns = rows.iter().map(|row| row.ns).saturating_sum();
        let is_of_first_round = |name: &str| facts.bricks.first_round.iter().any(|of| of.0 == name);
        let has_first_round = rows.iter().any(|row| is_of_first_round(row.name));
        let kind = if all_ns == captured_ns {
            Kind::Captures
        } else if all_ns == single_ns {
            Kind::OneTimeCalls
        } else {
            Kind::BeforeDevices
        };
        let without = match kind {
            Kind::BeforeDevices => Without::HostBeforeDevices,
            Kind::OneTimeCalls | Kind::Captures => Without::Host,
        };
        let copies = || rows.iter().filter_map(|row| Some((row.ns, row.copy?)));
        let is_size_unknown = copies().any(|(_, copy)| !copy.is_size_recorded);
        let gain_ns = if kind == Kind::OneTimeCalls {
            let copies_ns = copies().map(|(ns, _)| ns).saturating_sum();
            let calls_ns = (all_ns - copies_ns).min(facts.most_ns(&without));
            calls_ns + copies_ns.min(facts.most_ns(&Without::Copies))
        } else {
            all_ns.min(facts.most_ns(&without))
        };
        let names: Vec<String> = rows
            .iter()
            .map(|row| {
                let until = if range_name == Some(row.name) {
                    " until its first call"
                } else {
                    ""
                };
                format!("{}{until} {}", short(row.name), time(row.ns))
            })
            .collect();
        let before = [(
            facts.window.from_ns,
            facts.window.from_ns.saturating_add(until_ns),
        )];
        let longest = facts
            .path
            .names_within(&before.into_iter().collect(), is_work);
        let longest = longest
            .first()
            .filter(|(_, ns)| ns.saturating_mul(2) >= before_ns);
        let longest = longest.map_or(String::new(), |(name, ns)| {
            format!(" ({} of it in {})", time(*ns.min(&before_ns)), short(name))
        });
        verdicts.set_up_names = rows.iter().map(|row| row.name.to_owned()).collect();
        Draft {
        class: CLASS,
        code: "set_up",
        scope_kind: "run",
        scope: match (kind, rows.first()) {
            (Kind::Captures, _) => "captures",
            (_, Some(row)) => row.name,
            (_, None) => "first device work",
        }
        .to_owned(),
        place: "host".into(),
        confidence: match kind {
            Kind::OneTimeCalls if is_size_unknown => (Confidence::Medium, "inferred: the bytes of the first copy are not recorded; it took far longer than all others of its direction together".into()),
            Kind::OneTimeCalls if range_name.is_some() => (Confidence::Medium, "inferred: a range of the program had begun when its first call of the device came, and holds nothing but such calls after; assumes that the device's API started before the call".into()),
            Kind::OneTimeCalls if has_first_round => (Confidence::Medium, "inferred: the first calls of several names took far longer than all later ones, of which there are few; assumes that all of them do the same work".into()),
            Kind::OneTimeCalls => (Confidence::High, "on the critical path, once or before the first iteration".into()),
            Kind::BeforeDevices => (Confidence::Medium, "assumes that all work before that is setup".into()),
            Kind::Captures => (Confidence::High, "the calls that begin and end captures are recorded".into()),
        },
        lead: match (kind, names.first()) {
            (Kind::Captures, _) => format!(
                "host work while {} captured takes {} of the wall",
                counted(facts.captures.count, "graph is", "graphs are"),
                percent(facts.share(all_ns))
            ),
            (Kind::OneTimeCalls, Some(first)) => format!("one-time setup takes {} of the wall ({first})", percent(facts.share(all_ns))),
            _ => format!(
                "{first} after {} of the wall, with {} of host work before it{longest}",
                percent(facts.share(until_ns)),
                time(all_ns)
            ),
        },
        fix: "a warm start".into(),
        evidence: if kind == Kind::Captures {
            "SELECT id, name, thread, start_ns, dur_ns FROM calls WHERE name LIKE '%BeginCapture%' OR name LIKE '%EndCapture%' ORDER BY start_ns".to_owned()
        } else if let (Kind::OneTimeCalls, Some(copy)) = (kind, rows.first().and_then(|row| row.copy)) {
            format!("SELECT id, direction, bytes, src_kind, dst_kind, start_ns, dur_ns FROM transfers WHERE direction = '{}' ORDER BY start_ns", if copy.is_up { "h2d" } else { "d2h" })
        } else if kind == Kind::OneTimeCalls {
            let of = |is_call: bool| {
                let rows = rows.iter().filter(|row| row.copy.is_none());
                let rows = rows.filter(move |row| facts.bricks.calls.iter().any(|call| call.0 == row.name) == is_call);
                rows.map(|row| row.name).collect::<Vec<&str>>()
            };
            let (calls, bricks) = (of(true), of(false));
            let (table, names) = if calls.is_empty() { ("bricks", bricks) } else { ("calls", calls) };
            format!("SELECT id, name, thread, start_ns, dur_ns FROM {table} WHERE {} ORDER BY dur_ns DESC", facts.name_groups.condition_of_any(&names))
        } else {
            format!(
                "SELECT name, COUNT(*) AS calls, SUM(dur_ns) AS dur_ns FROM calls WHERE start_ns < {} GROUP BY name ORDER BY dur_ns DESC",
                first_work.unwrap_or(0)
            )
        },
        assumption: "a running process does not pay it again".into(),
        considered: {
            let until = first_work.map(|_| {
                let (until, work) = (time(until_ns), time(before_ns));
                format!("{first} after {until}, {work} of it host work on the path; ")
            });
            let single = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            format!("{}single calls: {single}", until.unwrap_or_default())
        },
        suggestion: facts.producer.advice(
            "`schedule(wait=1, warmup=2, active=8)` records the steady state; else keep the process running, or load less at the start",
            "record after a warm-up if the steady state matters; otherwise keep the process running, or load less at the start",
        ),
    }
    .with_gain(facts, options, Evidence::once(all_ns), (gain_ns, Without::Unbounded), verdicts);
    }
}
