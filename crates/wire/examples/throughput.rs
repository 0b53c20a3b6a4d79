//! How fast values become bytes and bytes values, beside copying the same bytes.
//!
//! `cargo run --release -p dovetail-wire --example throughput`
#![allow(clippy::unwrap_used)]

use dovetail_wire::{Bytes, Encoding, Limits, Value, message};
use std::hint::black_box;
use std::time::{Duration, Instant};

/// A struct of scalars with one inside.
#[derive(Clone, Debug, Default, PartialEq)]
struct Inner {
    a: i32,
    b: i64,
}

message!(Inner {
    1 a: i32,
    2 b: i64,
});

#[derive(Clone, Debug, Default, PartialEq)]
struct Outer {
    a: i32,
    b: i64,
    c: f64,
    d: Inner,
}

message!(Outer {
    1 a: i32,
    2 b: i64,
    3 c: f64,
    4 d: Inner,
});

fn main() {
    let structs: Vec<Outer> = (0..1900)
        .map(|i| Outer {
            a: i,
            b: i64::from(i) * 1_000_003,
            c: f64::from(i) * 0.5,
            d: Inner {
                a: -i,
                b: i64::from(i) << 20,
            },
        })
        .collect();
    let table: Vec<Vec<String>> = (0..10)
        .map(|row| {
            (0..10)
                .map(|column| format!("row {row} column {column}"))
                .collect()
        })
        .collect();
    println!(
        "{:24} {:16} {:>8} {:>10} {:>10} {:>10}  MB/s",
        "value", "encoding", "bytes", "encode", "decode", "memcpy"
    );
    measure("1,900 nested structs", &structs);
    measure("10 × 10 strings", &table);
}

fn measure<T: Value>(name: &str, value: &T) {
    // For a profiler: only the encoding that the command line names.
    let only = std::env::args().nth(1);
    let wanted = |encoding: &Encoding| only.as_deref().is_none_or(|name| name == encoding.name());
    for encoding in Encoding::BUILT_IN.into_iter().filter(wanted) {
        let bytes = Bytes::from(encoding.to_bytes(value).unwrap());
        let mut out = Vec::new();
        let encode = rate(bytes.len(), || {
            out.clear();
            encoding
                .encode(black_box(value), &mut out, Limits::default())
                .unwrap();
            black_box(&out);
        });
        // A new value each time, as a server has it.
        let decode = rate(bytes.len(), || {
            let mut value = T::default();
            encoding
                .decode(&mut value, black_box(&bytes), Limits::default())
                .unwrap();
            black_box(&value);
        });
        let copy = rate(bytes.len(), || {
            out.clear();
            out.extend_from_slice(black_box(&bytes));
            black_box(&out);
        });
        println!(
            "{name:24} {:16} {:>8} {encode:>10.0} {decode:>10.0} {copy:>10.0}",
            encoding.name(),
            bytes.len()
        );
    }
}

/// The best of several short runs, in MB/s: others share this machine.
fn rate(bytes: usize, mut body: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    for _ in 0..20 {
        let start = Instant::now();
        let mut rounds = 0;
        while start.elapsed() < Duration::from_millis(10) {
            for _ in 0..16 {
                body();
            }
            rounds += 16;
        }
        best = best.min(start.elapsed() / rounds);
    }
    bytes as f64 / best.as_secs_f64() / 1e6
}
