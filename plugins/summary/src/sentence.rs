//! Wording of the sentence.

use std::collections::BTreeMap;

use trueno_analysis::evidence::Evidence;
use trueno_analysis::wording::{self, figures, percent};
use trueno_display_names::display_name;

use crate::facts::{Allocator, Facts, Meaningless, Peak};
use crate::gain::{Gain, Kind};
use crate::host::RUNNING;
use crate::limit::{Limit, Shares};
use crate::sampled::Sampled;
use crate::steps::Ahead;

/// Smaller parts besides computation are not mentioned.
const MIN_EXPOSED: f64 = 0.05;

/// Step times of ranks count as equal if the shortest is at least this share of the longest.
const EQUAL: f64 = 0.99;

/// Three significant figures: `12.3 ms`.
pub fn time(ns: f64) -> String {
    wording::time(ns.round() as i64)
}

/// Three significant figures. From 1,000 on, all digits before the point, with thousands separators.
fn rate_figures(value: f64) -> String {
    if value < 999.5 {
        return figures(value);
    }
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A name shortened for a sentence: C++ names lose their arguments, and long names are cut. The file and line behind a name
/// stay.
pub fn short(name: &str) -> String {
    match wording::with_location(name.trim()) {
        Some((name, location)) => format!("{} ({location})", short_alone(name)),
        None => short_alone(name.trim()),
    }
}

fn short_alone(name: &str) -> String {
    const MAX_LETTERS: usize = 40;
    let name = display_name(wording::without_folders(name));
    let name = name.replace("(anonymous namespace)::", "");
    let plain = name.strip_prefix("void ").unwrap_or(&name);
    let is_cpp = plain.len() < name.len() || plain.contains("::") && plain.contains(['<', '(']);
    let head = if is_cpp {
        plain.split(['<', '(']).next().unwrap_or(plain)
    } else {
        plain
    };
    // Namespaces of kernels tell nothing apart; of `aten::mm` and `gemvx::kernel` they do.
    let head = match head.rsplit_once("::") {
        Some((_, last)) if is_cpp && !matches!(last, "kernel" | "Kernel") => last,
        _ => head,
    };
    let head = if head.is_empty() { plain } else { head };
    let letters: Vec<char> = head.chars().collect();
    if letters.len() <= MAX_LETTERS {
        return head.to_owned();
    }
    let (start, end) = letters.split_at(MAX_LETTERS / 2);
    let end = &end[end.len() + 1 - MAX_LETTERS / 2..];
    start.iter().chain(&['…']).chain(end).collect()
}

/// Times by short name, largest first: instances of a template have one name in a sentence.
pub fn by_short_name(rows: &[(String, i64)]) -> Vec<(String, i64)> {
    /// Names after these, which have the most time, add nothing to a part that is named.
    const MAX_NAMES: usize = 1_000;
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for (name, ns) in rows.iter().take(MAX_NAMES) {
        let sum = sums.entry(short(name)).or_default();
        *sum = sum.saturating_add(*ns);
    }
    let mut named: Vec<(String, i64)> = sums.into_iter().collect();
    named.sort_by_key(|row| std::cmp::Reverse(row.1));
    named
}

/// What dumps of the Flight Recorder say. They have no times of work.
fn flight(facts: &Facts) -> String {
    let (ranks, operations) = facts.flight_dumps.unwrap_or_default();
    match facts.incomplete_collectives.as_slice() {
        [] => format!(
            "all {} in the dumps of {} completed",
            wording::many(operations, "collective"),
            wording::many(ranks, "rank")
        ),
        [first] => first.clone(),
        [first, others @ ..] => {
            let more = wording::many(others.len() as u64, "other");
            format!("{first}; {more} did not complete")
        }
    }
}

/// What takes the most time in a file that has sums by name and nothing else.
fn sums_alone(sums: &[(String, i64)]) -> String {
    const SHOWN: usize = 3;
    let all_ns = sums.iter().map(|row| row.1).fold(0, i64::saturating_add);
    let share = |ns: i64| trueno_analysis::share(ns, all_ns).unwrap_or(0.0);
    let named = by_short_name(sums).into_iter();
    let large = named.filter(|row| share(row.1) >= MIN_EXPOSED);
    let large: Vec<String> = large
        .take(SHOWN)
        .map(|(name, ns)| format!("{name} {}", percent(share(ns))))
        .collect();
    let most = match large.as_slice() {
        [] => "in many small parts".to_owned(),
        large => format!("most in {}", large.join(", ")),
    };
    format!(
        "only sums were recorded: {} over {}, {most}",
        time(all_ns as f64),
        wording::many(sums.len() as u64, "name")
    )
}

/// The sentence: what failed, what was timed, how busy it was, what bounds it, and what would help.
pub fn sentence(
    facts: &Facts,
    shares: Option<&Shares>,
    limit: Option<&Limit>,
    gain: &Gain,
) -> String {
    let judged = judged(facts, shares, limit, gain);
    match &facts.out_of_memory {
        Some(failed) => format!("{failed} · {judged}"),
        None => judged,
    }
}

fn nothing_follows(why: &Meaningless) -> String {
    match why {
        Meaningless::TwoClocks(holes) => format!(
            "times of several clocks or recordings ({holes}): nothing follows from shares of the wall \
             (--from and --to are about one group of rows)"
        ),
        Meaningless::OneDuration(rows) => {
            format!("all rows have one duration ({rows}): nothing follows from their times")
        }
    }
}

fn judged(facts: &Facts, shares: Option<&Shares>, limit: Option<&Limit>, gain: &Gain) -> String {
    if let Some(why) = &facts.meaningless {
        return nothing_follows(why);
    }
    let Some(limit) = limit else {
        return match (&facts.sampled, facts.rows) {
            (Some(sampled), _) => {
                let text = sampled.text(facts.wall_ns);
                format!("{} · {text}{}", length(facts), path_of_samples(facts))
            }
            (None, _) if facts.untimed_calls > 0 => format!(
                "{} of the operating system, without durations",
                wording::many(facts.untimed_calls, "call")
            ),
            (None, _) if facts.flight_dumps.is_some() => flight(facts),
            (None, 0) => "no events were recorded".to_owned(),
            (None, _) if facts.has_only_steps => format!(
                "{} · only steps were recorded, nothing inside them",
                length(facts)
            ),
            (None, _) if facts.peak.is_some() => {
                facts.peak.as_ref().map_or(String::new(), memory_alone)
            }
            (None, _) if facts.allocator.is_some() => facts
                .allocator
                .as_ref()
                .map_or(String::new(), allocator_alone),
            (None, _) if !facts.sums.is_empty() => sums_alone(&facts.sums),
            (None, _) if facts.counters.0 > 0 => format!(
                "only counters were recorded: {} of {}",
                wording::many(facts.counters.0, "reading"),
                wording::many(facts.counters.1, "counter")
            ),
            (None, _) if facts.bound_rows > 0 => format!(
                "{} only bound the work in them; the work itself was not recorded",
                wording::many(facts.bound_rows, "interval")
            ),
            (None, _) => "no bricks, kernels or calls were recorded".to_owned(),
        };
    };
    let mut parts: Vec<String> = facts.incomplete_ranks.iter().take(1).cloned().collect();
    if facts.flight_dumps.is_some() {
        parts.push(flight(facts));
    }
    parts.push(length(facts));
    if let Some(share) = facts
        .share(facts.paused_ns)
        .filter(|share| *share >= MIN_EXPOSED)
    {
        let share = percent(share);
        parts.push(format!("recording paused for {share} of the wall"));
    }
    match shares {
        Some(shares) => parts.push(devices(facts, shares, limit)),
        None => parts.extend(threads(facts)),
    }
    let profiler = facts.path.map_or(0.0, |path| path.profiler);
    if profiler >= MIN_EXPOSED {
        let share = percent(profiler);
        let of_all = facts.path_whole();
        parts.push(format!("the profiler itself takes {share} of {of_all}"));
    }
    parts.push(if let Some(finding) = facts.one_by_one() {
        let (why, _) = finding.sentence.rsplit_once("; ").unwrap_or_default();
        format!("what bounds the program was not measured: {why}")
    } else if facts.is_judged {
        format!("bound by {}", limit.detail)
    } else {
        format!(
            "most time in {}; what limits it was not determined",
            limit.detail
        )
    });
    if limit.by == "not recorded" {
        parts.extend(facts.sampled.as_ref().and_then(Sampled::beside_rows));
    }
    parts.extend(pipeline(facts));
    parts.extend(mostly_outside(facts));
    if let Gain::Known { kind, fix, ns, .. } = gain {
        let saved = saved(facts, *ns);
        let what = match kind {
            Kind::Fix => "best fix found",
            Kind::Halved => "largest single gain",
            Kind::HalvedOfRepeated => "largest gain of a repeated name",
        };
        parts.push(format!("{what}: {fix} saves at most {saved}"));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// The owner that plugin `memory` gives to what was live at the first event.
const BEFORE_RECORDING: &str = "allocated before the recording began";

fn allocator_alone(of: &Allocator) -> String {
    let unused = (of.reserved - of.allocated).max(0.0) / of.reserved;
    format!(
        "{} of {} reserved memory of {} is allocated, {} is not · only the state of the memory was recorded, no work",
        wording::bytes(of.allocated),
        wording::bytes(of.reserved),
        of.place,
        percent(unused)
    )
}

fn memory_alone(peak: &Peak) -> String {
    let bytes = wording::bytes(peak.bytes as f64);
    let owner = peak.owner.as_ref().map(|(name, share)| {
        let share = percent(*share);
        if name == BEFORE_RECORDING {
            format!(", {share} of it {name}")
        } else {
            format!(", {share} of it held by {}", short(name))
        }
    });
    format!(
        "peak memory {bytes} on {}{} · only memory was recorded, no work",
        peak.place,
        owner.unwrap_or_default()
    )
}

/// The critical path of a sampled run: how much of it ran, if the kernel reports who ends waits.
fn path_of_samples(facts: &Facts) -> String {
    let ran = facts.path_work.iter().find(|row| row.0 == RUNNING);
    match ran {
        Some((_, share)) => format!(
            " · on the critical path threads ran {} of {}",
            percent(*share),
            facts.path_whole()
        ),
        None if facts.is_sampled_alone && facts.has_no_path => {
            " · critical path: not measurable from samples alone (record `--calls` too)".to_owned()
        }
        None => String::new(),
    }
}

/// Iterations that are with their warm-up less than half of the wall are not what the sentence is about.
fn mostly_outside(facts: &Facts) -> Option<String> {
    const HALF: f64 = 0.5;
    let steps = facts.steps.as_ref();
    // Where devices take longer, their work lies behind the iterations.
    let steps = steps.filter(|steps| steps.ranks == 1 && steps.ahead == Ahead::No)?;
    let steady = steps.steady.filter(|_| facts.is_whole)?;
    let wall_ns = facts.wall_ns.filter(|wall_ns| *wall_ns > 0)? as f64;
    (steps.total_ns < HALF * wall_ns).then(|| {
        format!(
            "steady steps are {} of the wall (--window iteration={}..{} is about them alone)",
            percent(steady.total_ns / wall_ns),
            steady.first,
            steady.last
        )
    })
}

/// Equal ranks differ by noise.
const MIN_SLOWDOWN: f64 = 1.05;

fn pipeline(facts: &Facts) -> Option<String> {
    let job = facts.job?;
    let share = job.bubble_share.filter(|share| *share >= MIN_EXPOSED)?;
    let batches = job.micro_batches.map_or(String::new(), |count| {
        format!(
            ", {}",
            trueno_plugin::counted(count, "micro batch", "micro batches")
        )
    });
    let slowdown = job.slowdown.filter(|of| *of >= MIN_SLOWDOWN);
    let slowdown = slowdown.map_or(String::new(), |of| {
        format!(
            ", and unequal operations make a step {} × as long",
            figures(of)
        )
    });
    Some(format!(
        "ranks wait {} of a step by the pipeline's design ({} stages{batches}){slowdown}",
        percent(share),
        job.stages
    ))
}

/// The gain as text. If the run has steps, only as a share of the wall time: a time saved in the window is not one
/// saved in a step.
fn saved(facts: &Facts, ns: i64) -> String {
    let share = facts.gain_share(ns).map_or(String::new(), percent);
    if let Some(part) = &facts.part {
        return format!("{share} of {}", part.name);
    }
    match &facts.steps {
        Some(steps) if steps.count > 1 => format!("{share} of the wall"),
        _ => format!("{} ({share})", time(ns as f64)),
    }
}

fn length(facts: &Facts) -> String {
    let Some(steps) = &facts.steps else {
        let wall = facts.wall_ns.map(|ns| format!("wall {}", time(ns as f64)));
        return match facts.ranks {
            0 | 1 => wall.unwrap_or_default(),
            ranks => format!("{}, {ranks} ranks", wall.unwrap_or_default()),
        };
    };
    let what = match steps.ahead {
        Ahead::No => "step",
        Ahead::Yes | Ahead::Maybe => "host step",
    };
    let step = format!("{what} {}", time(steps.median_ns));
    let mut notes = vec![match (steps.count, steps.is_steady) {
        (1, _) => "the only one".to_owned(),
        (count, true) => format!("median of {count} steady"),
        (count, false) => format!("median of {count}"),
    }];
    notes.extend(match (steps.work, steps.per_s()) {
        _ if steps.ahead == Ahead::Yes => Some(format!("the {} takes longer", facts.accelerator())),
        _ if steps.ahead == Ahead::Maybe => {
            Some(format!("the {} may take longer", facts.accelerator()))
        }
        (Some((rate, of)), _) => Some(format!("{} {of}/s", rate_figures(rate))),
        (None, rate) => rate.map(|rate| match steps.longer_period_ns() {
            Some(period_ns) => format!("one every {}", time(period_ns)),
            None => format!("{}/s", rate_figures(rate)),
        }),
    });
    if steps.ranks > 1 {
        let (rank, ranks) = (steps.rank, steps.ranks);
        let least = time(steps.least_ns);
        let is_apart = steps.least_ns < steps.median_ns * EQUAL;
        notes.push(if is_apart {
            format!("rank {rank}, longest of {ranks}, shortest {least}")
        } else if least != time(steps.median_ns) {
            format!("all {ranks} ranks within 1 %")
        } else if ranks == 2 {
            "both ranks equal".to_owned()
        } else {
            format!("all {ranks} ranks equal")
        });
    }
    format!("{step} ({})", notes.join(", "))
}

fn devices(facts: &Facts, shares: &Shares, limit: &Limit) -> String {
    let share_of = |busy_ns: i64, span_ns: i64| {
        let whole_ns = match shares.of {
            "span" => span_ns,
            _ => facts.wall_ns?,
        };
        trueno_analysis::share(busy_ns, whole_ns)
    };
    let busy = facts.devices.iter();
    let busy = busy.filter_map(|row| share_of(row.busy_ns, row.span_ns));
    let busy: Vec<f64> = busy.collect();
    let least = busy.iter().copied().fold(f64::MAX, f64::min);
    let most = busy.iter().copied().fold(0.0, f64::max);
    let noun = facts.accelerator();
    let mut text = match (busy.len(), percent(least), percent(most)) {
        (0 | 1, ..) => format!("{noun} {} busy", percent(shares.busy())),
        (count, least, most) if least == most => format!("{count} {noun}s {most} busy"),
        (count, least, most) => format!("{count} {noun}s {least} to {most} busy"),
    };
    let mut notes = Vec::new();
    if let Some(graphs) = &facts.empty_graphs {
        text = text.replacen(&format!("{noun} "), &format!("{noun} at least "), 1);
        notes.push(format!(
            "idle time not known: {graphs} graph launches have no kernel"
        ));
    }
    let any = facts.any_busy.as_ref();
    let any = any.and_then(|any| share_of(any.busy_ns(), any.span_ns()));
    notes.extend(any.map(|share| format!("at least one {}", percent(share))));
    if shares.is_idle_around {
        let spans = facts.devices.iter().map(|row| row.span_ns);
        let spans = spans.fold(0, i64::saturating_add);
        let busy = facts.devices.iter().map(|row| row.busy_ns);
        let busy = busy.fold(0, i64::saturating_add);
        let share = trueno_analysis::share(busy, spans).map(percent);
        // Of a single operation that says nothing.
        let share = share.filter(|share| *share != percent(shares.busy()) && busy < spans);
        let share = share.filter(|_| !is_moment(facts, busy, spans));
        notes.extend(share.map(|share| format!("{share} from first to last work")));
    }
    let exposed = [
        (
            shares.communication,
            "communication",
            "exposed communication",
        ),
        (shares.copy, "copy", "exposed copies"),
    ];
    // The limit says its own.
    let exposed = exposed.into_iter().filter(|(share, by, _)| {
        *share >= MIN_EXPOSED && ![*by, crate::limit::ONE_CALL].contains(&limit.by.as_str())
    });
    notes.extend(exposed.map(|(share, _, name)| format!("{} {name}", percent(share))));
    if !notes.is_empty() {
        text.push_str(&format!(" ({})", notes.join(", ")));
    }
    text
}

/// A few short operations in a moment of the run: from the first of them to the last is no time in which to be busy.
fn is_moment(facts: &Facts, busy_ns: i64, spans_ns: i64) -> bool {
    const MOMENT: f64 = 0.01;
    let count = facts.devices.len().max(1) as i64;
    let is_short = facts
        .share(spans_ns / count)
        .is_some_and(|share| share < MOMENT);
    let calls = facts.kernels.iter().map(|kernel| kernel.calls);
    let evidence = Evidence::new(calls.fold(0, u64::saturating_add), busy_ns);
    is_short && !evidence.is_enough(facts.wall_ns.unwrap_or(0))
}

fn threads(facts: &Facts) -> Option<String> {
    if let (true, Some(sampled)) = (facts.is_sampled_alone, &facts.sampled) {
        return Some(sampled.text(facts.wall_ns));
    }
    let busy_share = facts.host.busy_share()?;
    let busy = percent(busy_share);
    let (threads, whose) = match facts.host.threads {
        1 => (format!("1 {}", facts.host_lane), "its"),
        count => (format!("{count} {}s", facts.host_lane), "their"),
    };
    // Work was put on as many lanes as ran at once, so most of them are idle for most of the time.
    let is_packed = facts.host.threads > 1 && facts.host_lane != "thread";
    let any = if is_packed && facts.covered > busy_share {
        format!(" (at least one {})", percent(facts.covered))
    } else {
        String::new()
    };
    let roof = facts.roof_share.map_or(String::new(), |share| {
        format!(", at {} of {whose} roof where measured", percent(share))
    });
    Some(format!("{threads} {busy} busy{any}{roof}"))
}
