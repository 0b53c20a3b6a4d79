//! The methods of services with their codecs.

use dovetail_protocol::capnp::{Outgoing, content};
use dovetail_wire::capnp::{
    InterfaceMethod, Layouts, PointerAt, Reader, Segments, Writer as Words,
};
use dovetail_wire::{
    Bytes, Codec, DecodeError, Encode, EncodeError, Limits, Reader as AnyReader, Writer,
};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// The interface of a method, and its ordinal there.
pub(crate) type MethodKey = (u64, u16);

/// A method, as the protocol has it.
pub(crate) struct Method {
    pub(crate) place: MethodKey,
    pub(crate) params: Form,
    pub(crate) results: Form,
    /// The pointers that lead to the first object in the results; `None` where there can be none.
    pub(crate) returns: Option<Vec<u16>>,
}

/// The codec of parameters or results: it reads them out of the message of a call or an answer.
pub(crate) struct Form(Layouts);

/// The tables that have been read, by their addresses: encodings live as long as the program, like
/// the descriptors.
static READ: LazyLock<Mutex<HashMap<usize, Table>>> = LazyLock::new(Mutex::default);

/// The methods of a table, by their names.
type Table = HashMap<String, &'static Method>;

impl Method {
    /// Returns how the protocol has a method; `None` where nothing is known of that.
    pub(crate) fn of(method: &crate::method::Method) -> Option<&'static Self> {
        let table = method.capnp?;
        let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
        let known = read.entry(table.as_ptr().addr());
        known
            .or_insert_with(|| parse(table))
            .get(method.name)
            .copied()
    }
}

fn parse(table: &'static [u8]) -> Table {
    // A generator has made it.
    let methods = InterfaceMethod::parse(table).unwrap_or_default();
    let row = |method: InterfaceMethod| {
        let name = method.name.clone();
        let leaked: &'static Method = Box::leak(Box::new(Method::from(method)));
        (name, leaked)
    };
    methods.into_iter().map(row).collect()
}

impl From<InterfaceMethod> for Method {
    fn from(method: InterfaceMethod) -> Self {
        Method {
            place: (method.interface, method.ordinal),
            returns: method.results.first_object(),
            params: Form(method.params),
            results: Form(method.results),
        }
    }
}

impl Form {
    /// Writes a value into a message, behind the pointer at this byte.
    pub(crate) fn write(
        &self,
        message: &mut Outgoing<'_>,
        at: usize,
        value: &impl Encode,
        limits: Limits,
    ) -> Result<(), EncodeError> {
        value.encode(&mut Words::at(message.segment(), at, &self.0, limits))
    }
}

impl Codec for Form {
    fn name(&self) -> &'static str {
        "capnp"
    }

    /// Writes a message of its own.
    fn encode(
        &self,
        out: &mut Vec<u8>,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn Writer) -> Result<(), EncodeError>,
    ) -> Result<(), EncodeError> {
        body(&mut Words::new(out, &self.0, limits))
    }

    fn decode(
        &self,
        input: &Bytes,
        limits: Limits,
        body: &mut dyn FnMut(&mut dyn AnyReader<'_>) -> Result<(), DecodeError>,
    ) -> Result<usize, DecodeError> {
        let Some((message, len)) = Segments::split(input, usize::MAX)? else {
            return Err(DecodeError::malformed("a part of a message"));
        };
        match content(&message)? {
            Some(content) => body(&mut Reader::at(&message, content, &self.0, limits))?,
            None => {
                let null = Segments::single(Bytes::from_static(&[0; 8]))?;
                body(&mut Reader::at(&null, PointerAt::ROOT, &self.0, limits))?;
            }
        }
        Ok(len)
    }
}
