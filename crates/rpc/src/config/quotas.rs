//! The tables of quotas.

use super::keys::{Key, Section, Set};
use super::parts::Maker;
use crate::throttle::{Quota, Throttle};
use std::collections::BTreeMap;
use std::time::Duration;

/// Settings of a quota, as a file has them.
#[derive(Clone, Debug, Default)]
pub(super) struct QuotaSettings {
    place: Option<String>,
    each_caller: bool,
    rate: Option<(u32, Duration)>,
    burst: Option<u32>,
    bytes: Option<usize>,
    message: Option<usize>,
    in_flight: Option<usize>,
    adaptive: Option<(usize, usize)>,
    queue: Option<usize>,
    queue_time: Option<Duration>,
    queue_target: Option<Duration>,
}

/// How long calls wait in a queue for which nothing is said.
const QUEUE_TIME: Duration = Duration::from_millis(100);

/// Reads `100/s`.
fn rate(quota: &mut QuotaSettings, text: String) -> Result<(), String> {
    let (calls, unit) = text.split_once('/').unwrap_or((&text, ""));
    let per = match unit.trim() {
        "s" => 1,
        "m" => 60,
        "h" => 3600,
        "d" => 86_400,
        _ => 0,
    };
    match calls.trim().parse() {
        Ok(calls) if calls > 0 && per > 0 => {
            quota.rate = Some((calls, Duration::from_secs(per)));
            Ok(())
        }
        _ => Err(format!(
            "`{text}` is no rate: `100/s`, `30/m`, `500/h` or `10000/d` is one"
        )),
    }
}

/// Reads `2..200`.
fn adaptive(quota: &mut QuotaSettings, text: String) -> Result<(), String> {
    let bounds = text.split_once("..").and_then(|(least, most)| {
        let (least, most) = (least.trim().parse().ok()?, most.trim().parse().ok()?);
        (0 < least && least <= most).then_some((least, most))
    });
    quota.adaptive = bounds;
    match bounds {
        Some(_) => Ok(()),
        None => Err(format!("`{text}` is no range of limits: `2..200` is one")),
    }
}

/// The table of each quota, which is `quotas.` and its name.
pub(super) const SECTIONS: &[Section<QuotaSettings>] = &[Section {
    path: "",
    doc: "Calls that are let through, by a name of your own; see [throttling](throttling.md). Of quotas for one place those count first \
        whose names come first.",
    keys: &[
        Key::live(
            "place",
            "all calls but health checks",
            "A service, `shop.v1.Orders`, or a method, `shop.v1.Orders/place`.",
            Set::Text(|quota, place| {
                quota.place = Some(place);
                Ok(())
            }),
        ),
        Key::live(
            "each-caller",
            "false",
            "Each caller has the quota, and not all together.",
            Set::Flag(|quota, each| quota.each_caller = each),
        ),
        Key::live(
            "rate",
            "none",
            "Calls in a second, minute, hour or day: `100/s`, `30/m`, `500/h`, `10000/d`.",
            Set::Text(rate),
        ),
        Key::live(
            "burst",
            "the number of `rate`",
            "Calls at once after a pause.",
            Set::Count(|quota, calls| quota.burst = u32::try_from(calls).ok()),
        ),
        Key::live(
            "bytes",
            "none",
            "Bytes of encoded parameters in a second.",
            Set::Bytes(|quota, bytes| quota.bytes = Some(bytes)),
        ),
        Key::live(
            "message",
            "none",
            "Bytes of encoded parameters of one call, decompressed.",
            Set::Bytes(|quota, bytes| quota.message = Some(bytes)),
        ),
        Key::live(
            "in-flight",
            "none",
            "Calls that run at a time.",
            Set::Count(|quota, calls| quota.in_flight = Some(calls)),
        ),
        Key::live(
            "adaptive",
            "none",
            "As many calls at a time as do not slow each other down, between two numbers: `2..200`.",
            Set::Text(adaptive),
        ),
        Key::live(
            "queue",
            "0",
            "Calls that wait for their turn.",
            Set::Count(|quota, calls| quota.queue = Some(calls)),
        ),
        Key::live(
            "queue-time",
            "\"100ms\"",
            "How long a call may wait for its turn.",
            Set::Time(|quota, time| quota.queue_time = Some(time)),
        ),
        Key::live(
            "queue-target",
            "\"5ms\"",
            "How long a call may wait in a queue that does not empty.",
            Set::Time(|quota, time| quota.queue_target = Some(time)),
        ),
    ],
}];

impl QuotaSettings {
    fn quota(&self) -> Quota {
        let mut quota = Quota::new();
        if let Some((calls, per)) = self.rate {
            quota = quota.rate(calls, per);
        }
        if let Some(burst) = self.burst {
            quota = quota.burst(burst);
        }
        if let Some(bytes) = self.bytes {
            quota = quota.bytes(bytes as u64);
        }
        if let Some(bytes) = self.message {
            quota = quota.message(bytes);
        }
        if let Some(calls) = self.in_flight {
            quota = quota.in_flight(calls);
        }
        if let Some((least, most)) = self.adaptive {
            quota = quota.adaptive(least, most);
        }
        if let Some(calls) = self.queue {
            quota = quota.queue(calls, self.queue_time.unwrap_or(QUEUE_TIME));
        }
        match self.queue_target {
            Some(target) => quota.queue_target(target),
            None => quota,
        }
    }
}

/// Makes the throttle; `None` without quotas.
pub(super) fn throttle(
    quotas: &BTreeMap<String, QuotaSettings>,
    maker: &mut Maker<'_>,
) -> Option<Throttle> {
    let mut throttle = Throttle::new();
    for (name, settings) in quotas {
        let path = format!("quotas.{name}");
        let quota = settings.quota();
        check(&path, name, maker);
        throttle = match (&settings.place, settings.each_caller) {
            (None, false) => throttle.all(quota),
            (None, true) => throttle.each_caller(quota),
            (Some(place), false) => throttle.at(place, quota),
            (Some(place), true) => throttle.each_caller_at(place, quota),
        };
    }
    (!quotas.is_empty()).then_some(throttle)
}

/// Reports settings that do not make a quota. Those whose values are wrong are reported already.
fn check(path: &str, name: &str, maker: &mut Maker<'_>) {
    let has = |maker: &Maker<'_>, keys: &[&str]| {
        let mut keys = keys.iter();
        keys.any(|key| maker.places.contains_key(&format!("{path}.{key}")))
    };
    let limits = ["rate", "bytes", "message", "in-flight", "adaptive"];
    if !has(maker, &limits) {
        let what = format!(
            "the quota `{name}` limits nothing: it needs `rate`, `bytes`, `message`, `in-flight` or `adaptive`"
        );
        maker.problem(path, what);
    }
    for (key, of, what) in [
        (
            "queue",
            &["in-flight", "adaptive"][..],
            "a queue is for `in-flight` or `adaptive`",
        ),
        ("burst", &["rate"], "a burst is for a `rate`"),
    ] {
        if has(maker, &[key]) && !has(maker, of) {
            maker.problem(&format!("{path}.{key}"), what);
        }
    }
}
