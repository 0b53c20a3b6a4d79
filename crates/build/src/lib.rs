//! Generates Rust from a contract in a build script.
