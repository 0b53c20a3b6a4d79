//! The text forms of constants that have no syntax of their own.

/// `00112233-4455-6677-8899-aabbccddeeff`, also in braces or without hyphens.
pub(crate) fn uuid(text: &str) -> Option<[u8; 16]> {
    let inner = text
        .strip_prefix('{')
        .and_then(|text| text.strip_suffix('}'))
        .unwrap_or(text);
    let bytes = inner.as_bytes();
    let hyphens = [8, 13, 18, 23];
    let digits: Vec<u8> = match bytes.len() {
        36 if hyphens.iter().all(|at| bytes[*at] == b'-') => {
            let at = |at: &usize| !hyphens.contains(at);
            (0..36).filter(at).map(|at| bytes[at]).collect()
        }
        32 => bytes.to_vec(),
        _ => return None,
    };
    let mut uuid = [0; 16];
    for (byte, pair) in uuid.iter_mut().zip(digits.chunks_exact(2)) {
        let digit = |digit: u8| char::from(digit).to_digit(16);
        *byte = (digit(pair[0])? * 16 + digit(pair[1])?) as u8;
    }
    Some(uuid)
}

/// `-12.50`, `1e-7`.
pub(crate) fn decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let exponent = exponent.map(|exponent| exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let some = |text: &str| !text.is_empty() && digits(text);
    digits(whole)
        && some(fraction)
        && exponent.is_none_or(|e| some(e) && e.len() <= 6)
        && !number.is_empty()
}

/// `2026-11-20`.
pub(crate) fn date(text: &str) -> bool {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return false;
    }
    let (Some(year), Some(month), Some(day)) = (
        number(&bytes[..4]),
        number(&bytes[5..7]),
        number(&bytes[8..]),
    ) else {
        return false;
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return false,
    };
    (1..=days).contains(&day)
}

/// `2026-11-20T22:47:36.5Z`, or with an offset such as `+01:00` unless it must be UTC.
pub(crate) fn timestamp(text: &str, utc: bool) -> bool {
    let (Some(day), Some(rest)) = (text.get(..10), text.get(10..)) else {
        return false;
    };
    let Some(rest) = rest.strip_prefix(['T', 't', ' ']) else {
        return false;
    };
    let zone = rest.find(['Z', 'z', '+', '-']).unwrap_or(rest.len());
    let (time, zone) = rest.split_at(zone);
    let zone = match zone.as_bytes() {
        b"Z" | b"z" => true,
        [b'+' | b'-', hours @ .., b':', m1, m2] if !utc && hours.len() == 2 => {
            number(hours).is_some_and(|hours| hours < 24)
                && number(&[*m1, *m2]).is_some_and(|minutes| minutes < 60)
        }
        _ => false,
    };
    date(day) && clock(time) && zone
}

/// `22:47:36.123456789`
fn clock(text: &str) -> bool {
    let (time, fraction) = match text.split_once('.') {
        Some((time, fraction)) => (time, Some(fraction)),
        None => (text, None),
    };
    let bytes = time.as_bytes();
    let whole = bytes.len() == 8 && bytes[2] == b':' && bytes[5] == b':';
    let part = |at: usize, limit: u32| number(&bytes[at..at + 2]).is_some_and(|n| n < limit);
    let fraction =
        fraction.is_none_or(|f| (1..=9).contains(&f.len()) && number(f.as_bytes()).is_some());
    whole && part(0, 24) && part(3, 60) && part(6, 60) && fraction
}

/// `P1DT2H3M4.5S`, `-PT0.25S`: weeks and shorter, since months have no length.
pub(crate) fn duration(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let Some(text) = text.strip_prefix('P') else {
        return false;
    };
    let (days, time) = match text.split_once('T') {
        Some((_, "")) => return false,
        Some((days, time)) => (days, time),
        None => (text, ""),
    };
    !(days.is_empty() && time.is_empty()) && parts(days, "WD", false) && parts(time, "HMS", true)
}

/// Numbers, each followed by one of the units, in their order; the last unit may have a fraction.
fn parts(mut text: &str, mut units: &str, fraction: bool) -> bool {
    while !text.is_empty() {
        let end = text
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len());
        let (amount, rest) = text.split_at(end);
        let Some(unit) = rest.chars().next() else {
            return false;
        };
        let Some(place) = units.find(unit) else {
            return false;
        };
        let valid = match amount.split_once('.') {
            Some((whole, part)) => {
                fraction
                    && unit == 'S'
                    && number(whole.as_bytes()).is_some()
                    && (1..=9).contains(&part.len())
                    && number(part.as_bytes()).is_some()
            }
            None => number(amount.as_bytes()).is_some(),
        };
        if !valid {
            return false;
        }
        units = units.get(place + 1..).unwrap_or_default();
        text = rest.get(1..).unwrap_or_default();
    }
    true
}

/// Up to nine digits.
fn number(digits: &[u8]) -> Option<u32> {
    let plain = (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    plain.then(|| {
        digits
            .iter()
            .fold(0, |sum, digit| sum * 10 + u32::from(digit - b'0'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let check = |form: fn(&str) -> bool, good: &[&str], bad: &[&str]| {
            good.iter().for_each(|text| assert!(form(text), "{text}"));
            bad.iter().for_each(|text| assert!(!form(text), "{text}"));
        };
        let uuids = [
            "00112233-4455-6677-8899-aabbccddeeff",
            "{00112233-4455-6677-8899-AABBCCDDEEFF}",
        ];
        check(
            |text| uuid(text).is_some(),
            &uuids,
            &["", "0011", "00112233-4455-6677-8899-aabbccddeefg"],
        );
        check(
            decimal,
            &["0", "-12.50", ".5", "1e-7"],
            &["", ".", "-", "1.", "1e", "e5", "0x1"],
        );
        check(
            date,
            &["2024-02-29", "0001-12-31"],
            &["2023-02-29", "2026-13-01", "2026-1-1", "2026-11-00"],
        );
        let utc = |text: &str| timestamp(text, true);
        check(
            utc,
            &["2026-11-20T22:47:36Z", "2026-11-20T22:47:36.5Z"],
            &[
                "2026-11-20",
                "2026-11-20T22:47:36",
                "2026-11-20T22:47:36+01:00",
                "2026-11-20T24:00:00Z",
            ],
        );
        let zoned = |text: &str| timestamp(text, false);
        check(
            zoned,
            &["2026-11-20T22:47:36+01:00"],
            &["2026-11-20T22:47:36+1:00", "ü026-11-20T22:47:36Z"],
        );
        check(
            duration,
            &["PT1.5S", "-P1DT12H", "P2W", "PT0S"],
            &["", "P", "PT", "1s", "P1M", "PT1.5H", "PT1S2M", "PTS"],
        );
    }
}
