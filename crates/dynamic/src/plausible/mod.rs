//! Sample data that looks as if somebody had meant it.

mod rich;
mod words;

use crate::{Contract, Reply, Struct, Value};
use dovetail_schema::{Field, Method, Presence, Type, TypeId, TypeKind};
use dovetail_wire::{Bytes, Uuid};

/// Optional fields and elements of containers are left out below this.
const DEEP: usize = 5;

/// Below this, even fields that are always sent are left out: only a type that contains itself gets
/// here.
const DEEPEST: usize = 24;

/// After this many values nothing is added that can be left out.
const MAX_VALUES: usize = 2_000;

/// Makes values up. The same seed gives the same values.
pub struct Plausible<'a> {
    contract: &'a Contract<'a>,
    random: Random,
    values: usize,
}

/// SplitMix64: enough for sample data, and the same on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number from `least` to `most`, both included.
    fn within(&mut self, least: i64, most: i64) -> i64 {
        let span = most.wrapping_sub(least) as u64;
        match span.checked_add(1) {
            Some(span) => least.wrapping_add((self.next() % span) as i64),
            None => self.next() as i64,
        }
    }

    fn pick<'t, T: ?Sized>(&mut self, from: &[&'t T]) -> &'t T {
        from[self.next() as usize % from.len()]
    }
}

impl<'a> Plausible<'a> {
    /// Values of the types of this contract.
    pub fn new(contract: &'a Contract<'a>, seed: u64) -> Self {
        Plausible {
            contract,
            random: Random(seed),
            values: 0,
        }
    }

    /// A value of a type. `name` says what it is for: a field called `email` gets an address.
    /// `None` for a type that has no finite value, or that no encoding carries.
    pub fn value(&mut self, ty: &Type, name: &str) -> Option<Value> {
        self.values = 0;
        self.make(ty, name, 0)
    }

    /// Parameters for a method.
    pub fn arguments(&mut self, method: &Method) -> Struct {
        self.values = 0;
        let mut values = Struct::new();
        for field in &method.params {
            if let Some(value) = self.make(&field.ty, &field.name, 0) {
                values.set(field.id, value);
            }
        }
        values
    }

    /// The answer of a method to these parameters. What a parameter says, the result repeats:
    /// `addUser(user)` answers that user, and `getUser(id: 7)` a user with the id 7, if their types
    /// are the same. `None` where the result has no finite value.
    pub fn reply(&mut self, method: &Method, params: &Struct) -> Option<Reply> {
        let Some(ty) = &method.result else {
            return Some(Reply::Result(None));
        };
        let mut value = self.value(ty, &method.name)?;
        if let (Type::Named(id), Value::Struct(result)) =
            (self.contract.schema().resolve(ty), &mut value)
        {
            self.echo(ty, *id, result, method, params);
        }
        Some(Reply::Result(Some(value)))
    }

    /// A declared exception of a method, chosen at random; `None` where it declares none.
    pub fn exception(&mut self, method: &Method) -> Option<Reply> {
        let last = method.throws.len().checked_sub(1)?;
        let index = self.random.within(0, last as i64) as usize;
        let value = self.value(&method.throws[index].ty, "error")?;
        Some(Reply::Exception { index, value })
    }

    /// True in `permille` of 1000 cases.
    pub fn chance(&mut self, permille: u32) -> bool {
        self.random.within(0, 999) < i64::from(permille)
    }

    fn echo(&self, ty: &Type, id: TypeId, result: &mut Struct, method: &Method, params: &Struct) {
        let Some(table) = self.contract.table(id).filter(|table| !table.union) else {
            return;
        };
        // A field that has the same name and means the same type, `OrderId` rather than `i64`.
        let mut repeat = |given: &Field, value: Option<&Value>| {
            let field = table.find(&given.name).filter(|field| field.ty == given.ty);
            if let (Some(field), Some(value)) = (field, value) {
                result.set(field.id, value.clone());
            }
        };
        for param in &method.params {
            let value = params.get(param.id);
            repeat(param, value);
            let (Type::Named(inner), Some(Value::Struct(given))) =
                (self.contract.schema().resolve(&param.ty), value)
            else {
                continue;
            };
            let same = param.ty == *ty;
            for field in self
                .contract
                .table(*inner)
                .map_or(&[][..], |table| &table.fields)
            {
                // From another type, only fields that identify: not every `name` is the same name.
                if same || words::identifies(&field.name) {
                    repeat(field, given.get(field.id));
                }
            }
        }
    }

    fn make(&mut self, ty: &Type, name: &str, depth: usize) -> Option<Value> {
        self.values += 1;
        if depth > DEEPEST {
            return None;
        }
        let contract = self.contract;
        let ty = contract.schema().resolve(ty);
        Some(match ty {
            Type::Bool => Value::Bool(self.random.next() & 1 == 1),
            Type::I8 => Value::Int(words::integer(name, &mut self.random, i8::MAX.into())),
            Type::I16 => Value::Int(words::integer(name, &mut self.random, i16::MAX.into())),
            Type::I32 => Value::Int(words::integer(name, &mut self.random, i32::MAX.into())),
            Type::I64 => Value::Int(words::integer(name, &mut self.random, i64::MAX)),
            Type::U8 => self.unsigned(name, u8::MAX.into()),
            Type::U16 => self.unsigned(name, u16::MAX.into()),
            Type::U32 => self.unsigned(name, u32::MAX.into()),
            Type::U64 => self.unsigned(name, i64::MAX),
            Type::F32 | Type::F64 => Value::Float(words::float(name, &mut self.random)),
            Type::String => Value::String(words::text(name, &mut self.random)),
            Type::Bytes => Value::Bytes(self.bytes()),
            Type::Uuid => Value::Uuid(self.uuid()),
            Type::Timestamp { offset: false } => Value::Timestamp(self.instant().into()),
            Type::Timestamp { offset: true } => Value::TimestampTz(self.local()),
            Type::Date => Value::Date(self.day()),
            Type::Duration => Value::Duration(self.span().into()),
            Type::Decimal => Value::Decimal(self.price()),
            Type::Any => Value::Any(Box::new(self.any(depth))),
            Type::Dynamic => Value::Dynamic(self.dynamic(name)),
            Type::Array(item, dimensions) => self.array(item, dimensions, name, depth)?,
            Type::List(item) => Value::List(self.items(item, name, depth)),
            Type::Set(item) => Value::List(distinct(self.items(item, name, depth))),
            Type::Map(key, item) => Value::Map(self.entries(key, item, name, depth)),
            Type::Named(id) => match &contract.schema()[*id].kind {
                TypeKind::Enum(def) => {
                    let numbers: Vec<_> = def.values.iter().map(|value| &value.number).collect();
                    Value::Enum(match numbers.is_empty() {
                        true => 0,
                        false => *self.random.pick(&numbers),
                    })
                }
                _ => self.member_of_family(*id, name, depth)?,
            },
            Type::Object(_) => return None,
        })
    }

    /// A struct, or one of those that extend it.
    fn member_of_family(&mut self, id: TypeId, name: &str, depth: usize) -> Option<Value> {
        let family: Vec<_> = self
            .contract
            .family(id)
            .unwrap_or_default()
            .iter()
            .collect();
        let member = match family.is_empty() {
            true => id,
            false => *self.random.pick(&family),
        };
        let fields = self.fields(member, name, depth)?;
        Some(match member == id {
            true => Value::Struct(fields),
            false => Value::Derived(member, fields),
        })
    }

    fn unsigned(&mut self, name: &str, most: i64) -> Value {
        Value::UInt(words::integer(name, &mut self.random, most).unsigned_abs())
    }

    fn bytes(&mut self) -> Bytes {
        let len = self.random.within(4, 24) as usize;
        (0..len).map(|_| self.random.next() as u8).collect()
    }

    /// A UUID of version 4, though of no unpredictable one.
    fn uuid(&mut self) -> Uuid {
        let bits = (u128::from(self.random.next()) << 64) | u128::from(self.random.next());
        let version = (bits & !(0xF << 76)) | (4 << 76);
        Uuid::from_u128((version & !(0b11 << 62)) | (0b10 << 62))
    }

    fn sparing(&self, depth: usize) -> bool {
        depth >= DEEP || self.values > MAX_VALUES
    }

    fn len(&mut self, depth: usize) -> usize {
        match self.sparing(depth) {
            true => 0,
            false => self.random.within(1, 3) as usize,
        }
    }

    fn items(&mut self, ty: &Type, name: &str, depth: usize) -> Vec<Value> {
        let name = words::singular(name);
        let len = self.len(depth);
        (0..len)
            .filter_map(|_| self.make(ty, &name, depth + 1))
            .collect()
    }

    fn entries(&mut self, key: &Type, ty: &Type, name: &str, depth: usize) -> Vec<(Value, Value)> {
        let mut entries: Vec<(Value, Value)> = Vec::new();
        for _ in 0..self.len(depth) {
            let (Some(k), Some(v)) = (
                self.make(key, "key", depth + 1),
                self.make(ty, name, depth + 1),
            ) else {
                continue;
            };
            if entries.iter().all(|(known, _)| *known != k) {
                entries.push((k, v));
            }
        }
        entries
    }

    /// `None` where a field without which the struct cannot be sent has no finite value.
    fn fields(&mut self, id: TypeId, name: &str, depth: usize) -> Option<Struct> {
        let contract = self.contract;
        let table = contract.table(id)?;
        if table.union {
            return self.member(&table.fields, depth);
        }
        let mut value = Struct::new();
        for field in &table.fields {
            let optional = field.presence == Presence::Optional;
            let oneof = field.protobuf.oneof.as_deref();
            if oneof.is_some_and(|oneof| has_member(&value, &table.fields, oneof)) {
                continue;
            }
            // Three of four optional fields are there.
            if optional && (self.sparing(depth) || self.random.within(0, 3) == 0) {
                continue;
            }
            // In `User author`, `name` is the name of a person because of its owner.
            let owner = &contract.schema()[id].name;
            let name = words::qualified(owner, name, &field.name);
            match self.make(&field.ty, &name, depth + 1) {
                Some(made) => value.set(field.id, made),
                None if field.presence == Presence::Required => return None,
                None => {}
            }
        }
        Some(value)
    }

    /// One member of a union, of those that have a finite value; deep down one without more inside.
    fn member(&mut self, fields: &[&'a Field], depth: usize) -> Option<Struct> {
        let mut order: Vec<_> = fields.to_vec();
        if !order.is_empty() {
            let first = self.random.next() as usize % order.len();
            order.rotate_left(first);
        }
        if self.sparing(depth) {
            let schema = self.contract.schema();
            order.sort_by_key(|field| matches!(schema.resolve(&field.ty), Type::Named(_)));
        }
        order.iter().find_map(|field| {
            let value = self.make(&field.ty, &field.name, depth + 1)?;
            Some(Struct::from_iter([(field.id, value)]))
        })
    }
}

/// Returns whether a member of this oneof has a value.
fn has_member(value: &Struct, fields: &[&Field], oneof: &str) -> bool {
    let mut members = fields
        .iter()
        .filter(|field| field.protobuf.oneof.as_deref() == Some(oneof));
    members.any(|field| value.get(field.id).is_some())
}

fn distinct(items: Vec<Value>) -> Vec<Value> {
    let mut kept: Vec<Value> = Vec::new();
    for item in items {
        if !kept.contains(&item) {
            kept.push(item);
        }
    }
    kept
}
