use super::{CONTINUE, Error, Head, Method, Reader, Side, Start, Stop, refused, write_refusal};
use crate::limits::credible;
use crate::{ConnectionLimits, Headers};
use bytes::{Bytes, BytesMut};

/// A request that has arrived.
#[derive(Clone, Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The path, and what follows behind `?`.
    pub target: String,
    /// The headers, but for those that say where the body ends.
    pub headers: Headers,
    /// The body, without chunks around its parts.
    pub body: Bytes,
    /// The connection stays open after the answer.
    pub keep_alive: bool,
    /// The connection may become another protocol's, which the header `Upgrade` names.
    pub upgrades: bool,
}

/// The server's side of a connection, whatever the requests mean.
///
/// # Calling contract
///
/// - Append what is received to a buffer of your own, and call [`receive`](Self::receive) until it
///   returns `None`. [`needs`](Self::needs) says how much to read next.
/// - Answer the requests in their order. [`transmit`](Self::transmit) whenever all so far are
///   answered.
/// - After an error: write the outstanding answers, then [`goodbye`](Self::goodbye), then close.
/// - At the end of the stream, [`end`](Self::end) tells whether it came in the middle of a request.
pub struct ServerConnection {
    reader: Reader,
    limits: ConnectionLimits,
    needs: usize,
    failed: Option<Error>,
    /// No further request is read.
    over: bool,
}

impl ServerConnection {
    /// A connection on which nothing has been read.
    pub fn new(limits: ConnectionLimits) -> Self {
        ServerConnection {
            reader: Reader::new(Side::Server),
            limits,
            needs: 1,
            failed: None,
            over: false,
        }
    }

    /// Splits the next request off the front of `input`; `None` where more must be received first.
    /// `look` sees what a request wants and its headers before the body has come. It says how many
    /// of the longest messages that may hold, or refuses the request.
    pub fn receive(
        &mut self,
        input: &mut BytesMut,
        mut look: impl FnMut(Method, &Headers) -> Result<usize, Error>,
    ) -> Result<Option<Request>, Error> {
        if let Some(error) = &self.failed {
            return Err(error.clone());
        }
        if self.over {
            return Ok(None);
        }
        let next = self.reader.next(input, &self.limits, |head| {
            if let Start::Request { method, .. } = head.start {
                head.messages = look(method, &head.headers)?;
            }
            Ok(())
        });
        match next {
            Ok((head, body)) => Request::new(head, body).map(Some),
            Err(Stop::Need(missing)) => {
                self.needs = credible(missing, input.len());
                Ok(None)
            }
            Err(Stop::Error(error)) => {
                self.failed = Some(error.clone());
                Err(error)
            }
        }
    }

    /// Returns the request of whose body a part is missing, without its body. The connection does
    /// not stay open behind an answer to it.
    pub fn head(&self) -> Option<Request> {
        let head = self.reader.waiting()?.clone();
        let head = Head {
            keep_alive: false,
            ..head
        };
        Request::new(head, Bytes::new()).ok()
    }

    /// Answers the request of whose body a part is missing without waiting for the rest. Nothing
    /// further is read, and nobody is told to continue.
    pub fn answer_head(&mut self) {
        self.reader.give_up();
        self.over = true;
    }

    /// Gives the connection up because a request takes its sender too long.
    pub fn too_slow(&mut self) -> Error {
        let error = refused(408, "the request takes too long");
        self.failed = Some(error.clone());
        error
    }

    /// Gives the connection up because there is no memory for more of a request.
    pub fn too_much(&mut self) -> Error {
        let error = refused(413, "the server holds too much for its sender");
        self.failed = Some(error.clone());
        error
    }

    /// The bytes of a body that has come in part, and been taken off the input.
    pub fn held(&self) -> usize {
        self.reader.held()
    }

    /// Returns whether the head of a request has been taken in, but not all of its body.
    pub fn is_within(&self) -> bool {
        self.reader.is_within()
    }

    /// How many more bytes the current request surely needs, after `receive` said `None`. At least
    /// one, and never much more than the peer has sent already.
    pub fn needs(&self) -> usize {
        self.needs
    }

    /// Appends what the connection itself has to say: `100 Continue`.
    pub fn transmit(&mut self, out: &mut Vec<u8>) {
        if self.reader.take_continue() {
            out.extend_from_slice(CONTINUE);
        }
    }

    /// Appends what tells the peer why the connection is about to be closed.
    pub fn goodbye(&self, error: &Error, out: &mut Vec<u8>) {
        write_refusal(error.status(), &error.to_string(), out);
    }

    /// The peer has closed its side: an error where that is in the middle of a request.
    pub fn end(&mut self, input: &mut BytesMut) -> Result<(), Error> {
        match &self.failed {
            Some(error) => Err(error.clone()),
            None if self.over => Ok(()),
            None => self.reader.end(input).map(drop),
        }
    }
}

impl Request {
    fn new(head: Head, body: Bytes) -> Result<Self, Error> {
        let Start::Request { method, path } = head.start else {
            return Err(refused(400, "the request cannot be read"));
        };
        Ok(Request {
            method,
            target: path,
            headers: head.headers,
            body,
            keep_alive: head.keep_alive,
            upgrades: head.upgrades,
        })
    }

    /// The path alone.
    pub fn path(&self) -> &str {
        self.target.split(['?', '#']).next().unwrap_or_default()
    }

    /// Returns the part behind `?`; empty where there is none.
    pub fn query(&self) -> &str {
        let query = self.target.split_once('?').map_or("", |(_, query)| query);
        query.split('#').next().unwrap_or_default()
    }
}
