//! Arrays, and the other types that have no syntax of their own in constants.

use super::expr::Expr;
use super::module::{Module, Place};
use dovetail_schema::{ArrayForm, Dimension, Type, Value, text};

impl Module<'_> {
    /// The Rust for an array, or for what is inside it where no dimension is left.
    pub(super) fn array(&self, item: &Type, dimensions: &[Dimension], place: Place) -> String {
        match ArrayForm::of(dimensions) {
            None => self.ty(item, place),
            Some(ArrayForm::Fixed(extent, inside)) => {
                let inner = self.array(item, inside, place);
                match self.cx.facts.long(extent, item, inside) {
                    true => self.generic("LongArray", &[inner, extent.to_string()]),
                    false => format!("[{inner}; {extent}]"),
                }
            }
            Some(ArrayForm::List(inside)) => {
                self.generic("Vec", &[self.array(item, inside, place)])
            }
            Some(ArrayForm::Free(outside, inside)) => {
                let shape: Vec<String> = outside.iter().map(|one| self.dimension(one)).collect();
                let shape = format!("({})", shape.join(", "));
                self.generic("Array", &[self.array(item, inside, place), shape])
            }
        }
    }

    fn dimension(&self, dimension: &Dimension) -> String {
        match dimension {
            Dimension::Fixed(extent) => self.generic("Fixed", &[extent.to_string()]),
            Dimension::Dynamic => self.name("Free"),
        }
    }

    /// The value of an array, or of what is inside it.
    pub(super) fn array_value(
        &self,
        item: &Type,
        dimensions: &[Dimension],
        value: &Value,
        place: Place,
    ) -> Expr {
        let inside = |inside: &[Dimension], values: &[&Value]| -> Vec<Expr> {
            let values = values.iter();
            values
                .map(|value| self.array_value(item, inside, value, place))
                .collect()
        };
        match ArrayForm::of(dimensions) {
            None => self.value(item, value, place),
            Some(ArrayForm::Fixed(extent, dimensions)) => {
                let items = inside(dimensions, &elements(value));
                match self.cx.facts.long(extent, item, dimensions) {
                    true => {
                        let constant = format!("{}::constant", self.name("LongArray"));
                        Expr::call(constant, self.vec(items))
                    }
                    false => Expr::Array("[", items),
                }
            }
            Some(ArrayForm::List(dimensions)) => self.vec(inside(dimensions, &elements(value))),
            Some(ArrayForm::Free(outside, dimensions)) => {
                let (extents, values) = row_by_row(value, outside.len());
                let extents = extents.iter().map(|one| Expr::atom(one.to_string()));
                let constant = format!("{}::constant", self.name("Array"));
                let values = self.vec(inside(dimensions, &values));
                Expr::Call(constant, vec![Expr::Array("[", extents.collect()), values])
            }
        }
    }

    fn vec(&self, items: Vec<Expr>) -> Expr {
        match items.is_empty() {
            true => Expr::atom(format!("{}::new()", self.name("Vec"))),
            false => Expr::Array("vec![", items),
        }
    }

    /// A time or number that the contract gives as text, which a front end has checked.
    pub(super) fn text_value(&self, ty: &Type, value: &str) -> Expr {
        let call = |name: &str, function: &str, numbers: &[i128]| {
            let numbers = numbers.iter().map(|one| Expr::atom(one.to_string()));
            Expr::Call(
                format!("{}::{function}", self.name(name)),
                numbers.collect(),
            )
        };
        let known = match ty {
            Type::Date => text::date(value).map(|(year, month, day)| {
                call("Date", "constant", &[year.into(), month.into(), day.into()])
            }),
            Type::Duration => text::duration(value).map(|(seconds, nanos)| {
                call("SignedDuration", "new", &[seconds.into(), nanos.into()])
            }),
            Type::Timestamp { offset: false } => text::timestamp(value, true).map(|instant| {
                let numbers = [instant.seconds.into(), instant.nanos.into()];
                call("Timestamp", "constant", &numbers)
            }),
            Type::Timestamp { offset: true } => text::timestamp(value, false).map(|instant| {
                let offset = instant.offset.into();
                let numbers = [instant.seconds.into(), instant.nanos.into(), offset];
                call("TimestampTz", "constant", &numbers)
            }),
            Type::Decimal => text::decimal(value).map(|number| self.decimal(number)),
            _ => None,
        };
        known.unwrap_or_else(|| Expr::atom(format!("{}::default()", self.name("Default"))))
    }

    /// Three words of the number, the lowest first, its sign and its scale.
    fn decimal(&self, (number, scale): (i128, u32)) -> Expr {
        let words = [0, 32, 64].map(|shift| (number.unsigned_abs() >> shift) as u32);
        let mut parts = words.map(|word| word.to_string()).to_vec();
        parts.push((number < 0).to_string());
        parts.push(scale.to_string());
        let parts = parts.into_iter().map(Expr::atom).collect();
        Expr::Call(format!("{}::from_parts", self.name("Decimal")), parts)
    }
}

fn elements(value: &Value) -> Vec<&Value> {
    match value {
        Value::List(items) => items.iter().collect(),
        _ => Vec::new(),
    }
}

/// The extents of an array of so many dimensions, and what is inside, row by row.
fn row_by_row(value: &Value, dimensions: usize) -> (Vec<usize>, Vec<&Value>) {
    let (mut extents, mut values) = (Vec::new(), vec![value]);
    for _ in 0..dimensions {
        extents.push(values.first().map_or(0, |first| elements(first).len()));
        values = values.into_iter().flat_map(elements).collect();
    }
    (extents, values)
}
