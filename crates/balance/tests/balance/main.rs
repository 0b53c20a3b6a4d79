//! The balancer from outside, with a clock of the tests.
#![allow(clippy::expect_used)]

mod changes;
mod ejections;
mod fixture;
mod policies;
mod properties;
