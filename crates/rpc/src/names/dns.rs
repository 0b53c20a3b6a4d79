#[cfg(feature = "service-config")]
use super::dns_config::ConfigClient;
use super::{Resolution, Resolver, Updates};
use dovetail_balance::Backend;
use hickory_resolver::TokioResolver;
use hickory_resolver::config::{NameServerConfig, ResolverConfig};
use hickory_resolver::lookup::Lookup;
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::proto::rr::RData;
#[cfg(feature = "service-config")]
use hickory_resolver::proto::rr::Record;
use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

/// The time between two looks at least and at most, whatever the records say. After a failure it is
/// the shortest one.
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// The port of name servers.
const PORT: u16 = 53;

/// The addresses of a host, or the servers of a service, as DNS has them.
pub(super) struct Dns {
    /// The name server to ask; `None` for those of the system.
    server: Option<SocketAddr>,
    host: String,
    /// `None` where the records have ports.
    port: Option<u16>,
    #[cfg(feature = "service-config")]
    client: ConfigClient,
}

/// The time that the look for a service config may take, which most names do not have.
#[cfg(feature = "service-config")]
const CONFIG_TIMEOUT: Duration = Duration::from_secs(1);

/// Servers, and the instant until which that is known.
type Found = (Vec<Backend>, Instant);

impl Dns {
    /// `name` is behind `dns:`, as gRPC has it: `///host:port`, `//server:53/host:port`.
    pub(super) fn new(name: &str) -> Result<Self, String> {
        let (server, rest) = match name.strip_prefix("//") {
            None => ("", name),
            Some(name) => name
                .split_once('/')
                .ok_or("write dns:///host:port, or dns://server:53/host:port")?,
        };
        let server = match server {
            "" => None,
            server => Some(
                name_server(server)
                    .ok_or("the name server is an address: dns://10.0.0.53:53/host:port")?,
            ),
        };
        let (host, port) = match rest.rsplit_once(':') {
            None if rest.starts_with('_') => (rest, None),
            Some((host, port)) if !host.is_empty() => {
                let port = port.parse().map_err(|_| format!("`{port}` is no port"))?;
                (host, Some(port))
            }
            _ => return Err("a port is missing: write dns:///host:port, or dns:///_service._tcp.host for SRV records".to_owned()),
        };
        Ok(Dns {
            server,
            host: host.trim_matches(['[', ']']).to_owned(),
            port,
            #[cfg(feature = "service-config")]
            client: ConfigClient::new(),
        })
    }

    fn resolver(&self) -> Result<TokioResolver, String> {
        let provider = TokioRuntimeProvider::default();
        let builder = match self.server {
            None => TokioResolver::builder_tokio().map_err(|error| error.to_string())?,
            Some(address) => {
                let mut server = NameServerConfig::udp_and_tcp(address.ip());
                for connection in &mut server.connections {
                    connection.port = address.port();
                }
                let config = ResolverConfig::from_name_servers(vec![server]);
                TokioResolver::builder_with_config(config, provider)
            }
        };
        builder.build().map_err(|error| error.to_string())
    }

    async fn find(&self, resolver: &TokioResolver) -> Result<Found, String> {
        match self.port {
            Some(port) => {
                let found = self.addresses(resolver, &self.host).await?;
                let (addresses, until) = found;
                let server = |ip: IpAddr| Backend::new(address(ip, port));
                Ok((addresses.into_iter().map(server).collect(), until))
            }
            None => self.services(resolver).await,
        }
    }

    async fn addresses(
        &self,
        resolver: &TokioResolver,
        host: &str,
    ) -> Result<(Vec<IpAddr>, Instant), String> {
        let found = resolver.lookup_ip(host).await;
        let found = found.map_err(|error| error.to_string())?;
        Ok((found.iter().collect(), found.valid_until()))
    }

    /// Looks for the service config of the host. An error if that could not be found out.
    #[cfg(feature = "service-config")]
    async fn service_config(&self, resolver: &TokioResolver) -> Result<Option<String>, String> {
        if self.host.parse::<IpAddr>().is_ok() {
            return Ok(None);
        }
        let name = format!("_grpc_config.{}", self.host);
        let looked = tokio::time::timeout(CONFIG_TIMEOUT, resolver.txt_lookup(name)).await;
        let found = match looked.map_err(|late| late.to_string())? {
            Ok(found) => found,
            Err(error) if error.is_no_records_found() => return Ok(None),
            Err(error) => return Err(error.to_string()),
        };
        let text = |record: &Record| match &record.data {
            RData::TXT(text) => Some(String::from_utf8_lossy(&text.txt_data.concat()).into_owned()),
            _ => None,
        };
        let records: Vec<_> = found.answers().iter().filter_map(text).collect();
        self.client.choose(&records)
    }

    #[cfg(not(feature = "service-config"))]
    async fn service_config(&self, _: &TokioResolver) -> Result<Option<String>, String> {
        Ok(None)
    }

    /// Servers by SRV records: each names a host and a port, with a priority and a weight.
    async fn services(&self, resolver: &TokioResolver) -> Result<Found, String> {
        let found = resolver.srv_lookup(self.host.as_str()).await;
        let found: Lookup = found.map_err(|error| error.to_string())?;
        let (mut servers, mut until) = (Vec::new(), found.valid_until());
        for record in found.answers() {
            let RData::SRV(service) = &record.data else {
                continue;
            };
            let host = service.target.to_utf8();
            let (addresses, valid) = self.addresses(resolver, &host).await?;
            until = until.min(valid);
            let server = |ip| {
                Backend::new(address(ip, service.port))
                    .priority(service.priority.into())
                    // A weight of 0 is a very small share (RFC 2782), not none.
                    .weight(u32::from(service.weight).max(1))
            };
            servers.extend(addresses.into_iter().map(server));
        }
        Ok((servers, until))
    }
}

fn address(ip: IpAddr, port: u16) -> String {
    format!("tcp://{}", SocketAddr::new(ip, port))
}

fn name_server(text: &str) -> Option<SocketAddr> {
    let alone = || Some(SocketAddr::new(text.parse().ok()?, PORT));
    text.parse().ok().or_else(alone)
}

impl Resolver for Dns {
    fn name(&self) -> String {
        let server = self.server.map(|server| server.to_string());
        let place = self.authority().unwrap_or_else(|| self.host.clone());
        format!("dns://{}/{place}", server.unwrap_or_default())
    }

    fn authority(&self) -> Option<String> {
        let port = self.port?;
        Some(match self.host.contains(':') {
            true => format!("[{}]:{port}", self.host),
            false => format!("{}:{port}", self.host),
        })
    }

    fn watch(&self, updates: &Updates) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return updates.failed(error),
        };
        let (mut resolver, mut config) = (None, None);
        loop {
            let made = match resolver.take() {
                Some(resolver) => Ok(resolver),
                // The system's settings may have changed since they could not be used.
                None => self.resolver(),
            };
            let found = made.and_then(|made| {
                let both = async { tokio::join!(self.find(&made), self.service_config(&made)) };
                let (found, configured) = runtime.block_on(both);
                made.clear_cache();
                resolver = Some(made);
                // A look that fails says nothing: the last config stays.
                config = configured.unwrap_or_else(|_| config.take());
                found
            });
            let pause = match found {
                Ok((servers, until)) => {
                    let service_config = config.clone();
                    updates.found(Resolution {
                        service_config,
                        ..Resolution::of(servers)
                    });
                    until.saturating_duration_since(Instant::now())
                }
                Err(why) => {
                    updates.failed(why);
                    SHORTEST
                }
            };
            if !updates.wait(pause.clamp(SHORTEST, LONGEST)) {
                return;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_grpc() {
        let rows = [
            ("///orders:9090", Ok("dns:///orders:9090")),
            ("orders:9090", Ok("dns:///orders:9090")),
            (
                "//10.0.0.53:5353/orders:9090",
                Ok("dns://10.0.0.53:5353/orders:9090"),
            ),
            (
                "//10.0.0.53/orders:9090",
                Ok("dns://10.0.0.53:53/orders:9090"),
            ),
            (
                "///_orders._tcp.example.com",
                Ok("dns:///_orders._tcp.example.com"),
            ),
            ("///[::1]:9090", Ok("dns:///[::1]:9090")),
            ("///orders", Err("a port is missing")),
            ("///orders:x", Err("`x` is no port")),
            ("//orders:9090", Err("write dns:///host:port")),
            ("//names/orders:9090", Err("the name server is an address")),
        ];
        for (name, expected) in rows {
            let made = Dns::new(name).map(|dns| dns.name());
            match expected {
                Ok(expected) => assert_eq!(made.as_deref(), Ok(expected), "{name}"),
                Err(why) => assert!(made.is_err_and(|error| error.starts_with(why)), "{name}"),
            }
        }
    }
}
