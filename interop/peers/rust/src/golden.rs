//! Captures golden bytes: reads what Python wrote in binary and writes it again with this library.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use thrift::protocol::{
    TBinaryInputProtocol, TBinaryOutputProtocol, TCompactOutputProtocol, TInputProtocol, TOutputProtocol,
    TSerializable, TStructIdentifier, TType,
};
use thrift::transport::TFramedWriteTransport;

use crate::interop::{Choice, Containers, Empty, Everything, Keyed, Nested, Newer, Presence, Tree, Wide};

/// Copies a struct field by field: generated arguments and results are private, so messages are
/// written by the protocol alone.
fn pump(input: &mut dyn TInputProtocol, output: &mut dyn TOutputProtocol) -> thrift::Result<()> {
    input.read_struct_begin()?;
    output.write_struct_begin(&TStructIdentifier::new(""))?;
    loop {
        let field = input.read_field_begin()?;
        if field.field_type == TType::Stop {
            break;
        }
        output.write_field_begin(&field)?;
        match field.field_type {
            TType::Bool => output.write_bool(input.read_bool()?)?,
            TType::I32 => output.write_i32(input.read_i32()?)?,
            TType::I64 => output.write_i64(input.read_i64()?)?,
            TType::I16 => output.write_i16(input.read_i16()?)?,
            TType::String => output.write_bytes(&input.read_bytes()?)?,
            TType::Struct => pump(input, output)?,
            other => unimplemented!("no message of values.json has a {other:?}"),
        }
        input.read_field_end()?;
        output.write_field_end()?;
    }
    input.read_struct_end()?;
    output.write_field_stop()?;
    output.write_struct_end()
}

fn copy<T: TSerializable>(
    input: &mut dyn TInputProtocol,
    output: &mut dyn TOutputProtocol,
) -> thrift::Result<()> {
    T::read_from_in_protocol(input)?.write_to_out_protocol(output)
}

/// The name of a value begins with that of its type, and all others are a Wide.
fn rewrite(
    name: &str,
    input: &mut dyn TInputProtocol,
    output: &mut dyn TOutputProtocol,
) -> thrift::Result<()> {
    let first = name.split('_').next().unwrap_or_default();
    match first {
        "call" | "reply" | "exception" | "oneway" => {
            let message = input.read_message_begin()?;
            output.write_message_begin(&message)?;
            pump(input, output)?;
            output.write_message_end()?;
        }
        "empty" => copy::<Empty>(input, output)?,
        "everything" => copy::<Everything>(input, output)?,
        "presence" => copy::<Presence>(input, output)?,
        "containers" => copy::<Containers>(input, output)?,
        "nested" => copy::<Nested>(input, output)?,
        "keyed" => copy::<Keyed>(input, output)?,
        "tree" => copy::<Tree>(input, output)?,
        "choice" => copy::<Choice>(input, output)?,
        "newer" => copy::<Newer>(input, output)?,
        _ => copy::<Wide>(input, output)?,
    }
    output.flush()
}

/// Collects what is written: a framed transport keeps its channel to itself.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub fn capture(directory: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let protocols = [
        "binary",
        "binary-nonstrict",
        "compact",
        "binary-framed",
        "compact-framed",
    ];
    for protocol in protocols {
        for entry in fs::read_dir(directory.join("python").join(protocol))? {
            let known = entry?.path();
            let file = known.file_name().unwrap_or_default();
            let name = known
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let source = fs::read_to_string(directory.join("python/binary").join(file))?;
            let bytes = unhex(source.trim())?;
            let mut input = TBinaryInputProtocol::new(io::Cursor::new(bytes), true);
            let memory = Memory::default();
            let mut output: Box<dyn TOutputProtocol> = match protocol {
                "binary" => Box::new(TBinaryOutputProtocol::new(memory.clone(), true)),
                "binary-nonstrict" => Box::new(TBinaryOutputProtocol::new(memory.clone(), false)),
                "compact" => Box::new(TCompactOutputProtocol::new(memory.clone())),
                "binary-framed" => Box::new(TBinaryOutputProtocol::new(
                    TFramedWriteTransport::new(memory.clone()),
                    true,
                )),
                _ => Box::new(TCompactOutputProtocol::new(TFramedWriteTransport::new(
                    memory.clone(),
                ))),
            };
            rewrite(&name, &mut input, &mut output).map_err(|error| format!("{name}: {error:?}"))?;
            let hex: String = memory
                .0
                .lock()
                .unwrap()
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let line = hex + "\n";
            if line != fs::read_to_string(&known)? {
                let folder = directory.join("rust").join(protocol);
                fs::create_dir_all(&folder)?;
                fs::write(folder.join(file), line)?;
            }
        }
    }
    Ok(())
}

fn unhex(text: &str) -> Result<Vec<u8>, std::num::ParseIntError> {
    (0..text.len() / 2)
        .map(|place| u8::from_str_radix(&text[place * 2..place * 2 + 2], 16))
        .collect()
}
