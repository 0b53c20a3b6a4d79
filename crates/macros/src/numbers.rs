//! Ids that nobody has written.

use crate::attributes::Attributes;
use proc_macro2::{Literal, Span};
use std::collections::HashMap;
use syn::{Error, Result};

/// Gives each field its id: the one that it says, else that of the one before it plus one.
pub(crate) struct Numbers {
    next: i32,
    taken: HashMap<i32, String>,
}

impl Numbers {
    /// Numbers that begin with this one.
    pub(crate) fn from(first: i32) -> Self {
        let taken = HashMap::new();
        Numbers { next: first, taken }
    }

    /// The number of the next one, which is called so.
    pub(crate) fn give(
        &mut self,
        attributes: &Attributes,
        name: &str,
        span: Span,
    ) -> Result<Literal> {
        let (id, span) = attributes.id.unwrap_or((self.next, span));
        if let Some(other) = self.taken.insert(id, name.to_owned()) {
            let why = format!(
                "`{other}` has the number {id} already; choose one with `#[dovetail(id = …)]`"
            );
            return Err(Error::new(span, why));
        }
        self.next = id.saturating_add(1);
        let mut literal = Literal::i32_unsuffixed(id);
        literal.set_span(span);
        Ok(literal)
    }
}
