//! places.capnp: the cases over Cap'n Proto's protocol, and what answers them.

use crate::case::{Case, Failure, Outcome, case, check, fail, pass};
use crate::connector::{Connector, ask};
use crate::counted::{self, Counters};
use crate::places::{
    Base, CounterObject, Everything, EverythingShape, EverythingWhich, FULL, Named, Places,
    PlacesDivideResults, Point, Total,
};
use dovetail::types::Bytes;
use dovetail::{Code, Context, Status};
use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// The calls that a peer has open at a time, in a case of its own.
pub(crate) const IN_FLIGHT: usize = 100_000;

/// The tokens of callers that have gone.
type Gone = Arc<Mutex<HashSet<String>>>;

#[derive(Default)]
pub(crate) struct Handler {
    gone: Gone,
    counters: Counters,
}

/// Notes a caller when its handler is dropped.
struct Waiting(Gone, String);

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut gone = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        gone.insert(std::mem::take(&mut self.1));
    }
}

impl Base for Handler {
    async fn whoami(&self, _cx: Context) -> Result<String, Status> {
        Ok("dovetail".to_owned())
    }
}

impl Places for Handler {
    async fn echo(&self, _cx: Context, value: Option<Everything>) -> Result<Everything, Status> {
        Ok(value.unwrap_or_default())
    }

    async fn known(&self, _cx: Context) -> Result<Vec<Everything>, Status> {
        Ok(vec![Everything::default(), FULL.clone()])
    }

    async fn join(
        &self,
        _cx: Context,
        first: i32,
        second: String,
        third: i64,
    ) -> Result<String, Status> {
        Ok(format!("{first},{second},{third}"))
    }

    async fn divide(
        &self,
        _cx: Context,
        dividend: i32,
        divisor: i32,
    ) -> Result<PlacesDivideResults, Status> {
        let quotient = dividend.checked_div(divisor);
        let quotient = quotient.ok_or_else(|| Status::new(Code::Unknown, "division by zero"))?;
        Ok(PlacesDivideResults {
            quotient,
            remainder: dividend % divisor,
            ..PlacesDivideResults::default()
        })
    }

    async fn turn(&self, _cx: Context, params: Option<Point>) -> Result<Point, Status> {
        let Point { x, y, .. } = params.unwrap_or_default();
        Ok(Point {
            x: y,
            y: x,
            ..Point::default()
        })
    }

    async fn fail(&self, _cx: Context, how: String) -> Result<i32, Status> {
        let code = match how.as_str() {
            "none" => return Ok(42),
            "overloaded" => Code::ResourceExhausted,
            "disconnected" => Code::Unavailable,
            "unimplemented" => Code::Unimplemented,
            _ => Code::Unknown,
        };
        Err(Status::new(code, "on purpose"))
    }

    async fn slow(&self, _cx: Context, milliseconds: u32) -> Result<u32, Status> {
        sleep(Duration::from_millis(milliseconds.into())).await;
        Ok(milliseconds)
    }

    async fn bytes(&self, _cx: Context, count: u32) -> Result<Bytes, Status> {
        Ok((0..count).map(|place| place as u8).collect())
    }

    async fn wait(&self, cx: Context, token: String) -> Result<(), Status> {
        let _waiting = Waiting(self.gone.clone(), token);
        while !cx.cancelled() {
            sleep(Duration::from_millis(10)).await;
        }
        Ok(())
    }

    async fn open(&self, _cx: Context, start: i64) -> Result<CounterObject, Status> {
        Ok(self.counters.new_counter(start))
    }

    async fn give_back(
        &self,
        _cx: Context,
        counter: Option<CounterObject>,
    ) -> Result<CounterObject, Status> {
        Ok(counter.unwrap_or_default())
    }

    async fn sum(
        &self,
        _cx: Context,
        first: Option<CounterObject>,
        others: Vec<Named>,
    ) -> Result<i64, Status> {
        self.counters.sum(first, others).await
    }

    async fn add_to(
        &self,
        _cx: Context,
        counter: Option<CounterObject>,
        amount: i64,
    ) -> Result<Total, Status> {
        self.counters.add_to(counter, amount).await
    }

    async fn keep(&self, _cx: Context, counter: Option<CounterObject>) -> Result<(), Status> {
        self.counters.keep(counter);
        Ok(())
    }

    async fn kept(&self, _cx: Context) -> Result<CounterObject, Status> {
        Ok(self.counters.kept())
    }

    async fn forget(&self, _cx: Context) -> Result<(), Status> {
        self.counters.keep(None);
        Ok(())
    }

    async fn alive(&self, _cx: Context) -> Result<u32, Status> {
        Ok(self.counters.alive())
    }

    async fn was_cancelled(&self, _cx: Context, token: String) -> Result<bool, Status> {
        let gone = self.gone.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(gone.contains(&token))
    }
}

/// The value of a struct without words: the first member of each union is there.
fn nothing() -> Everything {
    Everything {
        shape: EverythingShape::None(Default::default()),
        which: Some(EverythingWhich::Left(0)),
        ..Everything::default()
    }
}

fn whoami(connector: &Connector) -> Outcome {
    let client = connector.places()?;
    let name = ask!(client.whoami())?;
    match name.is_empty() {
        true => fail("no name"),
        false => Ok(name),
    }
}

fn known(connector: &Connector) -> Outcome {
    let client = connector.places()?;
    check(&ask!(client.known())?, &vec![nothing(), FULL.clone()])?;
    pass()
}

fn echo(connector: &Connector, value: &Everything) -> Outcome {
    let client = connector.places()?;
    check(&ask!(client.echo(&Some(value.clone())))?, value)?;
    pass()
}

fn shapes(connector: &Connector) -> Outcome {
    for shape in [
        EverythingShape::Circle(2.5),
        EverythingShape::Name("square".to_owned()),
    ] {
        let value = Everything {
            shape,
            which: Some(EverythingWhich::Left(-3)),
            ..Everything::default()
        };
        echo(connector, &value)?;
    }
    pass()
}

fn parameters(connector: &Connector) -> Outcome {
    let client = connector.places()?;
    check(&ask!(client.join(1, "two", 9))?, &"1,two,9".to_owned())?;
    let divided = ask!(client.divide(-17, 5))?;
    check(&(divided.quotient, divided.remainder), &(-3, -2))?;
    let point = Point {
        x: 3,
        ..Point::default()
    };
    let turned = ask!(client.turn(&Some(point.clone())))?;
    check(&(turned.x, turned.y), &(-1, 3))?;
    pass()
}

fn failures(connector: &Connector) -> Outcome {
    let client = connector.places()?;
    check(&ask!(client.fail("none"))?, &42)?;
    for (how, code) in [
        ("failed", Code::Unknown),
        ("overloaded", Code::ResourceExhausted),
        ("disconnected", Code::Unavailable),
        ("unimplemented", Code::Unimplemented),
    ] {
        match ask!(client.fail(how)) {
            Err(status) if status.code() == code && status.message().contains("on purpose") => {}
            other => return fail(format!("{how}: {other:?}")),
        }
    }
    // The connection goes on.
    check(&ask!(client.fail("none"))?, &42)?;
    pass()
}

fn bytes(connector: &Connector) -> Outcome {
    let client = connector.places()?;
    for count in [0, 1, 70_000, 5_000_000] {
        let got = ask!(client.bytes(count))?;
        let wanted: Bytes = (0..count).map(|place| place as u8).collect();
        if got != wanted {
            return fail(format!("{} bytes instead of {count}", got.len()));
        }
    }
    pass()
}

/// Answers overtake one another.
fn concurrent(connector: &Connector) -> Outcome {
    let (slow, quick) = (connector.places()?, connector.places()?);
    std::thread::scope(|scope| {
        let slow = scope.spawn(|| ask!(slow.slow(300)));
        let quick: Result<Vec<u32>, Status> = (0..100).map(|_| ask!(quick.slow(0))).collect();
        check(&quick?, &vec![0; 100])?;
        let slow = slow
            .join()
            .map_err(|_| Failure::Fail("a panic".to_owned()))?;
        check(&slow?, &300)?;
        pass()
    })
}

fn cancelled(connector: &Connector) -> Outcome {
    let client = connector.impatient_places()?;
    let token = format!("token of {}", std::process::id());
    match ask!(client.wait(&token)) {
        Err(status) if status.code() == Code::DeadlineExceeded => {}
        other => return fail(format!("{other:?}")),
    }
    let client = connector.places()?;
    for _ in 0..100 {
        if ask!(client.was_cancelled(&token))? {
            return pass();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    fail("the handler was not told")
}

pub(crate) fn all() -> Vec<Case> {
    let mut all = vec![
        case("whoami", whoami),
        case("known", known),
        case("echo_nothing", |connector| echo(connector, &nothing())),
        case("echo_everything", |connector| echo(connector, &FULL)),
        case("shapes", shapes),
        case("parameters", parameters),
        case("failures", failures),
        case("bytes", bytes),
        case("concurrent", concurrent),
        case("cancelled", cancelled),
    ];
    all.extend(counted::all());
    all
}
