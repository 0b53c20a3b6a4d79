//! The columns for each wire: a result, a declared exception, a one-way call, and the time of a
//! call.

use super::client::Client;
use super::workshop::{Notes, QuoteError, Wood, order};
use std::time::{Duration, Instant};

/// The outcome of one connection.
pub(crate) struct Outcome {
    pub(crate) result: Result<(), String>,
    pub(crate) exception: Result<(), String>,
    pub(crate) oneway: Result<(), String>,
    /// The median of a call with a result; `None` where calls fail.
    pub(crate) time: Option<Duration>,
}

/// Enough for a median that does not jump, in less than a tenth of a second.
const CALLS: usize = 201;

/// Long enough for any note that arrives at all.
const PATIENCE: Duration = Duration::from_secs(2);

impl Outcome {
    /// A connection that could not be made.
    pub(crate) fn failed(problem: &str) -> Self {
        let failed = || Err(problem.to_owned());
        Outcome {
            result: failed(),
            exception: failed(),
            oneway: failed(),
            time: None,
        }
    }

    /// The first thing that went wrong.
    pub(crate) fn problem(&self) -> Option<&str> {
        let parts = [&self.result, &self.exception, &self.oneway];
        parts
            .into_iter()
            .find_map(|part| part.as_ref().err())
            .map(String::as_str)
    }
}

/// Shows one connection; `label` tells its note from the others.
pub(crate) fn probe(client: &Client, notes: &Notes, label: &str) -> Outcome {
    let result = result(client);
    let time = result.is_ok().then(|| median(client)).flatten();
    Outcome {
        result,
        exception: exception(client),
        oneway: oneway(client, notes, label),
        time,
    }
}

fn result(client: &Client) -> Result<(), String> {
    let quote = client
        .quote(&order(7, Wood::OAK))
        .map_err(|error| error.to_string())?;
    match (quote.id, quote.cents, quote.currency.as_str(), quote.days) {
        (7, 5600, "EUR", 4) => Ok(()),
        _ => Err(format!("a wrong result: {quote:?}")),
    }
}

fn exception(client: &Client) -> Result<(), String> {
    match client.quote(&order(8, Wood::WALNUT)) {
        Err(QuoteError::OutOfStock(exception)) if exception.wood == Wood::WALNUT => Ok(()),
        Err(other) => Err(format!("not the declared exception: {other}")),
        Ok(quote) => Err(format!("a result in place of the exception: {quote:?}")),
    }
}

fn oneway(client: &Client, notes: &Notes, label: &str) -> Result<(), String> {
    client.note(label).map_err(|error| error.to_string())?;
    match notes.wait_for(label, PATIENCE) {
        true => Ok(()),
        false => Err("the one-way call did not arrive".to_owned()),
    }
}

fn median(client: &Client) -> Option<Duration> {
    let order = order(7, Wood::OAK);
    let mut times = Vec::with_capacity(CALLS);
    for _ in 0..CALLS {
        let start = Instant::now();
        client.quote(&order).ok()?;
        times.push(start.elapsed());
    }
    times.sort_unstable();
    Some(times[times.len() / 2])
}
