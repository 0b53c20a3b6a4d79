//! The load of a server, as it reports it with its answers over gRPC: ORCA, in the form of
//! `xds/data/orca/v3/orca_load_report.proto` of github.com/cncf/xds.

use crate::peer::intercept::{CallEnd, CallHead, Decision, ServerInterceptor};
#[cfg(feature = "grpc")]
use crate::peer::response_headers::ResponseHeaders;
use crate::trace::{self, SpanKind};
use crate::{Context, Status, Wire, clock};
#[cfg(feature = "grpc")]
use dovetail_balance::LoadReport;
use dovetail_wire::{Bytes, message, protobuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The trailer of an answer that has the report.
const TRAILER: &str = "endpoint-load-metrics-bin";

/// The time between two reports.
const INTERVAL: Duration = Duration::from_secs(1);

/// Reports the load of a server with each answer over gRPC and gRPC-Web, for channels with the
/// policy `weighted_round_robin`: those of Dovetail and of gRPC's libraries (ORCA, gRFC A51).
///
/// A report has the calls a second, those that fail by a fault of the server, and the part of the
/// processors' time that the process uses. It is made anew each second. Cheap to clone; clones are
/// the same.
///
/// ```
/// use dovetail::Server;
/// use dovetail::server::LoadReports;
///
/// let load = LoadReports::default();
/// let server = Server::new().load_reports(&load);
/// // The disk is what gets scarce here, not the processor.
/// load.set_utilization(Some(0.7));
/// # drop(server);
/// ```
#[derive(Clone, Debug, Default)]
pub struct LoadReports(Arc<Reporter>);

#[derive(Debug, Default)]
struct Reporter {
    calls: AtomicU64,
    errors: AtomicU64,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The utilization that the program has set.
    utilization: Option<f64>,
    last: Option<Sample>,
    /// The report of the last interval, encoded; `None` before its end.
    report: Option<Bytes>,
}

#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    processor: Duration,
    calls: u64,
    errors: u64,
}

/// The fields that are used here.
#[derive(Clone, Debug, Default, PartialEq)]
struct OrcaLoadReport {
    cpu_utilization: Option<f64>,
    rps_fractional: Option<f64>,
    eps: Option<f64>,
    application_utilization: Option<f64>,
}

message!(OrcaLoadReport {
    1 cpu_utilization: Option<f64>,
    6 rps_fractional: Option<f64>,
    7 eps: Option<f64>,
    9 application_utilization: Option<f64>,
});

impl LoadReports {
    /// Sets the part of the server's capacity that is in use, as the program sees it; 1 is all of
    /// it. It counts in place of the processors'. Default: `None`.
    pub fn set_utilization(&self, utilization: Option<f64>) {
        self.lock().utilization = utilization;
    }

    /// Returns the last report, made anew where that is due.
    fn report(&self, now: Instant) -> Option<Bytes> {
        let mut state = self.lock();
        let due = state.last.is_none_or(|last| now >= last.at + INTERVAL);
        if due {
            state.renew(Sample {
                at: now,
                processor: processor_time(),
                calls: self.0.calls.load(Relaxed),
                errors: self.0.errors.load(Relaxed),
            });
        }
        state.report.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn renew(&mut self, sample: Sample) {
        let Some(last) = self.last.replace(sample) else {
            return;
        };
        let seconds = (sample.at - last.at).as_secs_f64();
        let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
        let processor = sample.processor.saturating_sub(last.processor);
        let rate = |now: u64, before: u64| Some((now - before) as f64 / seconds);
        let report = OrcaLoadReport {
            cpu_utilization: Some(processor.as_secs_f64() / seconds / cores),
            rps_fractional: rate(sample.calls, last.calls),
            eps: rate(sample.errors, last.errors),
            application_utilization: self.utilization,
        };
        self.report = protobuf::to_bytes(&report).ok().map(Bytes::from);
    }
}

impl ServerInterceptor for LoadReports {
    fn before_body(&self, _: &mut CallHead<'_>) -> Result<Decision, Status> {
        Ok(Decision::Proceed)
    }

    fn before(&self, call: &mut CallHead<'_>) -> Result<Decision, Status> {
        if let Wire::Grpc | Wire::GrpcWeb(_) = call.wire()
            && let Some(report) = self.report(clock::now())
        {
            call.add_response_trailer(TRAILER, report)?;
        }
        Ok(Decision::Proceed)
    }

    fn after(&self, _: &Context, end: &CallEnd<'_>) {
        self.0.calls.fetch_add(1, Relaxed);
        if trace::is_error(SpanKind::Server, end.outcome().code()) {
            self.0.errors.fetch_add(1, Relaxed);
        }
    }
}

/// Returns the time of all processors that this process has used.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Reads the report in the trailers of an answer.
#[cfg(feature = "grpc")]
pub(crate) fn read(said: &ResponseHeaders) -> Option<LoadReport> {
    let report: OrcaLoadReport = protobuf::from_bytes(&said.trailer(TRAILER)?).ok()?;
    let set = report.application_utilization.filter(|used| *used > 0.0);
    let utilization = set.or(report.cpu_utilization)?;
    let errors = report.eps.unwrap_or_default();
    Some(LoadReport::new(utilization, report.rps_fractional?, errors))
}

#[cfg(all(test, feature = "grpc"))]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_the_rates_of_an_interval() {
        let reports = LoadReports::default();
        let begin = Instant::now();
        assert_eq!(reports.report(begin), None);
        reports.0.calls.store(30, Relaxed);
        reports.0.errors.store(3, Relaxed);
        assert_eq!(reports.report(begin + INTERVAL / 2), None);
        reports.set_utilization(Some(0.5));
        let report = reports.report(begin + 3 * INTERVAL).expect("a report");
        let said = ResponseHeaders::default();
        said.push_trailer(TRAILER, report).expect("a trailer");
        assert_eq!(read(&said), Some(LoadReport::new(0.5, 10.0, 1.0)));
        // Nobody reports less than nothing, or too little.
        let broken = ResponseHeaders::default();
        let cut = Bytes::from_static(&[9, 0]);
        broken.push_trailer(TRAILER, cut).expect("a trailer");
        assert_eq!(read(&broken), None);
    }
}
