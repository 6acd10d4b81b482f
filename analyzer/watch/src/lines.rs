//! A picture as lines of a terminal, from 80 columns on.

use trueno_model::Cell;
use trueno_model::units::{NOT_MEASURED, Unit, duration, percent, scaled, show};
use trueno_model::width::{measure, pad, printable, shorten, wrap};
use trueno_render::style::{Meaning, Palette};

use crate::snapshot::{Kernel, Part, Snapshot};

pub const MIN_WIDTH: usize = 80;
/// Lines of each list if the height is unlimited.
const ALL: usize = 20;
const LEAD: usize = 12;

/// A picture of this width and height. Without a height, everything is shown.
pub fn lines(
    picture: &Snapshot,
    width: usize,
    height: Option<usize>,
    palette: Palette,
) -> Vec<String> {
    let page = Page {
        width: width.max(MIN_WIDTH),
        palette,
    };
    let mut top = page.head(picture);
    let warnings = page.warnings(picture);
    let [categories, bricks, kernels] = [
        picture.categories.len(),
        picture.bricks.len(),
        picture.kernels.len(),
    ];
    let room = match height {
        None => [ALL; 3],
        Some(height) => {
            // Three headings, of which the last may be a line that says why there is nothing.
            let taken = top.len() + warnings.len().min(height / 4) + 3;
            share_out(
                height.saturating_sub(taken),
                [categories, bricks, kernels.max(1)],
            )
        }
    };
    top.extend(page.parts("category", &picture.categories, room[0]));
    top.extend(page.parts("brick", &picture.bricks, room[1]));
    top.extend(page.kernels(&picture.kernels, room[2]));
    top.extend(warnings);
    if let Some(height) = height {
        top.truncate(height);
    }
    top
}

/// Distributes lines among three lists in turn, up to what each needs.
fn share_out(room: usize, wanted: [usize; 3]) -> [usize; 3] {
    let mut given = [0; 3];
    let mut left = room;
    while left > 0 && (0..3).any(|at| given[at] < wanted[at]) {
        for at in 0..3 {
            if left > 0 && given[at] < wanted[at] {
                given[at] += 1;
                left -= 1;
            }
        }
    }
    given
}

struct Page {
    width: usize,
    palette: Palette,
}

/// Packs the parts of a figure into few lines, without separating numbers from units.
fn packed(text: &str, room: usize) -> Vec<String> {
    const BETWEEN: &str = " · ";
    let mut lines: Vec<String> = Vec::new();
    for part in text.split(BETWEEN) {
        match lines.last_mut() {
            Some(line) if measure(line) + measure(BETWEEN) + measure(part) <= room => {
                line.push_str(BETWEEN);
                line.push_str(part);
            }
            _ => lines.extend(wrap(part, room)),
        }
    }
    lines
}

fn count(number: u64) -> String {
    show(Cell::U64(number), Unit::None)
}

fn optional<T>(value: Option<T>, text: impl FnOnce(T) -> String) -> String {
    value.map_or_else(|| NOT_MEASURED.to_owned(), text)
}

impl Page {
    /// A line that begins with a name, and continuation lines if its parts do not fit.
    fn figure(&self, name: &str, text: &str) -> Vec<String> {
        let lead = |name: &str| self.palette.paint(Meaning::Faint, &pad(name, LEAD, false));
        let names = std::iter::once(name).chain(std::iter::repeat(""));
        let lines = packed(text, self.width - LEAD);
        let lines = lines.into_iter().zip(names);
        lines
            .map(|(line, name)| format!("{}{line}", lead(name)))
            .collect()
    }

    fn head(&self, picture: &Snapshot) -> Vec<String> {
        let ns = |ns: i64| duration(ns as f64);
        let window = &picture.window;
        let elapsed = optional(picture.elapsed_ns, ns);
        let pid = picture
            .pid
            .map_or(String::new(), |pid| format!(" · process {pid}"));
        let title = format!(
            "{}{pid} · {} {elapsed}",
            printable(&picture.label),
            picture.state
        );
        let title = shorten(&title, self.width).into_owned();
        let age = window.newest_event_age_ns;
        let age = age.map_or("no event yet".to_owned(), |age| {
            format!("newest event {} ago", ns(age))
        });
        let mut of_window = format!("the last {} · {age}", ns(window.to_ns - window.from_ns));
        if window.open_rows > 0 {
            of_window = format!(
                "{of_window} · {} open rows not in it yet",
                count(window.open_rows)
            );
        }
        let figures = [
            ("window", of_window),
            ("iterations", iterations(picture)),
            ("threads", threads(picture)),
            ("program", program(picture)),
            ("machine", machine(picture)),
            ("recorded", recorded(picture)),
        ];
        let figures = figures
            .iter()
            .flat_map(|(name, text)| self.figure(name, text));
        std::iter::once(self.palette.paint(Meaning::Heading, &title))
            .chain(figures)
            .chain(self.gpus(picture))
            .collect()
    }

    fn gpus(&self, picture: &Snapshot) -> Vec<String> {
        let gauges = &picture.gauges;
        if let Some(why) = gauges.not_measured.get("gpu") {
            return self.figure("gpu", &format!("not measured: {why}"));
        }
        let line = |gpu: &trueno_cupti::nvml::GpuGauge| {
            let name = gpu.name.as_deref().map_or("", |name| name);
            let bytes = |bytes: u64| scaled(bytes as f64, "B");
            let text = format!(
                "{} busy · {} of {} · {} · {}",
                optional(gpu.busy_share, percent),
                optional(gpu.memory_used_bytes, bytes),
                optional(gpu.memory_bytes, bytes),
                optional(gpu.power_watts, |watts| format!("{watts:.0} W")),
                printable(name),
            );
            self.figure(&format!("gpu {}", gpu.device), &text)
        };
        gauges.gpus.iter().flat_map(line).collect()
    }

    fn heading(&self, name: &str, columns: &str) -> String {
        let space = self.width - measure(columns);
        let text = format!("{}{columns}", pad(name, space, false));
        self.palette.paint(Meaning::Heading, &text)
    }

    /// Rows of a list, and the sum of the other rows.
    fn parts(&self, name: &str, parts: &[Part], room: usize) -> Vec<String> {
        if room == 0 || parts.is_empty() {
            return if parts.is_empty() && room > 0 {
                self.figure(name, "none has ended in the window")
            } else {
                Vec::new()
            };
        }
        let shown = if parts.len() > room {
            room - 1
        } else {
            parts.len()
        };
        let name = format!("{name} (share: of thread time)");
        let mut lines = vec![self.heading(&name, "own time    share     ended                 ")];
        let rest = &parts[shown..];
        let rest = (!rest.is_empty()).then(|| Part {
            name: format!("… and {} more", count(rest.len() as u64)),
            category: None,
            time_ns: rest.iter().map(|part| part.time_ns).sum(),
            share: rest.iter().map(|part| part.share).sum(),
            ended: rest.iter().map(|part| part.ended).sum(),
        });
        lines.extend(
            parts[..shown]
                .iter()
                .chain(&rest)
                .map(|part| self.part(part)),
        );
        lines
    }

    fn part(&self, part: &Part) -> String {
        let figures = format!(
            "{:>9} {:>8} {:>9}  ",
            duration(part.time_ns as f64),
            optional(part.share, percent),
            count(part.ended),
        );
        const BAR: usize = 15;
        let filled = (part.share.unwrap_or(0.0) * BAR as f64).round() as usize;
        let bar = "█".repeat(filled.min(BAR));
        let bar = self.palette.paint(Meaning::Bar, &bar);
        let room = self.width - measure(&figures) - BAR;
        let name = printable(&part.name);
        let name = pad(&shorten(&name, room.saturating_sub(1)), room, false);
        format!("{name}{figures}{bar}")
    }

    fn kernels(&self, kernels: &[Kernel], room: usize) -> Vec<String> {
        if room == 0 {
            return Vec::new();
        }
        if kernels.is_empty() {
            return self.figure(
                "roofline",
                "not measured: no kernel has ended in the window",
            );
        }
        let shown = kernels.len().min(room);
        let mut lines = vec![self.heading("kernel", "time     calls     FLOP/s  of its roof")];
        lines.extend(kernels[..shown].iter().map(|kernel| self.kernel(kernel)));
        lines
    }

    fn kernel(&self, kernel: &Kernel) -> String {
        let roof = &kernel.roof;
        let flops = optional(roof.flops_per_s, |rate| scaled(rate, ""));
        let figures = format!(
            "{:>9} {:>9} {:>9}  ",
            optional(kernel.time_ns, |ns| duration(ns as f64)),
            count(kernel.calls),
            flops.trim_end(),
        );
        let place = match (&roof.efficiency, &roof.not_measured) {
            (Some(share), _) => {
                let bound = roof.bound_by.unwrap_or_default();
                let by = match (bound, roof.memory) {
                    ("memory", Some(level)) => level.to_uppercase(),
                    _ => bound.to_owned(),
                };
                format!("{} ({by})", percent(*share))
            }
            (None, Some(why)) => format!("{NOT_MEASURED} {why}"),
            (None, None) => NOT_MEASURED.to_owned(),
        };
        const PLACE: usize = 26;
        let place = pad(&shorten(&place, PLACE), PLACE, false);
        let mut name = printable(&kernel.name).into_owned();
        if !kernel.backend.is_empty() {
            name = format!("{name} {}", printable(&kernel.backend));
        }
        if let Some(device) = kernel.device {
            name = format!("{name} gpu:{device}");
        }
        let room = self.width - measure(&figures) - PLACE;
        let name = pad(&shorten(&name, room.saturating_sub(1)), room, false);
        format!("{name}{figures}{place}").trim_end().to_owned()
    }

    fn warnings(&self, picture: &Snapshot) -> Vec<String> {
        let mut lines = Vec::new();
        for warning in &picture.warnings {
            for (nth, line) in wrap(&warning.text, self.width - 2).into_iter().enumerate() {
                let lead = if nth == 0 { "! " } else { "  " };
                lines.push(
                    self.palette
                        .paint(Meaning::Warning, &format!("{lead}{line}")),
                );
            }
        }
        lines
    }
}

fn iterations(picture: &Snapshot) -> String {
    let of = &picture.iterations;
    let rate = |value: f64| scaled(value, "/s");
    let mut parts = Vec::new();
    match of.not_measured {
        Some(why) => parts.push(format!("{NOT_MEASURED} {why}")),
        None => {
            parts.push(optional(of.per_s, rate));
            let mean = optional(of.mean_ns, duration);
            let longest = optional(of.longest_ns, |ns| duration(ns as f64));
            parts.push(format!("mean {mean}"));
            parts.push(format!("longest {longest}"));
        }
    }
    let declared = [("tokens", of.tokens_per_s), ("samples", of.samples_per_s)];
    for (name, value) in declared {
        match value {
            Some(value) => parts.push(format!("{name} {}", rate(value))),
            None if name == "tokens" => parts.push(format!("tokens {NOT_MEASURED} (not declared)")),
            None => {}
        }
    }
    parts.join(" · ")
}

fn threads(picture: &Snapshot) -> String {
    let of = &picture.threads;
    let share = |ns: u64| match of.time_ns {
        0 => NOT_MEASURED.to_owned(),
        whole => percent(ns as f64 / whole as f64),
    };
    format!(
        "{}: bricks {} · waiting {} · outside {} · not ended {}",
        of.recording,
        share(of.work_ns),
        share(of.waiting_ns),
        share(of.outside_bricks_ns),
        share(of.not_ended_ns),
    )
}

fn program(picture: &Snapshot) -> String {
    let of = &picture.gauges;
    if let Some(why) = of.not_measured.get("program") {
        return format!("not measured: {why}");
    }
    format!(
        "{} processors busy · {} in RAM",
        optional(of.program_cpus, |cpus| format!("{cpus:.2}")),
        optional(of.program_memory_bytes, |bytes| scaled(bytes as f64, "B")),
    )
}

fn recorded(picture: &Snapshot) -> String {
    let on_disk: u64 = picture.written_rows.values().sum();
    let dropped: u64 = picture.dropped_rows.values().sum();
    let dropped = match dropped {
        0 => "none dropped".to_owned(),
        rows => format!("{} dropped", count(rows)),
    };
    format!("{} rows on disk · {dropped}", count(on_disk))
}

fn machine(picture: &Snapshot) -> String {
    let of = &picture.gauges;
    if let Some(why) = of.not_measured.get("machine") {
        return format!("not measured: {why}");
    }
    let bytes = |bytes: u64| scaled(bytes as f64, "B");
    format!(
        "{} of {} processors busy · {} of {} in use",
        optional(of.machine_busy_share, percent),
        optional(of.machine_cpus, count),
        optional(of.machine_memory_used_bytes, bytes),
        optional(of.machine_memory_bytes, bytes),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roof::KernelRoof;
    use crate::snapshot::Iterations;
    use crate::warnings::Warning;

    fn picture() -> Snapshot {
        let part = |name: &str, time_ns, share| Part {
            name: name.to_owned(),
            time_ns,
            share: Some(share),
            ended: 1000,
            ..Part::default()
        };
        let kernel = |name: &str, roof| Kernel {
            name: name.to_owned(),
            backend: "avx512".to_owned(),
            calls: 10,
            time_ns: Some(1_000_000),
            roof,
            ..Kernel::default()
        };
        let mut picture = Snapshot {
            state: "recording",
            label: "a label\u{1b}[2J that is very long and would not fit into eighty columns of a terminal".to_owned(),
            pid: Some(4_000_000),
            ..Snapshot::default()
        };
        picture.categories = vec![
            part("Attention", 900_000_000, 0.6),
            part("waiting", 100, 1e-7),
        ];
        picture.bricks = (0..30)
            .map(|nth| part(&format!("brick {nth}"), 1000, 0.02))
            .collect();
        picture.kernels = vec![
            kernel(
                "gemv",
                KernelRoof {
                    flops_per_s: Some(1e10),
                    efficiency: Some(0.5),
                    bound_by: Some("memory"),
                    memory: Some("dram"),
                    ..KernelRoof::default()
                },
            ),
            kernel(
                &"long ".repeat(30),
                KernelRoof {
                    not_measured: Some("no FLOPs declared".to_owned()),
                    ..KernelRoof::default()
                },
            ),
        ];
        picture.warnings = vec![Warning {
            code: "quiet",
            text: "word ".repeat(40),
        }];
        picture
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_and_no_page_longer() {
        let picture = picture();
        for width in [80, 81, 120] {
            for height in [None, Some(10), Some(24), Some(60)] {
                let lines = lines(&picture, width, height, Palette::new(false));
                assert!(height.is_none_or(|height| lines.len() <= height));
                for line in &lines {
                    assert!(
                        measure(line) <= width,
                        "{} > {width}: {line}",
                        measure(line)
                    );
                    assert!(!line.contains('\u{1b}'), "{line}");
                }
            }
        }
        let small = lines(&picture, 80, Some(24), Palette::new(false)).join("\n");
        for words in [
            "Attention",
            "… and",
            "gemv avx512",
            "50.0 % (DRAM)",
            "! word",
        ] {
            assert!(small.contains(words), "{words}:\n{small}");
        }
    }

    #[test]
    fn no_figure_loses_its_unit_at_80_columns() {
        let mut picture = picture();
        picture.iterations = Iterations {
            per_s: Some(123_456.0),
            mean_ns: Some(123_000_000.0),
            longest_ns: Some(123_000_000_000),
            tokens_per_s: Some(123_456.0),
            samples_per_s: Some(123_456.0),
            ..Iterations::default()
        };
        picture.window.newest_event_age_ns = Some(123_000_000);
        picture.window.open_rows = 123_456_789;
        let lines = lines(&picture, 80, None, Palette::new(false));
        let text = lines.join("\n");
        for figure in [
            "123 k/s · mean 123 ms · longest 123 s · tokens 123 k/s",
            "            samples 123 k/s",
            "newest event 123 ms ago",
            "123,456,789 open rows not in it yet",
        ] {
            assert!(text.contains(figure), "{figure}:\n{text}");
        }
        assert!(lines.iter().all(|line| measure(line) <= 80), "{text}");
    }

    #[test]
    fn what_was_not_measured_says_so() {
        let text = lines(&Snapshot::default(), 80, None, Palette::new(false)).join("\n");
        for words in [
            "tokens –",
            "none has ended in the window",
            "roofline    not measured",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
        assert!(!text.contains("0 %"), "{text}");
    }

    #[test]
    fn room_is_shared_out_turn_by_turn() {
        assert_eq!(share_out(0, [3, 3, 3]), [0, 0, 0]);
        assert_eq!(share_out(7, [9, 1, 9]), [3, 1, 3]);
        assert_eq!(share_out(70, [9, 1, 9]), [9, 1, 9]);
    }
}
