//! Dovetail's own wire: two machines that talk, and one that is talked to.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod compression;
mod conversation;
mod hostile;
mod objects;
mod pair;
mod properties;
mod streams;
