//! Opens connections as the command line says; cases ask it for clients.

use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactInputProtocol, TCompactOutputProtocol,
    TInputProtocol, TMultiplexedOutputProtocol, TOutputProtocol,
};
use thrift::transport::{
    TBufferedReadTransport, TBufferedWriteTransport, TFramedReadTransport, TFramedWriteTransport, TIoChannel,
    TReadTransport, TTcpChannel, TWriteTransport,
};

use crate::interop::{FutureSyncClient, InteropSyncClient, SecondSyncClient};
use crate::Options;

pub type Input = Box<dyn TInputProtocol>;
pub type Output = Box<dyn TOutputProtocol>;
pub type InteropClient = InteropSyncClient<Input, Output>;

const TIMEOUT: Option<Duration> = Some(Duration::from_secs(30));

pub struct Connector {
    pub options: Options,
}

impl Connector {
    pub fn multiplexed(&self) -> bool {
        self.options.multiplexed
    }

    /// A new connection, on which calls go to the service of that name.
    pub fn protocols(&self, service: &str) -> thrift::Result<(Input, Output)> {
        let (read, write) = match self.options.address.strip_prefix("unix:") {
            Some(path) => {
                let stream = UnixStream::connect(path)?;
                stream.set_read_timeout(TIMEOUT)?;
                self.transports(stream)?
            }
            None => {
                let stream = TcpStream::connect(&self.options.address)?;
                stream.set_nodelay(true)?;
                stream.set_read_timeout(TIMEOUT)?;
                self.transports(TTcpChannel::with_stream(stream))?
            }
        };
        let (input, output): (Input, Output) = match self.options.protocol.as_str() {
            "compact" => (
                Box::new(TCompactInputProtocol::new(read)),
                Box::new(TCompactOutputProtocol::new(write)),
            ),
            binary => {
                let strict = binary == "binary";
                (
                    Box::new(TBinaryInputProtocol::new(read, strict)),
                    Box::new(TBinaryOutputProtocol::new(write, strict)),
                )
            }
        };
        if self.options.multiplexed {
            return Ok((input, Box::new(TMultiplexedOutputProtocol::new(service, output))));
        }
        Ok((input, output))
    }

    fn transports<C: TIoChannel + 'static>(
        &self,
        channel: C,
    ) -> thrift::Result<(Box<dyn TReadTransport>, Box<dyn TWriteTransport>)> {
        let (read, write) = channel.split()?;
        if self.options.transport == "framed" {
            return Ok((
                Box::new(TFramedReadTransport::new(read)),
                Box::new(TFramedWriteTransport::new(write)),
            ));
        }
        Ok((
            Box::new(TBufferedReadTransport::new(read)),
            Box::new(TBufferedWriteTransport::new(write)),
        ))
    }

    pub fn interop(&self) -> thrift::Result<InteropClient> {
        let (input, output) = self.protocols("Interop")?;
        Ok(InteropSyncClient::new(input, output))
    }

    pub fn future(&self) -> thrift::Result<FutureSyncClient<Input, Output>> {
        let (input, output) = self.protocols("Interop")?;
        Ok(FutureSyncClient::new(input, output))
    }

    pub fn second(&self, service: &str) -> thrift::Result<SecondSyncClient<Input, Output>> {
        let (input, output) = self.protocols(service)?;
        Ok(SecondSyncClient::new(input, output))
    }
}
