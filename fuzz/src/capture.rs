//! Files of captures: calls or an error, never a panic.

use dovetail::capture::{CaptureHeader, Reader};
use dovetail_wire::tagged;
use std::io::Cursor;

const MAGIC: &[u8] = b"dovetail capture 1\n";

/// The bytes as a file, and as the chunks behind a header, whose content is not compressed: the
/// first byte of each says how many of the next ones belong to it, and of which kind it is.
pub(crate) fn files(data: &[u8]) {
    read(data.to_vec());
    let header = tagged::to_bytes(&CaptureHeader::default()).unwrap_or_default();
    let mut file = MAGIC.to_vec();
    chunk(&mut file, 1, &header);
    let mut rest = data;
    while let Some((first, behind)) = rest.split_first() {
        let length = usize::from(first >> 1).min(behind.len());
        let (content, behind) = behind.split_at(length);
        chunk(&mut file, 2 + (first & 1), content);
        rest = behind;
    }
    read(file);
}

fn chunk(file: &mut Vec<u8>, kind: u8, content: &[u8]) {
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    file.extend([kind, 0]);
    file.extend(length.to_le_bytes());
    file.extend(length.to_le_bytes());
    file.extend_from_slice(content);
}

fn read(file: Vec<u8>) {
    let Ok(mut reader) = Reader::new(Cursor::new(file)) else {
        return;
    };
    // A file without an end stays where it was.
    let _ = reader.skip_to(1);
    let read = reader.by_ref().take_while(Result::is_ok).count();
    assert!(read < 1 << 20 && reader.next().is_none());
}
