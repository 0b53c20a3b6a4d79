//! The exporters of spans and metrics.

use super::keys::{Key, Section, Set};
use super::settings::{Settings, parsed};
use super::{Config, ConfigError, Read, folder, within};
use crate::statistics::{self, Statistics};
use crate::trace::{self, Tracing};
use crate::{ChannelBuilder, Server};
use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;
use std::time::Duration;

/// The time between two exports of metrics.
const INTERVAL: Duration = Duration::from_secs(60);

/// A collector of OpenTelemetry, as a file has it.
#[derive(Clone, Default)]
pub(super) struct TelemetrySettings {
    /// An address, or the name of a channel.
    collector: Option<String>,
    service: Option<String>,
    attributes: BTreeMap<String, String>,
    percent: Option<usize>,
    slow: Option<Duration>,
    interval: Option<Duration>,
}

pub(super) const SECTION: Section<Settings> = Section {
    path: "telemetry",
    doc: "Spans and metrics for a collector of OpenTelemetry, by OTLP over gRPC: the calls of the server and of the channels of this file. See [tracing.md](tracing.md) and [statistics.md](statistics.md).",
    keys: &[
        Key::new(
            "collector",
            "none",
            "The collector: an address such as `tcp://127.0.0.1:4317`, or the name of a channel of this file, which can have TLS and headers.",
            Set::Text(|settings, text| {
                if is_address(&text) {
                    parsed(vec![text.clone()])?;
                }
                settings.telemetry.collector = Some(text);
                Ok(())
            }),
        ),
        Key::new(
            "service",
            "`unknown_service:` and the name of the program",
            "The `service.name` of the program.",
            Set::Text(|settings, service| {
                settings.telemetry.service = Some(service);
                Ok(())
            }),
        ),
        Key::new(
            "attributes",
            "{}",
            "Further attributes of the program: `\"deployment.environment.name\" = \"test\"`.",
            Set::Map(|settings, attributes| {
                settings.telemetry.attributes = attributes;
                Ok(())
            }),
        ),
        Key::live(
            "percent",
            "100",
            "The part of the traces that begin here and are recorded; calls that fail are always.",
            Set::Count(|settings, percent| settings.telemetry.percent = Some(percent)),
        ),
        Key::live(
            "slow",
            "none",
            "The time from which on a call is recorded, whatever was decided at its beginning.",
            Set::Time(|settings, slow| settings.telemetry.slow = Some(slow)),
        ),
        Key::new(
            "interval",
            "\"60s\"",
            "The time between two exports of metrics.",
            Set::Time(|settings, interval| settings.telemetry.interval = Some(interval)),
        ),
    ],
};

fn is_address(text: &str) -> bool {
    text.contains(':')
}

impl TelemetrySettings {
    /// Returns the name of the channel to the collector.
    pub(super) fn channel(&self) -> Option<&str> {
        self.collector.as_deref().filter(|name| !is_address(name))
    }

    /// Chooses the calls that a tracing records.
    pub(super) fn sample(&self, tracing: &Tracing) {
        let percent = self.percent.unwrap_or(100).min(100);
        tracing.resample(percent as f64 / 100.0, self.slow);
    }

    fn service(&self) -> String {
        let named = self.service.clone();
        named.unwrap_or_else(|| {
            let program = env::args_os().next().map(PathBuf::from);
            let name = program.as_deref().and_then(|program| program.file_name());
            let name = name.map(|name| name.to_string_lossy().into_owned());
            format!("unknown_service:{}", name.unwrap_or_default())
        })
    }

    fn attributes(&self) -> Vec<(&str, &str)> {
        let attributes = self.attributes.iter();
        attributes.map(|(key, value)| (&**key, &**value)).collect()
    }
}

impl Config {
    /// Returns the tracing of the calls of the server and of the channels, if there is a collector.
    pub(super) fn tracing(&self) -> Result<Option<Tracing>, ConfigError> {
        let known = self.lock().tracing.clone();
        if known.is_some() {
            return Ok(known);
        }
        let read = &self.lock().read.clone();
        let settings = &read.settings.telemetry;
        let Some(collector) = self.collector(read)? else {
            return Ok(None);
        };
        let started = trace::Otlp::start(collector, &settings.service(), &settings.attributes());
        let recorder = started.map_err(|why| self.error(read, "telemetry", why.to_string()))?;
        let tracing = Tracing::new(recorder);
        settings.sample(&tracing);
        Ok(Some(self.lock().tracing.insert(tracing).clone()))
    }

    /// Has a server send its spans and metrics to the collector, if there is one.
    pub(super) fn observe(&self, server: Server) -> Result<Server, ConfigError> {
        let read = &self.lock().read.clone();
        let settings = &read.settings.telemetry;
        let (Some(tracing), Some(collector)) = (self.tracing()?, self.collector(read)?) else {
            return Ok(server);
        };
        let statistics = Statistics::new();
        let export = statistics::Otlp::start(
            &statistics,
            collector,
            &settings.service(),
            &settings.attributes(),
            settings.interval.unwrap_or(INTERVAL),
        );
        let export = export.map_err(|why| self.error(read, "telemetry", why.to_string()))?;
        let server = server.tracing(&tracing).statistics(&statistics);
        Ok(server.keep(export))
    }

    /// Returns the channel to the collector.
    fn collector(&self, read: &Read) -> Result<Option<ChannelBuilder>, ConfigError> {
        let settings = &read.settings.telemetry;
        let Some(collector) = &settings.collector else {
            return Ok(None);
        };
        if let Some(name) = settings.channel() {
            return self.channel(name).map(Some);
        }
        let address = within(folder(self.0.file.as_deref()), collector);
        let builder = crate::Channel::builder(&address);
        builder
            .map(Some)
            .map_err(|status| self.error(read, "telemetry.collector", status.message().to_owned()))
    }
}
