use crate::peer::intercept::{CallEnd, CallHead, Outcome, Scope};
use crate::{Code, Status};
use dovetail_wire::message;
use std::time::Duration;

/// Which calls a capture keeps, and when it ends. A default one keeps all calls for a minute, and
/// ends earlier with 64 MiB of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CaptureFilter {
    /// Services (`shop.v1.Orders`) and methods (`shop.v1.Orders/place`). All of them where the list
    /// is empty.
    pub methods: Vec<String>,
    /// Beginnings of the addresses of callers. All callers where the list is empty.
    pub peers: Vec<String>,
    /// Names of principals. All callers where the list is empty.
    pub principals: Vec<String>,
    /// How a call has ended: `OK`, `EXCEPTION` for a declared exception, or a code such as
    /// `UNAVAILABLE`. Any end where the list is empty.
    pub codes: Vec<String>,
    /// Only calls that take this long or longer, in microseconds.
    pub slower_than: Option<i64>,
    /// The part of these calls, 0 to 1. Default: 1.
    pub share: Option<f64>,
    /// Seconds after which the capture ends. Default: 60.
    pub seconds: Option<i32>,
    /// Bytes of calls, before compression, after which the capture ends. Default: 64 MiB.
    pub bytes: Option<i64>,
}

message!(CaptureFilter {
    /// Services (`shop.v1.Orders`) and methods (`shop.v1.Orders/place`); all if there are none.
    1 methods: Vec<String>,
    /// Beginnings of the addresses of callers; all callers if there are none.
    2 peers: Vec<String>,
    /// Names of principals; all callers if there are none.
    3 principals: Vec<String>,
    /// How a call has ended: `OK`, `EXCEPTION`, or the code of a failure; any end if there are
    /// none.
    4 codes: Vec<String>,
    /// Only calls that take this long or longer, in microseconds.
    5 slower_than as "slower_than_us": Option<i64>,
    /// The part of these calls, 0 to 1; by default 1.
    6 share: Option<f64>,
    /// Seconds after which the capture ends; by default 60.
    7 seconds: Option<i32>,
    /// Bytes of calls, before compression, after which the capture ends; by default 64 MiB.
    8 bytes: Option<i64>,
});

/// The packages of services that tell what a server has. Their calls are kept where a filter names
/// them.
const QUESTIONS: [&str; 2] = ["dovetail.reflection.", "grpc.reflection."];

const SECONDS: i32 = 60;
const BYTES: i64 = 64 << 20;

/// A filter that is known to make sense.
pub(super) struct Filter {
    scopes: Vec<Scope>,
    pub(super) asked: CaptureFilter,
}

impl Filter {
    /// Reads what an administrator asks for.
    pub(super) fn new(asked: &CaptureFilter) -> Result<Self, Status> {
        for code in &asked.codes {
            let known = matches!(code.as_str(), "OK" | Outcome::EXCEPTION);
            if !known && Code::from_name(code).is_none() {
                let what = format!(
                    "`{code}` is no end of a call: OK, EXCEPTION, or a code such as UNAVAILABLE"
                );
                return Err(Status::new(Code::InvalidArgument, what));
            }
        }
        let numbers = [
            (
                "share",
                asked.share.is_none_or(|share| (0.0..=1.0).contains(&share)),
                "0 to 1",
            ),
            (
                "seconds",
                asked.seconds.is_none_or(|seconds| seconds > 0),
                "more than 0",
            ),
            (
                "bytes",
                asked.bytes.is_none_or(|bytes| bytes > 0),
                "more than 0",
            ),
        ];
        if let Some((name, _, allowed)) = numbers.iter().find(|(_, fits, _)| !fits) {
            let what = format!("`{name}` of a capture is {allowed}");
            return Err(Status::new(Code::InvalidArgument, what));
        }
        Ok(Filter {
            scopes: asked
                .methods
                .iter()
                .map(|place| Scope::of_any(place))
                .collect(),
            asked: asked.clone(),
        })
    }

    pub(super) fn time(&self) -> Duration {
        let seconds = self.asked.seconds.unwrap_or(SECONDS);
        Duration::from_secs(seconds.unsigned_abs().into())
    }

    pub(super) fn bytes(&self) -> u64 {
        self.asked.bytes.unwrap_or(BYTES).unsigned_abs()
    }

    /// Returns true if a call may be kept, by all that is known at its beginning.
    pub(super) fn begins(&self, call: &CallHead<'_>) -> bool {
        let any = |names: &[String], is: &dyn Fn(&str) -> bool| {
            names.is_empty() || names.iter().any(|name| is(name))
        };
        let service = call.service().full_name();
        let called = || {
            let mut scopes = self.scopes.iter();
            scopes.any(|scope| scope.takes(&[&service], call.method().name))
        };
        let wanted = match self.scopes.is_empty() {
            true => !QUESTIONS.iter().any(|package| service.starts_with(package)),
            false => called(),
        };
        wanted
            && any(&self.asked.peers, &|peer| call.peer().starts_with(peer))
            && any(&self.asked.principals, &|name| {
                call.principal()
                    .is_some_and(|principal| principal.name() == name)
            })
            && self.asked.share.is_none_or(|share| fastrand::f64() < share)
    }

    /// Returns true if a call that has begun so is kept, by its end.
    pub(super) fn ends(&self, end: &CallEnd<'_>) -> bool {
        let least = self.asked.slower_than.unwrap_or(0).unsigned_abs();
        let codes = &self.asked.codes;
        end.elapsed() >= Duration::from_micros(least)
            && (codes.is_empty() || codes.iter().any(|code| code == end.outcome().name()))
    }

    /// Returns true if the end of a call decides, too.
    pub(super) fn waits_for_ends(&self) -> bool {
        self.asked.slower_than.is_some() || !self.asked.codes.is_empty()
    }
}
