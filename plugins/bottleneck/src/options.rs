//! Every threshold of every rule, in one place.

use serde::Deserialize;

/// What a user may set, as `--set bottleneck.KEY=VALUE`. Shares are of the window unless said otherwise.
///
/// | key | default | rule | meaning |
/// | --- | --- | --- | --- |
/// | `findings` | 5 | all | so many groups become findings; the table `bottlenecks` has all |
/// | `least_share` | 0.03 | all | predicted gains below this share are not reported |
/// | `medium_share`, `high_share` | 0.10, 0.25 | all | severity by predicted gain |
/// | `least_gaps` | 10 | device | fewer pieces of evidence are no pattern |
/// | `launch_ns` | 10,000 | launch | a launch that began no longer before the device fell idle was still under way |
/// | `prepare_ns` | 200,000 | launch, sync, serialisation | host time before a launch from which on the host *prepares*, not just launches |
/// | `near_roof` | 0.6 | memory, compute, unoptimised | efficiency from which on the roof is what holds it |
/// | `far_roof` | 0.3 | unoptimised, latency | efficiency below which the roof itself is the goal; above it `near_roof` is |
/// | `latency_bytes_per_s` | 1e9 | latency | a thread that moves less waits for each access before the next (64 B in 64 ns) |
/// | `miss_ns` | 80 | latency | time of one miss of the last cache after another |
/// | `few_blocks` | 32 | small batches, latency | a grid of fewer blocks leaves most of a device idle |
/// | `small_share` | 0.5 | small batches | share of device time in such grids; share of a call that is fixed cost |
/// | `tight_calls` | 10,000 | tight loop | calls from which on the number itself matters |
/// | `tight_ns` | 2,000 | tight loop | median of a call up to which it is next to nothing |
/// | `imbalance` | 0.15 | load imbalance | (longest − mean) / longest of what is waited for together |
/// | `repeats` | 3 | recomputation | runs of one brick that gave a result again, from which on it is a habit |
/// | `read_back_bytes` | 16,384 | sync, transfer | a copy of no more takes as long as an empty one (8 µs at 2 GB/s): who waits for it waits for the device |
/// | `round_trips` | 5 | redundant transfers | from which on it is a pattern |
/// | `touch_bytes_per_ns` | 50 | redundant transfers | what a host writes at most: what comes back sooner cannot have been rewritten |
/// | `growth_share` | 0.1 | memory growth | growth over all iterations / median live bytes |
/// | `least_growth_bytes` | 1 MiB | memory growth | what grew by less in the window is of low severity whatever its rate |
/// | `memory_bytes` | not given | memory growth | memory that is there to be filled, the machine's or the device's, which tables do not tell |
/// | `full_soon_s`, `full_later_s` | 3,600, 86,400 | memory growth | at the rate of the window that memory is full so soon: high, medium severity |
/// | `fragmentation` | 0.5 | fragmented memory | 1 − largest free piece / free |
/// | `free_share` | 0.3 | fragmented memory | free / footprint |
/// | `least_free_bytes` | 1 MiB | fragmented memory | less in pieces is not worth a word |
/// | `alone_share` | 0.4 | serialisation | share of the window in which one lane works and all others idle |
/// | `lanes_busy` | 0.05 | serialisation | a lane that is busy for less is not counted among those that could help |
/// | `set_up_share` | 0.3 | set-up | share of one-time calls |
#[derive(Clone, Debug, Deserialize)]
#[serde(default)]
#[allow(missing_docs, reason = "the table above documents them")]
pub struct Options {
    pub findings: usize,
    pub least_share: f64,
    pub medium_share: f64,
    pub high_share: f64,
    pub least_gaps: u64,
    pub launch_ns: i64,
    pub prepare_ns: i64,
    pub near_roof: f64,
    pub far_roof: f64,
    pub latency_bytes_per_s: f64,
    pub miss_ns: f64,
    pub few_blocks: i64,
    pub small_share: f64,
    pub tight_calls: u64,
    pub tight_ns: i64,
    pub imbalance: f64,
    pub repeats: u64,
    pub read_back_bytes: u64,
    pub round_trips: u64,
    pub touch_bytes_per_ns: i64,
    pub growth_share: f64,
    pub least_growth_bytes: i64,
    pub memory_bytes: Option<i64>,
    pub full_soon_s: f64,
    pub full_later_s: f64,
    pub fragmentation: f64,
    pub free_share: f64,
    pub least_free_bytes: i64,
    pub alone_share: f64,
    pub lanes_busy: f64,
    pub set_up_share: f64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            findings: 5,
            least_share: 0.03,
            medium_share: 0.10,
            high_share: 0.25,
            least_gaps: 10,
            launch_ns: 10_000,
            prepare_ns: 200_000,
            near_roof: 0.6,
            far_roof: 0.3,
            latency_bytes_per_s: 1e9,
            miss_ns: 80.0,
            few_blocks: 32,
            small_share: 0.5,
            tight_calls: 10_000,
            tight_ns: 2_000,
            imbalance: 0.15,
            repeats: 3,
            read_back_bytes: 16_384,
            round_trips: 5,
            touch_bytes_per_ns: 50,
            growth_share: 0.1,
            least_growth_bytes: 1 << 20,
            memory_bytes: None,
            full_soon_s: 3_600.0,
            full_later_s: 86_400.0,
            fragmentation: 0.5,
            free_share: 0.3,
            least_free_bytes: 1 << 20,
            alone_share: 0.4,
            lanes_busy: 0.05,
            set_up_share: 0.3,
        }
    }
}

/// Words in names of bricks that get input. Others can have the category `data loading`. The input `loader_rows` looks
/// for the same.
const LOADER_WORDS: [&str; 8] = [
    "load",
    "loader",
    "dataloader",
    "fetch",
    "prefetch",
    "dataset",
    "ingest",
    "read",
];

/// What goes with the word `input` where input is got: alone it is what a layer works on (`input_layernorm`).
const BESIDE_INPUT: [&str; 7] = ["get", "next", "wait", "await", "pipeline", "queue", "batch"];

/// What goes with `load` where nothing is read.
const BESIDE_LOAD: [&str; 4] = ["balance", "balancing", "imbalance", "store"];

/// Whether a name is that of something that gets input: one of its words is a loader's. Names of stack frames
/// (`dir/file.py(12): read`, `a::read`) say what code is called, not what the program does with it.
pub fn is_loader(name: &str) -> bool {
    if name.contains(['/', '(', '<']) || name.contains("::") || name.contains(".py") {
        return false;
    }
    let words = || {
        let words = name.split(|letter: char| !letter.is_alphanumeric());
        words.filter(|word| !word.is_empty())
    };
    let has = |list: &[&str]| {
        words().any(|word| list.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let is_input = has(&["input", "inputs"]) && (words().count() == 1 || has(&BESIDE_INPUT));
    is_input || (has(&LOADER_WORDS) && !has(&BESIDE_LOAD))
}
