//! The calls, their data, and the expected answers: `bench/README.md` in Rust.

// Some programs' records have more than the fields of the contract.
#![allow(clippy::needless_update)]

use crate::records::{Bytes, Date, Mark, Message, Nested, Row, Sample, Semester, Student};
use std::time::Duration;

/// A call, ready to be made.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Request {
    Answer(i32),
    Blob(i32),
    Structs,
    Samples(Vec<Sample>),
    Work { rows: i32, wait_ms: i32 },
    Process(Message),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Response {
    Answer(i32),
    Blob(Bytes),
    Structs(Vec<Student>),
    Samples(Vec<Sample>),
    Rows(Vec<Row>),
    Message(Message),
    /// Bytes that nobody has decoded.
    Raw,
}

/// How many samples make 100 kB of plain structs.
const SAMPLES: i32 = 3_125;

impl Request {
    /// The call of a workload; `None` where there is no such workload or case.
    pub(crate) fn new(workload: &str, case: &str) -> Option<Request> {
        Some(match (workload, case) {
            ("get_answer", "-") => Request::Answer(1),
            ("get_blob", size) => Request::Blob(size.parse().ok()?),
            ("blob_100k", "-") => Request::Blob(100_000),
            ("get_structs", "-") => Request::Structs,
            ("structs_100k", "-") => Request::Samples((0..SAMPLES).map(sample).collect()),
            ("db_work", "10") => Request::Work {
                rows: 10,
                wait_ms: 0,
            },
            ("db_work", "10+1ms") => Request::Work {
                rows: 10,
                wait_ms: 1,
            },
            ("agent_small", "-") => Request::Process(message(16)),
            ("agent_large", "-") => Request::Process(message(1_100)),
            _ => return None,
        })
    }

    /// The right answer.
    pub(crate) fn response(&self) -> Response {
        match self {
            Request::Answer(question) => Response::Answer(41 + question),
            Request::Blob(size) => Response::Blob(blob(*size)),
            Request::Structs => Response::Structs(students()),
            Request::Samples(samples) => Response::Samples(samples.clone()),
            Request::Work { rows, .. } => Response::Rows((0..*rows).map(row).collect()),
            Request::Process(message) => Response::Message(message.clone()),
        }
    }
}

/// Uses this much processor time on this thread.
pub(crate) fn compute(time: Duration) {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    // An unreadable clock ends the loop.
    let used = || clock.now().map_or(Duration::MAX, Duration::from);
    let begin = used();
    while used().saturating_sub(begin) < time {}
}

pub(crate) fn blob(size: i32) -> Bytes {
    let mut x = i64::from(size).cast_unsigned();
    let next = |_| {
        x = x
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (x >> 56) as u8
    };
    (0..size).map(next).collect()
}

fn date(n: i32) -> Date {
    Date {
        year: 1950 + n % 70,
        month: (1 + n % 12) as i8,
        day: (1 + n % 28) as i8,
        ..Date::default()
    }
}

pub(crate) fn students() -> Vec<Student> {
    (0..34).map(student).collect()
}

fn student(p: i32) -> Student {
    Student {
        name: format!("Student number {p:04}").into(),
        kind: (p % 5) as i8,
        born: date(p),
        semesters: (0..8).map(|s| semester(p, s)).collect(),
        ..Student::default()
    }
}

fn semester(p: i32, s: i32) -> Semester {
    Semester {
        number: s as i8,
        start: date(p + s),
        marks: (0..12).map(|m| mark((p * 8 + s) * 12 + m)).collect(),
        ..Semester::default()
    }
}

fn mark(k: i32) -> Mark {
    Mark {
        course: (k % 1000) as i16,
        title: format!("Introduction to course {k}").into(),
        grade: f64::from(k) / 7.0,
        passed: k % 3 != 0,
        date: date(k),
        ..Mark::default()
    }
}

fn sample(i: i32) -> Sample {
    Sample {
        small: i * 7,
        large: i64::from(i) * 1_000_000_007,
        real: f64::from(i) / 3.0,
        nested: Nested {
            small: i * 11,
            large: -i64::from(i) * 1_000_003,
            ..Nested::default()
        },
        ..Sample::default()
    }
}

pub(crate) fn row(i: i32) -> Row {
    Row {
        id: 1_000_000 + i64::from(i),
        name: format!("Some_Person_{i}").into(),
        born: format!("1980-01-{i:02}").into(),
        amount: f64::from(i) * 1.25,
        voter: i % 2 == 0,
        street: format!("{i} Some Long Street Name").into(),
        house: format!("Apt {i}").into(),
        city: "Cleveland".into(),
        state: "OH".into(),
        zip: format!("44{i:03}").into(),
        ..Row::default()
    }
}

fn message(payload: i32) -> Message {
    Message {
        id: 7,
        text: "agent".into(),
        payload: blob(payload),
        ..Message::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that the programs in other languages must compute, too.
    #[test]
    fn fixed_values() {
        assert_eq!(blob(16)[..4], [153, 160, 75, 27]);
        let last = &students()[33].semesters[7].marks[11];
        assert_eq!(last.title, "Introduction to course 3263");
        assert_eq!((last.course, last.passed), (263, true));
        assert_eq!(
            (last.date.year, last.date.month, last.date.day),
            (1993, 12, 16)
        );
        assert_eq!(sample(3_124).large, 3_124_000_021_868);
        assert_eq!(row(9).zip, "44009");
    }
}
