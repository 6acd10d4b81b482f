//! Pages and answers about runs over HTTP, on loopback.
