//! The chores of this repository: `cargo xtask --help` lists them.

fn main() {
    println!("usage: cargo xtask test");
}
