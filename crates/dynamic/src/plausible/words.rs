//! Guesses the contents of a field from its name.

use super::Random;

const FIRST_NAMES: &[&str] = &[
    "Ada",
    "Alan",
    "Barbara",
    "Dennis",
    "Edsger",
    "Frances",
    "Grace",
    "Katherine",
    "Ken",
    "Leslie",
    "Margaret",
    "Radia",
];
const LAST_NAMES: &[&str] = &[
    "Lovelace", "Turing", "Liskov", "Ritchie", "Dijkstra", "Allen", "Hopper", "Johnson",
    "Thompson", "Lamport", "Hamilton", "Perlman",
];
const CITIES: &[&str] = &[
    "Berlin", "Helsinki", "Kyoto", "Lisbon", "Nairobi", "Toronto", "Zürich",
];
const COUNTRIES: &[&str] = &["CA", "CH", "DE", "FI", "JP", "KE", "PT"];
const STREETS: &[&str] = &[
    "Mill Lane",
    "Station Road",
    "High Street",
    "Harbour View",
    "Elm Row",
];
const CURRENCIES: &[&str] = &["EUR", "USD", "CHF", "JPY"];
const LANGUAGES: &[&str] = &["en", "de", "fi", "ja", "pt"];
const COLORS: &[&str] = &["blue", "crimson", "green", "orange", "teal"];
const STATES: &[&str] = &["active", "pending", "done"];
const COMPANIES: &[&str] = &["Acme", "Globex", "Initech", "Umbrella", "Wayne"];
const PRODUCTS: &[&str] = &[
    "Desk lamp",
    "Walnut table",
    "Oak shelf",
    "Brass hinge",
    "Dovetail saw",
];
const TITLES: &[&str] = &[
    "A short history of everything",
    "Notes on joinery",
    "The second draft",
    "What we learned",
];
const SENTENCES: &[&str] = &[
    "All systems are fine.",
    "Measured twice, cut once.",
    "See the attached notes.",
    "Thanks for the quick reply.",
    "This one is worth a second look.",
];
const WORDS: &[&str] = &[
    "amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "harbor", "iris", "juniper",
];

/// The kind of thing that a name promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Topic {
    Email,
    Url,
    Host,
    Ip,
    Path,
    Phone,
    Person,
    FirstName,
    LastName,
    Login,
    City,
    Country,
    Street,
    Postcode,
    Currency,
    Language,
    Color,
    State,
    Company,
    Product,
    Title,
    Sentence,
    Token,
    Id,
    Time,
    Date,
    Version,
    Count,
    Age,
    Year,
    Port,
    Percent,
    Money,
    Ratio,
    Latitude,
    Longitude,
    Temperature,
    Code,
    Size,
    Duration,
    Name,
    Other,
}

/// The first row with a word that the name ends in (or, failing that, contains) decides.
const TOPICS: &[(Topic, &[&str])] = &[
    (Topic::Email, &["email", "mail"]),
    (
        Topic::Url,
        &["url", "uri", "link", "website", "homepage", "href"],
    ),
    (Topic::Host, &["host", "hostname", "domain", "server"]),
    (Topic::Ip, &["ip", "addr", "ipaddress"]),
    (
        Topic::Path,
        &["path", "file", "filename", "dir", "directory", "folder"],
    ),
    (Topic::Phone, &["phone", "tel", "mobile", "fax"]),
    (Topic::FirstName, &["firstname", "first", "given"]),
    (Topic::LastName, &["lastname", "surname", "last", "family"]),
    (
        Topic::Login,
        &[
            "login",
            "username",
            "nickname",
            "nick",
            "handle",
            "screenname",
        ],
    ),
    (Topic::Id, &["id", "ids", "key", "uid", "pk"]),
    (
        Topic::Token,
        &[
            "token",
            "hash",
            "checksum",
            "digest",
            "signature",
            "uuid",
            "guid",
            "secret",
            "etag",
            "cursor",
            "sha",
        ],
    ),
    (
        Topic::Time,
        &[
            "time",
            "timestamp",
            "at",
            "when",
            "ts",
            "created",
            "updated",
            "modified",
            "expires",
            "since",
            "until",
        ],
    ),
    (Topic::Date, &["date", "day", "birthday"]),
    (Topic::City, &["city", "town", "place"]),
    (Topic::Country, &["country", "nation", "region"]),
    (Topic::Street, &["street", "address", "line1"]),
    (Topic::Postcode, &["zip", "zipcode", "postcode", "postal"]),
    (Topic::Currency, &["currency"]),
    (Topic::Language, &["language", "lang", "locale"]),
    (Topic::Color, &["color", "colour"]),
    (Topic::State, &["status", "state", "phase"]),
    (
        Topic::Company,
        &[
            "company",
            "organization",
            "organisation",
            "org",
            "employer",
            "vendor",
            "brand",
        ],
    ),
    (Topic::Product, &["product", "item", "article", "sku"]),
    (
        Topic::Title,
        &["title", "subject", "headline", "caption", "topic"],
    ),
    (
        Topic::Sentence,
        &[
            "description",
            "message",
            "comment",
            "text",
            "body",
            "note",
            "notes",
            "summary",
            "content",
            "reason",
            "bio",
            "why",
            "error",
            "details",
            "msg",
            "greeting",
        ],
    ),
    (Topic::Version, &["version", "release"]),
    (Topic::Latitude, &["lat", "latitude"]),
    (Topic::Longitude, &["lon", "lng", "longitude"]),
    (Topic::Temperature, &["temperature", "temp", "celsius"]),
    (Topic::Age, &["age"]),
    (Topic::Year, &["year"]),
    (Topic::Port, &["port"]),
    (Topic::Percent, &["percent", "percentage", "pct"]),
    (
        Topic::Money,
        &[
            "price", "amount", "cost", "total", "balance", "cents", "fee", "salary", "sum",
        ],
    ),
    (
        Topic::Ratio,
        &[
            "ratio",
            "rate",
            "probability",
            "score",
            "weight",
            "confidence",
            "factor",
        ],
    ),
    (
        Topic::Duration,
        &[
            "duration", "elapsed", "latency", "timeout", "millis", "ms", "seconds", "secs",
            "interval", "ttl", "uptime",
        ],
    ),
    (Topic::Size, &["size", "length", "len", "bytes", "capacity"]),
    (
        Topic::Count,
        &[
            "count", "number", "no", "num", "quantity", "qty", "n", "limit", "offset", "index",
            "page", "rank", "level", "stars",
        ],
    ),
    (Topic::Code, &["code", "errno"]),
    (
        Topic::Person,
        &[
            "person",
            "user",
            "author",
            "owner",
            "customer",
            "employee",
            "contact",
            "member",
            "sender",
            "recipient",
            "manager",
            "fullname",
            "displayname",
            "student",
            "friend",
            "actor",
        ],
    ),
    (Topic::Name, &["name", "label"]),
];

/// Nobody's clock: sample data are the same on every run.
const EPOCH: i64 = 1_767_225_600;

/// The words of `userId`, `user_id` and `UserID`, in lower case.
fn split(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut lower_before = false;
    let mut start = true;
    for c in name.chars() {
        if !c.is_alphanumeric() {
            start = true;
            continue;
        }
        if start || (c.is_uppercase() && lower_before) {
            words.push(String::new());
        }
        start = false;
        lower_before = c.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(c.to_lowercase());
        }
    }
    words
}

fn topic(name: &str) -> Topic {
    let words = split(name);
    let of = |word: &str| {
        let row = TOPICS.iter().find(|(_, known)| known.contains(&word));
        row.map(|(topic, _)| *topic)
    };
    // `first_name`, `ip_address`: two words that are one.
    let joined = words.windows(2).map(|pair| pair.concat()).next_back();
    let found = joined.as_deref().and_then(of);
    let found = found.or_else(|| words.iter().rev().find_map(|word| of(word)));
    match found {
        Some(Topic::Name) => whose(&words),
        Some(topic) => topic,
        None => Topic::Other,
    }
}

/// Returns the thing that a plain `name` belongs to, by the words before it.
fn whose(words: &[String]) -> Topic {
    let of = |word: &String| {
        let (topic, _) = TOPICS
            .iter()
            .find(|(_, known)| known.contains(&word.as_str()))?;
        let telling = [
            Topic::Person,
            Topic::Company,
            Topic::Product,
            Topic::City,
            Topic::Path,
            Topic::Host,
            Topic::Color,
            Topic::Country,
            Topic::Login,
        ];
        telling.contains(topic).then_some(*topic)
    };
    words.iter().rev().find_map(of).unwrap_or(Topic::Name)
}

/// A field's name with what is known about its owner, most telling words last. The `its` keeps a
/// `User`'s `name` from reading as `username`.
pub(super) fn qualified(owner: &str, role: &str, field: &str) -> String {
    match topic(field) {
        Topic::Name => format!("{role}_{owner}_its_{field}"),
        _ => field.to_owned(),
    }
}

/// True for `id` and `orderId`.
pub(super) fn identifies(field: &str) -> bool {
    topic(field) == Topic::Id
}

/// The name of one element of a container.
pub(super) fn singular(name: &str) -> String {
    match name.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None if name.ends_with("ss") => name.to_owned(),
        None => name.strip_suffix('s').unwrap_or(name).to_owned(),
    }
}

pub(super) fn text(name: &str, random: &mut Random) -> String {
    let person =
        |random: &mut Random| format!("{} {}", random.pick(FIRST_NAMES), random.pick(LAST_NAMES));
    match topic(name) {
        Topic::Email => {
            let (first, last) = (random.pick(FIRST_NAMES), random.pick(LAST_NAMES));
            format!("{first}.{last}@example.com").to_lowercase()
        }
        Topic::Url => {
            let (word, number) = (random.pick(WORDS), random.within(1, 999));
            format!("https://example.com/{word}/{number}")
        }
        Topic::Host => format!("{}.example.com", random.pick(WORDS)),
        Topic::Ip => format!("192.0.2.{}", random.within(1, 254)),
        Topic::Path => format!("/srv/{}/{}.txt", random.pick(WORDS), random.pick(WORDS)),
        Topic::Phone => format!("+1 555 01{:02}", random.within(0, 99)),
        Topic::Person => person(random),
        Topic::FirstName => random.pick(FIRST_NAMES).to_owned(),
        Topic::LastName => random.pick(LAST_NAMES).to_owned(),
        Topic::Login => random.pick(FIRST_NAMES).to_lowercase(),
        Topic::City => random.pick(CITIES).to_owned(),
        Topic::Country => random.pick(COUNTRIES).to_owned(),
        Topic::Street => format!("{} {}", random.within(1, 99), random.pick(STREETS)),
        Topic::Postcode => format!("{:05}", random.within(10_000, 99_999)),
        Topic::Currency => random.pick(CURRENCIES).to_owned(),
        Topic::Language => random.pick(LANGUAGES).to_owned(),
        Topic::Color => random.pick(COLORS).to_owned(),
        Topic::State => random.pick(STATES).to_owned(),
        Topic::Company => random.pick(COMPANIES).to_owned(),
        Topic::Product => random.pick(PRODUCTS).to_owned(),
        Topic::Title => random.pick(TITLES).to_owned(),
        Topic::Sentence => random.pick(SENTENCES).to_owned(),
        Topic::Token => format!("{:016x}", random.next()),
        Topic::Id => format!("{}-{}", random.pick(WORDS), random.within(1000, 9999)),
        Topic::Time => timestamp(random),
        Topic::Date => timestamp(random)[..10].to_owned(),
        Topic::Version => format!(
            "{}.{}.{}",
            random.within(1, 4),
            random.within(0, 9),
            random.within(0, 9)
        ),
        _ => random.pick(WORDS).to_owned(),
    }
}

/// A moment of January 2026, so that no calendar is needed.
fn timestamp(random: &mut Random) -> String {
    let day = random.within(1, 31);
    let (hour, minute, second) = (
        random.within(0, 23),
        random.within(0, 59),
        random.within(0, 59),
    );
    format!("2026-01-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// A number from zero to `most`.
pub(super) fn integer(name: &str, random: &mut Random, most: i64) -> i64 {
    let (least, greatest) = match topic(name) {
        Topic::Id | Topic::Token => (1, 9_999),
        Topic::Age => (18, 80),
        Topic::Year => (1990, 2026),
        Topic::Port => (1024, 49_151),
        Topic::Percent => (0, 100),
        Topic::Money => (100, 99_999),
        Topic::Size => (1, 65_536),
        Topic::Duration => (1, 5_000),
        Topic::Code => (200, 204),
        Topic::Count => (1, 20),
        Topic::Postcode => (10_000, 99_999),
        Topic::Time if most == i64::MAX => return (EPOCH + random.within(0, 2_592_000)) * 1000,
        Topic::Time | Topic::Date => (EPOCH, EPOCH + 2_592_000),
        _ => (0, 999),
    };
    let most = most.min(greatest);
    random.within(least.min(most), most)
}

pub(super) fn float(name: &str, random: &mut Random) -> f64 {
    let (least, most, per_unit) = match topic(name) {
        Topic::Latitude => (-90, 90, 10_000),
        Topic::Longitude => (-180, 180, 10_000),
        Topic::Ratio => (0, 1, 1000),
        Topic::Percent => (0, 100, 10),
        Topic::Temperature => (-10, 35, 10),
        Topic::Money => (1, 1000, 100),
        Topic::Time => return EPOCH as f64 + random.within(0, 2_592_000) as f64,
        _ => (0, 100, 100),
    };
    random.within(least * per_unit, most * per_unit) as f64 / per_unit as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_topic() {
        let rows = [
            ("email", Topic::Email),
            ("userId", Topic::Id),
            ("created_at", Topic::Time),
            ("first_name", Topic::FirstName),
            ("customerName", Topic::Person),
            ("ip_address", Topic::Ip),
            ("homepageUrl", Topic::Url),
            ("itemCount", Topic::Count),
            ("name", Topic::Name),
            ("quux", Topic::Other),
        ];
        for (name, expected) in rows {
            assert_eq!(topic(name), expected, "{name}");
        }
        assert_eq!(topic(&qualified("User", "author", "name")), Topic::Person);
        assert_eq!(singular("categories"), "category");
        assert_eq!(singular("address"), "address");
    }

    #[test]
    fn numbers_stay_in_range() {
        let mut random = Random(7);
        for name in ["id", "timestamp", "port", "price", "x", "year"] {
            for most in [
                i64::from(i8::MAX),
                i64::from(i16::MAX),
                i64::from(i32::MAX),
                i64::MAX,
            ] {
                let number = integer(name, &mut random, most);
                assert!((0..=most).contains(&number), "{name}: {number}");
            }
        }
    }
}
