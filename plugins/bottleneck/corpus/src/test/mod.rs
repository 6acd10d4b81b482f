//! Runs that were made after the rules had been mended on the [validation](super::validation) ones, to see how often the plugin is right
//! about what it was not mended on. Parameters, names and shapes are others once more.

mod devices;
mod host;

use super::validation::ANY;
use super::{Case, Make::Recorded, Make::Simulated, is, near};

/// All of them.
pub const CASES: &[Case] = &[
    is(
        "transfer_bound",
        "u_results_down",
        Simulated(devices::results_down),
    ),
    is("transfer_bound", "u_two_fed", Simulated(devices::two_fed)),
    near(
        "transfer_bound",
        "u_down_beside",
        Simulated(devices::down_beside),
    ),
    near(
        "transfer_bound",
        "u_tiny_kernels",
        Simulated(devices::tiny_with_copies),
    ),
    is(
        "launch_bound",
        "u_one_in_five",
        Simulated(devices::one_in_five),
    ),
    is(
        "launch_bound",
        "u_tiny_kernels",
        Simulated(devices::tiny_with_copies),
    ),
    near("launch_bound", "u_bursts", Simulated(devices::bursts)),
    near(
        "launch_bound",
        "u_waits_now_and_then",
        Simulated(devices::waits_now_and_then),
    ),
    is(
        "sync_bound",
        "u_three_and_wait",
        Simulated(devices::three_and_wait),
    ),
    is(
        "sync_bound",
        "u_norm_read_back",
        Simulated(devices::norm_read_back),
    ),
    near(
        "sync_bound",
        "u_waits_now_and_then",
        Simulated(devices::waits_now_and_then),
    ),
    near("sync_bound", "u_eight_uneven", Recorded(host::eight_uneven)),
    is("serialisation", "u_bursts", Simulated(devices::bursts)),
    is(
        "serialisation",
        "u_decides_next",
        Simulated(devices::decides_next),
    ),
    is(
        "serialisation",
        "u_collect_alone",
        Recorded(host::collect_alone),
    ),
    near(
        "serialisation",
        "u_little_preparing",
        Simulated(devices::little_preparing),
    ),
    near("serialisation", "u_two_kinds", Recorded(host::two_kinds)),
    is(
        "data_load_bound",
        "u_dataset_next",
        Recorded(host::dataset_next),
    ),
    is(
        "data_load_bound",
        "u_load_and_upload",
        Simulated(devices::load_and_upload),
    ),
    near(
        "data_load_bound",
        "u_input_layernorm",
        Recorded(host::input_layernorm),
    ),
    near(
        "data_load_bound",
        "u_load_model_once",
        Recorded(host::model_and_warm_up),
    ),
    is(
        "load_imbalance",
        "u_eight_uneven",
        Recorded(host::eight_uneven),
    ),
    is(
        "load_imbalance",
        "u_four_streams",
        Simulated(devices::four_streams),
    ),
    near(
        "load_imbalance",
        "u_nearly_even_devices",
        Simulated(devices::nearly_even_devices),
    ),
    near("load_imbalance", "u_two_kinds", Recorded(host::two_kinds)),
    is("small_batches", "u_requests", Recorded(host::requests)),
    is(
        "small_batches",
        "u_sixteen_blocks",
        Simulated(devices::sixteen_blocks),
    ),
    near("small_batches", "u_squares", Recorded(host::squares)),
    near("small_batches", "u_steps", Recorded(host::input_layernorm)),
    is(
        "tight_loop",
        "u_inner_function",
        Recorded(host::inner_function),
    ),
    is("tight_loop", "u_emit_token", Recorded(host::emit_token)),
    near("tight_loop", "u_medium_calls", Recorded(host::medium_calls)),
    near("tight_loop", "u_plain", Recorded(host::two_parts)),
    is("memory_bound", "u_sum_19_20", Recorded(host::sum_19_20)),
    is("memory_bound", "u_sum_3_4", Recorded(host::sum_3_4)),
    near("memory_bound", "u_sum_45", Recorded(host::sum_45)),
    near("memory_bound", "u_horner_95", Recorded(host::horner_95)),
    is("compute_bound", "u_horner_95", Recorded(host::horner_95)),
    is("compute_bound", "u_horner_70", Recorded(host::horner_70)),
    near("compute_bound", "u_parity", Recorded(host::parity_6)),
    near("compute_bound", "u_sum_3_4", Recorded(host::sum_3_4)),
    is("unoptimised", "u_parity", Recorded(host::parity_6)),
    is("unoptimised", "u_horner_22", Recorded(host::horner_22)),
    near("unoptimised", "u_horner_70", Recorded(host::horner_70)),
    near("unoptimised", "u_sum_3_4", Recorded(host::sum_3_4)),
    is("latency_bound", "u_walk_32", Recorded(host::walk_32)),
    is("latency_bound", "u_walk_20", Recorded(host::walk_20)),
    near("latency_bound", "u_sum_45", Recorded(host::sum_45)),
    near("latency_bound", "u_parity", Recorded(host::parity_6)),
    is(
        "recomputation",
        "u_five_in_turn",
        Recorded(host::five_in_turn),
    ),
    is("recomputation", "u_per_head", Recorded(host::per_head)),
    near(
        "recomputation",
        "u_half_the_same",
        Recorded(host::half_the_same),
    ),
    near("recomputation", "u_cleared", Recorded(host::cleared)),
    is(
        "redundant_transfers",
        "u_sixty_idle",
        Simulated(devices::sixty_idle),
    ),
    is(
        "redundant_transfers",
        "u_page_swap",
        Simulated(devices::page_swap),
    ),
    near(
        "redundant_transfers",
        "u_results_down",
        Simulated(devices::results_down),
    ),
    near(
        "redundant_transfers",
        "u_other_sizes",
        Simulated(devices::other_sizes),
    ),
    is(
        "memory_growth",
        "u_every_third",
        Recorded(host::every_third),
    ),
    is(
        "memory_growth",
        "u_five_per_cent",
        Recorded(host::five_per_cent),
    ),
    near("memory_growth", "u_shrinks", Recorded(host::shrinks)),
    near("memory_growth", "u_even", Recorded(host::even_memory)),
    is("fragmented_memory", "u_pairs", Recorded(host::pairs)),
    is(
        "fragmented_memory",
        "u_two_of_three",
        Recorded(host::two_of_three),
    ),
    near(
        "fragmented_memory",
        "u_head_freed",
        Recorded(host::head_freed),
    ),
    near(
        "fragmented_memory",
        "u_one_in_ten",
        Recorded(host::one_in_ten),
    ),
    is("set_up", "u_four_modules", Simulated(devices::four_modules)),
    is(
        "set_up",
        "u_model_and_warm_up",
        Recorded(host::model_and_warm_up),
    ),
    near("set_up", "u_one_module", Simulated(devices::one_module)),
    near("set_up", "u_dataset_next", Recorded(host::dataset_next)),
    is(
        "launch_bound+set_up",
        "u_cold_and_tiny",
        Simulated(devices::cold_and_tiny),
    ),
    is(
        "data_load_bound+recomputation",
        "u_read_and_mask",
        Recorded(host::read_and_mask),
    ),
    is(
        "small_batches+memory_growth",
        "u_small_and_leaky",
        Recorded(host::small_and_leaky),
    ),
    is(
        "load_imbalance+serialisation",
        "u_uneven_and_alone",
        Recorded(host::uneven_and_alone),
    ),
    near(ANY, "u_served_well", Simulated(devices::served_well)),
    near(ANY, "u_two_parts", Recorded(host::two_parts)),
    near(ANY, "u_two_kinds_sound", Recorded(host::two_kinds)),
];
