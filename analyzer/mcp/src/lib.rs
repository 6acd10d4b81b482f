//! Runs as tools that an assistant calls, by the Model Context Protocol.
