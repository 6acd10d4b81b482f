//! `trueno-record run --sample`.

use std::ffi::OsString;

use trueno_sampler::{Counts, Error, Sampling, sample};

use crate::head::{Output, head, not_begun};
use crate::{Failure, many, say, signals};

/// Runs a program and samples it: the run is named for `program`, the command itself or one that it runs. Gives the exit
/// code.
pub fn run(
    command: &[OsString],
    program_of_run: &[OsString],
    sampling: Sampling,
    output: &Output,
    strict: bool,
) -> Result<u8, Failure> {
    let (program, rest) = command
        .split_first()
        .ok_or_else(|| Failure::NotStarted("no program given".to_owned()))?;
    signals::prepare();
    let create = |process: i32| {
        let mut head = head(program_of_run, process);
        let value = format!("cpu-clock, {} in a second of CPU time", sampling.hz);
        head.values.insert("samples".to_owned(), value);
        if sampling.leaves_out_first {
            // Its number is that of the process that begins it.
            head.program.pid = None;
        }
        output.create(head).map_err(Error::Run)
    };
    let mut watch = |process: i32| signals::child(process.unsigned_abs());
    let mut started = signals::command(program);
    started.args(rest);
    let sampled = match sample(started, sampling, create, &mut watch) {
        Ok(sampled) => sampled,
        Err(Error::NotStarted { program, error }) => {
            output.remove();
            return Err(not_begun(&program, &error));
        }
        Err(error @ Error::Forbidden { .. }) => {
            return Err(Failure::NotMeasurable(error.to_string()));
        }
        Err(error) => return Err(Failure::NotStarted(error.to_string())),
    };
    tell(&sampled.counts, output);
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
    let is_whole = sampled.failure.is_none() && lost + lost_switches + lost_wakings == 0;
    if let Some(failure) = sampled.failure {
        say(&format!(
            "warning: {failure}; nothing was recorded from then on, and {} is incomplete (hint: trueno-analyze recover)",
            output.path().display()
        ));
    }
    if strict && sampled.status.success() && !is_whole {
        say("the recording is incomplete (--strict)");
        return Ok(1);
    }
    Ok(signals::end_as(sampled.status))
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
            "{}: its functions have no names: the file on disk is another one than the program ran (hint: do not replace a program while it is recorded)",
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
