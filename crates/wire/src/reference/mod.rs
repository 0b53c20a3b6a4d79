//! References that keep their identity: two that lead to one value still do after transport.

mod nodes;
mod walk;

use nodes::{LATER_MEMORY, ReadLater};
pub use nodes::{Numbered, ReadNodes, WrittenNodes};

use crate::description::{Named, Type};
use crate::reserved::{AGAIN_FIELD, Begun, NODE, NODE_FIELD};
use crate::{
    DecodeError, DecodeErrorKind, EncodeError, Field, FieldValue, Kind, Node, Reader, Row, Writer,
    block,
};
use std::fmt;
use std::sync::{Arc, OnceLock, Weak};

/// A `ref` field: it leads to a value that others can lead to as well, or to nothing.
///
/// A value is owned by the first reference to it, in the order of the message, and by every later
/// one, except those that close a circle: they lead back to a value in which they are themselves,
/// and do not keep it. So no message can make a circle of owners, which would never be freed; a
/// circle falls apart when the reference that leads into it goes. Dovetail's own wire sends nodes
/// that are more than 48 values deep behind the others: a reference from those to what came before
/// leads back as well, whether it closes a circle or not.
///
/// Two references are equal if everything that can be reached from them looks the same, shared or
/// not. Clones lead to the same value. Nothing here needs stack in proportion to the depth of a
/// graph.
///
/// ```
/// use dovetail_wire::{Ref, UnknownFields, message, tagged};
/// use std::sync::Arc;
///
/// #[derive(Clone, Debug, Default, PartialEq)]
/// struct Node {
///     name: String,
///     next: Ref<Node>,
/// }
/// message!(Node { 1 name: String, 2 next: Ref<Node>, });
///
/// #[derive(Debug, Default, PartialEq)]
/// struct Ring {
///     first: Ref<Node>,
/// }
/// message!(Ring { 1 first: Ref<Node>, });
///
/// let first = Arc::new_cyclic(|first| {
///     let second = Node { name: "second".into(), next: Ref::from(first) };
///     Node { name: "first".into(), next: Ref::new(second) }
/// });
/// let ring: Ring = tagged::from_bytes(&tagged::to_bytes(&Ring { first: first.into() })?)?;
/// let first = ring.first.get().ok_or("nothing")?;
/// let second = first.next.get().ok_or("nothing")?;
/// assert!(second.next.is(&first));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Ref<T: 'static>(Link<T>);

enum Link<T> {
    Owner(Arc<T>),
    /// To nothing, or back to a value in which the reference is.
    Back(Weak<T>),
    /// To a value that came behind the reference, and is here once it has come.
    Later(Arc<OnceLock<Arc<T>>>),
}

impl<T> Ref<T> {
    /// Leads to a new value, and owns it.
    pub fn new(value: T) -> Self {
        Arc::new(value).into()
    }

    /// Leads to nothing.
    pub const fn null() -> Self {
        Ref(Link::Back(Weak::new()))
    }

    /// The value; `None` where it leads to nothing, or to what nobody owns any more.
    pub fn get(&self) -> Option<Arc<T>> {
        match &self.0 {
            Link::Owner(node) => Some(node.clone()),
            Link::Back(node) => node.upgrade(),
            Link::Later(node) => node.get().cloned(),
        }
    }

    /// Returns whether it was made to lead to nothing. One whose value is gone only leads to
    /// nothing.
    pub fn is_null(&self) -> bool {
        match &self.0 {
            Link::Owner(_) | Link::Later(_) => false,
            Link::Back(node) => node.ptr_eq(&Weak::new()),
        }
    }

    /// Returns whether it leads to just this value.
    pub fn is(&self, node: &Arc<T>) -> bool {
        self.get().is_some_and(|own| Arc::ptr_eq(&own, node))
    }
}

impl<T> From<Arc<T>> for Ref<T> {
    /// Leads to a value, and owns it with the others that do.
    fn from(node: Arc<T>) -> Self {
        Ref(Link::Owner(node))
    }
}

impl<T> From<&Weak<T>> for Ref<T> {
    /// Leads to a value that others own.
    fn from(node: &Weak<T>) -> Self {
        Ref(Link::Back(node.clone()))
    }
}

impl<T> Default for Ref<T> {
    fn default() -> Self {
        Self::null()
    }
}

impl<T> Clone for Ref<T> {
    fn clone(&self) -> Self {
        Ref(match &self.0 {
            Link::Owner(node) => Link::Owner(node.clone()),
            Link::Back(node) => Link::Back(node.clone()),
            Link::Later(node) => Link::Later(node.clone()),
        })
    }
}

impl<T> Drop for Ref<T> {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.0, Link::Back(Weak::new())) {
            Link::Owner(node) => walk::drop_node(node),
            Link::Later(node) => walk::drop_node(node),
            Link::Back(_) => {}
        }
    }
}

impl<T: PartialEq> PartialEq for Ref<T> {
    fn eq(&self, other: &Self) -> bool {
        match (self.get(), other.get()) {
            (Some(left), Some(right)) => walk::equal(left, right),
            (left, right) => left.is_none() && right.is_none(),
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Some(node) => walk::show(&node, f),
            None => f.write_str("null"),
        }
    }
}

/// The number for a reference where fields have no ids; for a node that came before, its number is
/// added.
const NULL: usize = 0;
const NEW: usize = 1;
const AGAIN_FROM: usize = 2;

/// Bytes that the reader keeps for a node, besides its value, to find it again.
pub const NODE_MEMORY: usize = 128;

impl<T: Node> Ref<T> {
    /// A node that came before. One of an earlier part of the message may own all that comes now,
    /// and is not owned by it.
    fn read_again(number: u64, nodes: &ReadNodes) -> Result<Self, DecodeError> {
        let (node, before): (Self, bool) = nodes.find(number)?;
        Ok(match node.get() {
            Some(node) if before => Self::from(&Arc::downgrade(&node)),
            _ => node,
        })
    }

    /// A node that comes behind the value.
    fn await_later<'de, R: Reader<'de> + ?Sized>(
        number: u64,
        reader: &mut R,
    ) -> Result<Self, DecodeError> {
        reader.budget().allocate(LATER_MEMORY)?;
        let node = Ref(Link::Later(Arc::default()));
        let later = Awaited(number, node.clone());
        reader.nodes()?.wait(number, node.clone(), later)?;
        Ok(node)
    }

    /// Reads a node that comes for the first time. While it is read, references to it lead back.
    fn read_new<'de, R: Reader<'de> + ?Sized>(
        number: Option<u64>,
        begun: Option<Begun>,
        reader: &mut R,
    ) -> Result<Self, DecodeError> {
        let counters = 2 * size_of::<usize>();
        reader
            .budget()
            .allocate(block(counters + size_of::<T>()) + NODE_MEMORY)?;
        let mut result = Ok(());
        let node = Arc::new_cyclic(|node| {
            let mut value = T::default();
            let kept = match number {
                Some(number) => reader
                    .nodes()
                    .and_then(|nodes| nodes.insert(number, Self::from(node))),
                None => Ok(()),
            };
            result = kept.and_then(|()| match begun {
                Some(begun) => value.read_inside(begun, reader),
                None => value.read(reader),
            });
            value
        });
        result?;
        if let Some(number) = number {
            reader.nodes()?.complete(number, Self::from(node.clone()));
        }
        Ok(node.into())
    }
}

/// A node of this number that comes behind the value, and what leads to it.
struct Awaited<T: 'static>(u64, Ref<T>);

impl<T: Node> ReadLater for Awaited<T> {
    fn read(&self, reader: &mut dyn Reader<'_>) -> Result<(), DecodeError> {
        reader.nodes()?.comes(self.0);
        let node = Ref::<T>::read_new(Some(self.0), None, reader)?;
        if let (Link::Later(place), Some(node)) = (&self.1.0, node.get()) {
            // It was awaited once.
            let _ = place.set(node);
        }
        Ok(())
    }
}

impl<T: Node> FieldValue for Ref<T> {
    const KIND: Kind = Kind::Struct;

    fn write_field<W: Writer + ?Sized>(
        &self,
        field: &Field<'_>,
        writer: &mut W,
    ) -> Result<(), EncodeError> {
        match self.get() {
            None if field.required => return Err(NOTHING),
            None => return Ok(()),
            Some(_) => {}
        }
        writer.begin_field(field)?;
        self.write_value(writer)?;
        writer.end_field()
    }

    fn is_null(&self) -> bool {
        Self::is_null(self)
    }

    fn write_value<W: Writer + ?Sized>(&self, writer: &mut W) -> Result<(), EncodeError> {
        let node = self.get();
        let numbered = match &node {
            Some(node) => Some(number(node, writer)?),
            None => None,
        };
        write_reference(numbered, writer)?;
        match (node, numbered) {
            (Some(node), Some(Numbered::New(_))) if writer.is_positional() => node.write(writer),
            (Some(node), Some(Numbered::New(_))) => {
                node.write_inside(writer)?;
                writer.end_struct()
            }
            _ => Ok(()),
        }
    }

    fn read_field<'de, R: Reader<'de> + ?Sized>(
        &mut self,
        reader: &mut R,
    ) -> Result<(), DecodeError> {
        *self = match read_reference(T::FIELDS, reader)? {
            Reference::Null => Self::null(),
            Reference::Again(number) => Self::read_again(number, reader.nodes()?)?,
            Reference::Later(number) => Self::await_later(number, reader)?,
            Reference::New { number, begun } => Self::read_new(number, begun, reader)?,
        };
        Ok(())
    }

    fn describe() -> Option<Type<Named>> {
        Some(Type::Ref(Box::new(T::describe())))
    }
}

/// The number of a node. One that is deep in the value is written behind it.
fn number<T: Node, W: Writer + ?Sized>(
    node: &Arc<T>,
    writer: &mut W,
) -> Result<Numbered, EncodeError> {
    let is_deep = writer.is_deep();
    let nodes = writer.nodes()?;
    Ok(match nodes.of(node)? {
        Numbered::New(number) if is_deep => {
            nodes.wait(node);
            Numbered::Later(number)
        }
        numbered => numbered,
    })
}

const NOTHING: EncodeError = EncodeError::Unsupported {
    what: "a required reference that leads to nothing",
};

/// Refuses to write nothing for a required field.
#[inline]
pub fn write_required<F: Row>(place: &F::Place, field: &Field<'_>) -> Result<(), EncodeError> {
    match field.required && F::is_null(place) {
        false => Ok(()),
        true => Err(NOTHING),
    }
}

/// Refuses to read nothing for a required field.
#[inline]
pub fn read_required<F: Row>(place: &F::Place, field: &Field<'_>) -> Result<(), DecodeError> {
    match field.required && F::is_null(place) {
        false => Ok(()),
        true => Err(DecodeErrorKind::MissingField {
            name: field.name.to_owned().into(),
        }
        .into()),
    }
}

/// Which node a reference leads to, as far as it has been read.
#[derive(Clone, Copy, Debug)]
pub enum Reference {
    /// To nothing.
    Null,
    /// To the node of this number, which came before.
    Again(u64),
    /// To a node of this number, which comes behind the value.
    Later(u64),
    /// To a node that comes now.
    New {
        /// Its number; `None` from a peer that knows nothing of references.
        number: Option<u64>,
        /// Its struct, where that has begun: only in a positional encoding it has not.
        begun: Option<Begun>,
    },
}

/// Reads which node a reference leads to; `fields` are those of the node. A new one follows.
pub fn read_reference<'de, R: Reader<'de> + ?Sized>(
    fields: &[Field<'_>],
    reader: &mut R,
) -> Result<Reference, DecodeError> {
    if reader.is_positional() {
        let code = reader.begin_union()?;
        reader.end_positional()?;
        return Ok(match code {
            NULL => Reference::Null,
            NEW => Reference::New {
                number: Some(reader.nodes()?.count()),
                begun: None,
            },
            again => match (again - AGAIN_FROM) as u64 {
                new if new == reader.nodes()?.count() => Reference::Later(new),
                number => Reference::Again(number),
            },
        });
    }
    reader.begin_struct()?;
    let mut begun = Begun::default();
    let later = reader.nodes()?.may_come_later();
    if let Some(again) = begun.again(later, fields, reader)? {
        begun.end(reader)?;
        return Ok(again);
    }
    Ok(Reference::New {
        number: begun.number(NODE, fields, reader)?,
        begun: Some(begun),
    })
}

/// Writes what says which node a reference leads to; `None` for nothing. Behind a new one, its
/// value follows in a positional encoding, else its fields and the end of the struct.
pub fn write_reference<W: Writer + ?Sized>(
    node: Option<Numbered>,
    writer: &mut W,
) -> Result<(), EncodeError> {
    if writer.is_positional() {
        writer.begin_union(match node {
            None => NULL,
            Some(Numbered::New(_)) => NEW,
            Some(Numbered::Again(number) | Numbered::Later(number)) => AGAIN_FROM + number as usize,
        })?;
        return writer.end_struct();
    }
    match node {
        None => Err(EncodeError::Unsupported {
            what: "a reference that leads to nothing, where a value has to stand",
        }),
        Some(Numbered::New(number)) => {
            writer.begin_struct()?;
            write_number(&NODE_FIELD, number_of(number)?, writer)
        }
        Some(Numbered::Again(number)) => {
            writer.begin_struct()?;
            write_number(&AGAIN_FIELD, number_of(number)?, writer)?;
            writer.end_struct()
        }
        Some(Numbered::Later(number)) => {
            writer.begin_struct()?;
            write_number(&AGAIN_FIELD, !number_of(number)?, writer)?;
            writer.end_struct()
        }
    }
}

fn number_of(number: u64) -> Result<i32, EncodeError> {
    i32::try_from(number).map_err(|_| EncodeError::Unsupported {
        what: "more references than there are numbers",
    })
}

fn write_number<W: Writer + ?Sized>(
    field: &Field<'_>,
    number: i32,
    writer: &mut W,
) -> Result<(), EncodeError> {
    writer.begin_field(field)?;
    writer.i32(number)?;
    writer.end_field()
}
