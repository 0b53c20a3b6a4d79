//! Thrift's machines, through their public interface only.
#![allow(clippy::expect_used)] // Clippy's own exception ends where a test has helpers.

mod custom;
mod detection;
mod golden;
mod hostile;
mod http;
mod nested;
mod pair;
mod properties;
mod support;
