//! Runs of which it is known what holds them back, or what does not: for the example that writes them, the bench
//! that counts how often the plugin is right, and the end-to-end tests.
//!
//! Host programs are recorded while they really run, again where the machine interrupted them ([`host::undisturbed`]). Programs with a device are simulated event by event
//! ([`simulated`]) and written as a Kineto trace, which `trueno-analyze import` reads.

pub mod host;
pub mod memory;
pub mod rooflines;
pub mod simulated;
pub mod steps;
pub mod streams;
pub mod test;
pub mod threads;
pub mod validation;

use std::path::Path;

/// One run.
pub struct Case {
    /// Name of its file.
    pub name: &'static str,
    /// The class that holds it back, or several with `+` between them; `None`: see `not`.
    pub truth: Option<&'static str>,
    /// A class that it might be taken for, and is not.
    pub not: Option<&'static str>,
    /// Its origin.
    pub make: Make,
}

/// Origin of a run.
pub enum Make {
    /// Recorded at this path.
    Recorded(fn(&Path)),
    /// Simulated; the text of a Kineto trace.
    Simulated(fn() -> String),
}

const fn is(truth: &'static str, name: &'static str, make: Make) -> Case {
    Case {
        name,
        truth: Some(truth),
        not: None,
        make,
    }
}

const fn near(not: &'static str, name: &'static str, make: Make) -> Case {
    Case {
        name,
        truth: None,
        not: Some(not),
        make,
    }
}

/// All of them.
pub const CASES: &[Case] = &[
    is(
        "transfer_bound",
        "copies_block",
        Make::Simulated(streams::copies_block),
    ),
    is(
        "transfer_bound",
        "copies_on_one_stream",
        Make::Simulated(streams::copies_on_one_stream),
    ),
    near(
        "transfer_bound",
        "copies_hidden",
        Make::Simulated(streams::copies_hidden),
    ),
    near(
        "transfer_bound",
        "copies_small",
        Make::Simulated(streams::copies_small),
    ),
    is(
        "launch_bound",
        "tiny_launches",
        Make::Simulated(streams::tiny_launches),
    ),
    is(
        "launch_bound",
        "eager_operators",
        Make::Simulated(streams::eager_operators),
    ),
    near(
        "launch_bound",
        "launched_ahead",
        Make::Simulated(streams::launched_ahead),
    ),
    near(
        "launch_bound",
        "few_large_kernels",
        Make::Simulated(streams::few_large_kernels),
    ),
    is(
        "sync_bound",
        "wait_after_each",
        Make::Simulated(streams::wait_after_each),
    ),
    is(
        "sync_bound",
        "scalar_read_back",
        Make::Simulated(streams::scalar_read_back),
    ),
    is(
        "sync_bound",
        "tiny_joins",
        Make::Recorded(threads::tiny_joins),
    ),
    near(
        "sync_bound",
        "wait_at_the_end",
        Make::Simulated(streams::wait_at_the_end),
    ),
    near(
        "sync_bound",
        "waits_for_long_work",
        Make::Simulated(streams::waits_for_long_work),
    ),
    is(
        "serialisation",
        "host_prepares",
        Make::Simulated(streams::host_prepares),
    ),
    is(
        "serialisation",
        "host_post_processes",
        Make::Simulated(streams::host_post_processes),
    ),
    is(
        "serialisation",
        "serial_reduction",
        Make::Recorded(threads::serial_reduction),
    ),
    near(
        "serialisation",
        "host_prepares_ahead",
        Make::Simulated(streams::host_prepares_ahead),
    ),
    near(
        "serialisation",
        "parallel_reduction",
        Make::Recorded(threads::parallel_reduction),
    ),
    is(
        "data_load_bound",
        "loader_before_device",
        Make::Simulated(streams::loader_before_device),
    ),
    is(
        "data_load_bound",
        "loader_before_work",
        Make::Recorded(host::loader_before_work),
    ),
    is(
        "data_load_bound",
        "loader_too_slow",
        Make::Recorded(threads::loader_too_slow),
    ),
    near(
        "data_load_bound",
        "loader_small",
        Make::Recorded(host::loader_small),
    ),
    near(
        "data_load_bound",
        "loader_ahead",
        Make::Recorded(threads::loader_ahead),
    ),
    is(
        "load_imbalance",
        "one_slow_thread",
        Make::Recorded(threads::one_slow_thread),
    ),
    is(
        "load_imbalance",
        "uneven_pieces",
        Make::Recorded(threads::uneven_pieces),
    ),
    is(
        "load_imbalance",
        "uneven_streams",
        Make::Simulated(streams::uneven_streams),
    ),
    near(
        "load_imbalance",
        "even_threads",
        Make::Recorded(threads::even_threads),
    ),
    near(
        "load_imbalance",
        "even_streams",
        Make::Simulated(streams::even_streams),
    ),
    near(
        "load_imbalance",
        "pipeline",
        Make::Recorded(threads::pipeline),
    ),
    is(
        "small_batches",
        "fixed_cost",
        Make::Recorded(host::fixed_cost),
    ),
    is(
        "small_batches",
        "small_grids",
        Make::Simulated(streams::small_grids),
    ),
    near(
        "small_batches",
        "cost_by_element",
        Make::Recorded(host::cost_by_element),
    ),
    near("small_batches", "one_size", Make::Recorded(host::one_size)),
    is(
        "tight_loop",
        "an_element_a_call",
        Make::Recorded(host::an_element_a_call),
    ),
    is(
        "tight_loop",
        "a_hash_a_call",
        Make::Recorded(host::a_hash_a_call),
    ),
    near(
        "tight_loop",
        "many_real_calls",
        Make::Recorded(host::many_real_calls),
    ),
    near(
        "tight_loop",
        "few_tiny_calls",
        Make::Recorded(host::few_tiny_calls),
    ),
    is("memory_bound", "triad", Make::Recorded(rooflines::triad)),
    is("memory_bound", "copy", Make::Recorded(rooflines::copy)),
    near(
        "memory_bound",
        "fma_not_memory",
        Make::Recorded(rooflines::fma),
    ),
    near("memory_bound", "strided", Make::Recorded(rooflines::chase)),
    is("compute_bound", "fma", Make::Recorded(rooflines::fma)),
    is(
        "compute_bound",
        "polynomial",
        Make::Recorded(rooflines::polynomial),
    ),
    near(
        "compute_bound",
        "one_accumulator_not_compute",
        Make::Recorded(rooflines::one_accumulator),
    ),
    near(
        "compute_bound",
        "triad_not_compute",
        Make::Recorded(rooflines::triad),
    ),
    is(
        "unoptimised",
        "one_accumulator",
        Make::Recorded(rooflines::one_accumulator),
    ),
    is("unoptimised", "divided", Make::Recorded(rooflines::divided)),
    near(
        "unoptimised",
        "fma_is_tuned",
        Make::Recorded(rooflines::fma),
    ),
    near(
        "unoptimised",
        "off_the_path",
        Make::Recorded(rooflines::off_the_path),
    ),
    is("latency_bound", "chase", Make::Recorded(rooflines::chase)),
    is(
        "latency_bound",
        "linked_list",
        Make::Recorded(rooflines::linked_list),
    ),
    near(
        "latency_bound",
        "triad_streams",
        Make::Recorded(rooflines::triad),
    ),
    near(
        "latency_bound",
        "no_ceilings",
        Make::Recorded(rooflines::no_ceilings),
    ),
    is(
        "recomputation",
        "mask_again",
        Make::Recorded(host::mask_again),
    ),
    is(
        "recomputation",
        "two_tensors_again",
        Make::Recorded(host::two_tensors_again),
    ),
    near(
        "recomputation",
        "new_results",
        Make::Recorded(host::new_results),
    ),
    near(
        "recomputation",
        "same_weights",
        Make::Recorded(host::same_weights),
    ),
    is(
        "redundant_transfers",
        "hundred_round_trips",
        Make::Simulated(streams::hundred_round_trips),
    ),
    is(
        "redundant_transfers",
        "operator_by_operator",
        Make::Simulated(streams::operator_by_operator),
    ),
    near(
        "redundant_transfers",
        "batches_in_and_out",
        Make::Simulated(streams::batches_in_and_out),
    ),
    near(
        "redundant_transfers",
        "results_are_smaller",
        Make::Simulated(streams::results_are_smaller),
    ),
    is("memory_growth", "leak", Make::Recorded(memory::leak)),
    is(
        "memory_growth",
        "cache_without_bound",
        Make::Recorded(memory::cache_without_bound),
    ),
    near(
        "memory_growth",
        "alive_at_the_end",
        Make::Recorded(memory::alive_at_the_end),
    ),
    near("memory_growth", "settles", Make::Recorded(memory::settles)),
    is(
        "fragmented_memory",
        "every_second_freed",
        Make::Recorded(memory::every_second_freed),
    ),
    is(
        "fragmented_memory",
        "long_among_short",
        Make::Recorded(memory::long_among_short),
    ),
    near(
        "fragmented_memory",
        "freed_in_one_piece",
        Make::Recorded(memory::freed_in_one_piece),
    ),
    near(
        "fragmented_memory",
        "all_freed",
        Make::Recorded(memory::all_freed),
    ),
    is("set_up", "cold_start", Make::Simulated(streams::cold_start)),
    is(
        "set_up",
        "first_launch",
        Make::Simulated(streams::first_launch),
    ),
    near(
        "set_up",
        "warm_start",
        Make::Simulated(streams::launched_ahead),
    ),
    near(
        "set_up",
        "short_start",
        Make::Simulated(streams::short_start),
    ),
];
