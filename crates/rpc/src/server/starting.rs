//! The start of a server: on threads of its own, on the caller's runtime, or for one stream.

#[cfg(feature = "async")]
use super::event_loop;
use super::{ListenerKind, Model, Running, Server, threads};
use crate::Address;
use crate::names::Registration;
use crate::transport::{Listener, Pipe, SocketListener, Stream, bind_upgrade};
use std::io;
use std::sync::Arc;
use std::time::Duration;

const NO_TLS: &str = "a server that listens on tls://… needs a certificate: `Server::tls`";

/// Error of a server that requires certificates, and listens where clients need none.
const PLAINTEXT: &str = "clients of tcp://… need no certificate, and this server requires one of all: listen on tls://…, or \
     call `Server::allow_plaintext`";

impl Server {
    /// Starts serving. An error where a thread cannot be had, a certificate is missing for
    /// `tls://…`, clients need certificates and can call without TLS, or a registration has no
    /// address that clients can use.
    pub fn start(self) -> io::Result<Running> {
        let model = self.model;
        let (mut running, rest) = self.into_running()?;
        match model {
            Model::ThreadPerConnection => {
                // Serves no connection: its timers and tasks are for the handlers.
                #[cfg(feature = "async")]
                {
                    running.loops = event_loop::start(model, &[], &running.shared)?;
                }
                for listener in &rest.sockets {
                    running.accept_on_thread(listener.clone())?;
                }
            }
            #[cfg(feature = "async")]
            model => {
                // The loops close them, each when the last loop has ended accepting.
                let open: Vec<_> = rest.open().collect();
                running.loops = event_loop::start(model, &open, &running.shared)?;
            }
        }
        // After the loops, whose timers and tasks the handlers may use.
        rest.begin(&mut running)?;
        Ok(running)
    }

    /// Serves on the runtime of the caller, in place of threads of the server's own, until
    /// `shutdown` ends; then goes down as [`Running::shutdown`] does, whose result it returns.
    /// Errors are those of [`start`](Self::start).
    ///
    /// All connections and handlers run where the future is awaited, as under
    /// [`Model::SingleThreaded`], whatever the model is. Handlers find the runtime of the caller:
    /// what they give to `tokio::spawn` runs on all of its threads. The future is not `Send`; await
    /// it in `main`, in `block_on`, or in a `LocalSet`. To drop it ends the server without a drain.
    ///
    /// Listeners that are not sockets have threads here as well.
    ///
    /// ```no_run
    /// # async fn shutdown_signal() {}
    /// # #[tokio::main]
    /// # async fn main() -> std::io::Result<()> {
    /// let server = dovetail::Server::new().bind("add", |a: i32, b: i32| a + b);
    /// let server = server.listen("tcp://127.0.0.1:9090")?;
    /// server.serve(shutdown_signal(), std::time::Duration::from_secs(10)).await?;
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "async")]
    pub async fn serve(
        self,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) -> io::Result<bool> {
        let (mut running, rest) = self.into_running()?;
        let open: Vec<_> = rest.open().collect();
        let (event_loop, serving) = event_loop::here(&open, &running.shared)?;
        drop(open);
        running.loops.push(event_loop);
        rest.begin(&mut running)?;
        let ending = async {
            shutdown.await;
            // It waits for connections, which are served meanwhile.
            tokio::task::spawn_blocking(move || running.shutdown(drain)).await
        };
        let local = tokio::task::LocalSet::new();
        let both = async { tokio::join!(serving, ending) };
        let ((), drained) = local.run_until(both).await;
        drained.map_err(io::Error::other)
    }

    /// Serves one connection on a stream, on this thread, until the peer closes it.
    pub fn serve_stream(self, stream: Arc<dyn Stream>) -> io::Result<()> {
        let running = self.start()?;
        let peer = stream.peer();
        let guard = running
            .shared
            .admit(Some(stream.clone()), ListenerKind::Open, &peer);
        let Some(mut guard) = guard else {
            return Ok(());
        };
        let shared = running.shared.clone();
        let served =
            shared.in_runtime(|| threads::serve(&stream, &shared, &mut guard, ListenerKind::Open));
        drop(guard);
        running.shutdown(Duration::ZERO);
        served
    }

    /// Serves this process's standard input and output, on this thread, until the client closes its
    /// end: what a program does that others start as a part of theirs
    /// ([`Program`](crate::transport::Program)). What the process prints meanwhile goes to standard
    /// error.
    pub fn serve_stdio(self) -> io::Result<()> {
        self.serve_stream(Arc::new(Pipe::stdio()?))
    }

    /// Checks the settings, and returns a server at work that has no connections yet, and what is
    /// left to begin.
    fn into_running(mut self) -> io::Result<(Running, Unstarted)> {
        let addresses = self.addresses();
        self.check_tls(&addresses)?;
        self.prepare().map_err(|status| {
            io::Error::new(io::ErrorKind::InvalidInput, status.message().to_owned())
        })?;
        let mut sockets = std::mem::take(&mut self.sockets);
        let upgrade = self.bind_upgrade(&addresses);
        let number = upgrade.as_ref().map(|(number, _)| *number);
        sockets.extend(upgrade.map(|(_, listener)| listener));
        let rest = Unstarted {
            sockets: sockets.into_iter().map(Arc::new).collect(),
            others: std::mem::take(&mut self.others),
            registrations: std::mem::take(&mut self.registrations),
        };
        let running = Running {
            addresses,
            listeners: Vec::new(),
            threads: Vec::new(),
            shared: self.into_shared(number),
            #[cfg(feature = "async")]
            loops: Vec::new(),
        };
        for address in &running.addresses {
            running.shared.warn_of_hosts(address);
        }
        Ok((running, rest))
    }

    /// Opens the place where clients on the same machine find it by shared memory, if it has any
    /// that come by TCP. Nobody needs to know where that cannot be had.
    fn bind_upgrade(&self, addresses: &[Address]) -> Option<(u128, SocketListener)> {
        let tcp = addresses.iter().any(|a| matches!(a, Address::Tcp(_)));
        (self.local_upgrade && tcp).then(|| bind_upgrade().ok())?
    }

    /// Checks that the addresses and the settings of TLS do not contradict each other.
    fn check_tls(&self, addresses: &[Address]) -> io::Result<()> {
        let listens_on = |wanted: fn(&Address) -> bool| addresses.iter().any(wanted);
        let refused = match &self.tls {
            None if listens_on(|address| matches!(address, Address::Tls(_))) => NO_TLS,
            Some(tls)
                if !self.plaintext
                    && listens_on(|address| matches!(address, Address::Tcp(_)))
                    && tls.requires_certificates() =>
            {
                PLAINTEXT
            }
            _ => return Ok(()),
        };
        Err(io::Error::new(io::ErrorKind::InvalidInput, refused))
    }
}

/// The parts of a server that begin after its loops, or with them.
struct Unstarted {
    sockets: Vec<Arc<SocketListener>>,
    others: Vec<Arc<dyn Listener>>,
    registrations: Vec<Registration>,
}

impl Unstarted {
    #[cfg(feature = "async")]
    fn open(&self) -> impl Iterator<Item = Arc<event_loop::Open>> {
        let sockets = self.sockets.iter().cloned();
        sockets.map(|socket| Arc::new(event_loop::Open(socket)))
    }

    fn begin(self, running: &mut Running) -> io::Result<()> {
        for listener in self.others {
            running.accept_on_thread(listener)?;
        }
        for registration in self.registrations {
            let registered = registration.start(&running.addresses)?;
            running.shared.registered().push(registered);
        }
        Ok(())
    }
}
