//! Facts of a mirror that others must know; no client of a store.

pub mod source;

/// Variables whose values must never be shown.
pub const SECRETS: [&str; 4] = [
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_ACCESS_KEY_ID",
    "AWS_CONTAINER_AUTHORIZATION_TOKEN",
];
