//! Only tests: see `Cargo.toml`.
