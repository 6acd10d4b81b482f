#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    trueno_fuzz_targets::imports::flight_recorder(bytes);
});
