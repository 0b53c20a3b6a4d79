//! Calls with streams.

use super::super::failures::too_late;
use super::super::options::Options;
use super::response::{Response, Stop};
use super::{Http2Connection, Open, due, request};
use crate::Status;
use crate::method::Method;
use crate::peer::outgoing::Outgoing;
use crate::peer::response_headers::ResponseHeaders;
use crate::peer::streams::StreamCall;
use crate::web::{Exchange, Plain, Style};
use bytes::Bytes;
use dovetail_protocol::{ConnectionLimits, Execution};
use dovetail_wire::Encode;
use h2::client::ResponseFuture;
use h2::{Reason, SendStream};
use std::future::{pending, poll_fn};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

impl Http2Connection {
    /// Begins a call of this method; `result` where its items come behind a result.
    pub(in super::super) async fn open(
        &self,
        call: Outgoing<'_, impl Encode>,
        method: &'static Method,
        result: bool,
        options: &Options,
    ) -> Result<StreamCall, Status> {
        let style = Style::of_caller(options, true);
        let request = request::head(&call, style, options, &self.origin)?;
        let first = request::first(&call, method, style, options)?;
        let open = self.count_in(options.calls)?;
        let due = due(call.timeout);
        let (response, stream) = self.begin(request).await?;
        let (decoding, encoding) = (options.decoding, options.client.encoding);
        let exchange = Exchange::at_caller(method, decoding, encoding, style, result);
        exchange.queue(first);
        let handle = exchange.handle();
        if !method.kind.client_streams() {
            handle.end();
        }
        let driver = Driver {
            connection: self.clone(),
            exchange,
            style,
            limits: options.client.limits,
            said: options.said.clone(),
            due,
            _open: open,
        };
        tokio::spawn(driver.run(response, stream, call.timeout));
        Ok(StreamCall::web(handle, method.name))
    }
}

/// Owns the stream of a call; see [`Exchange`].
struct Driver {
    connection: Http2Connection,
    exchange: Arc<Exchange>,
    style: Style,
    limits: ConnectionLimits,
    said: Option<ResponseHeaders>,
    /// When the call is over.
    due: Option<Instant>,
    _open: Open,
}

impl Driver {
    /// Until the call is over. What is dropped then resets a stream whose ends have not both come.
    async fn run(
        self,
        response: ResponseFuture,
        mut stream: SendStream<Bytes>,
        limit: Option<Duration>,
    ) {
        tokio::select! {
            biased;
            ended = self.receive(response) => match ended {
                Ok(()) => self.exchange.callee_ends(Ok(())),
                Err(stop) => {
                    let failure = self.connection.failure(stop, self.due);
                    self.exchange.callee_ends(Err(failure));
                }
            },
            () = self.left(&mut stream) => stream.send_reset(Reason::CANCEL),
            late = self.late(limit) => self.exchange.fail(&late),
        }
    }

    async fn receive(&self, response: ResponseFuture) -> Result<(), Stop> {
        let said = self.said.clone();
        let mut response = Response::begin(response, self.style, self.limits, said).await?;
        while let Some(message) =
            poll_fn(|context| self.poll_message(&mut response, context)).await?
        {
            self.exchange.arrived(message);
        }
        response.end::<()>().await?;
        self.exchange.answer_begins();
        Ok(())
    }

    /// The next message. The answer begins with the first one, or where nothing has come with the
    /// headers that ends it: an end may say that the call has failed as a whole.
    fn poll_message(
        &self,
        response: &mut Response,
        context: &mut Context<'_>,
    ) -> Poll<Result<Option<Plain>, Stop>> {
        // Before the look at what waits: nothing that is taken in between is missed.
        self.exchange.drive(context);
        let polled = response.poll_next(self.exchange.waiting(), context);
        if matches!(polled, Poll::Pending | Poll::Ready(Ok(Some(_)))) {
            self.exchange.answer_begins();
        }
        polled
    }

    /// Sends what is queued, until the handles leave the call.
    async fn left(&self, stream: &mut SendStream<Bytes>) {
        poll_fn(|context| {
            self.exchange.drive(context);
            if self.exchange.is_left() {
                return Poll::Ready(());
            }
            // The response says why where the server takes no more.
            let _ = self.exchange.poll_queue(stream, context);
            Poll::Pending
        })
        .await;
    }

    async fn late(&self, limit: Option<Duration>) -> Status {
        let Some(limit) = limit else {
            return pending().await;
        };
        tokio::time::sleep(limit).await;
        too_late(self.exchange.method(), limit, Execution::MayHaveRun)
    }
}
