//! Runs that no rule was tuned on: other programs, sizes, counts, speeds and names than those of the corpus, two problems at
//! once, and programs that have none. They were written down before the plugin was asked about any of them.
//!
//! A case with several truths is right when the first finding is one of them and all of them are found. A near miss is not
//! to be taken for what it resembles; of a sound program nothing is to be found at all.

pub mod devices;
pub mod host;
pub mod memory;
pub mod mixed;
pub mod rooflines;
pub mod threads;

use super::{Case, Make::Recorded, Make::Simulated, cases, is, near};

/// Value of `Case::not` for a program of which nothing is to be found.
pub const ANY: &str = "any";

/// All cases.
pub const CASES: &[Case] = cases! {
    is("transfer_bound", "upload_dominates", Simulated(devices::upload_dominates)),
    is("transfer_bound", "gradients_down", Simulated(devices::gradients_down)),
    near("transfer_bound", "copy_engine_busy", Simulated(devices::copy_engine_busy)),
    near("transfer_bound", "one_big_upload", Simulated(devices::one_big_upload)),
    is("launch_bound", "norm_chain", Simulated(devices::norm_chain)),
    is("launch_bound", "two_tiny_streams", Simulated(devices::two_tiny_streams)),
    is("launch_bound", "short_and_tiny", Simulated(devices::short_and_tiny)),
    near("launch_bound", "just_longer_than_launches", Simulated(devices::just_longer_than_launches)),
    near("launch_bound", "batches_of_launches", Simulated(devices::batches_of_launches)),
    is("sync_bound", "sync_each_pair", Simulated(devices::sync_each_pair)),
    is("blocking_copies", "flag_polled", Simulated(devices::flag_polled)),
    is("blocking_copies", "token_by_token", Simulated(devices::token_by_token)),
    near("blocking_copies", "labels_uploaded", Simulated(devices::labels_uploaded)),
    is("sync_bound", "rounds_of_nothing", Recorded(threads::rounds_of_nothing)),
    near("sync_bound", "sync_each_epoch", Simulated(devices::sync_each_epoch)),
    near("sync_bound", "event_of_the_step_before", Simulated(devices::event_of_the_step_before)),
    near("sync_bound", "long_rounds", Recorded(threads::long_rounds)),
    is("serialisation", "beam_between", Simulated(devices::beam_between)),
    is("serialisation", "plan_then_run", Simulated(devices::plan_then_run)),
    is("serialisation", "merge_alone", Recorded(threads::merge_alone)),
    near("serialisation", "books_kept_beside", Simulated(devices::books_kept_beside)),
    near("serialisation", "short_merge", Recorded(threads::short_merge)),
    is("data_load_bound", "minibatches_fetched", Recorded(host::minibatches_fetched)),
    is("data_load_bound", "workers_too_slow", Simulated(devices::workers_too_slow)),
    is("data_load_bound", "prefetch_too_slow", Recorded(threads::prefetch_too_slow)),
    near("data_load_bound", "loader_beside_device", Simulated(devices::loader_beside_device)),
    near("data_load_bound", "quick_read", Recorded(host::quick_read)),
    is("load_imbalance", "big_half", Recorded(threads::big_half)),
    is("load_imbalance", "straggler_by_chance", Recorded(threads::straggler_by_chance)),
    is("load_imbalance", "heavy_stream_of_three", Simulated(devices::heavy_stream_of_three)),
    is("load_imbalance", "heavy_device", Simulated(devices::heavy_device)),
    near("load_imbalance", "five_alike", Recorded(threads::five_alike)),
    near("load_imbalance", "three_even_streams", Simulated(devices::three_even_streams)),
    near("load_imbalance", "nobody_waits_for_the_slow_one", Recorded(threads::nobody_waits_for_the_slow_one)),
    is("small_batches", "few_rows", Recorded(host::few_rows)),
    is("small_batches", "eight_blocks", Simulated(devices::eight_blocks)),
    near("small_batches", "by_the_row", Recorded(host::by_the_row)),
    near("small_batches", "small_grids_are_rare", Simulated(devices::small_grids_are_rare)),
    is("tight_loop", "lookups", Recorded(host::lookups)),
    is("tight_loop", "pixels_in_rows", Recorded(host::pixels_in_rows)),
    near("tight_loop", "tile_rows", Recorded(host::tile_rows)),
    near("tight_loop", "tiny_beside_work", Recorded(host::tiny_beside_work)),
    is("memory_bound", "sum_up", Recorded(rooflines::sum_up)),
    is("memory_bound", "widen", Recorded(rooflines::widen)),
    near("memory_bound", "horner_not_memory", Recorded(rooflines::horner)),
    near("memory_bound", "every_ninth", Recorded(rooflines::every_ninth)),
    is("compute_bound", "small_product", Recorded(rooflines::small_product)),
    is("compute_bound", "horner", Recorded(rooflines::horner)),
    near("compute_bound", "a_third_of_the_roof", Recorded(rooflines::a_third_of_the_roof)),
    near("compute_bound", "sum_up_not_compute", Recorded(rooflines::sum_up)),
    is("unoptimised", "a_third_of_the_roof_unoptimised", Recorded(rooflines::a_third_of_the_roof)),
    is("unoptimised", "bit_by_bit", Recorded(rooflines::bit_by_bit)),
    near("unoptimised", "product_is_tuned", Recorded(rooflines::small_product)),
    near("unoptimised", "bad_but_brief", Recorded(rooflines::bad_but_brief)),
    is("latency_bound", "search_keys", Recorded(rooflines::search_keys)),
    is("latency_bound", "descend_tree", Recorded(rooflines::descend_tree)),
    near("latency_bound", "widen_streams", Recorded(rooflines::widen)),
    near("latency_bound", "product_not_latency", Recorded(rooflines::small_product)),
    is("recomputation", "bias_again", Recorded(host::bias_again)),
    is("recomputation", "twice_a_step", Recorded(host::twice_a_step)),
    near("recomputation", "same_by_chance", Recorded(host::same_by_chance)),
    near("recomputation", "not_worth_keeping", Recorded(host::not_worth_keeping)),
    is("redundant_transfers", "thirty_seven_round_trips", Simulated(devices::thirty_seven_round_trips)),
    is("redundant_transfers", "two_tensors_back_and_forth", Simulated(devices::two_tensors_back_and_forth)),
    near("redundant_transfers", "frames_in_and_out", Simulated(devices::frames_in_and_out)),
    near("redundant_transfers", "upload_only", Simulated(devices::upload_dominates)),
    is("memory_growth", "leak_among_noise", Recorded(memory::leak_among_noise)),
    is("memory_growth", "grows_in_steps", Recorded(memory::grows_in_steps)),
    near("memory_growth", "saw_tooth", Recorded(memory::saw_tooth)),
    near("memory_growth", "ramp_then_flat", Recorded(memory::ramp_then_flat)),
    near("memory_growth", "noise_only", Recorded(memory::noise_only)),
    is("fragmented_memory", "three_of_five_freed", Recorded(memory::three_of_five_freed)),
    is("fragmented_memory", "two_lifetimes", Recorded(memory::two_lifetimes)),
    near("fragmented_memory", "tail_freed", Recorded(memory::tail_freed)),
    near("fragmented_memory", "few_holes", Recorded(memory::few_holes)),
    is("set_up", "context_and_modules", Simulated(devices::context_and_modules)),
    is("set_up", "compiled_first", Recorded(host::compiled_first)),
    near("set_up", "quick_context", Simulated(devices::quick_context)),
    near("set_up", "brief_warm_up", Recorded(host::brief_warm_up)),
    is("data_load_bound+launch_bound", "loader_and_tiny_kernels", Simulated(mixed::loader_and_tiny_kernels)),
    is("data_load_bound+memory_growth", "loader_and_leak", Recorded(mixed::loader_and_leak)),
    is("load_imbalance+recomputation", "slow_part_and_mask", Recorded(mixed::slow_part_and_mask)),
    is("set_up+transfer_bound", "cold_and_copying", Simulated(mixed::cold_and_copying)),
    is("memory_bound+compute_bound", "both_roofs", Recorded(rooflines::both_roofs)),
    near(ANY, "double_buffered", Simulated(devices::double_buffered)),
    near(ANY, "plain_steps", Recorded(host::plain_steps)),
    near(ANY, "even_and_long", Recorded(threads::even_and_long)),
};
