//! Nothing: the examples are what this package is for.
