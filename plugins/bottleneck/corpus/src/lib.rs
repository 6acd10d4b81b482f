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

use Make::{Recorded, Simulated};

pub struct Case {
    pub name: &'static str,
    /// The expected class, or several joined by `+`; `None`: see `not`.
    pub truth: Option<&'static str>,
    /// A class that looks plausible but must not be found.
    pub not: Option<&'static str>,
    pub make: Make,
}

pub enum Make {
    Recorded(fn(&Path)),
    /// Returns the text of a Kineto trace.
    Simulated(fn() -> String),
}

macro_rules! cases {
    ($($case:tt)*) => {
        &[$($case)*]
    };
}
pub(crate) use cases;

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

pub const CASES: &[Case] = cases! {
    is("transfer_bound", "copies_block", Simulated(streams::copies_block)),
    is("transfer_bound", "copies_on_one_stream", Simulated(streams::copies_on_one_stream)),
    near("transfer_bound", "copies_hidden", Simulated(streams::copies_hidden)),
    near("transfer_bound", "copies_small", Simulated(streams::copies_small)),
    is("launch_bound", "tiny_launches", Simulated(streams::tiny_launches)),
    is("launch_bound", "eager_operators", Simulated(streams::eager_operators)),
    near("launch_bound", "launched_ahead", Simulated(streams::launched_ahead)),
    near("launch_bound", "few_large_kernels", Simulated(streams::few_large_kernels)),
    is("sync_bound", "wait_after_each", Simulated(streams::wait_after_each)),
    is("blocking_copies", "scalar_read_back", Simulated(streams::scalar_read_back)),
    is("blocking_copies", "item_each_step", Simulated(streams::item_each_step)),
    near("blocking_copies", "one_long_read_back", Simulated(streams::one_long_read_back)),
    near("blocking_copies", "logged_now_and_then", Simulated(streams::logged_now_and_then)),
    near("blocking_copies", "copied_back_beside", Simulated(streams::copied_back_beside)),
    near("blocking_copies", "waits_are_no_copies", Simulated(streams::wait_after_each)),
    is("sync_bound", "tiny_joins", Recorded(threads::tiny_joins)),
    near("sync_bound", "wait_at_the_end", Simulated(streams::wait_at_the_end)),
    near("sync_bound", "waits_for_long_work", Simulated(streams::waits_for_long_work)),
    is("serialisation", "host_prepares", Simulated(streams::host_prepares)),
    is("serialisation", "host_post_processes", Simulated(streams::host_post_processes)),
    is("serialisation", "serial_reduction", Recorded(threads::serial_reduction)),
    near("serialisation", "host_prepares_ahead", Simulated(streams::host_prepares_ahead)),
    near("serialisation", "parallel_reduction", Recorded(threads::parallel_reduction)),
    is("data_load_bound", "loader_before_device", Simulated(streams::loader_before_device)),
    is("data_load_bound", "loader_before_work", Recorded(host::loader_before_work)),
    is("data_load_bound", "loader_too_slow", Recorded(threads::loader_too_slow)),
    near("data_load_bound", "loader_small", Recorded(host::loader_small)),
    near("data_load_bound", "loader_ahead", Recorded(threads::loader_ahead)),
    is("load_imbalance", "one_slow_thread", Recorded(threads::one_slow_thread)),
    is("load_imbalance", "uneven_pieces", Recorded(threads::uneven_pieces)),
    is("load_imbalance", "uneven_streams", Simulated(streams::uneven_streams)),
    near("load_imbalance", "even_threads", Recorded(threads::even_threads)),
    near("load_imbalance", "even_streams", Simulated(streams::even_streams)),
    near("load_imbalance", "pipeline", Recorded(threads::pipeline)),
    is("small_batches", "fixed_cost", Recorded(host::fixed_cost)),
    is("small_batches", "small_grids", Simulated(streams::small_grids)),
    near("small_batches", "cost_by_element", Recorded(host::cost_by_element)),
    near("small_batches", "one_size", Recorded(host::one_size)),
    is("tight_loop", "an_element_a_call", Recorded(host::an_element_a_call)),
    is("tight_loop", "a_hash_a_call", Recorded(host::a_hash_a_call)),
    near("tight_loop", "many_real_calls", Recorded(host::many_real_calls)),
    near("tight_loop", "few_tiny_calls", Recorded(host::few_tiny_calls)),
    is("memory_bound", "triad", Recorded(rooflines::triad)),
    is("memory_bound", "copy", Recorded(rooflines::copy)),
    near("memory_bound", "fma_not_memory", Recorded(rooflines::fma)),
    near("memory_bound", "strided", Recorded(rooflines::chase)),
    is("compute_bound", "fma", Recorded(rooflines::fma)),
    is("compute_bound", "polynomial", Recorded(rooflines::polynomial)),
    near("compute_bound", "one_accumulator_not_compute", Recorded(rooflines::one_accumulator)),
    near("compute_bound", "triad_not_compute", Recorded(rooflines::triad)),
    is("unoptimised", "one_accumulator", Recorded(rooflines::one_accumulator)),
    is("unoptimised", "divided", Recorded(rooflines::divided)),
    near("unoptimised", "fma_is_tuned", Recorded(rooflines::fma)),
    near("unoptimised", "off_the_path", Recorded(rooflines::off_the_path)),
    is("latency_bound", "chase", Recorded(rooflines::chase)),
    is("latency_bound", "linked_list", Recorded(rooflines::linked_list)),
    near("latency_bound", "triad_streams", Recorded(rooflines::triad)),
    near("latency_bound", "no_ceilings", Recorded(rooflines::no_ceilings)),
    is("recomputation", "mask_again", Recorded(host::mask_again)),
    is("recomputation", "two_tensors_again", Recorded(host::two_tensors_again)),
    near("recomputation", "new_results", Recorded(host::new_results)),
    near("recomputation", "same_weights", Recorded(host::same_weights)),
    is("redundant_transfers", "hundred_round_trips", Simulated(streams::hundred_round_trips)),
    is("redundant_transfers", "operator_by_operator", Simulated(streams::operator_by_operator)),
    near("redundant_transfers", "batches_in_and_out", Simulated(streams::batches_in_and_out)),
    near("redundant_transfers", "results_are_smaller", Simulated(streams::results_are_smaller)),
    is("memory_growth", "leak", Recorded(memory::leak)),
    is("memory_growth", "cache_without_bound", Recorded(memory::cache_without_bound)),
    near("memory_growth", "alive_at_the_end", Recorded(memory::alive_at_the_end)),
    near("memory_growth", "settles", Recorded(memory::settles)),
    is("fragmented_memory", "every_second_freed", Recorded(memory::every_second_freed)),
    is("fragmented_memory", "long_among_short", Recorded(memory::long_among_short)),
    near("fragmented_memory", "freed_in_one_piece", Recorded(memory::freed_in_one_piece)),
    near("fragmented_memory", "all_freed", Recorded(memory::all_freed)),
    is("set_up", "cold_start", Simulated(streams::cold_start)),
    is("set_up", "first_launch", Simulated(streams::first_launch)),
    near("set_up", "warm_start", Simulated(streams::launched_ahead)),
    near("set_up", "short_start", Simulated(streams::short_start)),
};
