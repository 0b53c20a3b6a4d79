//! Floating-point numbers as descriptors have them: C's `%g`, with as many digits as the type
//! always has, or with as many as it needs where that does not read back the same.

/// Returns the text of a `double`.
pub(super) fn text_of_f64(value: f64) -> String {
    let short = general(value, 15);
    match short.parse() == Ok(value) {
        true => short,
        false => general(value, 17),
    }
}

/// Returns the text of a `float`.
pub(super) fn text_of_f32(value: f32) -> String {
    let short = general(value.into(), 6);
    match short.parse() == Ok(value) {
        true => short,
        false => general(value.into(), 9),
    }
}

/// `%.{precision}g`.
fn general(value: f64, precision: usize) -> String {
    let scientific = format!("{value:.*e}", precision - 1);
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let digits = match digits.trim_end_matches('0') {
        "" => "0",
        digits => digits,
    };
    if exponent < -4 || exponent >= precision as i32 {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{first}{point}{rest}e{sign}{:02}", exponent.abs());
    }
    if exponent < 0 {
        return format!("0.{}{digits}", "0".repeat((-exponent - 1) as usize));
    }
    let whole = exponent as usize + 1;
    match digits.len() > whole {
        true => format!("{}.{}", &digits[..whole], &digits[whole..]),
        false => format!("{digits}{}", "0".repeat(whole - digits.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let rows = [
            (0.0, "0"),
            (1.5, "1.5"),
            (100.0, "100"),
            (1e15, "1e+15"),
            (123456789012345.0, "123456789012345"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e-4, "0.0001"),
            (1.25e-5, "1.25e-05"),
            (1e300, "1e+300"),
            (5e-324, "4.94065645841247e-324"),
        ];
        for (value, text) in rows {
            assert_eq!(text_of_f64(value), text);
        }
        assert_eq!(text_of_f32(1e6), "1e+06");
        assert_eq!(text_of_f32(0.1), "0.1");
        assert_eq!(text_of_f32(f32::MAX), "3.40282347e+38");
    }
}
