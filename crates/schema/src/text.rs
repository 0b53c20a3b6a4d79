//! The text forms of constants that have no syntax of their own, in numbers. `None` is for what is
//! no such constant, or beyond what the type can hold.

/// The largest number without its point that a decimal can have: 96 bits.
const MAX_DIGITS: i128 = (1 << 96) - 1;

/// Digits behind the point of a decimal, at most.
const MAX_SCALE: i64 = 28;

/// 9999-12-30T22:00:00Z, the last second that is in the year 9999 everywhere.
const LAST_SECOND: i64 = 253_402_207_200;

const DAY: i64 = 24 * 60 * 60;

/// An instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Instant {
    /// Seconds since 1970, UTC.
    pub seconds: i64,
    /// Nanoseconds after that.
    pub nanos: i32,
    /// Seconds by which local time is ahead of UTC.
    pub offset: i32,
}

/// `-12.50` as the number without its point and how many digits are behind that; also `1e-7`.
pub fn decimal(text: &str) -> Option<(i128, u32)> {
    let (negative, text) = sign(text);
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, self::exponent(exponent)?),
        None => (text, 0),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let dangling = digits.ends_with('.') || digits.is_empty();
    if dangling || digits.len() > 64 {
        return None;
    }
    let mut number = 0_i128;
    for digit in whole.bytes().chain(fraction.bytes()) {
        let digit = digit.is_ascii_digit().then(|| i128::from(digit - b'0'))?;
        number = number.checked_mul(10)?.checked_add(digit)?;
    }
    let scale = fraction.len() as i64 - exponent;
    let zeros = u32::try_from(-scale).unwrap_or(0);
    if number != 0 {
        number = number.checked_mul(10_i128.checked_pow(zeros)?)?;
    }
    let scale = scale.max(0);
    let fits = number <= MAX_DIGITS && scale <= MAX_SCALE;
    fits.then_some((if negative { -number } else { number }, scale as u32))
}

fn exponent(text: &str) -> Option<i64> {
    let (negative, digits) = sign(text);
    let exponent = i64::from(number(digits.as_bytes())?);
    Some(if negative { -exponent } else { exponent })
}

fn sign(text: &str) -> (bool, &str) {
    let negative = text.starts_with('-');
    (negative, text.strip_prefix(['+', '-']).unwrap_or(text))
}

/// `2026-11-20` as year, month and day.
pub fn date(text: &str) -> Option<(i16, i8, i8)> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year = number(&bytes[..4])?;
    let month = number(&bytes[5..7])?;
    let day = number(&bytes[8..])?;
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let days = match month {
        2 if leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    let valid = (1..=days).contains(&day);
    valid.then_some((year as i16, month as i8, day as i8))
}

/// Days since 1970-01-01. Years begin in March here, so that the day that not all of them have is
/// the last.
fn days((year, month, day): (i16, i8, i8)) -> i64 {
    let (year, month, day) = (i64::from(year), i64::from(month), i64::from(day));
    let year = if month <= 2 { year - 1 } else { year };
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let leaps = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    365 * year + leaps + of_year - 719_468
}

/// `2026-11-20T22:47:36.5Z`, or with an offset such as `+01:00` unless it must be UTC.
pub fn timestamp(text: &str, utc: bool) -> Option<Instant> {
    let (day, rest) = (text.get(..10)?, text.get(10..)?);
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let zone = rest.find(['Z', 'z', '+', '-'])?;
    let (time, zone) = rest.split_at(zone);
    let offset = match zone.as_bytes() {
        b"Z" | b"z" => 0,
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] if !utc => {
            let hours = number(&[*h1, *h2]).filter(|hours| *hours < 24)?;
            let minutes = number(&[*m1, *m2]).filter(|minutes| *minutes < 60)?;
            let offset = (hours * 3600 + minutes * 60) as i32;
            if *sign == b'-' { -offset } else { offset }
        }
        _ => return None,
    };
    let (second, nanos) = clock(time)?;
    let seconds = days(date(day)?) * DAY + second - i64::from(offset);
    (seconds < LAST_SECOND).then_some(Instant {
        seconds,
        nanos,
        offset,
    })
}

/// `22:47:36.123456789` as seconds and nanoseconds.
fn clock(text: &str) -> Option<(i64, i32)> {
    let (time, nanos) = match text.split_once('.') {
        Some((time, fraction)) => (time, self::fraction(fraction)?),
        None => (text, 0),
    };
    let bytes = time.as_bytes();
    if bytes.len() != 8 || bytes[2] != b':' || bytes[5] != b':' {
        return None;
    }
    let part = |at: usize, limit: u32| number(&bytes[at..at + 2]).filter(|part| *part < limit);
    let seconds = part(0, 24)? * 3600 + part(3, 60)? * 60 + part(6, 60)?;
    Some((seconds.into(), nanos))
}

/// One to nine digits behind a point, in nanoseconds.
fn fraction(digits: &str) -> Option<i32> {
    let missing = 9_usize.checked_sub(digits.len())?;
    let nanos = number(digits.as_bytes())? * 10_u32.pow(missing as u32);
    Some(nanos as i32)
}

/// `P1DT2H3M4.5S`, `-PT0.25S` as seconds and nanoseconds of one sign: weeks and shorter, since
/// months have no length.
pub fn duration(text: &str) -> Option<(i64, i32)> {
    let (negative, text) = sign(text);
    let text = text.strip_prefix('P')?;
    let (days, time) = match text.split_once('T') {
        Some((_, "")) => return None,
        Some((days, time)) => (days, time),
        None => (text, ""),
    };
    if days.is_empty() && time.is_empty() {
        return None;
    }
    let (days, _) = parts(days, &[('W', 7 * DAY), ('D', DAY)])?;
    let (seconds, nanos) = parts(time, &[('H', 3600), ('M', 60), ('S', 1)])?;
    let seconds = days + seconds;
    Some(match negative {
        true => (-seconds, -nanos),
        false => (seconds, nanos),
    })
}

/// Numbers, each followed by one of the units, in their order; that of seconds may have a fraction.
fn parts(mut text: &str, mut units: &[(char, i64)]) -> Option<(i64, i32)> {
    let (mut seconds, mut nanos) = (0, 0);
    while !text.is_empty() {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (amount, rest) = text.split_at(end);
        let unit = rest.chars().next()?;
        let place = units.iter().position(|(name, _)| *name == unit)?;
        let whole = match amount.split_once('.') {
            Some((whole, part)) if unit == 'S' => {
                nanos = fraction(part)?;
                whole
            }
            _ => amount,
        };
        seconds += i64::from(number(whole.as_bytes())?) * units[place].1;
        units = &units[place + 1..];
        text = &rest[1..];
    }
    Some((seconds, nanos))
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
    use std::fmt::Debug;

    fn check<T: PartialEq + Debug>(form: fn(&str) -> Option<T>, good: &[(&str, T)], bad: &[&str]) {
        for (text, expected) in good {
            assert_eq!(form(text).as_ref(), Some(expected), "{text}");
        }
        for text in bad {
            assert_eq!(form(text), None, "{text}");
        }
    }

    #[test]
    fn decimals() {
        let largest = "79228162514264337593543950335";
        let good = [
            ("0", (0, 0)),
            ("-12.50", (-1250, 2)),
            (".5", (5, 1)),
            ("+7", (7, 0)),
            ("1e-7", (1, 7)),
            ("1.5E3", (1500, 0)),
            ("0e999", (0, 0)),
            (largest, (MAX_DIGITS, 0)),
        ];
        let long = "1".repeat(1000);
        let bad = [
            "",
            ".",
            "-",
            "1.",
            "1e",
            "e5",
            "0x1",
            "1.2.3",
            "ü",
            "1e-29",
            "1e29",
            "1e999999999",
            "79228162514264337593543950336",
            &long,
        ];
        check(decimal, &good, &bad);
    }

    #[test]
    fn dates() {
        let good = [("2024-02-29", (2024, 2, 29)), ("0001-12-31", (1, 12, 31))];
        let bad = ["2023-02-29", "2026-13-01", "2026-1-1", "2026-11-00"];
        check(date, &good, &bad);
        let rows = [
            ("1970-01-01", 0),
            ("1969-12-31", -1),
            ("2000-03-01", 11_017),
            ("2026-11-20", 20_777),
            ("0000-01-01", -719_528),
            ("9999-12-31", 2_932_896),
        ];
        for (text, expected) in rows {
            assert_eq!(date(text).map(days), Some(expected), "{text}");
        }
    }

    #[test]
    fn timestamps() {
        let instant = |seconds, nanos, offset| Instant {
            seconds,
            nanos,
            offset,
        };
        let utc = |text: &str| timestamp(text, true);
        let good = [
            ("1970-01-01T00:00:00Z", instant(0, 0, 0)),
            (
                "2026-11-20T22:47:36.5Z",
                instant(1_795_214_856, 500_000_000, 0),
            ),
            ("1969-12-31 23:59:59.000000001z", instant(-1, 1, 0)),
        ];
        let bad = [
            "2026-11-20",
            "2026-11-20T22:47:36",
            "2026-11-20T22:47:36+01:00",
            "2026-11-20T24:00:00Z",
            "2026-11-20T22:47:36.Z",
            "2026-11-20T22:47:36.1234567890Z",
            "9999-12-31T00:00:00Z",
        ];
        check(utc, &good, &bad);
        let zoned = |text: &str| timestamp(text, false);
        let good = [(
            "2026-11-20T22:47:36-01:30",
            instant(1_795_220_256, 0, -5400),
        )];
        check(
            zoned,
            &good,
            &["2026-11-20T22:47:36+1:00", "ü026-11-20T22:47:36Z"],
        );
    }

    #[test]
    fn durations() {
        let good = [
            ("PT1.5S", (1, 500_000_000)),
            ("-P1DT12H", (-129_600, 0)),
            ("P2W", (1_209_600, 0)),
            ("-PT0.25S", (0, -250_000_000)),
            ("P1W2DT3H4M5S", (604_800 + 2 * DAY + 3 * 3600 + 245, 0)),
        ];
        let bad = [
            "", "P", "PT", "1s", "P1M", "PT1.5H", "PT1S2M", "PTS", "P1", "PT1ü",
        ];
        check(duration, &good, &bad);
    }
}
