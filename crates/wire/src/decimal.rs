//! Decimal numbers, as `rust_decimal` has them.

use crate::description::{Logical, Named, Type};
use crate::{DecodeError, EncodeError, Kind, Reader, Value, Writer};

pub use rust_decimal::Decimal;

/// Characters of a decimal, at most: 28 digits, a sign, a point, and room for an exponent and
/// zeros.
const MAX: usize = 64;

/// As text with all digits of its scale, `-12.50`.
impl Value for Decimal {
    const KIND: Kind = Kind::String;

    fn write<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        writer.string(self.array_string().as_ref())
    }

    fn read<'de, R: Reader<'de> + ?Sized>(&mut self, reader: &mut R) -> Result<(), DecodeError> {
        let text = reader.string()?;
        *self = parse_decimal(&text).ok_or_else(|| no_decimal(&text))?;
        Ok(())
    }

    fn describe() -> Type<Named> {
        Type::Logical(Logical::Decimal)
    }
}

#[cold]
fn no_decimal(text: &str) -> DecodeError {
    let mut shown: String = text.chars().take(MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    DecodeError::malformed(format!(
        "{shown:?} is no decimal number of at most 28 digits"
    ))
}

/// The number that a text such as `-12.50` or `1.5E-7` says exactly. A peer that knows strings only
/// may leave one empty: that is zero.
pub fn parse_decimal(text: &str) -> Option<Decimal> {
    if text.is_empty() {
        return Some(Decimal::ZERO);
    }
    let (digits, exponent) = match text.split_once(['e', 'E']) {
        Some((digits, exponent)) => (digits, exponent.parse().ok()?),
        None => (text, 0),
    };
    // The library takes underscores, too.
    let plain = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b'+' | b'-');
    if text.len() > MAX || !digits.bytes().all(plain) {
        return None;
    }
    let number = Decimal::from_str_exact(digits).ok()?;
    shift(number, exponent)
}

/// The number times ten to the power of `exponent`, with no more digits behind the point than that
/// needs.
fn shift(number: Decimal, exponent: i32) -> Option<Decimal> {
    let scale = i64::from(number.scale()) - i64::from(exponent);
    let mut mantissa = number.mantissa();
    // At most so many zeros fit; a number that is zero takes any.
    let zeros = u32::try_from(scale.saturating_neg()).unwrap_or(0);
    if mantissa != 0 {
        mantissa = mantissa.checked_mul(10_i128.checked_pow(zeros)?)?;
    }
    let scale = u32::try_from(scale.max(0)).ok()?;
    Decimal::try_from_i128_with_scale(mantissa, scale).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let rows = [
            ("", Some("0")),
            ("0", Some("0")),
            ("-12.50", Some("-12.50")),
            ("+1", Some("1")),
            (".5", Some("0.5")),
            ("1E-7", Some("0.0000001")),
            ("1.50e1", Some("15.0")),
            ("1e3", Some("1000")),
            ("0e9", Some("0")),
            (
                "79228162514264337593543950335",
                Some("79228162514264337593543950335"),
            ),
            ("79228162514264337593543950336", None),
            (
                "0.0000000000000000000000000001",
                Some("0.0000000000000000000000000001"),
            ),
            ("0.00000000000000000000000000001", None),
            ("1e-29", None),
            ("1e29", None),
            ("1e2147483647", None),
            ("1e-2147483648", None),
            ("1e99999999999", None),
            ("1_000", None),
            ("1.2.3", None),
            ("--1", None),
            ("e5", None),
            (".", None),
            ("NaN", None),
            (" 1", None),
            ("١", None),
        ];
        for (text, expected) in rows {
            let found = parse_decimal(text).map(|number| number.to_string());
            assert_eq!(found.as_deref(), expected, "{text:?}");
        }
        assert_eq!(parse_decimal(&"1".repeat(1000)), None);
    }
}
