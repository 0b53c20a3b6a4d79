use super::Header;
use crate::Headers;

/// Which pages of other sites may call from a browser, which asks the server first (the Fetch
/// standard calls it cross-origin resource sharing).
///
/// ```
/// use dovetail_protocol::http::Cors;
///
/// let cors = Cors::new().origin("https://shop.example").header("X-Token");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Cors {
    any: bool,
    origins: Vec<String>,
    headers: Vec<String>,
}

/// The headers that clients of Connect and gRPC-Web send beside those that every page may send.
const HEADERS: &str = "Content-Type, Content-Encoding, Connect-Protocol-Version, Connect-Timeout-Ms, \
     Connect-Content-Encoding, Connect-Accept-Encoding, Grpc-Timeout, Grpc-Encoding, Grpc-Accept-Encoding, \
     X-Grpc-Web, X-User-Agent";

/// The headers of an answer that pages may read beside those that they always may: all, or, where
/// credentials are sent, these.
const EXPOSED: &str = "*, Connect-Content-Encoding, Content-Encoding, Grpc-Encoding, Grpc-Status, Grpc-Message, \
     Grpc-Status-Details-Bin";

/// How long browsers may remember an answer, in seconds: the longest that they all do.
const MAX_AGE: u32 = 7200;

impl Cors {
    /// No page of another site.
    pub fn new() -> Self {
        Self::default()
    }

    /// The pages of all sites. For services that anybody may call.
    pub fn any() -> Self {
        Cors {
            any: true,
            ..Self::default()
        }
    }

    /// The pages of this site too: scheme, host, and port unless it is the scheme's, as in
    /// `https://shop.example`.
    #[must_use]
    pub fn origin(mut self, origin: impl Into<String>) -> Self {
        self.origins.push(origin.into());
        self
    }

    /// Pages may send this header too.
    #[must_use]
    pub fn header(mut self, name: impl Into<String>) -> Self {
        self.headers.push(name.into());
        self
    }

    /// Returns whether a page of this site may call.
    fn allows(&self, origin: &[u8]) -> bool {
        self.any || self.origins.iter().any(|known| known.as_bytes() == origin)
    }

    /// Returns whether a browser sends a request with these headers for a page that may not call;
    /// `None` allows none. Browsers ask before they send JSON, but not before all that a server
    /// understands: GET requests, and text that is Thrift's.
    ///
    /// `Sec-Fetch-Site` decides where it is there. Browsers leave it out over plain HTTP, except to
    /// their own machine; then `Origin` has to be that of the server. They send it with all
    /// requests of pages but GET and HEAD. Another site with the same domain is foreign, too.
    pub fn refuses(cors: Option<&Cors>, request: &Headers) -> bool {
        let origin = request.get("origin");
        let foreign = match request.get("sec-fetch-site") {
            Some(site) => !matches!(site, b"same-origin" | b"none"),
            None => origin.is_some_and(|origin| !is_own(origin, request)),
        };
        foreign && !cors.is_some_and(|cors| cors.allows(origin.unwrap_or_default()))
    }

    /// True for a request that browsers send for any page without asking before, by the standard's
    /// list of content types, and that does not come from a page of the server's own.
    pub fn is_unasked(request: &Headers) -> bool {
        const SIMPLE: [&[u8]; 3] = [
            b"text/plain",
            b"application/x-www-form-urlencoded",
            b"multipart/form-data",
        ];
        let kind = request.get("content-type").unwrap_or_default();
        let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
        let simple = SIMPLE
            .iter()
            .any(|simple| kind.trim_ascii().eq_ignore_ascii_case(simple));
        simple
            && !request
                .get("origin")
                .is_some_and(|origin| is_own(origin, request))
    }

    /// Returns whether a request with these headers asks for a socket for a page that may not call.
    /// Browsers ask for sockets without asking before, and old ones say of the page no more than
    /// its origin. Who says none is no browser.
    pub fn refuses_socket(cors: Option<&Cors>, request: &Headers) -> bool {
        let Some(origin) = request.get("origin") else {
            return false;
        };
        !is_own(origin, request) && !cors.is_some_and(|cors| cors.allows(origin))
    }

    /// The headers that an answer needs so that the page which sent these headers may read it.
    pub(super) fn headers(&self, request: &Headers) -> Vec<Header> {
        let origin = request.get("origin");
        let vary = || ("Vary".into(), "Origin".into());
        let allowed = match origin {
            None if self.any => return Vec::new(),
            None => return vec![vary()],
            Some(_) if self.any => vec![(ALLOW_ORIGIN.into(), "*".into())],
            Some(origin) => {
                let mut known = self.origins.iter();
                match known.find(|known| known.as_bytes() == origin) {
                    Some(known) => vec![(ALLOW_ORIGIN.into(), known.clone().into()), vary()],
                    None => return vec![vary()],
                }
            }
        };
        let exposed = ("Access-Control-Expose-Headers".into(), EXPOSED.into());
        allowed.into_iter().chain([exposed]).collect()
    }

    /// The headers beside those that tell a page what it may send.
    pub(crate) fn preflight(&self) -> Vec<Header> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
        let more = self.headers.iter();
        let more = more.filter(|name| name.bytes().all(is_name));
        let more: String = more.map(|name| format!(", {name}")).collect();
        vec![
            ("Access-Control-Allow-Methods".into(), "GET, POST".into()),
            (
                "Access-Control-Allow-Headers".into(),
                format!("{HEADERS}{more}").into(),
            ),
            ("Access-Control-Max-Age".into(), MAX_AGE.to_string().into()),
        ]
    }
}

/// Returns whether a page comes from the server that receives its request.
fn is_own(origin: &[u8], request: &Headers) -> bool {
    let place = origin.splitn(2, |byte| *byte == b':').nth(1);
    let place = place.and_then(|place| place.strip_prefix(b"//"));
    let own = request.get("host").zip(place);
    own.is_some_and(|(host, place)| host.eq_ignore_ascii_case(place))
}

const ALLOW_ORIGIN: &str = "Access-Control-Allow-Origin";
