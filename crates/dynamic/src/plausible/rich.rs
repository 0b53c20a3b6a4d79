//! Times, amounts, arrays, and values of any type.

use super::{MAX_VALUES, Plausible, words};
use crate::{Value, any};
use dovetail_schema::{ArrayForm, Dimension, Type, TypeId, TypeKind};
use dovetail_wire::{Any, Date, Decimal, Dynamic, Offset, SignedDuration, Timestamp, TimestampTz};

/// 2020-01-01T00:00:00Z and 2030-01-01T00:00:00Z.
const DECADE: (i64, i64) = (1_577_836_800, 1_893_456_000);

const SECONDS_PER_DAY: i64 = 24 * 60 * 60;

impl Plausible<'_> {
    /// A second of this decade: people seldom write down more.
    pub(super) fn instant(&mut self) -> Timestamp {
        let second = self.random.within(DECADE.0, DECADE.1);
        Timestamp::from_second(second).unwrap_or_default()
    }

    /// In one of the inhabited time zones.
    pub(super) fn local(&mut self) -> TimestampTz {
        let hours = self.random.within(-10, 12) as i32;
        TimestampTz {
            timestamp: self.instant(),
            offset: Offset::from_seconds(hours * 3600).unwrap_or(Offset::UTC),
        }
    }

    pub(super) fn day(&mut self) -> Date {
        let second = self.random.within(DECADE.0, DECADE.1);
        Date::from_days((second / SECONDS_PER_DAY) as i32).unwrap_or_default()
    }

    /// Minutes, or a few milliseconds.
    pub(super) fn span(&mut self) -> SignedDuration {
        match self.random.next() & 1 {
            0 => SignedDuration::from_mins(self.random.within(1, 300)),
            _ => SignedDuration::from_millis(self.random.within(1, 9_999)),
        }
    }

    /// As prices are.
    pub(super) fn price(&mut self) -> Decimal {
        Decimal::new(self.random.within(99, 99_999), 2)
    }

    /// A message of one of the contract's structs, if one has a value of which there is an end.
    pub(super) fn any(&mut self, depth: usize) -> Any {
        let schema = self.contract.schema();
        let all = (0..schema.types.len() as u32).map(TypeId);
        let structs: Vec<TypeId> = all
            .filter(|id| matches!(schema[*id].kind, TypeKind::Struct(_)))
            .collect();
        if structs.is_empty() || self.sparing(depth) {
            return Any::default();
        }
        let id = structs[self.random.next() as usize % structs.len()];
        let name = &schema[id].name;
        let made = self.fields(id, name, depth + 1).map(Value::Struct);
        let packed = made.and_then(|value| any::pack(self.contract, name, 1, id, &value));
        packed.unwrap_or_default()
    }

    pub(super) fn dynamic(&mut self, name: &str) -> Dynamic {
        match self.random.next() % 4 {
            0 => Dynamic::from(self.random.next() & 1 == 1),
            1 => Dynamic::from(words::integer(name, &mut self.random, i32::MAX.into())),
            2 => Dynamic::from(words::float(name, &mut self.random)),
            _ => Dynamic::from(words::text(name, &mut self.random)),
        }
    }

    /// `None` for an array that is too long for sample data.
    pub(super) fn array(
        &mut self,
        item: &Type,
        dimensions: &[Dimension],
        name: &str,
        depth: usize,
    ) -> Option<Value> {
        match ArrayForm::of(dimensions) {
            None => self.make(item, name, depth),
            Some(ArrayForm::Fixed(extent, inside)) => {
                let items = self.all(extent as usize, (item, inside), name, depth)?;
                Some(Value::List(items))
            }
            Some(ArrayForm::List(inside)) => {
                let len = self.len(depth);
                Some(Value::List(self.all(len, (item, inside), name, depth)?))
            }
            Some(ArrayForm::Free(outside, inside)) => {
                let extents = outside.iter().map(|dimension| match dimension {
                    Dimension::Fixed(extent) => *extent,
                    Dimension::Dynamic => self.len(depth) as u32,
                });
                let extents: Vec<u32> = extents.collect();
                let counts = extents.iter().map(|extent| *extent as usize);
                let count = counts.fold(1, usize::saturating_mul);
                let items = self.all(count, (item, inside), name, depth)?;
                Some(Value::Array(extents, items))
            }
        }
    }

    fn all(
        &mut self,
        count: usize,
        (item, inside): (&Type, &[Dimension]),
        name: &str,
        depth: usize,
    ) -> Option<Vec<Value>> {
        let name = words::singular(name);
        if count > MAX_VALUES {
            return None;
        }
        (0..count)
            .map(|_| self.array(item, inside, &name, depth + 1))
            .collect()
    }
}
