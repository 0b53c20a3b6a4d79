//! The messages between protobuf's compiler and its plugins: those of
//! `google/protobuf/compiler/plugin.proto`. The compiler runs a program that is called
//! `protoc-gen-NAME` for `--NAME_out`, with a request on its standard input, and takes the response
//! from its standard output.

use super::decode::{self, DescriptorError, Memory, Raw};
use super::descriptor::{Edition, File, FileSet};
use super::encode::Out;
use super::{lower, sort, sound};
use dovetail_schema::Schema;
use std::collections::{HashMap, HashSet};

/// The compiler's order for a plugin: `CodeGeneratorRequest`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// The files to generate code for, by their names.
    pub wanted: Vec<String>,
    /// The value of `--NAME_opt` on the command line; empty without one, with commas between
    /// several.
    pub parameter: String,
    /// These files, and all that they import.
    pub files: FileSet,
}

impl Request {
    /// Reads the bytes of a request.
    ///
    /// # Errors
    ///
    /// Bytes that are no request, and more than 64 MiB of descriptors. The descriptors themselves
    /// are not checked.
    pub fn decode(bytes: &[u8]) -> Result<Request, DescriptorError> {
        let (mut request, mut memory) = (Request::default(), Memory::default());
        decode::each(bytes, |number, value| match (number, value) {
            (1, Raw::Bytes(name)) => memory.push(&mut request.wanted, |m| m.text(name)),
            (2, Raw::Bytes(text)) => memory.text(text).map(|text| request.parameter = text),
            (15, Raw::Bytes(file)) => {
                memory.push(&mut request.files.files, |m| decode::file(file, m))
            }
            _ => Ok(()),
        })?;
        Ok(request)
    }

    /// Returns the contracts of the wanted files, in their order. Each equals the contract that
    /// [`compile`](crate::compile) makes of the text. Files of one package are one contract.
    ///
    /// # Errors
    ///
    /// Wanted files that are missing, and files that [`from_descriptors`](super::from_descriptors)
    /// refuses.
    pub fn contracts(&self) -> Result<Vec<Schema>, DescriptorError> {
        sound::check(&self.files)?;
        let files = self.files.files.iter();
        let by_name: HashMap<&str, &File> = files.map(|file| (file.name.as_str(), file)).collect();
        let mut contracts: Vec<(&str, Vec<&str>)> = Vec::new();
        for name in &self.wanted {
            let file = by_name.get(name.as_str()).ok_or_else(|| missing(name))?;
            let module = lower::module(file);
            match contracts.iter_mut().find(|(known, _)| *known == module) {
                Some((_, names)) => names.push(name),
                None => contracts.push((module, vec![name])),
            }
        }
        let contracts = contracts.iter();
        let schemas = contracts.map(|(_, names)| lower::named(&closure(&by_name, names), names));
        Ok(schemas.collect())
    }
}

fn missing(name: &str) -> DescriptorError {
    DescriptorError::Missing {
        name: name.chars().filter(|c| !c.is_control()).collect(),
        at: "file_to_generate".to_owned(),
    }
}

/// These files and all that they import, in the order in which the front end has them.
fn closure(by_name: &HashMap<&str, &File>, names: &[&str]) -> FileSet {
    let (mut found, mut seen) = (Vec::<&File>::new(), HashSet::new());
    let new = names.iter().filter(|name| seen.insert(**name));
    found.extend(new.filter_map(|name| by_name.get(name)).copied());
    let mut next = 0;
    while let Some(file) = found.get(next).copied() {
        let imports = file.dependencies.iter().chain(&file.option_dependencies);
        let new = imports.filter(|name| seen.insert(name.as_str()));
        found.extend(new.filter_map(|name| by_name.get(name.as_str())).copied());
        next += 1;
    }
    let mut set = FileSet {
        files: found.into_iter().cloned().collect(),
    };
    sort(&mut set);
    set
}

/// Makes a plugin's answer: `CodeGeneratorResponse`, with the names and texts of files, or the
/// problems of the contract. The answer lists all dialects that this crate reads.
pub fn response(generated: &Result<Vec<(String, String)>, String>) -> Vec<u8> {
    const PROTO3_OPTIONAL: i32 = 1;
    const EDITIONS: i32 = 2;
    let mut out = Out::default();
    if let Err(error) = generated {
        out.bytes(1, error.as_bytes());
    }
    out.int(2, PROTO3_OPTIONAL | EDITIONS);
    out.int(3, Edition::Proto2 as i32);
    out.int(4, Edition::E2024 as i32);
    let files = generated.as_deref().unwrap_or_default();
    out.messages(15, files, |out, (name, text)| {
        out.text(1, name);
        out.text(15, text);
    });
    out.bytes
}
