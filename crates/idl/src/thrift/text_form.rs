//! The text form of uuids; those of times and decimals are `dovetail_schema::text`.

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let good = [
            "00112233-4455-6677-8899-aabbccddeeff",
            "{00112233-4455-6677-8899-AABBCCDDEEFF}",
            "00112233445566778899aabbccddeeff",
        ];
        let bad = ["", "0011", "00112233-4455-6677-8899-aabbccddeefg"];
        good.iter()
            .for_each(|text| assert!(uuid(text).is_some(), "{text}"));
        bad.iter()
            .for_each(|text| assert!(uuid(text).is_none(), "{text}"));
    }
}
