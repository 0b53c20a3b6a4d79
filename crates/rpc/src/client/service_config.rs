//! gRPC's service config: <https://github.com/grpc/grpc/blob/master/doc/service_config.md>, with
//! the policies of the gRFCs A6, A42, A48, A50 and A52. Fields that are not known are passed over,
//! as gRPC's clients do.

use super::options::Options;
use super::policies::{CallPolicy, HedgingPolicy, RetryPolicy};
use super::servers::HealthCheck;
use crate::{Code, Status};
use dovetail_balance::{
    Budget, BudgetSettings, FailurePercentage, HashRing, LeastRequest, Outliers, Policy,
    ReportedWeights, SuccessRate,
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// Attempts beyond these are not made (gRFC A6).
const MAX_ATTEMPTS: u32 = 5;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ServiceConfig {
    #[serde(default)]
    load_balancing_config: Vec<serde_json::Map<String, Value>>,
    /// Older than the one above.
    load_balancing_policy: Option<String>,
    #[serde(default)]
    method_config: Vec<MethodConfig>,
    retry_throttling: Option<RetryThrottling>,
    health_check_config: Option<HealthCheckConfig>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HealthCheckConfig {
    /// The empty name is that of the server as a whole; without a name there are no checks.
    service_name: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MethodConfig {
    #[serde(default)]
    name: Vec<Name>,
    wait_for_ready: Option<bool>,
    timeout: Option<String>,
    retry_policy: Option<Retry>,
    hedging_policy: Option<Hedging>,
}

#[derive(Deserialize)]
struct Name {
    #[serde(default)]
    service: String,
    #[serde(default)]
    method: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Retry {
    max_attempts: u32,
    initial_backoff: String,
    max_backoff: String,
    backoff_multiplier: f64,
    retryable_status_codes: Vec<Value>,
    per_attempt_recv_timeout: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Hedging {
    max_attempts: u32,
    hedging_delay: Option<String>,
    #[serde(default)]
    non_fatal_status_codes: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RetryThrottling {
    max_tokens: u32,
    token_ratio: f32,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Ring {
    min_ring_size: Option<usize>,
    max_ring_size: Option<usize>,
}

/// Reports out of band are not asked for: `enableOobLoadReport` is passed over.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Weights {
    blackout_period: Option<String>,
    weight_expiration_period: Option<String>,
    error_utilization_penalty: Option<f64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Least {
    choice_count: Option<usize>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct OutlierDetection {
    interval: Option<String>,
    base_ejection_time: Option<String>,
    max_ejection_time: Option<String>,
    max_ejection_percent: Option<u32>,
    success_rate_ejection: Option<SuccessRateEjection>,
    failure_percentage_ejection: Option<FailurePercentageEjection>,
    child_policy: Vec<serde_json::Map<String, Value>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SuccessRateEjection {
    stdev_factor: Option<u32>,
    enforcement_percentage: Option<u32>,
    minimum_hosts: Option<u32>,
    request_volume: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FailurePercentageEjection {
    threshold: Option<u32>,
    enforcement_percentage: Option<u32>,
    minimum_hosts: Option<u32>,
    request_volume: Option<u32>,
}

type Read<T> = Result<T, String>;

/// Changes the options of a channel as a service config says; all of it, or nothing.
pub(super) fn apply(json: &str, options: &mut Options) -> Result<(), Status> {
    let mut changed = options.clone();
    let read: Read<ServiceConfig> = serde_json::from_str(json).map_err(|error| error.to_string());
    let applied = read.and_then(|config| config.apply(&mut changed));
    applied
        .map_err(|why| Status::new(Code::InvalidArgument, format!("the service config: {why}")))?;
    *options = changed;
    Ok(())
}

impl ServiceConfig {
    fn apply(self, options: &mut Options) -> Read<()> {
        if !self.load_balancing_config.is_empty() {
            balance(&self.load_balancing_config, options)?;
        } else if let Some(name) = &self.load_balancing_policy {
            options.balance.policy = name
                .to_lowercase()
                .parse()
                .map_err(|error| format!("loadBalancingPolicy: {error}"))?;
        }
        for (index, method) in self.method_config.into_iter().enumerate() {
            let located = |why: String| format!("methodConfig[{index}]: {why}");
            method.apply(options).map_err(located)?;
        }
        if let Some(throttling) = self.retry_throttling {
            let budget = throttling
                .budget()
                .map_err(|why| format!("retryThrottling: {why}"))?;
            options.policies.budget = Arc::new(Budget::new(budget));
        }
        if let Some(name) = self.health_check_config.and_then(|it| it.service_name) {
            options.health_check = Some(HealthCheck::health(&name));
        }
        Ok(())
    }
}

/// Takes the first policy of a list that is known.
fn balance(list: &[serde_json::Map<String, Value>], options: &mut Options) -> Read<()> {
    for entry in list {
        let [(name, settings)] = &entry.iter().collect::<Vec<_>>()[..] else {
            return Err("loadBalancingConfig: each entry has one policy".to_owned());
        };
        let located = |why: serde_json::Error| format!("loadBalancingConfig, {name}: {why}");
        let settings = (*settings).clone();
        options.balance.policy = match name.as_str() {
            "pick_first" => Policy::PickFirst,
            "round_robin" => Policy::RoundRobin,
            "weighted_round_robin" => {
                let weights: Weights = serde_json::from_value(settings).map_err(located)?;
                Policy::WeightedRoundRobin(weights.settings()?)
            }
            "least_request" | "least_request_experimental" => {
                let least: Least = serde_json::from_value(settings).map_err(located)?;
                // A choice of more than ten costs more than it helps (gRFC A48).
                Policy::LeastRequest(LeastRequest::of(
                    least.choice_count.unwrap_or(2).clamp(2, 10),
                ))
            }
            "ring_hash" | "ring_hash_experimental" => {
                let ring: Ring = serde_json::from_value(settings).map_err(located)?;
                Policy::RingHash(ring.settings())
            }
            "outlier_detection" | "outlier_detection_experimental" => {
                let outliers: OutlierDetection =
                    serde_json::from_value(settings).map_err(located)?;
                return outliers.apply(options);
            }
            _ => continue,
        };
        return Ok(());
    }
    Err("loadBalancingConfig: none of its policies is known".to_owned())
}

impl Ring {
    fn settings(&self) -> HashRing {
        let mut ring = HashRing::default();
        let (least, most) = ring.size;
        ring.size = (
            self.min_ring_size.unwrap_or(least),
            self.max_ring_size.unwrap_or(most).min(1 << 23),
        );
        // gRPC's has no bound.
        ring.bounded_load = 0.0;
        ring
    }
}

impl Weights {
    fn settings(self) -> Read<ReportedWeights> {
        let mut weights = ReportedWeights::default();
        if let Some(text) = self.blackout_period {
            weights.blackout = duration(&text)?;
        }
        if let Some(text) = self.weight_expiration_period {
            weights.expiration = duration(&text)?;
        }
        match self.error_utilization_penalty {
            Some(penalty) if penalty < 0.0 => {
                return Err("errorUtilizationPenalty is not below 0".to_owned());
            }
            Some(penalty) => weights.error_penalty = penalty,
            None => {}
        }
        Ok(weights)
    }
}

impl OutlierDetection {
    fn apply(self, options: &mut Options) -> Read<()> {
        let mut outliers = Outliers::default();
        // gRPC's looks at intervals alone.
        outliers.consecutive_failures = 0;
        let times = [
            (self.interval, &mut outliers.interval),
            (self.base_ejection_time, &mut outliers.base_ejection_time),
            (self.max_ejection_time, &mut outliers.max_ejection_time),
        ];
        for (text, time) in times {
            if let Some(text) = text {
                *time = duration(&text)?;
            }
        }
        set(
            &mut outliers.max_ejection_percent,
            self.max_ejection_percent,
        );
        outliers.success_rate = self.success_rate_ejection.map(|set_by| {
            let mut rate = SuccessRate::default();
            set(&mut rate.stdev_factor, set_by.stdev_factor);
            set(
                &mut rate.enforcement_percentage,
                set_by.enforcement_percentage,
            );
            set(&mut rate.minimum_hosts, set_by.minimum_hosts);
            set(&mut rate.request_volume, set_by.request_volume);
            rate
        });
        outliers.failure_percentage = self.failure_percentage_ejection.map(|set_by| {
            let mut share = FailurePercentage::default();
            set(&mut share.threshold, set_by.threshold);
            set(
                &mut share.enforcement_percentage,
                set_by.enforcement_percentage,
            );
            set(&mut share.minimum_hosts, set_by.minimum_hosts);
            set(&mut share.request_volume, set_by.request_volume);
            share
        });
        options.balance.outliers = Some(outliers);
        match self.child_policy.is_empty() {
            true => Ok(()),
            false => balance(&self.child_policy, options),
        }
    }
}

fn set(setting: &mut u32, value: Option<u32>) {
    *setting = value.unwrap_or(*setting);
}

impl MethodConfig {
    fn apply(self, options: &mut Options) -> Read<()> {
        let policy = CallPolicy {
            timeout: self.timeout.as_deref().map(duration).transpose()?,
            wait_for_ready: self.wait_for_ready,
            retry: self.retry_policy.map(Retry::policy).transpose()?,
            hedging: self.hedging_policy.map(Hedging::policy).transpose()?,
        };
        if policy.retry.is_some() && policy.hedging.is_some() {
            return Err("retryPolicy and hedgingPolicy exclude each other".to_owned());
        }
        for name in self.name {
            let place = match (name.service.as_str(), name.method.as_str()) {
                ("", "") => String::new(),
                ("", _) => return Err("a name with a method needs a service".to_owned()),
                (service, "") => service.to_owned(),
                (service, method) => format!("{service}/{method}"),
            };
            options.policies.change(&place, |at| *at = policy.clone());
        }
        Ok(())
    }
}

impl Retry {
    fn policy(self) -> Read<RetryPolicy> {
        let located = |why: String| format!("retryPolicy: {why}");
        let (first_pause, longest_pause) = (
            positive(&self.initial_backoff).map_err(located)?,
            positive(&self.max_backoff).map_err(located)?,
        );
        let timeout = self.per_attempt_recv_timeout.as_deref();
        if self.backoff_multiplier <= 0.0 {
            return Err("retryPolicy: backoffMultiplier is above 0".to_owned());
        }
        if self.retryable_status_codes.is_empty() {
            return Err("retryPolicy: retryableStatusCodes is empty".to_owned());
        }
        Ok(RetryPolicy {
            attempts: attempts(self.max_attempts).map_err(located)?,
            first_pause,
            longest_pause,
            multiplier: self.backoff_multiplier,
            codes: codes(&self.retryable_status_codes).map_err(located)?,
            attempt_timeout: timeout.map(duration).transpose().map_err(located)?,
        })
    }
}

impl Hedging {
    fn policy(self) -> Read<HedgingPolicy> {
        let located = |why: String| format!("hedgingPolicy: {why}");
        let delay = self.hedging_delay.as_deref().unwrap_or("0s");
        Ok(HedgingPolicy {
            attempts: attempts(self.max_attempts).map_err(located)?,
            delay: duration(delay).map_err(located)?,
            non_fatal: codes(&self.non_fatal_status_codes).map_err(located)?,
        })
    }
}

impl RetryThrottling {
    fn budget(&self) -> Read<BudgetSettings> {
        match self.max_tokens {
            1..=1000 if self.token_ratio > 0.0 => Ok(BudgetSettings {
                max_tokens: self.max_tokens,
                token_ratio: self.token_ratio,
            }),
            1..=1000 => Err("tokenRatio is above 0".to_owned()),
            _ => Err("maxTokens is from 1 to 1000".to_owned()),
        }
    }
}

fn attempts(attempts: u32) -> Read<u32> {
    match attempts {
        0 | 1 => Err("maxAttempts is 2 at least".to_owned()),
        attempts => Ok(attempts.min(MAX_ATTEMPTS)),
    }
}

fn codes(values: &[Value]) -> Read<Vec<Code>> {
    let code = |value: &Value| {
        let known = match value {
            Value::String(name) => Code::from_name(&name.to_uppercase()),
            Value::Number(number) => number
                .as_u64()
                .and_then(|number| usize::try_from(number).ok()?.checked_sub(1))
                .and_then(|index| Code::ALL.get(index).copied()),
            _ => None,
        };
        known.ok_or_else(|| format!("{value} is no status code"))
    };
    values.iter().map(code).collect()
}

fn positive(text: &str) -> Read<Duration> {
    match duration(text)? {
        Duration::ZERO => Err(format!("`{text}` is above 0s")),
        time => Ok(time),
    }
}

/// A time as protobuf's JSON has it: seconds with at most nine digits behind the point, and `s`.
fn duration(text: &str) -> Read<Duration> {
    let wrong = || format!("`{text}` is no time; write \"1.5s\"");
    let number = text.strip_suffix('s').ok_or_else(wrong)?;
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_digits(whole) || !is_digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let seconds: u64 = whole.parse().map_err(|_| wrong())?;
    let nanos: u32 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    Ok(Duration::new(seconds, nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Result<Options, Status> {
        let mut options = Options::default();
        apply(json, &mut options).map(|()| options)
    }

    #[test]
    fn policies_are_the_first_that_is_known() {
        let mut soon = ReportedWeights::default();
        soon.blackout = Duration::from_secs(1);
        let rows: &[(&str, Policy)] = &[
            (r#"[{"round_robin":{}}]"#, Policy::RoundRobin),
            (
                r#"[{"xds_experimental":{}},{"pick_first":{}}]"#,
                Policy::PickFirst,
            ),
            (
                r#"[{"least_request_experimental":{"choiceCount":5}}]"#,
                Policy::LeastRequest(LeastRequest::of(5)),
            ),
            (
                r#"[{"outlier_detection_experimental":{"childPolicy":[{"round_robin":{}}]}}]"#,
                Policy::RoundRobin,
            ),
            (
                r#"[{"weighted_round_robin":{"blackoutPeriod":"1s","enableOobLoadReport":true}}]"#,
                Policy::WeightedRoundRobin(soon),
            ),
        ];
        for (list, expected) in rows {
            let options = read(&format!(r#"{{"loadBalancingConfig":{list}}}"#));
            let policy = options.map(|options| options.balance.policy);
            assert_eq!(policy.as_ref(), Ok(expected), "{list}");
        }
        let old = read(r#"{"loadBalancingPolicy":"ROUND_ROBIN"}"#);
        let old = old.map(|options| options.balance.policy);
        assert_eq!(old, Ok(Policy::RoundRobin));
    }

    #[test]
    fn all_fields_of_grpcs_example_are_taken() {
        let options = read(
            r#"{
              "loadBalancingConfig": [{"outlier_detection_experimental": {
                "interval": "1s", "baseEjectionTime": "3.5s", "maxEjectionPercent": 50,
                "failurePercentageEjection": {"threshold": 60, "requestVolume": 10},
                "childPolicy": [{"round_robin": {}}]}}],
              "methodConfig": [
                {"name": [{"service": "shop.Orders"}], "timeout": "1.500s", "waitForReady": true},
                {"name": [{"service": "shop.Orders", "method": "place"}, {}],
                 "retryPolicy": {"maxAttempts": 9, "initialBackoff": "0.1s", "maxBackoff": "2s",
                   "backoffMultiplier": 3, "retryableStatusCodes": ["UNAVAILABLE", "aborted", 8]}}],
              "retryThrottling": {"maxTokens": 10, "tokenRatio": 0.5},
              "healthCheckConfig": {"serviceName": ""}
            }"#,
        );
        let options = options.unwrap_or_else(|error| panic!("{error}"));
        let outliers = options.balance.outliers.unwrap_or_default();
        assert_eq!(outliers.interval, Duration::from_secs(1));
        assert_eq!(outliers.base_ejection_time, Duration::from_millis(3500));
        assert_eq!(outliers.max_ejection_percent, 50);
        let share = outliers.failure_percentage.unwrap_or_default();
        assert_eq!((share.threshold, share.request_volume), (60, 10));
        assert_eq!(options.policies.budget.tokens(), 10.0);
        assert_eq!(options.health_check, Some(HealthCheck::health("")));
        let at = |place: &str| {
            let mut policies = options.policies.clone();
            let mut found = CallPolicy::default();
            policies.change(place, |at| found = at.clone());
            found
        };
        assert_eq!(at("shop.Orders").timeout, Some(Duration::from_millis(1500)));
        assert_eq!(at("shop.Orders").wait_for_ready, Some(true));
        let retry = at("shop.Orders/place").retry.unwrap_or_default();
        assert_eq!((retry.attempts, retry.multiplier), (5, 3.0));
        assert_eq!(
            retry.codes,
            [Code::Unavailable, Code::Aborted, Code::ResourceExhausted]
        );
        assert_eq!(at("").retry, Some(retry));
    }

    #[test]
    fn errors_name_the_place() {
        let retry = |fields: &str| {
            format!(
                r#"{{"methodConfig":[{{"name":[{{}}],"retryPolicy":{{"initialBackoff":"1s","maxBackoff":"1s","backoffMultiplier":1,{fields}}}}}]}}"#
            )
        };
        let rows = [
            ("[]".to_owned(), "invalid length"),
            ("{".to_owned(), "EOF"),
            (
                r#"{"loadBalancingConfig":[{"mine":{}}]}"#.to_owned(),
                "none of its policies",
            ),
            (
                r#"{"loadBalancingPolicy":"mine"}"#.to_owned(),
                "no policy `mine`",
            ),
            (
                r#"{"methodConfig":[{"timeout":"1"}]}"#.to_owned(),
                "methodConfig[0]: `1` is no time",
            ),
            (
                r#"{"methodConfig":[{"timeout":"-1s"}]}"#.to_owned(),
                "is no time",
            ),
            (
                r#"{"methodConfig":[{"name":[{"method":"a"}]}]}"#.to_owned(),
                "needs a service",
            ),
            (
                retry(r#""maxAttempts":1,"retryableStatusCodes":[14]"#),
                "maxAttempts is 2",
            ),
            (
                retry(r#""maxAttempts":2,"retryableStatusCodes":[]"#),
                "is empty",
            ),
            (
                retry(r#""maxAttempts":2,"retryableStatusCodes":["NO"]"#),
                "\"NO\" is no status code",
            ),
            (
                r#"{"retryThrottling":{"maxTokens":1001,"tokenRatio":1}}"#.to_owned(),
                "from 1 to 1000",
            ),
        ];
        for (json, expected) in rows {
            let error = read(&json).map(drop).unwrap_err();
            assert!(error.message().contains(expected), "{json}: {error}");
        }
    }
}
