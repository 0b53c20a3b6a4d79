//! JSON over HTTP as any program could speak it: nothing here knows Dovetail's codecs.

use super::workshop::{Board, Order, OutOfStock, Quote, QuoteError, Wood};
use dovetail::transport::{Connector, Stream, Wait};
use dovetail::{Address, Code, Status};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// One connection, on which requests follow one another.
pub(crate) struct JsonClient {
    stream: Arc<dyn Stream>,
    timeout: Duration,
}

/// The longest answer that is read; the demo's are shorter.
const MAX: usize = 64 << 10;

impl JsonClient {
    pub(crate) fn connect(address: &Address, timeout: Duration) -> Result<Self, Status> {
        let stream = address.connect(Instant::now() + timeout).map_err(failed)?;
        Ok(JsonClient { stream, timeout })
    }

    pub(crate) fn quote(&self, order: &Order) -> Result<Quote, QuoteError> {
        let boards = order.boards.iter().map(board);
        let order = json!({ "id": order.id, "boards": boards.collect::<Vec<_>>() });
        let answer = self.post("quote", &json!({ "order": order }))?;
        let result = &answer["result"];
        // Integers of 64 bits are text, as protobuf has it in JSON.
        let number = |name: &str| result[name].as_str().and_then(|text| text.parse().ok());
        if let (Some(id), Some(cents)) = (number("id"), number("cents")) {
            return Ok(Quote {
                id,
                cents,
                currency: result["currency"].as_str().unwrap_or_default().to_owned(),
                days: result["days"].as_i64().unwrap_or_default() as i32,
                ..Default::default()
            });
        }
        match answer["details"][0]["type"].as_str() {
            Some("demo.OutOfStock") => Err(OutOfStock {
                wood: Wood::WALNUT,
                ..Default::default()
            }
            .into()),
            _ => Err(failed(format!("the answer {answer}")).into()),
        }
    }

    pub(crate) fn note(&self, text: &str) -> Result<(), Status> {
        match self.post("note", &json!({ "text": text }))? {
            Value::Object(members) if members.is_empty() => Ok(()),
            answer => Err(failed(format!("the answer {answer}"))),
        }
    }

    fn post(&self, method: &str, message: &Value) -> Result<Value, Status> {
        let body = message.to_string();
        let length = body.len();
        let request = format!(
            "POST /Workshop/{method} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        let deadline = Instant::now() + self.timeout;
        self.stream
            .send_all(request.as_bytes(), Some(deadline))
            .map_err(failed)?;
        let mut answer = Vec::new();
        loop {
            if let Some(body) = complete(&answer) {
                return serde_json::from_slice(body).map_err(failed);
            }
            let mut buffer = [0; 4096];
            let wait = Wait::Until(Some(deadline));
            match self.stream.recv(&mut buffer, wait).map_err(failed)? {
                0 => return Err(failed("the server closed the connection")),
                _ if answer.len() > MAX => return Err(failed("an answer without an end")),
                read => answer.extend_from_slice(&buffer[..read]),
            }
        }
    }
}

fn board(board: &Board) -> Value {
    let wood = match board.wood {
        Wood::WALNUT => "WALNUT",
        _ => "OAK",
    };
    json!({ "length": board.length, "width": board.width, "wood": wood })
}

/// Returns the body of an answer, once it is complete.
fn complete(answer: &[u8]) -> Option<&[u8]> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let (head, body) = answer.split_at_checked(end + 4)?;
    let head = std::str::from_utf8(head).ok()?.to_ascii_lowercase();
    let length = head.split("content-length:").nth(1)?;
    let length: usize = length.split("\r\n").next()?.trim().parse().ok()?;
    body.get(..length)
}

fn failed(problem: impl std::fmt::Display) -> Status {
    Status::new(Code::Internal, problem.to_string())
}
