//! For tests: a server and its clients in one thread, whole messages of any wire between them, and
//! a clock that the test moves. Deadlines, limits of idleness and pauses between attempts take no
//! time, and go the same way each time.
//!
//! ```
//! use dovetail::{Channel, Code, Server, Status};
//! use std::time::Duration;
//!
//! const HOUR: Duration = Duration::from_secs(3600);
//!
//! let server = Server::new().bind("wait", async |hours: u32| tokio::time::sleep(HOUR * hours).await);
//! dovetail::testing::run(server, async |pair| {
//!     let patient = pair.channel(|builder| builder.timeout(3 * HOUR));
//!     assert_eq!(patient.call_by_name("wait", (2_u32,)).await, Ok(()));
//!     let late = patient.call_by_name::<()>("wait", (4_u32,)).await;
//!     assert_eq!(late.map_err(|status| status.code()), Err(Code::DeadlineExceeded));
//! });
//! ```

use crate::counters::Counters;
use crate::server::Attended;
use crate::transport::{MemoryConnector, Polling, memory};
use crate::{Channel, ChannelBuilder, Server};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, yield_now};

/// So often others may go on before a test does, once time has passed. A call needs less than ten
/// turns.
const TURNS: usize = 100;

/// A server, and the way to it.
pub struct Pair {
    server: Attended,
    connector: MemoryConnector,
}

/// Runs a test of a server and of what calls it. The clock stands still as long as anything can be
/// done; when all wait, it goes on to what is due next. It is tokio's: a handler asks `tokio::time`
/// what time it is, and sleeps with it.
///
/// Addresses and model of the server do not count: all handlers run in this thread. There is no
/// gRPC, and no polling. What blocks the thread, or runs in another one, takes its time as always.
///
/// # Panics
///
/// Panics if the system has no runtime to give, or inside another one.
pub fn run<T>(server: Server, test: impl AsyncFnOnce(Pair) -> T) -> T {
    let mut builder = Builder::new_current_thread();
    let runtime = match builder.enable_time().start_paused(true).build() {
        Ok(runtime) => runtime,
        Err(why) => panic!("no runtime for a test: {why}"),
    };
    LocalSet::new().block_on(&runtime, async {
        let (listener, connector) = memory();
        let server = server.polling(Polling::Never).attend(listener);
        test(Pair { server, connector }).await
    })
}

impl Pair {
    /// A channel to the server; `settings` are those that it is to have:
    /// `|builder| builder.timeout(HOUR)`.
    pub fn channel(&self, settings: impl FnOnce(ChannelBuilder) -> ChannelBuilder) -> Channel {
        let builder = ChannelBuilder::in_process(self.connector.clone());
        settings(builder).polling(Polling::Never).build()
    }

    /// Lets time pass, and everything happen that is due until then.
    pub async fn advance(&self, time: Duration) {
        tokio::time::sleep(time).await;
        for _ in 0..TURNS {
            yield_now().await;
        }
    }

    /// Loses all connections, as when a machine dies: neither end is told why. New ones can be
    /// made.
    pub fn cut(&self) {
        self.connector.cut();
    }

    /// Whether new connections are refused from now on, as where no server listens.
    pub fn refuse(&self, refuse: bool) {
        self.connector.refuse(refuse);
    }

    /// Returns the server's calls, connections and refusals so far.
    pub fn counters(&self) -> Counters {
        self.server.counters()
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.server.connections()
    }
}
