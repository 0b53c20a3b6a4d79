use super::any::{self, Parts};
use super::lexer::{Lexer, not_a_number};
use super::number::{finite, is_number, whole};
use super::place::Place;
use super::{RESERVED, RESULT, camel_case, mask};
use crate::any_types;
use crate::input::SHARED;
use crate::params::{no_param, params_by_place};
use crate::reserved::TYPE;
use crate::spelling;
use crate::{
    Any, AnyTypes, Budget, Cursor, DecodeError, DecodeErrorKind, Dynamic, DynamicList, DynamicMap,
    Field, Form, Kind, Limits, Names, NextField, ReadNodes, SeenFields, Sequence, UnknownValue,
    block,
};
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use base64::{Engine as _, alphabet};
use bytes::Bytes;
use std::borrow::Cow;
use std::str::FromStr;

/// With or without padding, whatever the bits behind the last byte are.
const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    .with_decode_allow_trailing_bits(true);
const STANDARD: GeneralPurpose = GeneralPurpose::new(&alphabet::STANDARD, LENIENT);
const URL_SAFE: GeneralPurpose = GeneralPurpose::new(&alphabet::URL_SAFE, LENIENT);

/// A message in an [`Any`] is there twice: decoded, and in protobuf, which takes up to four times
/// as much while it grows.
const ANY_SHARE: usize = 5;

/// A member of an object: its name, and the text of its value.
type Member<'de> = (Cow<'de, str>, &'de [u8]);

/// Reads values in JSON.
pub struct Reader<'de> {
    lexer: Lexer<'de>,
    budget: Budget,
    nodes: ReadNodes,
    place: Place,
    /// Which fields of the struct have come, unless they were `null`.
    seen: SeenFields,
    /// The places around this one.
    outer: Vec<(Place, SeenFields, bool)>,
    /// Whether a member of this struct was passed over, and whether one was of the struct that
    /// ended last.
    dropped: bool,
    lost: bool,
    /// The paths of a field mask that have not been read.
    paths: Option<std::vec::IntoIter<String>>,
    bare: bool,
    /// Whether a member of the outermost object that is no field is an error.
    exact: bool,
    /// Whether names that an enum does not have are left out, and whether the last one was.
    leaves_out: bool,
    left_out: bool,
    /// Which reserved field comes.
    reserved: i32,
}

impl<'de> Reader<'de> {
    /// Reads from `input`.
    pub fn new(input: &'de [u8], limits: Limits) -> Self {
        Reader {
            lexer: Lexer::new(input),
            budget: Budget::new(limits),
            nodes: ReadNodes::default(),
            place: Place::Alone,
            seen: SeenFields::default(),
            outer: Vec::new(),
            dropped: false,
            lost: false,
            paths: None,
            bare: false,
            exact: false,
            leaves_out: false,
            left_out: false,
            reserved: TYPE,
        }
    }

    /// Parameters and replies are the value of their first field, without an object around it: the
    /// form that they have in contracts of protobuf.
    #[must_use]
    pub fn bare(mut self, bare: bool) -> Self {
        self.bare = bare;
        self
    }

    /// Leaves out the values of enums whose names the contract does not have, and the elements and
    /// entries that they are; otherwise such a name is an error. Members of objects that the
    /// contract does not have are left out in any case.
    #[must_use]
    pub fn leaving_out_unknown_names(mut self) -> Self {
        self.leaves_out = true;
        self
    }

    /// How many bytes have been read, with the white space behind them.
    pub fn position(&self) -> usize {
        let rest = self.lexer.input.rest();
        self.lexer.input.position() + (rest.len() - rest.trim_ascii_start().len())
    }

    /// Reads what stands between a key and its value, if one has been read.
    fn behind_key(&mut self) -> Result<(), DecodeError> {
        let (mark, next) = match self.place {
            Place::Value => (b':', Place::Entry),
            Place::Second => (b',', Place::Pair),
            _ => return Ok(()),
        };
        self.place = next;
        self.lexer.expect(mark)
    }

    /// Reads what separates the next value from what is before it. True where the value is a key,
    /// which is text.
    fn separate(&mut self) -> Result<bool, DecodeError> {
        self.behind_key()?;
        match self.place {
            Place::Key => self.place = Place::Value,
            Place::First => self.place = Place::Second,
            _ => return Ok(false),
        }
        Ok(self.place == Place::Value)
    }

    fn enter(&mut self, place: Place) -> Result<(), DecodeError> {
        self.budget.enter()?;
        let dropped = std::mem::take(&mut self.dropped);
        let seen = std::mem::take(&mut self.seen);
        self.outer.push((self.place, seen, dropped));
        self.place = place;
        Ok(())
    }

    fn leave(&mut self) {
        self.budget.leave();
        self.lost = self.dropped;
        let outer = self.outer.pop();
        (self.place, self.seen, self.dropped) =
            outer.unwrap_or((Place::Alone, SeenFields::default(), false));
    }

    /// The characters of a number, perhaps in quotes.
    fn number(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        let (text, _) = self.number_text()?;
        match is_number(&text) {
            true => Ok(text),
            false => Err(not_a_number(&text)),
        }
    }

    /// The characters where a number is expected, and whether they have quotes. Those of a key must
    /// have some.
    fn number_text(&mut self) -> Result<(Cow<'de, str>, bool), DecodeError> {
        let key = self.separate()?;
        match self.lexer.peek()? {
            b'"' => Ok((self.lexer.quoted(&mut self.budget)?, true)),
            _ if key => Err(DecodeError::malformed("a key without quotes")),
            _ => Ok((self.lexer.bare_number()?.into(), false)),
        }
    }

    fn integer<T: TryFrom<i128>>(&mut self) -> Result<T, DecodeError> {
        let text = self.number()?;
        let value = text.parse().ok().or_else(|| whole(&text));
        let value = value.and_then(|value| T::try_from(value).ok());
        value.ok_or_else(|| not_a_number(&text))
    }

    fn float<T: FromStr + From<f32> + Into<f64> + Copy>(&mut self) -> Result<T, DecodeError> {
        let (text, quoted) = self.number_text()?;
        let named = match &*text {
            "NaN" if quoted => Some(f32::NAN),
            "Infinity" if quoted => Some(f32::INFINITY),
            "-Infinity" if quoted => Some(f32::NEG_INFINITY),
            _ => None,
        };
        if let Some(value) = named {
            return Ok(value.into());
        }
        match is_number(&text) {
            true => finite(&text),
            false => Err(not_a_number(&text)),
        }
    }

    fn word<T, const N: usize>(&mut self, words: [(&[u8], T); N]) -> Result<T, DecodeError> {
        self.lexer.peek()?;
        for (word, value) in words {
            if self.lexer.input.rest().starts_with(word) {
                self.lexer.input.take(word.len())?;
                return Ok(value);
            }
        }
        Err(DecodeError::malformed("a word that is none of JSON's"))
    }

    fn null(&mut self) -> Result<bool, DecodeError> {
        if self.lexer.peek()? != b'n' {
            return Ok(false);
        }
        self.word([(b"null", true)])
    }

    /// Begins a list or a map. Nothing says how many elements it has.
    fn sequence(&mut self, place: Place) -> Result<Sequence, DecodeError> {
        self.enter(place)?;
        Ok(Sequence::counted(0))
    }

    /// Reads up to the next member of what ends with `close`, or past its end. `first`: no comma
    /// stands before it.
    fn step(&mut self, first: bool, close: u8) -> Result<bool, DecodeError> {
        if self.lexer.takes(close)? {
            self.leave();
            return Ok(false);
        }
        if !first {
            self.lexer.expect(b',')?;
        }
        Ok(true)
    }

    fn is_compound(&mut self) -> Result<bool, DecodeError> {
        Ok(matches!(self.lexer.peek()?, b'{' | b'['))
    }

    /// The name of the next field; `None` past the end of the struct.
    fn field_name(&mut self) -> Result<Option<Cow<'de, str>>, DecodeError> {
        let first = self.place == Place::FirstField;
        if !self.step(first, b'}')? {
            return Ok(None);
        }
        let name = self.lexer.quoted(&mut self.budget)?;
        self.lexer.expect(b':')?;
        self.place = Place::Field;
        Ok(Some(name))
    }

    /// Notes that a field has a value. Nor may it have come before, nor another one of its oneof.
    fn note(&mut self, fields: &[Field<'_>], index: usize) -> Result<(), DecodeError> {
        let Some(field) = fields.get(index) else {
            return Ok(());
        };
        let clashes = |(at, other): &(usize, &Field<'_>)| {
            let oneof = field.oneof.is_some() && field.oneof == other.oneof;
            (*at == index || oneof) && self.seen.contains(*at)
        };
        let other = match field.oneof {
            None => self.seen.contains(index).then_some(field),
            Some(_) => fields
                .iter()
                .enumerate()
                .find(clashes)
                .map(|(_, other)| other),
        };
        if let Some(other) = other {
            let text = match other.id == field.id {
                true => format!("the member {:?} comes twice", field.name),
                false => format!("{:?} beside {:?} of the same oneof", field.name, other.name),
            };
            return Err(DecodeError::malformed(text));
        }
        self.seen.insert(index);
        Ok(())
    }

    /// Reads the text that a field mask is.
    fn mask(&mut self) -> Result<(), DecodeError> {
        let text = crate::Reader::string(self)?;
        let paths = text.split(',').filter(|path| !path.is_empty());
        let mut read = Vec::new();
        for path in paths {
            // Each capital letter gets a `_`.
            self.budget.block(4 * path.len())?;
            self.budget.room(&mut read)?;
            let path = mask::to_path(path);
            read.push(path.ok_or_else(|| DecodeError::malformed("a field mask with a `_`"))?);
        }
        self.paths = Some(read.into_iter());
        Ok(())
    }

    /// Passes over a value of any type. Goes no deeper than a reader would.
    fn skip(&mut self) -> Result<(), DecodeError> {
        match self.lexer.peek()? {
            b'"' => self.lexer.quoted(&mut self.budget).map(drop),
            b'{' => self.skip_members(b'}'),
            b'[' => self.skip_members(b']'),
            b'n' => self.null().map(drop),
            b't' | b'f' => self.word([(b"true", ()), (b"false", ())]),
            _ => {
                let text = self.lexer.bare_number()?;
                match is_number(text) {
                    true => Ok(()),
                    false => Err(not_a_number(text)),
                }
            }
        }
    }

    /// The text of the next value, of any type.
    fn raw(&mut self) -> Result<&'de [u8], DecodeError> {
        self.lexer.peek()?;
        let rest = self.lexer.input.rest();
        self.skip()?;
        let len = rest.len() - self.lexer.input.rest().len();
        Ok(rest.get(..len).unwrap_or_default())
    }

    /// The members of the object that is the whole input, each with the text of its value.
    pub(super) fn members(mut self) -> Result<Vec<Member<'de>>, DecodeError> {
        let mut members = Vec::new();
        crate::Reader::begin_struct(&mut self)?;
        while let Some(name) = self.field_name()? {
            self.budget.room(&mut members)?;
            members.push((name, self.raw()?));
        }
        Ok(members)
    }

    /// The text that is the whole input.
    pub(super) fn text(mut self) -> Result<String, DecodeError> {
        crate::Reader::string(&mut self).map(Cow::into_owned)
    }

    fn skip_members(&mut self, close: u8) -> Result<(), DecodeError> {
        self.lexer.input.byte()?;
        self.enter(Place::Alone)?;
        let mut first = true;
        while self.step(first, close)? {
            first = false;
            if close == b'}' {
                self.lexer.quoted(&mut self.budget)?;
                self.lexer.expect(b':')?;
            }
            self.skip()?;
        }
        Ok(())
    }

    /// Reads a value of any shape.
    fn any(&mut self) -> Result<Dynamic, DecodeError> {
        use crate::Reader as _;
        self.behind_key()?;
        Ok(match self.lexer.peek()? {
            b'"' => self.string()?.into_owned().into(),
            b'[' => {
                let mut sequence = self.begin_list(Kind::Struct)?;
                let mut values = Vec::new();
                while self.next_element(&mut sequence)? {
                    self.budget.room(&mut values)?;
                    values.push(self.any()?);
                }
                DynamicList { values }.into()
            }
            b'{' => {
                let mut sequence = self.begin_map(Kind::String, Kind::Struct)?;
                let mut map = DynamicMap::default();
                while self.next_element(&mut sequence)? {
                    self.budget.room(&mut map.fields)?;
                    map.insert(self.string()?.into_owned(), self.any()?);
                }
                map.into()
            }
            b'n' => {
                // It may be the first of a pair.
                self.separate()?;
                self.null()?;
                Dynamic::NULL
            }
            b't' | b'f' => self.bool()?.into(),
            _ => {
                let text = self.number()?;
                let whole = text.parse::<i64>().map(Dynamic::from);
                let whole = whole.or_else(|_| text.parse::<u64>().map(Dynamic::from));
                match whole {
                    Ok(number) => number,
                    Err(_) => finite::<f64>(&text)?.into(),
                }
            }
        })
    }
}

/// The field with this name, looked for first where the one before leads to.
fn find(fields: &[Field<'_>], from: usize, name: &str) -> Option<usize> {
    let is_called = |field: &Field<'_>| field.json.unwrap_or(field.name) == name;
    if fields.get(from).is_some_and(is_called) {
        return Some(from);
    }
    let exact = fields.iter().position(is_called);
    exact.or_else(|| {
        let fits = |field: &Field<'_>| {
            field.name == name
                || camel_case(field.name).eq(name.chars())
                || field.id == 0 && name == RESULT
                || spelling::snake(field.name).eq(name.chars())
        };
        fields.iter().position(fits)
    })
}

#[cold]
fn mismatch(expected: Kind, found: u8) -> DecodeError {
    let found = match found {
        b'"' => "text",
        b'{' => "an object",
        b'[' => "an array",
        b't' | b'f' => "a truth value",
        b'n' => "null",
        _ => "a number",
    };
    DecodeErrorKind::TypeMismatch {
        expected,
        found: found.into(),
    }
    .into()
}

impl<'de> crate::Reader<'de> for Reader<'de> {
    #[inline]
    fn budget(&mut self) -> &mut Budget {
        &mut self.budget
    }

    fn nodes(&mut self) -> Result<&mut ReadNodes, DecodeError> {
        Ok(&mut self.nodes)
    }

    fn bool(&mut self) -> Result<bool, DecodeError> {
        if !self.separate()? {
            return self.word([(b"true", true), (b"false", false)]);
        }
        match &*self.lexer.quoted(&mut self.budget)? {
            "true" => Ok(true),
            "false" => Ok(false),
            _ => Err(DecodeError::malformed("a key that is no truth value")),
        }
    }

    fn i8(&mut self) -> Result<i8, DecodeError> {
        self.integer()
    }

    fn i16(&mut self) -> Result<i16, DecodeError> {
        self.integer()
    }

    fn i32(&mut self) -> Result<i32, DecodeError> {
        self.integer()
    }

    fn i64(&mut self) -> Result<i64, DecodeError> {
        self.integer()
    }

    fn u8(&mut self) -> Result<u8, DecodeError> {
        self.integer()
    }

    fn u16(&mut self) -> Result<u16, DecodeError> {
        self.integer()
    }

    fn u32(&mut self) -> Result<u32, DecodeError> {
        self.integer()
    }

    fn u64(&mut self) -> Result<u64, DecodeError> {
        self.integer()
    }

    fn f32(&mut self) -> Result<f32, DecodeError> {
        self.float()
    }

    fn f64(&mut self) -> Result<f64, DecodeError> {
        self.float()
    }

    fn string(&mut self) -> Result<Cow<'de, str>, DecodeError> {
        if let (Place::Paths, Some(paths)) = (self.place, &mut self.paths) {
            return Ok(paths.next().unwrap_or_default().into());
        }
        self.separate()?;
        match self.lexer.peek()? {
            b'"' => {}
            found => return Err(mismatch(Kind::String, found)),
        }
        self.lexer.text(&mut self.budget)
    }

    fn bytes(&mut self) -> Result<Bytes, DecodeError> {
        self.separate()?;
        let text = self.lexer.quoted(&mut self.budget)?;
        self.budget
            .allocate(block(text.len() / 4 * 3 + 3) + SHARED)?;
        let engine = match text.contains(['-', '_']) {
            true => URL_SAFE,
            false => STANDARD,
        };
        match engine.decode(text.as_bytes()) {
            Ok(bytes) => {
                self.budget.string(bytes.len())?;
                Ok(bytes.into())
            }
            Err(_) => Err(DecodeError::malformed("bytes that are not base64")),
        }
    }

    /// Its text, or the base64 of its bytes, which is what peers send whose contract says `bytes`.
    fn uuid(&mut self) -> Result<[u8; 16], DecodeError> {
        self.separate()?;
        let text = self.lexer.quoted(&mut self.budget)?;
        let bytes = match text.len() {
            22 | 24 => STANDARD.decode(text.as_bytes()).ok(),
            _ => uuid::Uuid::parse_str(&text)
                .ok()
                .map(|uuid| uuid.as_bytes().to_vec()),
        };
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| DecodeError::malformed("a uuid that is not one"))
    }

    /// Its name, or its number, perhaps as text.
    fn enumeration(&mut self, names: &dyn Names) -> Result<i32, DecodeError> {
        self.behind_key()?;
        self.left_out = false;
        if names.is_null() && self.null()? {
            return Ok(0);
        }
        if self.lexer.peek()? != b'"' {
            return self.integer();
        }
        self.separate()?;
        let name = self.lexer.quoted(&mut self.budget)?;
        let number = names.number(&name).or_else(|| name.parse().ok());
        let number = number.or_else(|| spelling::number(names, &name));
        self.left_out = number.is_none() && self.leaves_out;
        let number = number.or(self.left_out.then_some(0));
        number.ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            DecodeError::malformed(format!("{shown:?} is no value of the enum"))
        })
    }

    fn is_left_out(&self) -> bool {
        self.left_out
    }

    fn as_text(&mut self) -> Result<Option<Cow<'de, str>>, DecodeError> {
        self.behind_key()?;
        match self.lexer.peek()? {
            b'"' => crate::Reader::string(self).map(Some),
            _ => Ok(None),
        }
    }

    fn dynamic(&mut self) -> Result<Option<Dynamic>, DecodeError> {
        self.any().map(Some)
    }

    fn any_message(&mut self, types: &dyn AnyTypes) -> Result<Option<Any>, DecodeError> {
        self.behind_key()?;
        if self.lexer.peek()? != b'{' {
            return Ok(None);
        }
        let rest = self.lexer.input.rest();
        let object = self.raw()?;
        // The name and the other members are copied once.
        self.budget.block(object.len())?;
        self.budget.enter()?;
        let limits = self.budget.left();
        let own = |name: &str| {
            let name = name.rsplit('/').next().unwrap_or(name);
            types
                .has_own_form(name)
                .ok_or_else(|| any_types::unknown(name))
        };
        let parts = any::parts(object, limits, own)?;
        self.budget.leave();
        let Some(Parts { type_name, message }) = parts else {
            self.lexer.input.set_rest(rest);
            return Ok(None);
        };
        let name = type_name.rsplit('/').next().unwrap_or(&type_name);
        let limits = Limits {
            allocation: self.budget.left().allocation / ANY_SHARE,
            ..limits
        };
        let value = types.to_protobuf(name, message.into(), limits)?;
        self.budget.allocate(block(value.capacity()) + SHARED)?;
        Ok(Some(Any {
            value: value.into(),
            type_name,
            ..Any::default()
        }))
    }

    fn leaves_out_defaults(&self) -> bool {
        true
    }

    fn begin_list(&mut self, _: Kind) -> Result<Sequence, DecodeError> {
        if self.place == Place::BareEnd && self.paths.is_some() {
            return self.sequence(Place::Paths);
        }
        self.separate()?;
        match self.lexer.peek()? {
            b'[' => {
                self.lexer.input.byte()?;
                self.sequence(Place::FirstElement)
            }
            found => Err(mismatch(Kind::List, found)),
        }
    }

    fn begin_map(&mut self, _: Kind, _: Kind) -> Result<Sequence, DecodeError> {
        self.separate()?;
        let place = match self.lexer.peek()? {
            b'{' => Place::FirstEntry,
            b'[' => Place::FirstPair,
            found => return Err(mismatch(Kind::Map, found)),
        };
        self.lexer.input.byte()?;
        self.sequence(place)
    }

    fn next_element(&mut self, _: &mut Sequence) -> Result<bool, DecodeError> {
        let (first, next, close) = match self.place {
            Place::Paths => {
                let more = self.paths.as_ref().is_some_and(|paths| paths.len() > 0);
                if !more {
                    self.paths = None;
                    self.leave();
                }
                return Ok(more);
            }
            Place::FirstElement => (true, Place::Element, b']'),
            Place::Element => (false, Place::Element, b']'),
            Place::FirstEntry => (true, Place::Key, b'}'),
            Place::Entry => (false, Place::Key, b'}'),
            Place::FirstPair => (true, Place::First, b']'),
            Place::Pair => {
                self.lexer.expect(b']')?;
                (false, Place::First, b']')
            }
            _ => return Err(DecodeError::malformed("an element that was not read")),
        };
        if !self.step(first, close)? {
            return Ok(false);
        }
        self.place = next;
        if next == Place::First {
            self.lexer.expect(b'[')?;
        }
        Ok(true)
    }

    fn begin_struct(&mut self) -> Result<(), DecodeError> {
        self.separate()?;
        match self.lexer.peek()? {
            b'{' => {
                self.lexer.input.byte()?;
                self.enter(Place::FirstField)
            }
            found => Err(mismatch(Kind::Struct, found)),
        }
    }

    fn begin_message(&mut self, form: Form) -> Result<(), DecodeError> {
        match form {
            Form::Fields => self.begin_struct(),
            Form::Bare => {
                self.separate()?;
                self.enter(Place::Bare)
            }
            Form::Mask => {
                self.mask()?;
                self.enter(Place::Mask)
            }
        }
    }

    fn begin_params(&mut self) -> Result<(), DecodeError> {
        match self.bare {
            true => self.enter(Place::Bare),
            false if self.lexer.peek()? == b'[' => Err(params_by_place()),
            false => self.begin_struct(),
        }
    }

    fn lost_fields(&self) -> bool {
        self.lost
    }

    fn refuse_surplus(&mut self, _: usize) -> Result<(), DecodeError> {
        self.exact = true;
        Ok(())
    }

    fn begin_reply(&mut self) -> Result<(), DecodeError> {
        self.begin_params()
    }

    /// A member that is `null` is absent.
    fn next_field(
        &mut self,
        fields: &[Field<'_>],
        cursor: &mut Cursor,
    ) -> Result<NextField, DecodeError> {
        match (self.place, fields) {
            (Place::Bare, [_, ..]) => {
                self.place = Place::BareEnd;
                return Ok(NextField::Known(0));
            }
            (Place::Bare, []) => {
                self.skip()?;
                self.leave();
                return Ok(NextField::End);
            }
            (Place::BareEnd, _) => {
                self.leave();
                return Ok(NextField::End);
            }
            (Place::Mask, _) => {
                self.place = Place::BareEnd;
                return Ok(NextField::Known(0));
            }
            (Place::FirstField | Place::Field, _) => {}
            (unread, _) => {
                return Err(DecodeError::malformed(format!(
                    "a field where there is none ({unread:?})"
                )));
            }
        }
        while let Some(name) = self.field_name()? {
            let known = find(fields, cursor.index, &name);
            let field = known.and_then(|index| fields.get(index));
            if !field.is_some_and(|field| field.nullable) && self.null()? {
                continue;
            }
            if let Some(index) = known {
                self.note(fields, index)?;
            }
            let reserved = RESERVED.iter().find(|(_, known)| *known == name);
            match (reserved, known) {
                (Some((id, _)), _) if !self.is_compound()? => {
                    self.reserved = *id;
                    return Ok(NextField::Unknown(*id));
                }
                (None, Some(index)) => {
                    cursor.index = index + 1;
                    return Ok(NextField::Known(index));
                }
                _ if self.exact && self.outer.len() == 1 => return Err(no_param(fields, &name)),
                _ => {
                    self.skip()?;
                    self.dropped = true;
                }
            }
        }
        Ok(NextField::End)
    }

    /// The value of a reserved member. In a struct to which it means nothing it can have any type.
    fn unknown_value(&mut self) -> Result<UnknownValue, DecodeError> {
        match self.lexer.peek()? {
            b'"' => {
                let text = self.string()?;
                let number = (self.reserved != TYPE).then(|| text.parse().ok()).flatten();
                let text = || UnknownValue::String(text.into());
                Ok(number.map_or_else(text, UnknownValue::I64))
            }
            b't' | b'f' => self.bool().map(UnknownValue::Bool),
            _ => {
                let text = self.number()?;
                match text.parse() {
                    Ok(number) => Ok(UnknownValue::I64(number)),
                    Err(_) => finite(&text).map(f64::to_bits).map(UnknownValue::F64),
                }
            }
        }
    }
}
