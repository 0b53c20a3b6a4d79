//! The choice at run time: parameters with their table, and encodings from outside.
#![allow(clippy::unwrap_used)]

use dovetail_wire::thrift::binary;
use dovetail_wire::{
    Blobs, Bytes, Codec, DecodeError, EncodeError, Encoding, Field, Kind, Limits, Out, Reader,
    Writer,
};

const JOIN: &[Field<'static>] = &[
    Field::new(1, "first", Kind::I32),
    Field::new(2, "second", Kind::String),
    Field::new(3, "third", Kind::List),
];

/// Thrift binary behind one byte that says so.
struct Marked;

impl Codec for Marked {
    fn name(&self) -> &'static str {
        "marked"
    }

    fn encode(
        &self,
        out: &mut Vec<u8>,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        out.push(b'!');
        body(&mut binary::Writer::new(out, limits))
    }

    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Reader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError> {
        let Some((b'!', input)) = input.split_first() else {
            return Err(DecodeError::malformed("no mark"));
        };
        let mut reader = binary::Reader::new(input, limits);
        body(&mut reader)?;
        Ok(1 + reader.position())
    }
}

#[test]
fn parameters_pass_through_every_encoding() {
    static MARKED: Marked = Marked;
    let encodings = Encoding::BUILT_IN
        .into_iter()
        .chain([Encoding::Custom(&MARKED)]);
    for encoding in encodings {
        let mut out = Vec::new();
        let sent = (&7, "two", &[1i64, 2][..]);
        encoding
            .encode(&(&sent, JOIN), &mut out, Limits::default())
            .unwrap();
        let mut received = (0i32, String::new(), Vec::<i64>::new());
        let input = Bytes::from(out);
        let mut slot = (&mut received, JOIN);
        let read = encoding
            .decode(&mut slot, &input, Limits::default())
            .unwrap();
        assert_eq!(read, input.len(), "{encoding:?}");
        assert_eq!(received, (7, "two".to_owned(), vec![1, 2]), "{encoding:?}");
    }
    assert!(
        Encoding::Custom(&MARKED)
            .from_bytes::<bool>(&"?".into())
            .is_err()
    );
}

#[test]
fn blobs_apart_stand_where_they_would() {
    let large = Bytes::from(vec![7; Blobs::LEAST]);
    let values = [
        vec![],
        vec![Bytes::new(), large.clone()],
        vec![large.clone(), Bytes::from_static(b"small"), large.clone()],
    ];
    for encoding in Encoding::BUILT_IN {
        for value in &values {
            let (mut buffer, mut blobs) = (Vec::new(), Blobs::default());
            let out = Out::with_blobs(&mut buffer, &mut blobs);
            encoding.encode_to(value, out, Limits::default()).unwrap();
            let whole = encoding.to_bytes(value).unwrap();
            assert_eq!(buffer.len() + blobs.len(), whole.len(), "{encoding:?}");
            assert!(blobs.pieces(&buffer).all(|piece| !piece.is_empty()));
            blobs.join(&mut buffer);
            assert!(buffer == whole, "{encoding:?}");
        }
    }
}
