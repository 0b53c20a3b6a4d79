//! The balancer from outside, with a clock of the tests.

mod changes;
mod ejections;
mod fixture;
mod policies;
mod properties;
