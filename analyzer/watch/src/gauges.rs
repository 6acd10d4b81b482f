//! Gauges of the processor, of memory and of GPUs, as the system tells them.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::time::{Duration, Instant};

use serde::Serialize;
use trueno_cupti::nvml::{GpuGauge, Nvml};
use trueno_format::run_json::RunJson;

const SPAN: Duration = Duration::from_secs(2);

/// All gauges. For each `None` there is a reason in `not_measured`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Gauges {
    /// Average number of processors that the program kept busy in the last two seconds.
    pub program_cpus: Option<f64>,
    pub program_memory_bytes: Option<u64>,
    /// State of the program's main thread, as the system's letter: R, S, D, T, Z.
    pub program_state: Option<char>,
    /// Share of all processors' time that was not idle in the same window.
    pub machine_busy_share: Option<f64>,
    pub machine_cpus: Option<u64>,
    /// Memory that is no longer available.
    pub machine_memory_used_bytes: Option<u64>,
    pub machine_memory_bytes: Option<u64>,
    pub gpus: Vec<GpuGauge>,
    /// Reasons by gauge: `program`, `machine`, `gpu`.
    pub not_measured: BTreeMap<&'static str, String>,
}

pub struct GaugeReader {
    pid: Result<u32, String>,
    nvml: Result<Nvml, String>,
    /// Recent readings, oldest first. Processor time is counted in ticks of 10 ms.
    program_before: VecDeque<(Instant, u64)>,
    machine_before: VecDeque<(Instant, (u64, u64))>,
}

impl GaugeReader {
    /// Reads gauges of a run's program, if it runs on this machine.
    pub fn new(run: &RunJson) -> Self {
        Self {
            pid: process(run),
            nvml: Nvml::open().map_err(|error| error.to_string()),
            program_before: VecDeque::new(),
            machine_before: VecDeque::new(),
        }
    }

    pub fn read(&mut self) -> Gauges {
        let mut gauges = Gauges::default();
        self.program(&mut gauges);
        self.machine(&mut gauges);
        match &self.nvml {
            Ok(nvml) => gauges.gpus = nvml.read(),
            Err(why) => {
                gauges.not_measured.insert("gpu", why.clone());
            }
        }
        gauges
    }

    pub fn thread_state(&self, os_id: u64) -> Option<char> {
        let pid = self.pid.as_ref().ok()?;
        let text = fs::read_to_string(format!("/proc/{pid}/task/{os_id}/stat")).ok()?;
        Some(process_stat(&text)?.state)
    }

    fn program(&mut self, gauges: &mut Gauges) {
        let pid = match &self.pid {
            Ok(pid) => *pid,
            Err(why) => {
                gauges.not_measured.insert("program", why.clone());
                return;
            }
        };
        let text = fs::read_to_string(format!("/proc/{pid}/stat"));
        let Some(stat) = text.ok().as_deref().and_then(process_stat) else {
            let why = format!("process {pid} no longer exists");
            gauges.not_measured.insert("program", why);
            return;
        };
        gauges.program_state = Some(stat.state);
        gauges.program_memory_bytes = Some(stat.resident_pages * number_of(libc::_SC_PAGESIZE));
        let (now, ticks) = (Instant::now(), stat.cpu_ticks);
        if let Some((then, before)) = since(&mut self.program_before, now, ticks) {
            let seconds = now.duration_since(then).as_secs_f64();
            let ticks = ticks.saturating_sub(before) as f64;
            gauges.program_cpus = Some(ticks / number_of(libc::_SC_CLK_TCK) as f64 / seconds);
        }
    }

    fn machine(&mut self, gauges: &mut Gauges) {
        let text = fs::read_to_string("/proc/stat").unwrap_or_default();
        let Some((busy, all, cpus)) = machine_stat(&text) else {
            let why = "/proc/stat cannot be read".to_owned();
            gauges.not_measured.insert("machine", why);
            return;
        };
        gauges.machine_cpus = Some(cpus);
        let now = Instant::now();
        if let Some((_, (busy_before, all_before))) =
            since(&mut self.machine_before, now, (busy, all))
        {
            let all = all.saturating_sub(all_before);
            let share = busy.saturating_sub(busy_before) as f64 / all as f64;
            gauges.machine_busy_share = (all > 0).then_some(share);
        }
        let text = fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let (total, available) = (
            meminfo_bytes(&text, "MemTotal:"),
            meminfo_bytes(&text, "MemAvailable:"),
        );
        gauges.machine_memory_bytes = total;
        gauges.machine_memory_used_bytes = total
            .zip(available)
            .map(|(total, available)| total.saturating_sub(available));
    }
}

/// Adds a reading. Returns the oldest one, to take the difference from.
fn since<T: Copy>(
    readings: &mut VecDeque<(Instant, T)>,
    now: Instant,
    reading: T,
) -> Option<(Instant, T)> {
    while readings.len() > 1 && now.duration_since(readings[0].0) > SPAN {
        readings.pop_front();
    }
    let oldest = readings.front().copied();
    readings.push_back((now, reading));
    oldest
}

fn number_of(name: libc::c_int) -> u64 {
    // SAFETY: asks for a number.
    u64::try_from(unsafe { libc::sysconf(name) })
        .unwrap_or(1)
        .max(1)
}

/// The recording process, if it runs on this machine and its id was not reused.
fn process(run: &RunJson) -> Result<u32, String> {
    let pid = run
        .program
        .pid
        .ok_or("the run does not record its process")?;
    let here = trueno_format::host::facts().name;
    if let (Some(there), Some(here)) = (&run.host.name, &here)
        && there != here
    {
        return Err(format!("the program runs on {there}"));
    }
    let text = fs::read(format!("/proc/{pid}/cmdline"))
        .map_err(|_| format!("process {pid} is not seen from here"))?;
    let mut argv: Vec<String> = text
        .split(|byte| *byte == 0)
        .map(|part| String::from_utf8_lossy(part).into_owned())
        .collect();
    // The last argument is ended like all others.
    argv.pop();
    if argv == run.program.argv {
        Ok(pid)
    } else {
        Err(format!("process {pid} is another program here"))
    }
}

struct ProcessStat {
    state: char,
    cpu_ticks: u64,
    resident_pages: u64,
}

/// Parses `/proc/PID/stat`. The name in parentheses may contain anything.
fn process_stat(text: &str) -> Option<ProcessStat> {
    let (_, fields) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ProcessStat {
        state: fields.first()?.chars().next()?,
        cpu_ticks: number(11)? + number(12)?,
        resident_pages: number(21)?,
    })
}

/// Parses `/proc/stat`: busy ticks of all processors, all ticks, and the number of processors.
fn machine_stat(text: &str) -> Option<(u64, u64, u64)> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // Guests are in the first two already.
    let ticks: Vec<u64> = line
        .split_whitespace()
        .take(8)
        .map(|tick| tick.parse().ok())
        .collect::<Option<_>>()?;
    let all: u64 = ticks.iter().sum();
    let idle = ticks.get(3)? + ticks.get(4)?;
    let is_cpu = |line: &&str| {
        line.strip_prefix("cpu")
            .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let cpus = text.lines().filter(is_cpu).count();
    Some((all - idle, all, cpus as u64))
}

fn meminfo_bytes(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kib: u64 = rest.trim().strip_suffix(" kB")?.parse().ok()?;
    kib.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_prints_is_read() {
        let text = "12 (a) b) (c) S 1 2 3 4 5 6 7 8 9 10 70 30 0 0 20 0 3 0 99 1000 256 1 2";
        let stat = process_stat(text).unwrap();
        assert_eq!(
            (stat.state, stat.cpu_ticks, stat.resident_pages),
            ('S', 100, 256)
        );
        assert!(process_stat("12 (a").is_none());

        let text = "cpu  10 5 20 60 5 0 0 0 7 0\ncpu0 1 1 1 1\ncpu1 1 1 1 1\nctxt 5\n";
        assert_eq!(machine_stat(text), Some((35, 100, 2)));
        assert_eq!(machine_stat(""), None);
        assert_eq!(meminfo_bytes("MemTotal:  2 kB\n", "MemTotal:"), Some(2048));
        assert_eq!(meminfo_bytes("MemTotal:  2 kB\n", "MemFree:"), None);
    }

    #[test]
    fn a_program_elsewhere_is_not_measured() {
        let mut run = RunJson::default();
        assert!(process(&run).unwrap_err().contains("does not record"));
        run.program.pid = Some(std::process::id());
        run.program.argv = vec!["another".to_owned()];
        assert!(process(&run).unwrap_err().contains("another program"));
        run.program.argv = std::env::args().collect();
        assert_eq!(process(&run), Ok(std::process::id()));
        run.host.name = Some("a host that is not this one".to_owned());
        assert!(process(&run).unwrap_err().contains("runs on a host"));
    }
}
