//! One file for a process: its server, and its channels. `docs/configuration.md` has all keys.

mod admin;
mod channels;
mod document;
mod keys;
mod limits;
mod live;
mod log;
mod overrides;
mod page;
mod parts;
mod quotas;
mod registration;
mod reload;
mod sessions;
mod settings;
mod telemetry;
mod watch;

pub use document::ConfigError;
pub use page::{reference, schema};
pub use reload::Reloaded;
pub use watch::Watch;

use crate::access_log::AccessLog;
use crate::admin::Admin;
use crate::client::RetryPolicy;
use crate::health::Health;
use crate::identity::{Authentication, Bearer, Permissions};
use crate::load_reports::LoadReports;
use crate::names::{Outliers, Subset};
use crate::peer::intercept::ServerInterceptor;
use crate::reflection::Reflection;
use crate::server::{self, Model};
use crate::throttle::{Refusals, Throttle};
use crate::tls::{ClientTls, ServerTls};
use crate::trace::Tracing;
use crate::{Address, ChannelBuilder, Server, blocking};
use channels::ChannelSettings;
use document::{Problem, Span};
use dovetail_protocol::dovetail::Compression;
use dovetail_protocol::http::Cors;
use keys::{Reader, Section};
use live::Live;
use log::LogHandle;
use overrides::Overrides;
use parts::{Maker, Parts};
use quotas::QuotaSettings;
use sessions::SessionSettings;
use settings::{Logged, Settings};
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use toml::de::{DeTable, DeValue};

/// The configuration of a process, from a TOML file.
///
/// Cheap to clone; clones are the same. A [reload](Self::reload) changes what a server has that was
/// made of it.
///
/// ```
/// use dovetail::{Server, config::Config};
///
/// let config = Config::parse(
///     "shop.toml",
///     r#"
///     [server]
///     listen = ["tcp://127.0.0.1:0"]
///     health = true
///
///     [server.limits]
///     message = "4 MiB"
///     "#,
/// )?;
/// let server = Server::from_config(&config)?.bind("double", |number: i64| number * 2);
/// # drop(server);
/// # Ok::<(), dovetail::config::ConfigError>(())
/// ```
#[derive(Clone)]
pub struct Config(Arc<Shared>);

struct Shared {
    /// `None` for a text.
    file: Option<PathBuf>,
    origin: String,
    state: Mutex<ConfigState>,
}

struct ConfigState {
    /// The text of the file.
    text: String,
    /// The values that administrators have set, above those of the file.
    overrides: Overrides,
    /// The text with these values.
    read: Arc<Read>,
    interceptors: BTreeMap<String, Arc<dyn ServerInterceptor>>,
    running: Running,
    /// The log that was installed.
    log: Option<LogHandle>,
    /// The tracing that sends spans to the collector, once it has begun.
    tracing: Option<Tracing>,
}

/// The parts of the server that a reload replaces.
#[derive(Default)]
struct Running {
    tls: Option<ServerTls>,
    authentication: Option<Live<Authentication>>,
    throttle: Option<Live<Throttle>>,
    permissions: Option<Live<Permissions>>,
    access_log: Option<Live<AccessLog>>,
    options: Option<server::Live>,
}

/// A text that has been read.
#[derive(Clone, Default)]
struct Read {
    text: String,
    settings: Settings,
    quotas: BTreeMap<String, QuotaSettings>,
    sessions: BTreeMap<String, SessionSettings>,
    channels: BTreeMap<String, ChannelSettings>,
    places: BTreeMap<String, Span>,
    values: BTreeMap<String, String>,
}

impl Read {
    fn new(origin: &str, text: String, folder: &Path) -> Result<(Self, Parts), ConfigError> {
        // Behind an error of the syntax most others follow from it.
        let table = DeTable::parse(&text).map_err(|error| {
            let problem = Problem::new(error.span().unwrap_or_default(), error.message());
            ConfigError::new(origin, &text, vec![problem])
        })?;
        let mut read = Read::default();
        let mut reader = Reader {
            folder,
            problems: Vec::new(),
            places: BTreeMap::new(),
            values: BTreeMap::new(),
        };
        read.root(&mut reader, table.get_ref());
        let mut maker = Maker {
            places: &reader.places,
            problems: std::mem::take(&mut reader.problems),
        };
        let parts = maker.parts(&read.settings, &read.quotas);
        read.check_channels(&mut maker);
        let problems = std::mem::take(&mut maker.problems);
        if !problems.is_empty() {
            return Err(ConfigError::new(origin, &text, problems));
        }
        (read.places, read.values) = (reader.places, reader.values);
        read.text = text;
        Ok((read, parts))
    }

    fn root(&mut self, reader: &mut Reader<'_>, root: &DeTable<'_>) {
        const TABLES: [&str; 11] = [
            "server",
            "log",
            "access-log",
            "admin",
            "authentication",
            "permissions",
            "quotas",
            "registration",
            "sessions",
            "telemetry",
            "channels",
        ];
        for (name, value) in root {
            let known = TABLES.contains(&name.get_ref().as_ref());
            let place = name.get_ref().to_string();
            match value.get_ref() {
                _ if !known => reader.unknown(name, "", TABLES.to_vec()),
                DeValue::Table(table) if place == "channels" => {
                    self.channels = named(reader, &place, channels::SECTIONS, table);
                }
                DeValue::Table(table) if place == "quotas" => {
                    self.quotas = named(reader, &place, quotas::SECTIONS, table);
                }
                DeValue::Table(table) if place == "sessions" => {
                    self.sessions = named(reader, &place, sessions::SECTIONS, table);
                }
                DeValue::Table(table) => {
                    reader.places.insert(place.clone(), value.span());
                    // A table that is there counts, also if it is empty.
                    match place.as_str() {
                        "authentication" => self.settings.authentication = Some(Default::default()),
                        "permissions" => self.settings.permissions = Some(Default::default()),
                        _ => {}
                    }
                    let sections = settings::SECTIONS;
                    reader.table(&mut self.settings, sections, "", &place, table);
                }
                _ => {
                    let what = format!("`{place}` is a table");
                    reader.problems.push(Problem::new(value.span(), what));
                }
            }
        }
    }

    fn check_channels(&self, maker: &mut Maker<'_>) {
        if let Some(name) = self.settings.telemetry.channel()
            && !self.channels.contains_key(name)
        {
            let what = format!("there is no [channels.{name}]; an address is `tcp://HOST:PORT`");
            maker.problem("telemetry.collector", what);
        }
        for (name, channel) in &self.channels {
            let path = format!("channels.{name}");
            if channel.address.is_none() && !maker.places.contains_key(&format!("{path}.address")) {
                maker.problem(&path, format!("the channel `{name}` has no `address`"));
            }
            if channel.certificate.is_some() != channel.key.is_some() {
                maker.problem(&path, "`certificate` and `key` belong together");
            } else if let Err(error) = tls(channel) {
                maker.problem(&path, error.to_string());
            }
        }
    }

    /// The value of a key, on one line.
    fn value(&self, path: &str) -> Option<&str> {
        self.values.get(path).map(String::as_str)
    }
}

/// Reads a table of tables, each with a name of the user's.
fn named<D: Default>(
    reader: &mut Reader<'_>,
    of: &str,
    sections: &'static [Section<D>],
    tables: &DeTable<'_>,
) -> BTreeMap<String, D> {
    let mut read = BTreeMap::new();
    for (name, value) in tables {
        let path = keys::join(of, name.get_ref());
        reader.places.insert(path.clone(), value.span());
        let DeValue::Table(table) = value.get_ref() else {
            let what = format!("`{path}` is a table");
            reader.problems.push(Problem::new(value.span(), what));
            continue;
        };
        let mut settings = D::default();
        reader.table(&mut settings, sections, &path, "", table);
        read.insert(name.get_ref().to_string(), settings);
    }
    read
}

/// The TLS of a channel, where its settings say something of it.
fn tls(channel: &ChannelSettings) -> std::io::Result<Option<ClientTls>> {
    let tls = match (&channel.roots, &channel.certificate) {
        (None, None) => return Ok(None),
        (Some(roots), _) => ClientTls::roots(roots.as_path())?,
        (None, Some(_)) => ClientTls::system()?,
    };
    match (&channel.certificate, &channel.key) {
        (Some(chain), Some(key)) => tls.identity(chain.as_path(), key.as_path()).map(Some),
        _ => Ok(Some(tls)),
    }
}

/// When a server of a channel is ejected.
fn outliers(failures: usize) -> Option<Outliers> {
    let mut outliers = Outliers::default();
    outliers.consecutive_failures = u32::try_from(failures).unwrap_or(u32::MAX);
    (failures > 0).then_some(outliers)
}

/// The retries of a channel, where its settings say something of them.
fn retries(channel: &ChannelSettings) -> Option<RetryPolicy> {
    let attempts = channel
        .attempts
        .map(|attempts| u32::try_from(attempts).unwrap_or(u32::MAX));
    if attempts.is_none() && channel.attempt_timeout.is_none() {
        return None;
    }
    let policy = RetryPolicy::of(attempts.unwrap_or(2));
    Some(match channel.attempt_timeout {
        Some(timeout) => policy.attempt_timeout(timeout),
        None => policy,
    })
}

impl Config {
    /// Reads a file. The error has everything that is wrong with it. Paths in it begin at its
    /// folder.
    pub fn load(file: impl Into<PathBuf>) -> Result<Self, ConfigError> {
        let file = file.into();
        let origin = file.display().to_string();
        let text = read_file(&file, &origin)?;
        Self::new(Some(file), origin, text)
    }

    /// Reads a text; `origin` names it in errors. Paths in it begin at the working folder.
    pub fn parse(origin: &str, text: &str) -> Result<Self, ConfigError> {
        Self::new(None, origin.to_owned(), text.to_owned())
    }

    fn new(file: Option<PathBuf>, origin: String, text: String) -> Result<Self, ConfigError> {
        let (read, _) = Read::new(&origin, text.clone(), folder(file.as_deref()))?;
        Ok(Config(Arc::new(Shared {
            file,
            origin,
            state: Mutex::new(ConfigState {
                text,
                overrides: Overrides::default(),
                read: Arc::new(read),
                interceptors: BTreeMap::new(),
                running: Running::default(),
                log: None,
                tracing: None,
            }),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, ConfigState> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an interceptor that the file can name in `server.interceptors`. The first server that
    /// is made has it.
    #[must_use]
    pub fn interceptor(self, name: &str, interceptor: impl ServerInterceptor) -> Self {
        let interceptor: Arc<dyn ServerInterceptor> = Arc::new(interceptor);
        self.lock()
            .interceptors
            .insert(name.to_owned(), interceptor);
        self
    }

    /// Returns an error about a key.
    fn error(&self, read: &Read, path: &str, message: impl Into<String>) -> ConfigError {
        let span = read.places.get(path).cloned().unwrap_or_default();
        let problem = Problem::new(span, message);
        ConfigError::new(&self.0.origin, &read.text, vec![problem])
    }

    fn files(&self) -> Vec<PathBuf> {
        let mut files = parts::files(&self.lock().read.settings);
        files.extend(self.0.file.clone());
        files
    }

    /// Returns the refusals by the quotas of the running server, since they last changed; `None`
    /// without quotas.
    pub fn refusals(&self) -> Option<Refusals> {
        let throttle = self.lock().running.throttle.clone()?;
        Some(throttle.current().refusals())
    }

    /// Returns the configuration with all keys: those of the file, those that administrators have
    /// set, with their names, and the defaults of the others as comments.
    pub fn show(&self) -> String {
        let state = self.lock();
        page::show(&state.read, &state.overrides)
    }
}

fn folder(file: Option<&Path>) -> &Path {
    let folder = file.and_then(Path::parent);
    folder.unwrap_or(Path::new(""))
}

/// Reads a path in an address from a folder on.
fn within(folder: &Path, address: &str) -> String {
    match address.parse() {
        Ok(Address::Unix(path)) if is_file(&path) => {
            format!("unix:{}", folder.join(path).display())
        }
        Ok(Address::Shm(path)) if is_file(&path) => format!("shm:{}", folder.join(path).display()),
        _ => address.to_owned(),
    }
}

/// False for an abstract name.
fn is_file(path: &Path) -> bool {
    !path.as_os_str().as_encoded_bytes().starts_with(b"\0")
}

fn read_file(file: &Path, origin: &str) -> Result<String, ConfigError> {
    fs::read_to_string(file).map_err(|error| {
        let problem = Problem::new(0..0, format!("the file cannot be read: {error}"));
        ConfigError::new(origin, "", vec![problem])
    })
}

impl Logged {
    /// Opens the access log. The error is about its table.
    fn open(&self) -> Result<AccessLog, String> {
        let file = self.file.as_ref().ok_or("the `file` is missing")?;
        let opened = AccessLog::file(file);
        let log = opened.map_err(|error| format!("{}: {error}", file.display()))?;
        Ok(self.with_options(log))
    }

    /// Returns a log that writes what these settings say, to the same file as before.
    fn with_options(&self, log: AccessLog) -> AccessLog {
        let part = self.percent.map_or(1.0, |percent| percent as f64 / 100.0);
        let slow = self.slow.unwrap_or(Duration::MAX);
        log.with_options(self.format == Some("json"), part, slow)
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Config").field(&self.0.origin).finish()
    }
}

impl Server {
    /// Makes the server of a configuration; services are added to it. [`Config::reload`] changes it
    /// while it runs.
    pub fn from_config(config: &Config) -> Result<Self, ConfigError> {
        let mut state = config.lock();
        let read = state.read.clone();
        let error = |path: &str, why: String| config.error(&read, path, why);
        let settings = &read.settings;
        let mut server = Server::new()
            .model(model(settings.model, settings.threads))
            .limits(settings.limits)
            .polling(settings.polling)
            .local_upgrade(settings.local_upgrade.unwrap_or(true));
        match settings.compression {
            Some("lz4") => server = server.compression(Compression::lz4()),
            Some(_) => server = server.compression(Compression::zstd(3)),
            None => {}
        }
        if let Some(hosts) = &settings.allowed_hosts {
            server = server.allowed_hosts(hosts);
        }
        if !settings.proxies.is_empty() {
            server = server
                .proxies(&settings.proxies)
                .map_err(|why| error("server.proxies", why.to_string()))?;
        }
        if let Some(origins) = &settings.origins {
            server = server.cors(cors(origins));
        }
        if settings.health {
            server = server.health(&Health::default());
        }
        if settings.reflection {
            server = server.reflection(&Reflection::default());
        }
        if settings.load_reports {
            server = server.load_reports(&LoadReports::default());
        }
        if settings.plaintext {
            server = server.allow_plaintext();
        }
        for name in &settings.interceptors {
            let known = state.interceptors.remove(name);
            let known = known.ok_or_else(|| {
                let names: Vec<_> = state.interceptors.keys().map(String::as_str).collect();
                let what = match names.is_empty() {
                    true => format!("the program has no interceptor `{name}`, nor any other"),
                    false => format!(
                        "the program has no interceptor `{name}`; it has: {}",
                        names.join(", ")
                    ),
                };
                error("server.interceptors", what)
            })?;
            server = server.intercept_shared(known);
        }
        let (mut server, mut running) = state.running_parts(&config.0.origin, server)?;
        if let Some(logged) = &settings.access_log {
            let log = logged.open().map_err(|why| error("access-log", why))?;
            let log = running.access_log.insert(Live::new(log));
            server = server.intercept_first(log.clone());
        }
        running.options = Some(server.live());
        state.running = running;
        drop(state);
        let server = config.observe(server)?;
        let server = match &settings.registration {
            Some(registered) => {
                let registration = registered.registration();
                server.register(registration.map_err(|why| error("registration", why))?)
            }
            None => server,
        };
        config.listen(&read, server, "server.listen", &settings.listen)
    }

    /// Makes the server that shows the administration of another one, at the addresses in
    /// `[admin]`; `None` where there are none. It shows the configuration as well, and reads it
    /// again on request.
    ///
    /// ```
    /// use dovetail::Server;
    /// use dovetail::admin::Admin;
    /// use dovetail::config::Config;
    ///
    /// let config = Config::parse("shop.toml", "[admin]\nlisten = ['tcp://127.0.0.1:0']")?;
    /// let admin = Admin::new();
    /// let server = Server::from_config(&config)?.administered(&admin);
    /// let console = Server::admin_from_config(&config, &admin)?;
    /// # drop((server, console));
    /// # Ok::<(), dovetail::config::ConfigError>(())
    /// ```
    pub fn admin_from_config(config: &Config, admin: &Admin) -> Result<Option<Self>, ConfigError> {
        let read = config.lock().read.clone();
        let addresses = &read.settings.admin;
        if addresses.is_empty() {
            return Ok(None);
        }
        let server = Server::new().admin(&admin.clone().with_config(config));
        config
            .listen(&read, server, "admin.listen", addresses)
            .map(Some)
    }
}

impl Config {
    /// Has a server listen at the addresses of a key.
    fn listen(
        &self,
        read: &Read,
        server: Server,
        path: &str,
        addresses: &[String],
    ) -> Result<Server, ConfigError> {
        let folder = folder(self.0.file.as_deref());
        addresses.iter().try_fold(server, |server, address| {
            let listening = server.listen(&within(folder, address));
            listening.map_err(|why| self.error(read, path, why.to_string()))
        })
    }
}

impl ConfigState {
    /// Adds to a server what a reload can replace.
    fn running_parts(
        &self,
        origin: &str,
        mut server: Server,
    ) -> Result<(Server, Running), ConfigError> {
        let read = &self.read;
        let mut maker = Maker {
            places: &read.places,
            problems: Vec::new(),
        };
        let parts = maker.parts(&read.settings, &read.quotas);
        if !maker.problems.is_empty() {
            return Err(ConfigError::new(origin, &read.text, maker.problems));
        }
        let running = Running {
            tls: parts.tls,
            authentication: parts.authentication.map(Live::new),
            throttle: parts.throttle.map(Live::new),
            permissions: parts.permissions.map(Live::new),
            access_log: None,
            options: None,
        };
        if let Some(tls) = &running.tls {
            server = server.tls(tls);
        }
        if let Some(authentication) = &running.authentication {
            let identify = Arc::new(authentication.clone());
            server = server.authenticated(identify, authentication.clone());
        }
        if let Some(throttle) = &running.throttle {
            server = server.intercept(throttle.clone());
        }
        if let Some(permissions) = &running.permissions {
            server = server.intercept(permissions.clone());
        }
        Ok((server, running))
    }
}

fn model(name: Option<&str>, threads: Option<usize>) -> Model {
    match name {
        Some("single-threaded") => Model::SingleThreaded,
        Some("thread-per-connection") => Model::ThreadPerConnection,
        Some("thread-pool") => {
            let cores = || std::thread::available_parallelism().map_or(1, usize::from);
            Model::ThreadPool(threads.unwrap_or_else(cores))
        }
        _ => Model::EventLoops(threads),
    }
}

fn cors(origins: &[String]) -> Cors {
    match origins.iter().any(|origin| origin == "*") {
        true => Cors::any(),
        false => origins
            .iter()
            .fold(Cors::new(), |cors, origin| cors.origin(origin)),
    }
}

/// Applies the settings of a channel to a builder, async or blocking; with a tracing its calls are
/// spans.
macro_rules! channel {
    ($channel:path, $config:expr, $name:expr, $tracing:expr) => {{
        let (config, name): (&Config, &str) = ($config, $name);
        let read = config.lock().read.clone();
        let path = format!("channels.{name}");
        let settings = read.channels.get(name).ok_or_else(|| {
            let names: Vec<_> = read.channels.keys().map(String::as_str).collect();
            let what = match names.is_empty() {
                true => format!("there is no [{path}], nor any other channel"),
                false => format!("there is no [{path}]; channels are: {}", names.join(", ")),
            };
            config.error(&read, "channels", what)
        })?;
        let wrong = |why: String| config.error(&read, &path, why);
        let address = settings.address.as_deref().unwrap_or_default();
        let address = within(folder(config.0.file.as_deref()), address);
        let mut builder =
            <$channel>::builder(&address).map_err(|status| wrong(status.message().to_owned()))?;
        if let Some(wire) = settings.wire {
            builder = builder.wire(wire);
        }
        if let Some(service) = &settings.service {
            builder = builder.service(service);
        }
        if let Some(timeout) = settings.timeout {
            builder = builder.timeout(timeout);
        }
        if let Some(timeout) = settings.connect_timeout {
            builder = builder.connect_timeout(timeout);
        }
        if let Some(connections) = settings.connections {
            builder = builder.connections(connections);
        }
        if let Some(policy) = &settings.policy {
            builder = builder.policy(policy.clone());
        }
        if let Some(zone) = &settings.zone {
            builder = builder.zone(zone);
        }
        if let Some(time) = settings.slow_start {
            builder = builder.slow_start(time);
        }
        if let Some(size) = settings.subset {
            builder = builder.subset(Subset::random(size));
        }
        if let Some(header) = &settings.hash_header {
            builder = builder.hash_by_header(header);
        }
        if let Some(check) = &settings.health_check {
            let check = check.clone();
            builder = builder.health_check(match settings.health_interval {
                Some(interval) => check.every(interval),
                None => check,
            });
        }
        if let Some(failures) = settings.ejection_failures {
            builder = builder.outliers(outliers(failures));
        }
        if let Some(policy) = retries(settings) {
            builder = builder.retry(policy);
        }
        builder = builder.wait_for_ready(settings.wait_for_ready);
        if let Some(file) = &settings.service_config {
            let json = fs::read_to_string(file);
            let json = json.map_err(|error| wrong(format!("{}: {error}", file.display())))?;
            let applied = builder.service_config(&json);
            builder = applied.map_err(|status| wrong(status.message().to_owned()))?;
        }
        for (name, value) in &settings.headers {
            builder = builder.header(name, value.clone());
        }
        if let Some(file) = &settings.token {
            let bearer = Bearer::file(file);
            builder = builder.intercept(match settings.token_over_plain_tcp {
                true => bearer.over_plain_tcp(),
                false => bearer,
            });
        }
        if let Some(tls) = tls(settings).map_err(|why| wrong(why.to_string()))? {
            builder = builder.tls(&tls);
        }
        if let Some(tracing) = $tracing {
            builder = builder.intercept(tracing);
        }
        Ok(builder)
    }};
}

impl Config {
    /// Makes a channel whose calls are not traced.
    fn channel(&self, name: &str) -> Result<ChannelBuilder, ConfigError> {
        channel!(crate::Channel, self, name, None::<Tracing>)
    }
}

impl crate::Channel {
    /// Makes the channel that a configuration has under `channels.` and this name.
    pub fn named(config: &Config, name: &str) -> Result<ChannelBuilder, ConfigError> {
        channel!(crate::Channel, config, name, config.tracing()?)
    }
}

impl blocking::Channel {
    /// Makes the channel that a configuration has under `channels.` and this name.
    pub fn named(config: &Config, name: &str) -> Result<blocking::ChannelBuilder, ConfigError> {
        channel!(blocking::Channel, config, name, config.tracing()?)
    }
}
