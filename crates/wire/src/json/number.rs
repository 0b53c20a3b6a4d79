//! The text of numbers.

use super::lexer::not_a_number;
use crate::DecodeError;
use std::str::FromStr;

/// True for what JSON's grammar calls a number.
pub(super) fn is_number(text: &str) -> bool {
    let text = text.strip_prefix('-').unwrap_or(text);
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (number, exponent) = match text.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match number.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (number, None),
    };
    let exponent = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
    digits(whole)
        && (whole.len() == 1 || !whole.starts_with('0'))
        && fraction.is_none_or(digits)
        && exponent.is_none_or(digits)
}

/// Parses a floating-point number, and refuses one beyond the type's range: it would become
/// infinite.
pub(super) fn finite<T: FromStr + Into<f64> + Copy>(text: &str) -> Result<T, DecodeError> {
    let number: Option<T> = text.parse().ok();
    let number = number.filter(|number| (*number).into().is_finite());
    number.ok_or_else(|| not_a_number(text))
}

/// Parses a whole number that is written with a point or an exponent.
pub(super) fn whole(text: &str) -> Option<i128> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    let number: f64 = text.parse().ok()?;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i128)
}
