use super::{Client, Failure, Request, Response};
use futures_util::future::try_join_all;

/// A client of one server or several: a call goes to all of them at once, and is over with the last
/// answer.
pub(crate) struct FanOut<C> {
    clients: Vec<C>,
    /// The last answers of several.
    responses: Vec<Response>,
}

impl<C> FanOut<C> {
    pub(super) fn new(clients: Vec<C>) -> Self {
        FanOut {
            clients,
            responses: Vec::new(),
        }
    }
}

impl<C: Client> Client for FanOut<C> {
    async fn call(&mut self, request: &Request) -> Result<Response, Failure> {
        if let [only] = self.clients.as_mut_slice() {
            return only.call(request).await;
        }
        let calls = self.clients.iter_mut().map(|client| client.call(request));
        self.responses = try_join_all(calls).await?;
        Ok(Response::Raw)
    }

    fn check(&self, response: &Response, expected: &Response) -> bool {
        if let [only] = self.clients.as_slice() {
            return only.check(response, expected);
        }
        let mut pairs = self.clients.iter().zip(&self.responses);
        pairs.all(|(client, response)| client.check(response, expected))
    }
}
