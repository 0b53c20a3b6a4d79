//! The methods of a service, as Cap'n Proto's protocol has them.

use super::layouts::{LayoutWriter, Unplaced, put};
use super::{INHERITED, PARAMS, RESULT, RESULTS};
use crate::{Field, Method, Schema, Type};
use std::collections::HashMap;

/// Methods of a service, each with the id of the interface that declares it, in bytes: the structs
/// as [`LayoutWriter`] has them, the count of methods, and of each its name, the id of its
/// interface (8 bytes, the lowest first), its ordinal there, and the numbers of the structs of its
/// parameters and of its results.
///
/// Methods that have no form are left out; the second value says why.
pub fn interface(schema: &Schema, methods: &[(u64, &Method)]) -> (Vec<u8>, Vec<Unplaced>) {
    let results = methods.iter().map(|(_, method)| result(method));
    let results: Vec<Option<Field>> = results.collect();
    let (mut rows, mut problems) = (Vec::new(), Vec::new());
    let mut next: HashMap<u64, u64> = HashMap::new();
    for ((id, method), result) in methods.iter().zip(&results) {
        let origin = method.annotations.get(INHERITED).and_then(origin);
        let (interface, ordinal) = origin.unwrap_or_else(|| {
            let next = next.entry(*id).or_default();
            *next += 1;
            (*id, *next - 1)
        });
        let row = Row {
            interface,
            ordinal,
            method,
            result: result.as_ref(),
        };
        let mut alone = LayoutWriter::new(schema);
        match row
            .put(&mut alone, &mut Vec::new())
            .and_then(|()| alone.finish())
        {
            Ok(_) => rows.push(row),
            Err(problem) => problems.push(problem),
        }
    }
    let mut places = LayoutWriter::new(schema);
    let mut bytes = Vec::new();
    put(&mut bytes, rows.len() as u64);
    for row in rows {
        // It can be placed alone, and so beside others.
        problems.extend(row.put(&mut places, &mut bytes).err());
    }
    match places.finish() {
        Ok(mut table) => {
            table.append(&mut bytes);
            (table, problems)
        }
        Err(problem) => {
            problems.push(problem);
            (Vec::new(), problems)
        }
    }
}

/// A method of the table.
struct Row<'a> {
    interface: u64,
    ordinal: u64,
    method: &'a Method,
    /// The result as a field.
    result: Option<&'a Field>,
}

impl<'a> Row<'a> {
    fn put(&self, places: &mut LayoutWriter<'a>, bytes: &mut Vec<u8>) -> Result<(), Unplaced> {
        let params = params(places, self.method)?;
        let results = answer(places, self.method, self.result)?;
        put(bytes, self.method.name.len() as u64);
        bytes.extend(self.method.name.as_bytes());
        bytes.extend(self.interface.to_le_bytes());
        put(bytes, self.ordinal);
        put(bytes, params.into());
        put(bytes, results.into());
        Ok(())
    }
}

/// The interface that a method comes from, and its ordinal there.
fn origin(text: &str) -> Option<(u64, u64)> {
    let (interface, ordinal) = text.split_once('.')?;
    let interface = u64::from_str_radix(interface.strip_prefix("0x")?, 16).ok()?;
    Some((interface, ordinal.parse().ok()?))
}

/// The result as the field 0 of the reply.
fn result(method: &Method) -> Option<Field> {
    let name = method.annotations.get(RESULT).unwrap_or("result");
    let mut field = Field::new(0, name, method.result.clone()?);
    field.annotations = method.annotations.clone();
    Some(field)
}

fn params<'a>(places: &mut LayoutWriter<'a>, method: &'a Method) -> Result<u32, Unplaced> {
    if method.client_stream.is_some() || method.server_stream.is_some() {
        return Err(Unplaced {
            owner: method.name.clone(),
            field: "stream".to_owned(),
            what: "streams of items".to_owned(),
        });
    }
    match (method.annotations.get(PARAMS), method.params.as_slice()) {
        (Some(_), [only]) => whole(places, method, only),
        (_, params) => places.parameters(&method.name, params),
    }
}

fn answer<'a>(
    places: &mut LayoutWriter<'a>,
    method: &'a Method,
    result: Option<&'a Field>,
) -> Result<u32, Unplaced> {
    match (method.annotations.get(RESULTS), result) {
        (Some(_), Some(result)) => whole(places, method, result),
        (_, Some(result)) => places.parameters(&method.name, std::slice::from_ref(result)),
        (_, None) => places.parameters(&method.name, &[]),
    }
}

/// A field that is the whole struct of parameters or results.
fn whole<'a>(
    places: &mut LayoutWriter<'a>,
    method: &'a Method,
    field: &'a Field,
) -> Result<u32, Unplaced> {
    match &field.ty {
        Type::Named(id) => places.around(*id, field.id),
        _ => places.parameters(&method.name, std::slice::from_ref(field)),
    }
}
