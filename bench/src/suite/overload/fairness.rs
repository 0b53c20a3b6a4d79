//! Nine callers, and a tenth that calls a hundred times as often.

use super::super::Result;
use super::generator::{Caller, End, Offer, runtime};
use std::time::{Duration, Instant};

/// Callers that keep to their quota.
const OTHERS: usize = 9;

/// Their calls a second.
const RATE: f64 = 20.0;

/// The rates of the tenth caller, as multiples of those of the others.
pub(super) const TIMES: [f64; 2] = [1.0, 100.0];

/// Returns the ends of the calls of the nine, and of the tenth, which calls so many times as often.
pub(super) fn measure(
    caller: &'static Caller,
    address: &str,
    times: f64,
    time: Duration,
) -> Result<[Vec<End>; 2]> {
    let offer = |number: usize, rate: f64, connections: usize| -> Result<Offer> {
        let channel = || -> Result<_> {
            let name = format!("caller {number}").into_bytes();
            Ok(caller.channel(address)?.with_header("caller", name))
        };
        Ok(Offer {
            channels: (0..connections).map(|_| channel()).collect::<Result<_>>()?,
            rate,
            time,
        })
    };
    let others = (0..OTHERS).map(|number| offer(number, RATE, 1));
    let others: Vec<_> = others.collect::<Result<_>>()?;
    let tenth = offer(OTHERS, RATE * times, 16)?;
    let begin = Instant::now() + Duration::from_millis(10);
    runtime()?.block_on(async {
        let tenth = tokio::spawn(tenth.run(caller, begin));
        let others = (0..).zip(others).map(|(number, offer)| {
            // Evenly over the time between two calls.
            let later = Duration::from_secs_f64(f64::from(number) / OTHERS as f64 / RATE);
            tokio::spawn(offer.run(caller, begin + later))
        });
        let mut ends = Vec::new();
        for other in others.collect::<Vec<_>>() {
            ends.extend(other.await?);
        }
        Ok([ends, tenth.await?])
    })
}
