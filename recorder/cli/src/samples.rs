//! `trueno-record run --sample`.

use std::ffi::OsString;
use std::process::ExitStatus;

use clap::builder::RangedI64ValueParser;
use trueno_format::run_json::RunJson;
use trueno_sampler::{Counts, Error, Sampled, Sampling, attach, sample};

use crate::attach::Means;
use crate::head::{Output, head, not_begun};
use crate::subject::{Part, Subject, Target, Way, end_before_begin, say_end, say_processes};
use crate::{Failure, many, say, signals};

/// Samples per second of CPU time. A prime: it is in step with nothing that repeats.
pub const DEFAULT_HZ: &str = "997";

/// Reads samples per second from the command line.
pub fn hz() -> RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=20_000)
}

/// Samples a program or process. Returns the exit code.
pub fn run(
    subject: Subject<'_>,
    program_of_run: Option<&[OsString]>,
    sampling: Sampling,
    part: &Part,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    let way = subject.way(&part.window, Means::Sampling)?;
    record(way, program_of_run, sampling, part, output, strict)
}

/// The run is named after `program_of_run`: the command itself, or a program that it runs. Returns the exit code.
pub fn record(
    way: Way<'_>,
    program_of_run: Option<&[OsString]>,
    sampling: Sampling,
    part: &Part,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    let window = &part.window;
    let is_over = || window.is_over();
    let sampled = trueno_sampler::Part {
        processes: &part.processes,
        end: window.ends().then_some(&is_over),
    };
    let create = |mut head: RunJson| {
        let value = format!("cpu-clock, {} in a second of CPU time", sampling.hz);
        head.values.insert("samples".to_owned(), value);
        if sampling.leaves_out_first {
            // Its number is that of the process that begins it.
            head.program.pid = None;
        }
        output.create(head).map_err(Error::Run)
    };
    match way {
        Way::Over(status) => Ok(end_before_begin(window, status)),
        Way::Start(command) => {
            let (program, rest) = command
                .split_first()
                .ok_or_else(|| Failure::NotStarted("no program given".to_owned()))?;
            let named = program_of_run.unwrap_or(command);
            let mut id = 0;
            let mut watch = |process: i32| {
                if process > 0 {
                    id = process;
                }
                signals::child(process.unsigned_abs());
            };
            let mut started = signals::command(program);
            started.args(rest);
            let create = |process| create(head(named, process));
            let sampled = sample(started, sampling, sampled, create, &mut watch)
                .map_err(|error| not_started(error, output))?;
            Ok(end(sampled, part, output, strict, |status| {
                status.or_else(|| signals::wait_for(id))
            }))
        }
        Way::Attach(target) => {
            let begun = || target.say_begun(window);
            let create = || create(target.head());
            let sampled = match attach(target.process.id, sampling, sampled, create, begun) {
                Ok(sampled) => sampled,
                Err(error) => return not_attached(error, &target, output),
            };
            Ok(end(sampled, part, output, strict, |status| {
                target.status(status)
            }))
        }
    }
}

fn not_started(error: Error, output: &Output) -> Failure {
    match error {
        Error::NotStarted { program, error } => {
            output.remove();
            not_begun(&program, &error)
        }
        error @ Error::Forbidden { .. } => Failure::NotMeasurable(error.to_string()),
        error => Failure::NotStarted(error.to_string()),
    }
}

/// Reports that the process cannot be sampled. A child goes on unrecorded.
fn not_attached(error: Error, target: &Target, output: &Output) -> Result<u8, Failure> {
    let problem = match error {
        Error::NotAttached { error, .. } => {
            output.remove();
            target.process.refused(Means::Sampling, &error)
        }
        Error::Forbidden { error, hint } => match target.process.refused_user(&error) {
            Some(reason) => reason,
            None => Failure::NotMeasurable(format!(
                "processes cannot be sampled here; nothing was recorded: {error} (hint: {hint})"
            )),
        },
        error => Failure::NotStarted(error.to_string()),
    };
    match target.status(None) {
        Some(status) => {
            say(&format!("warning: {problem}"));
            Ok(signals::end_as(status))
        }
        None => Err(problem),
    }
}

/// Prints what was recorded, waits for the program's end, and returns the exit code.
fn end(
    sampled: Sampled,
    part: &Part,
    output: &Output,
    strict: bool,
    status: impl FnOnce(Option<ExitStatus>) -> Option<ExitStatus>,
) -> u8 {
    say_end(&part.window, sampled.goes_on);
    tell(&sampled.counts, output);
    say_processes(&part.processes, sampled.counts.processes, sampled.left_out);
    if sampled.lacks_memory {
        say(
            "warning: the kernel's work for the program, and where it waited, were not sampled, because `ulimit -l` allows too little \
             locked memory (hint: `ulimit -l unlimited` as root, or a larger /proc/sys/kernel/perf_event_mlock_kb)",
        );
    } else if !sampled.sees_kernel {
        say(
            "warning: the kernel's work for the program, and where it waited, were not sampled, because this user may not see them \
             (hint: /proc/sys/kernel/perf_event_paranoid of 1 or less allows it)",
        );
    }
    if let Some(reason) = &sampled.no_wakers {
        say(&format!(
            "which thread ended a wait is not recorded: {reason}"
        ));
    }
    let Counts {
        lost,
        lost_switches,
        lost_wakings,
        ..
    } = sampled.counts;
    let is_whole = sampled.failure.is_none()
        && lost + lost_switches + lost_wakings == 0
        && sampled.left_out == 0;
    if let Some(failure) = sampled.failure {
        say(&format!(
            "warning: {failure}; nothing was recorded from then on, and {} is incomplete (hint: trueno-analyze recover)",
            output.path().display()
        ));
    }
    let status = status(sampled.status);
    if strict && status.is_none_or(|status| status.success()) && !is_whole {
        say("the recording is incomplete (--strict)");
        return 1;
    }
    // That of a process that is no child is not this one's.
    status.map_or(0, signals::end_as)
}

fn tell(counts: &Counts, output: &Output) {
    let Counts {
        samples,
        threads,
        processes,
        lost,
        throttled,
        cut,
        unnamed,
        replaced,
        waits,
        lost_switches,
        wakers,
        lost_wakings,
        are_packets_cut,
        kept,
        ..
    } = counts;
    say(&format!(
        "recorded {} and {} of {} in {} -> {}",
        many(*samples, "sample", "samples"),
        many(*waits, "wait", "waits"),
        many(*threads, "thread", "threads"),
        many(*processes, "process", "processes"),
        output.path().display()
    ));
    crate::kept::tell(kept.as_ref());
    if *wakers > 0 {
        say(&format!(
            "{} ended by another of these threads (edges `wakes` and `joins`)",
            many(*wakers, "wait was", "waits were")
        ));
    }
    let percent = |count: &u64| 100.0 * *count as f64 / (*samples).max(1) as f64;
    if *cut > 0 {
        say(&format!(
            "the outermost callers of {} ({:.1} %) are not known (hint: deep stacks: --stack-kib=60)",
            many(*cut, "sample", "samples"),
            percent(cut)
        ));
    }
    for path in replaced {
        say(&format!(
            "{}: its functions have no names: the file on disk is not the one that the program ran (hint: do not replace a program while it is recorded)",
            path.display()
        ));
    }
    if *unnamed > 0 {
        say(&format!(
            "the function of {} ({:.1} %) has no name: its file has no symbols",
            many(*unnamed, "sample", "samples"),
            percent(unnamed)
        ));
    }
    if *lost > 0 {
        say(&format!(
            "warning: {lost} samples did not fit and were lost (hint: sample less often: --sample=99)"
        ));
    }
    if *lost_switches > 0 {
        say(&format!(
            "warning: the kernel lost {lost_switches} context switches for lack of buffer space: waits around them are not known"
        ));
    }
    if *lost_wakings > 0 {
        say(&format!(
            "warning: the kernel lost {lost_wakings} wakeups for lack of buffer space: who ended some waits is not known"
        ));
    }
    if *are_packets_cut {
        say(
            "which thread ended a wait over the loopback device is recorded only at the beginning, because the program sends \
             more packets than there are waits for them",
        );
    }
    if *throttled > 0 {
        say(&format!(
            "warning: the kernel paused sampling {throttled} times (hint: fewer: --sample=99)"
        ));
    }
}
