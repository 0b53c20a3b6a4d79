//! The tables of a server.

use super::keys::{Key, Section, Set};
use super::log::LogSettings;
use super::registration::Registered;
use super::telemetry::TelemetrySettings;
use crate::Address;
use crate::server::{LiveOptions, ServerLimits};
use crate::transport::Polling;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// Settings of a server, as a file has them.
#[derive(Clone, Default)]
pub(super) struct Settings {
    pub(super) listen: Vec<String>,
    pub(super) admin: Vec<String>,
    pub(super) model: Option<&'static str>,
    pub(super) threads: Option<usize>,
    pub(super) health: bool,
    pub(super) reflection: bool,
    pub(super) load_reports: bool,
    pub(super) local_upgrade: Option<bool>,
    pub(super) compression: Option<&'static str>,
    pub(super) allowed_hosts: Option<Vec<String>>,
    pub(super) proxies: Vec<String>,
    pub(super) interceptors: Vec<String>,
    pub(super) plaintext: bool,
    pub(super) access_log: Option<Logged>,
    pub(super) log: LogSettings,
    pub(super) registration: Option<Registered>,
    pub(super) telemetry: TelemetrySettings,
    pub(super) origins: Option<Vec<String>>,
    pub(super) certificate: Option<PathBuf>,
    pub(super) key: Option<PathBuf>,
    pub(super) client_roots: Option<PathBuf>,
    pub(super) client_certificates: Option<&'static str>,
    pub(super) limits: ServerLimits,
    pub(super) polling: Polling,
    pub(super) authentication: Option<Authenticated>,
    pub(super) permissions: Option<Permitted>,
}

/// The access log, as a file has it.
#[derive(Clone, Default)]
pub(super) struct Logged {
    pub(super) file: Option<PathBuf>,
    pub(super) format: Option<&'static str>,
    pub(super) percent: Option<usize>,
    pub(super) slow: Option<Duration>,
}

#[derive(Clone, Default)]
pub(super) struct Authenticated {
    pub(super) optional: bool,
    pub(super) except: Vec<String>,
    pub(super) tokens: Option<PathBuf>,
    pub(super) jwt: Option<Jwt>,
    pub(super) certificates: bool,
    pub(super) processes: Option<Processes>,
}

#[derive(Clone, Default)]
pub(super) struct Jwt {
    pub(super) keys: Option<PathBuf>,
    pub(super) secret: Option<String>,
    pub(super) issuer: String,
    pub(super) audience: String,
    pub(super) leeway: Option<Duration>,
    pub(super) roles_claim: Option<String>,
}

#[derive(Clone, Default)]
pub(super) struct Processes {
    pub(super) users: BTreeMap<u32, String>,
    pub(super) named_only: bool,
}

#[derive(Clone, Default)]
pub(super) struct Permitted {
    pub(super) require: BTreeMap<String, String>,
    pub(super) anyone: Vec<String>,
    pub(super) authenticated: Vec<String>,
    pub(super) roles: BTreeMap<String, Vec<String>>,
    pub(super) assign: BTreeMap<String, Vec<String>>,
}

impl Settings {
    /// Returns the options of the server that can change while it runs.
    pub(super) fn live(&self) -> LiveOptions {
        LiveOptions {
            limits: self.limits,
            polling: self.polling,
        }
    }

    fn authentication(&mut self) -> &mut Authenticated {
        self.authentication.get_or_insert_default()
    }

    fn access_log(&mut self) -> &mut Logged {
        self.access_log.get_or_insert_default()
    }

    pub(super) fn registration(&mut self) -> &mut Registered {
        self.registration.get_or_insert_default()
    }

    fn jwt(&mut self) -> &mut Jwt {
        self.authentication().jwt.get_or_insert_default()
    }

    fn processes(&mut self) -> &mut Processes {
        self.authentication().processes.get_or_insert_default()
    }

    fn permissions(&mut self) -> &mut Permitted {
        self.permissions.get_or_insert_default()
    }
}

fn addresses(settings: &mut Settings, texts: Vec<String>) -> Result<(), String> {
    settings.listen = parsed(texts)?;
    Ok(())
}

/// Refuses texts that are no addresses.
pub(super) fn parsed(texts: Vec<String>) -> Result<Vec<String>, String> {
    for text in &texts {
        let parsed: Result<Address, _> = text.parse();
        parsed.map_err(|error| format!("`{text}`: {error}"))?;
    }
    Ok(texts)
}

fn users(settings: &mut Settings, users: BTreeMap<String, String>) -> Result<(), String> {
    for (uid, name) in users {
        let number = uid.parse();
        let number = number.map_err(|_| format!("`{uid}` is no number of a user"))?;
        settings.processes().users.insert(number, name);
    }
    Ok(())
}

pub(super) const SECTIONS: &[Section<Settings>] = &[
    Section {
        path: "server",
        doc: "The server of the process.",
        keys: &[
            Key::new(
                "listen",
                "[]",
                "Addresses: `tcp://0.0.0.0:9090`, `tls://0.0.0.0:9443`, `unix:/run/shop.sock`.",
                Set::Texts(addresses),
            ),
            Key::new(
                "model",
                "\"event-loops\"",
                "How threads are spent: `event-loops`, `single-threaded`, `thread-pool`, `thread-per-connection`.",
                Set::Word(MODELS, |settings, model| settings.model = Some(model)),
            ),
            Key::new(
                "threads",
                "one for each core",
                "Event loops, or threads of the pool.",
                Set::Count(|settings, threads| settings.threads = Some(threads)),
            ),
            Key::live(
                "polling",
                "\"adaptive\"",
                "Whether threads poll before they wait: `adaptive` (while it pays), `always`, `never`. A change counts for new connections.",
                Set::Word(POLLING, |settings, polling| {
                    settings.polling = match polling {
                        "always" => Polling::Always,
                        "never" => Polling::Never,
                        _ => Polling::Adaptive,
                    };
                }),
            ),
            Key::new(
                "health",
                "false",
                "Answers health checks, `grpc.health.v1.Health`.",
                Set::Flag(|settings, health| settings.health = health),
            ),
            Key::new(
                "reflection",
                "false",
                "Tells callers what the contracts say.",
                Set::Flag(|settings, reflection| settings.reflection = reflection),
            ),
            Key::new(
                "load-reports",
                "false",
                "Reports the load of the server with its answers over gRPC (ORCA).",
                Set::Flag(|settings, reports| settings.load_reports = reports),
            ),
            Key::new(
                "local-upgrade",
                "true",
                "Lets clients of the same machine move from TCP to shared memory.",
                Set::Flag(|settings, upgrade| settings.local_upgrade = Some(upgrade)),
            ),
            Key::new(
                "compression",
                "none",
                "Compresses answers on Dovetail's own wire: `lz4` or `zstd`.",
                Set::Word(&["lz4", "zstd"], |settings, by| {
                    settings.compression = Some(by);
                }),
            ),
            Key::new(
                "allowed-hosts",
                "none but `localhost` and IP addresses, on loopback",
                "Names that requests over HTTP may have in `Host`.",
                Set::Texts(|settings, hosts| {
                    settings.allowed_hosts = Some(hosts);
                    Ok(())
                }),
            ),
            Key::new(
                "proxies",
                "[]",
                "Addresses and networks of proxies that are believed who calls through them.",
                Set::Texts(|settings, proxies| {
                    settings.proxies = proxies;
                    Ok(())
                }),
            ),
            Key::new(
                "interceptors",
                "[]",
                "Interceptors of the program by name, outside of authentication.",
                Set::Texts(|settings, names| {
                    settings.interceptors = names;
                    Ok(())
                }),
            ),
            Key::new(
                "plaintext",
                "false",
                "Takes calls without TLS although clients need certificates.",
                Set::Flag(|settings, plaintext| settings.plaintext = plaintext),
            ),
            Key::new(
                "origins",
                "[]",
                "Sites whose pages may call from a browser (CORS); `*` for all.",
                Set::Texts(|settings, origins| {
                    settings.origins = Some(origins);
                    Ok(())
                }),
            ),
        ],
    },
    Section {
        path: "server.tls",
        doc: "TLS. The files are read again by a reload, and new connections get what is in them.",
        keys: &[
            Key::new(
                "certificate",
                "none",
                "The server's certificates in PEM, its own first.",
                Set::File(|settings, file| settings.certificate = Some(file)),
            ),
            Key::new(
                "key",
                "none",
                "The key of the certificate in PEM.",
                Set::File(|settings, file| settings.key = Some(file)),
            ),
            Key::new(
                "client-roots",
                "none",
                "Roots that sign the certificates of clients, in PEM.",
                Set::File(|settings, file| settings.client_roots = Some(file)),
            ),
            Key::new(
                "client-certificates",
                "\"required\"",
                "Whether clients have to show a certificate, where `client-roots` are given.",
                Set::Word(&["required", "optional"], |settings, wanted| {
                    settings.client_certificates = Some(wanted);
                }),
            ),
        ],
    },
    super::limits::SECTION,
    super::log::SECTION,
    Section {
        path: "access-log",
        doc: "A line for each call, in a file.",
        keys: &[
            Key::new(
                "file",
                "none",
                "The file. It is made anew when it is renamed.",
                Set::File(|settings, file| settings.access_log().file = Some(file)),
            ),
            Key::live(
                "format",
                "\"text\"",
                "`text`: `name=value` pairs; `json`: an object.",
                Set::Word(&["json", "text"], |settings, word| {
                    settings.access_log().format = Some(word);
                }),
            ),
            Key::live(
                "percent",
                "100",
                "The part of calls that are written; those that fail or are slow are always.",
                Set::Count(|settings, percent| settings.access_log().percent = Some(percent)),
            ),
            Key::live(
                "slow",
                "none",
                "The time from which on a call is slow.",
                Set::Time(|settings, slow| settings.access_log().slow = Some(slow)),
            ),
        ],
    },
    super::registration::SECTION,
    super::telemetry::SECTION,
    Section {
        path: "admin",
        doc: "The [administration](admin.md) of the server, for a program with `Server::admin_from_config`.",
        keys: &[Key::new(
            "listen",
            "[]",
            "Addresses at which it is shown, to everybody who can connect: `tcp://127.0.0.1:9091`, `unix:/run/shop-admin.sock`.",
            Set::Texts(|settings, texts| {
                settings.admin = parsed(texts)?;
                Ok(())
            }),
        )],
    },
    Section {
        path: "authentication",
        doc: "Who calls. Without this table nobody is asked.",
        keys: &[
            Key::live(
                "optional",
                "false",
                "Lets callers pass that show nothing.",
                Set::Flag(|settings, optional| settings.authentication().optional = optional),
            ),
            Key::live(
                "except",
                "[]",
                "Services and methods that callers may call without showing anything.",
                Set::Texts(|settings, places| {
                    settings.authentication().except = places;
                    Ok(())
                }),
            ),
            Key::live(
                "tokens",
                "none",
                "A file of tokens: name, SHA-256 in hex, roles.",
                Set::File(|settings, file| settings.authentication().tokens = Some(file)),
            ),
            Key::live(
                "certificates",
                "false",
                "Knows callers by their client certificates.",
                Set::Flag(|settings, known| settings.authentication().certificates = known),
            ),
        ],
    },
    Section {
        path: "authentication.jwt",
        doc: "JSON Web Tokens.",
        keys: &[
            Key::live(
                "keys",
                "none",
                "Public keys: a set in JSON (JWKS), or a key in PEM (`.pem`).",
                Set::File(|settings, file| settings.jwt().keys = Some(file)),
            ),
            Key::live(
                "secret-env",
                "none",
                "The environment variable with the secret of HS256, in place of keys.",
                Set::Text(|settings, name| {
                    settings.jwt().secret = Some(name);
                    Ok(())
                }),
            ),
            Key::live(
                "issuer",
                "none",
                "The claim `iss` that tokens have to have.",
                Set::Text(|settings, issuer| {
                    settings.jwt().issuer = issuer;
                    Ok(())
                }),
            ),
            Key::live(
                "audience",
                "none",
                "The claim `aud` that tokens have to have.",
                Set::Text(|settings, audience| {
                    settings.jwt().audience = audience;
                    Ok(())
                }),
            ),
            Key::live(
                "leeway",
                "\"60s\"",
                "How much the issuer's clock may differ.",
                Set::Time(|settings, leeway| settings.jwt().leeway = Some(leeway)),
            ),
            Key::live(
                "roles-claim",
                "\"roles\"",
                "The claim that has the roles.",
                Set::Text(|settings, claim| {
                    settings.jwt().roles_claim = Some(claim);
                    Ok(())
                }),
            ),
        ],
    },
    Section {
        path: "authentication.processes",
        doc: "Processes of this machine, by their users, through Unix sockets and shared memory.",
        keys: &[
            Key::live(
                "users",
                "{}",
                "Names of users by number: `{ 0 = \"root\" }`.",
                Set::Map(users),
            ),
            Key::live(
                "named-only",
                "true",
                "Knows users with names alone.",
                Set::Flag(|settings, only| settings.processes().named_only = only),
            ),
        ],
    },
    Section {
        path: "permissions",
        doc: "What callers may. Without this table everybody may call everything.",
        keys: &[
            Key::live(
                "require",
                "{}",
                "The permission that a service or a method takes: `{ \"shop.v1.Orders/place\" = \"orders.write\" }`.",
                Set::Map(|settings, require| {
                    settings.permissions().require = require;
                    Ok(())
                }),
            ),
            Key::live(
                "anyone",
                "[]",
                "Services and methods that everybody may call.",
                Set::Texts(|settings, places| {
                    settings.permissions().anyone = places;
                    Ok(())
                }),
            ),
            Key::live(
                "authenticated",
                "[]",
                "Services and methods that everybody with an identity may call.",
                Set::Texts(|settings, places| {
                    settings.permissions().authenticated = places;
                    Ok(())
                }),
            ),
            Key::live(
                "roles",
                "{}",
                "Permissions by role: `{ clerk = [\"orders.*\"] }`.",
                Set::Lists(|settings, roles| {
                    settings.permissions().roles = roles;
                    Ok(())
                }),
            ),
            Key::live(
                "assign",
                "{}",
                "Roles by the name of a principal, beside those of its credentials.",
                Set::Lists(|settings, assign| {
                    settings.permissions().assign = assign;
                    Ok(())
                }),
            ),
        ],
    },
];

const POLLING: &[&str] = &["adaptive", "always", "never"];

const MODELS: &[&str] = &[
    "event-loops",
    "single-threaded",
    "thread-pool",
    "thread-per-connection",
];
