//! A case, and its end.

use crate::connector::Connector;
use std::fmt::Debug;

/// How a case ends when it does not pass.
pub(crate) enum Failure {
    Fail(String),
    Skip(&'static str),
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Failure::Fail(error.to_string())
    }
}

pub(crate) type Outcome = Result<String, Failure>;
pub(crate) type Case = (&'static str, Box<dyn Fn(&Connector) -> Outcome>);

pub(crate) fn pass() -> Outcome {
    Ok(String::new())
}

pub(crate) fn fail(why: impl Into<String>) -> Outcome {
    Err(Failure::Fail(why.into()))
}

/// Compares by text, which tells -0.0 from 0.0 and takes NaN as equal to NaN.
pub(crate) fn check<T: Debug>(got: &T, want: &T) -> Result<(), Failure> {
    let (got, want) = (format!("{got:?}"), format!("{want:?}"));
    if got == want {
        return Ok(());
    }
    let same = got
        .chars()
        .zip(want.chars())
        .take_while(|(got, want)| got == want);
    let from = same.count().saturating_sub(20);
    let short = |text: &str| text.chars().skip(from).take(120).collect::<String>();
    Err(Failure::Fail(format!(
        "got {}, want {}",
        short(&got),
        short(&want)
    )))
}

pub(crate) fn case(name: &'static str, run: impl Fn(&Connector) -> Outcome + 'static) -> Case {
    (name, Box::new(run))
}
