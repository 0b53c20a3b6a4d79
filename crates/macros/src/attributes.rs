//! `#[dovetail(…)]`.

use proc_macro2::Span;
use quote::ToTokens;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Error, Expr, Ident, LitInt, LitStr, Meta, Path, Result, Token, parse_quote};

/// The attributes of one item.
#[derive(Default)]
pub(crate) struct Attributes {
    /// `id = 7`, with the place where it is said.
    pub(crate) id: Option<(i32, Span)>,
    /// `name = "type"`.
    pub(crate) name: Option<LitStr>,
    /// `header = "x-debug"`.
    pub(crate) header: Option<LitStr>,
    /// `package = "shop"`.
    pub(crate) package: Option<LitStr>,
    /// `permission = "orders.write"`.
    pub(crate) permission: Option<LitStr>,
    /// `default = 10`.
    pub(crate) default: Option<Expr>,
    /// `crate = path`: where the tables come from.
    pub(crate) root: Option<Path>,
    /// `passes(Cursor, Watcher)`: services of objects.
    pub(crate) passes: Vec<Path>,
    flags: Vec<Ident>,
}

impl Attributes {
    /// Reads the attributes of an item that takes only some of the words.
    pub(crate) fn of(attributes: &[Attribute], words: &[&str]) -> Result<Self> {
        let mut found = Attributes::default();
        for attribute in attributes.iter().filter(|a| is_own(a)) {
            attribute.parse_nested_meta(|meta| found.add(&meta, words))?;
        }
        Ok(found)
    }

    /// Reads the attributes with these words, and removes them: no other macro knows them.
    pub(crate) fn take(attributes: &mut Vec<Attribute>, words: &[&str]) -> Result<Self> {
        let found = Self::of(attributes, words)?;
        attributes.retain(|attribute| !is_own(attribute));
        Ok(found)
    }

    pub(crate) fn add(&mut self, meta: &ParseNestedMeta<'_>, words: &[&str]) -> Result<()> {
        let word = meta.path.to_token_stream().to_string();
        if !words.contains(&word.as_str()) {
            let known = words.join("`, `");
            return Err(meta.error(format!("no such word here; there are `{known}`")));
        }
        match word.as_str() {
            "id" => {
                let id = Number::parse(meta)?;
                self.id = Some((id.value, id.span));
            }
            "name" => self.name = Some(name(meta.value()?.parse()?)?),
            "header" => self.header = Some(header(meta.value()?.parse()?)?),
            "package" => self.package = Some(package(meta.value()?.parse()?)?),
            "permission" => self.permission = Some(meta.value()?.parse()?),
            "default" => self.default = Some(meta.value()?.parse()?),
            "passes" => meta.parse_nested_meta(|service| {
                self.passes.push(service.path);
                Ok(())
            })?,
            "crate" => self.root = Some(meta.value()?.call(Path::parse_mod_style)?),
            _ => self.flags.extend(meta.path.get_ident().cloned()),
        }
        Ok(())
    }

    /// Returns whether this word is present.
    pub(crate) fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|found| found == flag)
    }

    /// Returns the given words that are present, as a list for a table; nothing where none is.
    pub(crate) fn list(&self, flags: &[&str]) -> Option<proc_macro2::TokenStream> {
        let found = self
            .flags
            .iter()
            .filter(|found| flags.contains(&found.to_string().as_str()));
        let found: Vec<_> = found.collect();
        (!found.is_empty()).then(|| quote::quote!([#(#found),*]))
    }

    /// The crate that has the tables.
    pub(crate) fn root(&self) -> Path {
        self.root
            .clone()
            .unwrap_or_else(|| parse_quote!(::dovetail))
    }
}

/// A number, which may be negative.
struct Number {
    value: i32,
    span: Span,
}

impl Number {
    fn parse(meta: &ParseNestedMeta<'_>) -> Result<Self> {
        let input = meta.value()?;
        let minus: Option<Token![-]> = input.parse()?;
        let digits: LitInt = input.parse()?;
        let sign = if minus.is_some() { "-" } else { "" };
        let value = format!("{sign}{}", digits.base10_digits()).parse();
        let span = digits.span();
        let value = value.map_err(|_| Error::new(span, "an id is a number of 32 bits"))?;
        Ok(Number { value, span })
    }
}

/// Checks a name of the contract: every language has to be able to spell it.
fn name(name: LitStr) -> Result<LitStr> {
    match is_name(&name.value()) {
        true => Ok(name),
        false => Err(Error::new(
            name.span(),
            "a name consists of letters, digits and `_`, and begins with none of the digits",
        )),
    }
}

fn is_name(text: &str) -> bool {
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    let goes_on = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    begins && goes_on && text != "_"
}

/// Checks the name of a header: all wires send the ones of HTTP/2.
fn header(name: LitStr) -> Result<LitStr> {
    let text = name.value();
    let is_part = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_' | '.');
    match !text.is_empty() && text.chars().all(is_part) {
        true => Ok(name),
        false => Err(Error::new(
            name.span(),
            "a header consists of small letters, digits, `-`, `_` and `.`",
        )),
    }
}

/// Names with dots between them.
fn package(package: LitStr) -> Result<LitStr> {
    match package.value().split('.').all(is_name) {
        true => Ok(package),
        false => Err(Error::new(
            package.span(),
            "a package is a name, or several with dots between them, as in `shop.orders`",
        )),
    }
}

/// The documentation of something, as attributes: tables have it too.
pub(crate) fn docs(attributes: &[Attribute]) -> impl Iterator<Item = &Attribute> {
    attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("doc"))
}

/// The lines of the documentation of something.
pub(crate) fn lines(attributes: &[Attribute]) -> impl Iterator<Item = &Expr> {
    docs(attributes).filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(doc) => Some(&doc.value),
        _ => None,
    })
}

fn is_own(attribute: &Attribute) -> bool {
    attribute.path().is_ident("dovetail")
}

/// Returns the error for something that is not allowed here.
pub(crate) fn refuse<T>(what: &impl ToTokens, why: &str) -> Result<T> {
    Err(Error::new_spanned(what, why))
}
