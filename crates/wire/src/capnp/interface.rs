//! The methods of a service, as Cap'n Proto's protocol has them.

use super::layouts::{Layouts, Structs, many, number};
use crate::DecodeError;
use crate::input::Input;

/// A method of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceMethod {
    /// Its name in the contract.
    pub name: String,
    /// The id of the interface that has it.
    pub interface: u64,
    /// Its ordinal there.
    pub ordinal: u16,
    /// The layout of the parameters, by their ids.
    pub params: Layouts,
    /// The layout of the results: of a struct whose field 0 is the result, as Thrift's replies are.
    pub results: Layouts,
}

fn text(input: &mut Input<'_>) -> Result<String, DecodeError> {
    let len = number(input)?;
    let bytes = input.take(len)?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

impl InterfaceMethod {
    /// Reads the bytes that `dovetail_schema::capnp::interface` makes: the methods of a service.
    ///
    /// # Errors
    ///
    /// Bytes that nothing of the kind has made.
    pub fn parse(bytes: &[u8]) -> Result<Vec<Self>, DecodeError> {
        let mut input = Input::new(bytes);
        let structs = Structs::read(&mut input)?;
        many(&mut input, |input| {
            Ok(InterfaceMethod {
                name: text(input)?,
                interface: u64::from_le_bytes(input.array()?),
                ordinal: number(input)?,
                params: structs.layouts(number(input)?),
                results: structs.layouts(number(input)?),
            })
        })
    }
}
