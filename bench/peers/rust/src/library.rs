//! Systems of libraries that run on tokio: a task for each caller.

use crate::harness::callers::{self, Runner};
use crate::harness::{Client, Failure, Load, Report, Server, System};
use crate::store::Store;
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The largest message; the default of most libraries is less than the largest blob.
pub(crate) const LARGEST: usize = 64 << 20;

pub(crate) trait Library: Copy + Send + Sync + 'static {
    /// A connection; its clones share it.
    type Client: Client + Clone;

    /// Answers until it is dropped.
    fn serve(
        self,
        listener: TcpListener,
        store: Arc<Store>,
    ) -> impl Future<Output = Result<(), Failure>> + Send + 'static;

    fn connect(&self, server: SocketAddr) -> impl Future<Output = Result<Self::Client, Failure>>;

    /// Refuses what the library cannot do.
    fn check(&self, _: &Load) -> Result<(), Failure> {
        Ok(())
    }
}

impl<L: Library> System for L {
    fn start(&self, address: Option<&str>) -> Result<Server, Failure> {
        let runtime = Runtime::new()?;
        let listener = TcpListener::bind(address.unwrap_or("127.0.0.1:0"));
        let listener = runtime.block_on(listener)?;
        let address = listener.local_addr()?.to_string();
        let serving = self.serve(listener, Arc::new(Store::new()));
        runtime.spawn(async {
            if let Err(failure) = serving.await {
                eprintln!("the server has ended: {failure:?}");
            }
        });
        Ok(Server::new(address, runtime))
    }

    fn call(&self, servers: &[String], load: &Load) -> Result<Report, Failure> {
        self.check(load)?;
        let runtime = Runtime::new()?;
        let clients = load.fan_out(servers, |server| {
            runtime.block_on(self.connect(server.parse()?))
        })?;
        callers::measure(load, Runner::Tasks(&runtime), clients)
    }
}
