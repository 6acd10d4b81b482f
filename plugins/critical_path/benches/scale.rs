//! Ten million segments and twenty million edges, on one core.
//!
//! ```text
//! cargo bench -p trueno-plugin-critical-path
//! ```
//!
//! Half of the edges are the order of lanes, half are dependencies between lanes. Printed for each step are its
//! time and its ratio to the floor: one pass over start, end and interval of every segment. The argument is the
//! number of segments. `-- sequences` looks for repeated sequences of kernels instead.

use std::hint::black_box;
use std::time::{Duration, Instant};

use trueno_analysis::lanes::{
    Class, Label, Lane, LaneKey, LaneKind, Lanes, NO_ELEMENTS, OUTSIDE, Span,
};
use trueno_plugin_critical_path::graph::dependency_graph::Graph;
use trueno_plugin_critical_path::graph::ownership::Ownership;
use trueno_plugin_critical_path::graph::segments::segments;
use trueno_plugin_critical_path::graph::walk::walk;
use trueno_plugin_critical_path::load::dependencies::dependencies;
use trueno_plugin_critical_path::load::edges::{DependencyKind, Edge};
use trueno_plugin_critical_path::predict::at_roof::Roofs;
use trueno_plugin_critical_path::predict::repeats::repeats;
use trueno_plugin_critical_path::predict::schedule::{retime, wall_ns};
use trueno_plugin_critical_path::predict::slack::slack;
use trueno_plugin_critical_path::predict::what_if::Assumption;
use trueno_plugin_critical_path::predict::what_if_rule::Rule;

const LANES: usize = 8;

/// A pseudo-random generator with the same numbers on every machine (xorshift64*, Vigna 2016).
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) % bound
    }
}

fn lanes(rows: usize) -> Lanes {
    let mut random = Random(1);
    let mut run = Lanes::default();
    let labels: Vec<u32> = (0..32)
        .map(|name| {
            let name = run.texts.number(&format!("name {name}"));
            run.labels.number(Label {
                class: Class::Brick,
                kind: name,
                name,
                category: OUTSIDE,
            })
        })
        .collect();
    for number in 0..LANES {
        let mut now_ns = 0;
        let of_lane = rows / LANES;
        let mut spans = Vec::with_capacity(of_lane);
        for i in 0..of_lane {
            let start_ns = now_ns + random.below(20) as i64;
            now_ns = start_ns + 80 + random.below(40) as i64;
            spans.push(Span {
                start_ns,
                end_ns: now_ns,
                id: (number * of_lane + i) as u64,
                label: labels[random.below(32) as usize],
                elements: NO_ELEMENTS,
            });
        }
        run.wall_ns = run.wall_ns.max(now_ns);
        run.lanes.push(Lane {
            life: None,
            name: format!("thread {number}"),
            key: LaneKey::Thread(Some(number as i64)),
            kind: LaneKind::Host,
            spans,
        });
    }
    run
}

/// For every interval, a dependency on an earlier one of another lane.
fn edges(run: &Lanes) -> Vec<Edge> {
    let mut random = Random(2);
    let mut out = Vec::new();
    for (number, lane) in run.lanes.iter().enumerate() {
        let mut ended = [0_usize; LANES];
        for span in &lane.spans {
            let other = (number + 1 + random.below(LANES as u64 - 1) as usize) % LANES;
            let spans = &run.lanes[other].spans;
            while spans
                .get(ended[other])
                .is_some_and(|from| from.end_ns <= span.start_ns)
            {
                ended[other] += 1;
            }
            let back = 1 + random.below(4) as usize;
            if let Some(from) = ended[other].checked_sub(back) {
                out.push(Edge {
                    from: spans[from].id,
                    to: span.id,
                    kind: DependencyKind::DependsOn,
                    implied: false,
                });
            }
        }
    }
    out
}

fn peak_mib() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

struct Steps {
    floor: Duration,
    segments: usize,
    sum: Duration,
}

impl Steps {
    fn done(&mut self, name: &str, begin: Instant) {
        let took = begin.elapsed();
        self.sum += took;
        self.print(name, took);
    }

    fn print(&self, name: &str, took: Duration) {
        println!(
            "{name:<34} {:>8.3} s  {:>7.1} M segments/s  {:>6.1} x floor",
            took.as_secs_f64(),
            self.segments as f64 / took.as_secs_f64() / 1e6,
            took.as_secs_f64() / self.floor.as_secs_f64()
        );
    }
}

/// Kernels by number of name: a loop in which one of fifty is another, and any order of a hundred names.
fn sequences() {
    let mut random = Random(1);
    for kernels in [10_000, 100_000, 1_000_000] {
        let looped = (0..kernels).map(|at| match random.below(50) {
            0 => random.below(60) as u32,
            _ => at % 60,
        });
        let looped: Vec<u32> = looped.collect();
        let any: Vec<u32> = (0..kernels).map(|_| random.below(100) as u32).collect();
        for (name, symbols) in [("loop", looped), ("any order", any)] {
            let begin = Instant::now();
            let found = repeats(&symbols, 8);
            let took = begin.elapsed();
            let covered: usize = found.iter().map(|of| of.length * of.starts.len()).sum();
            println!(
                "{kernels:>9} kernels, {name:<9} {:>8.3} s  {:>6.0} ns a kernel  {covered} in {} sequences",
                took.as_secs_f64(),
                took.as_secs_f64() * 1e9 / f64::from(kernels),
                found.len()
            );
        }
    }
}

fn main() {
    if std::env::args().any(|argument| argument == "sequences") {
        return sequences();
    }
    let rows = std::env::args()
        .skip(1)
        .find_map(|argument| argument.parse().ok())
        .unwrap_or(10_000_000);
    let run = lanes(rows);
    let edges = edges(&run);
    println!(
        "{rows} rows, {} dependencies, as many edges of lanes",
        edges.len()
    );

    let begin = Instant::now();
    let found = dependencies(&run, &edges);
    let built = begin.elapsed();
    drop(edges);
    let begin = Instant::now();
    let cut = segments(&run, &found.good);
    let cut_in = begin.elapsed();
    let begin = Instant::now();
    let graph = Graph::new(&run, cut, &found.good);
    let linked = begin.elapsed();
    let begin = Instant::now();
    let of_graph = &graph.segments;
    let mut sum = 0;
    for i in 0..of_graph.len() {
        sum += of_graph.end_ns(i) - of_graph.start_ns(i) + i64::from(of_graph.span[i]);
    }
    black_box(sum);
    let mut steps = Steps {
        floor: begin.elapsed(),
        segments: of_graph.len(),
        sum: Duration::ZERO,
    };
    steps.print("floor: one pass", steps.floor);
    steps.print("dependencies looked up", built);
    steps.print("lanes cut into segments", cut_in);
    steps.print("graph, order, binding", linked);

    let begin = Instant::now();
    let mut pieces = 0;
    walk(&graph, run.wall_ns).each(|_| pieces += 1);
    steps.done("path", begin);
    black_box(pieces);
    let begin = Instant::now();
    black_box(slack(&graph).len());
    steps.done("slack", begin);
    let begin = Instant::now();
    let ownership = Ownership::new(&run, &found.good);
    let rules = [Rule::parse("name 3=0.5").unwrap()];
    let assumption = Assumption::new(&graph, &ownership, &Roofs::default(), &rules);
    let free_ns = retime(&graph, &assumption);
    let [predicted_ns] = wall_ns(&graph, &assumption, &free_ns);
    steps.done("one what-if", begin);
    let (analysed, all) = (steps.sum, steps.sum + built + cut_in + linked);
    steps.print("path, slack and one what-if", analysed);
    steps.print("all of it", all);
    println!("predicted {predicted_ns} of {} ns", run.wall_ns);
    if let Some(peak) = peak_mib() {
        println!("peak {peak:.0} MiB");
    }
}
