//! Makes the parts of a server from settings. It reads the files that they name, and reports
//! problems at the place of the key.

use super::document::{Problem, Span};
use super::quotas::{self, QuotaSettings};
use super::settings::{Authenticated, Jwt, Permitted, Processes, Settings};
use crate::identity::{self, Authentication, Certificates, JwtKeys, Permissions, Tokens};
use crate::throttle::Throttle;
use crate::tls::{ClientCertificate, ServerTls};
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

/// The parts of a server that a reload makes anew.
pub(super) struct Parts {
    pub(super) tls: Option<ServerTls>,
    pub(super) authentication: Option<Authentication>,
    pub(super) throttle: Option<Throttle>,
    pub(super) permissions: Option<Permissions>,
}

/// Makes parts, and notes problems with the place of the key.
pub(super) struct Maker<'a> {
    pub(super) places: &'a BTreeMap<String, Span>,
    pub(super) problems: Vec<Problem>,
}

impl Maker<'_> {
    pub(super) fn problem(&mut self, path: &str, message: impl Into<String>) {
        let span = self.places.get(path).cloned().unwrap_or_default();
        self.problems.push(Problem::new(span, message));
    }

    /// The value, or `None` with a problem.
    fn take<T, E: ToString>(&mut self, path: &str, made: Result<T, E>) -> Option<T> {
        made.map_err(|error| self.problem(path, error.to_string()))
            .ok()
    }

    pub(super) fn parts(
        &mut self,
        settings: &Settings,
        quotas: &BTreeMap<String, QuotaSettings>,
    ) -> Parts {
        Parts {
            tls: self.tls(settings),
            authentication: settings
                .authentication
                .as_ref()
                .map(|settings| self.authentication(settings)),
            throttle: quotas::throttle(quotas, self),
            permissions: settings.permissions.as_ref().map(permissions),
        }
    }

    fn tls(&mut self, settings: &Settings) -> Option<ServerTls> {
        let (certificate, key) = match (&settings.certificate, &settings.key) {
            (Some(certificate), Some(key)) => (certificate, key),
            (None, None) => {
                if settings.client_roots.is_some() {
                    self.problem("server.tls", "TLS needs a `certificate` and a `key`");
                }
                return None;
            }
            _ => {
                self.problem("server.tls", "`certificate` and `key` belong together");
                return None;
            }
        };
        let tls = ServerTls::new(certificate.as_path(), key.as_path());
        let tls = self.take("server.tls.certificate", tls)?;
        let Some(roots) = &settings.client_roots else {
            return Some(tls);
        };
        let wanted = match settings.client_certificates {
            Some("optional") => ClientCertificate::Optional,
            _ => ClientCertificate::Required,
        };
        let tls = tls.clients(roots.as_path(), wanted);
        self.take("server.tls.client-roots", tls)
    }

    fn authentication(&mut self, settings: &Authenticated) -> Authentication {
        let mut made = Authentication::new();
        if let Some(file) = &settings.tokens
            && let Some(tokens) = self.take("authentication.tokens", Tokens::from_file(file))
        {
            made = made.by(tokens);
        }
        if let Some(jwt) = &settings.jwt
            && let Some(jwt) = self.jwt(jwt)
        {
            made = made.by(jwt);
        }
        if settings.certificates {
            made = made.by(Certificates::new());
        }
        if let Some(processes) = &settings.processes {
            made = made.by(known_processes(processes));
        }
        let except = settings.except.iter();
        made = except.fold(made, |made, place| made.except(place));
        match settings.optional {
            true => made.optional(),
            false => made,
        }
    }

    fn jwt(&mut self, settings: &Jwt) -> Option<identity::Jwt> {
        let place = "authentication.jwt";
        for (name, value) in [
            ("issuer", &settings.issuer),
            ("audience", &settings.audience),
        ] {
            if value.is_empty() {
                self.problem(
                    place,
                    format!("`{name}` is missing: tokens of any would be taken"),
                );
            }
        }
        let keys = match (&settings.keys, &settings.secret) {
            (Some(file), None) => {
                let keys = match is_pem(file) {
                    true => JwtKeys::from_pem_file(file),
                    false => JwtKeys::from_jwks_file(file),
                };
                self.take("authentication.jwt.keys", keys)?
            }
            (None, Some(name)) => {
                let at = "authentication.jwt.secret-env";
                let Some(secret) = env::var_os(name) else {
                    self.problem(at, format!("the environment has no `{name}`"));
                    return None;
                };
                self.take(at, JwtKeys::from_secret(secret.as_encoded_bytes()))?
            }
            _ => {
                self.problem(
                    place,
                    "either `keys` or `secret-env` says how tokens are signed",
                );
                return None;
            }
        };
        let made = identity::Jwt::new(keys, &settings.issuer, &settings.audience);
        let made = match settings.leeway {
            Some(leeway) => made.leeway(leeway),
            None => made,
        };
        Some(match &settings.roles_claim {
            Some(claim) => made.roles_claim(claim),
            None => made,
        })
    }
}

fn is_pem(file: &Path) -> bool {
    file.extension().is_some_and(|ending| ending == "pem")
}

fn known_processes(settings: &Processes) -> identity::Processes {
    let users = settings.users.iter();
    let processes = identity::Processes::new();
    let processes = users.fold(processes, |known, (uid, name)| known.user(*uid, name));
    match settings.named_only {
        true => processes.named_only(),
        false => processes,
    }
}

fn permissions(settings: &Permitted) -> Permissions {
    let mut made = Permissions::new();
    for (place, permission) in &settings.require {
        made = made.require(place, permission.as_str());
    }
    for place in &settings.anyone {
        made = made.allow_anyone(place);
    }
    for place in &settings.authenticated {
        made = made.allow_authenticated(place);
    }
    for (role, granted) in &settings.roles {
        made = made.role(role, granted.iter().map(String::as_str));
    }
    for (name, roles) in &settings.assign {
        made = made.assign(name, roles.iter().map(String::as_str));
    }
    made
}

/// The files that settings name, for those who look whether they have changed.
pub(super) fn files(settings: &Settings) -> Vec<PathBuf> {
    let authentication = settings.authentication.as_ref();
    let jwt = authentication.and_then(|settings| settings.jwt.as_ref());
    let named = [
        &settings.certificate,
        &settings.key,
        &settings.client_roots,
        &authentication.and_then(|settings| settings.tokens.clone()),
        &jwt.and_then(|jwt| jwt.keys.clone()),
    ];
    named.into_iter().flatten().cloned().collect()
}
