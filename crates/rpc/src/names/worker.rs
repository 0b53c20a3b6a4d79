//! The work of a resolver or registrar that is written with async functions, on a thread of its
//! own.

use super::registration::FAREWELL;
use super::wishes::Wishes;
use std::future::{Future, poll_fn};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::time::{sleep, timeout};

/// The time after a failure.
const PAUSE: Duration = Duration::from_secs(1);

/// Works until the owner is gone, and begins again after each failure. The farewell comes last.
pub(super) fn run<W, F>(
    wishes: &Wishes,
    failed: impl Fn(&str),
    work: impl Fn() -> W,
    farewell: impl FnOnce() -> F,
) where
    W: Future<Output = Result<(), String>>,
    F: Future<Output = Result<(), String>>,
{
    let runtime = match Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return failed(&error.to_string()),
    };
    let again_and_again = async {
        loop {
            if let Err(why) = work().await {
                failed(&why);
            }
            sleep(PAUSE).await;
        }
    };
    runtime.block_on(async {
        let over = poll_fn(|context| wishes.poll_over(context));
        tokio::select! {
            biased;
            () = over => {}
            () = again_and_again => {}
        }
        let ended = timeout(FAREWELL, farewell()).await;
        if !matches!(ended, Ok(Ok(()))) {
            tracing::warn!(?ended, "a registry has not taken a registration back");
        }
    });
}
