//! The same with memory orders that are too weak: the model must find out, else it proves nothing.

mod sync {
    pub use loom::sync::atomic::AtomicU64;

    /// Every order is the weakest.
    #[allow(
        non_snake_case,
        non_upper_case_globals,
        reason = "the names of the real ones"
    )]
    pub mod Ordering {
        use loom::sync::atomic::Ordering;

        pub const Acquire: Ordering = Ordering::Relaxed;
        pub const Release: Ordering = Ordering::Relaxed;
    }
}

#[path = "../../format/src/ring/positions.rs"]
#[allow(dead_code, reason = "the recorder uses all of it")]
mod positions;
#[allow(dead_code, reason = "one model is enough to see it")]
mod protocol;

#[test]
#[should_panic(expected = "Causality violation")]
fn relaxed_orders_are_a_race() {
    protocol::blocking();
}
