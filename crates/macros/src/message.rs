//! `derive(Message)`: structs, exceptions, unions and enums.

use crate::attributes::{Attributes, docs, refuse};
use crate::extend::{self, Extension};
use crate::names::{arguments, is_called, plain, screaming, snake};
use crate::numbers::Numbers;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use std::env;
use syn::punctuated::Punctuated;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, LitStr, Path, Result, Token, Type, Variant,
};

const OF_TYPES: &[&str] = &["name", "package", "exception", "extended", "debug", "crate"];
pub(crate) const OF_FIELDS: &[&str] = &[
    "id",
    "name",
    "base",
    "required",
    "zigzag",
    "fixed",
    "zigzag_key",
    "fixed_key",
    "sensitive",
];
const OF_VARIANTS: &[&str] = &["id", "name", "sensitive"];
pub(crate) const OF_VALUES: &[&str] = &["id", "name"];

/// The derived trait, and its name in errors.
struct Head<'a> {
    root: Path,
    ident: &'a Ident,
    /// `as "Name"`, where that differs.
    name: Option<TokenStream>,
    /// The package that is given; that of Cargo where none is.
    package: Option<LitStr>,
    attributes: &'a [Attribute],
    /// Other structs extend it.
    extended: bool,
}

impl Head<'_> {
    /// `Point as "point"`, behind its documentation.
    fn title(&self) -> TokenStream {
        let (docs, ident, name) = (docs(self.attributes), self.ident, &self.name);
        quote!(#(#docs)* #ident #name)
    }

    /// `Point as "point" in "shop"`: the title of a message.
    fn full_title(&self) -> TokenStream {
        let given = self.package.as_ref().map(LitStr::value);
        let package = given.or_else(|| Some(env::var("CARGO_PKG_NAME").ok()?.replace('-', "_")));
        let package = package.map(|package| quote!(in #package));
        let title = self.title();
        quote!(#title #package)
    }
}

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let attributes = Attributes::of(&input.attrs, OF_TYPES)?;
    if !input.generics.params.is_empty() {
        return refuse(
            &input.generics,
            "a type of a contract has no parameters; contracts in other languages could not say them",
        );
    }
    let head = Head {
        root: attributes.root(),
        ident: &input.ident,
        name: renamed(&attributes, &plain(&input.ident), &input.ident),
        package: attributes.package.clone(),
        attributes: &input.attrs,
        extended: attributes.has("extended"),
    };
    if attributes.has("exception") && !matches!(input.data, Data::Struct(_)) {
        return refuse(
            &input.ident,
            "an exception is a struct; `#[derive(dovetail::Exceptions)]` makes an enum the error of a method",
        );
    }
    let debug = attributes.has("debug").then(|| debug(&head, &input.data));
    let debug = debug.transpose()?;
    match &input.data {
        Data::Struct(data) => {
            let table = structure(&head, &data.fields)?;
            let extends = extend::base(&data.fields)?.is_some();
            let error = attributes
                .has("exception")
                .then(|| exception(&head, &data.fields, extends));
            Ok(quote!(#table #error #debug))
        }
        Data::Enum(data) => {
            let table = variants(&head, &data.variants)?;
            Ok(quote!(#table #debug))
        }
        Data::Union(_) => refuse(&input.ident, "a union of a contract is an enum in Rust"),
    }
}

/// `Debug` without the values of sensitive fields.
fn debug(head: &Head<'_>, data: &Data) -> Result<TokenStream> {
    let (root, ident) = (&head.root, head.ident);
    let (kind, parts): (_, Vec<(&Ident, &[Attribute])>) = match data {
        Data::Struct(data) => {
            let fields = data.fields.iter();
            let fields = fields.filter_map(|field| Some((field.ident.as_ref()?, &*field.attrs)));
            (quote!(struct), fields.collect())
        }
        Data::Enum(data) if data.variants.iter().all(|variant| only(variant).is_some()) => {
            let variants = data.variants.iter();
            let variants = variants.map(|variant| (&variant.ident, &*variant.attrs));
            (quote!(enum), variants.collect())
        }
        _ => return refuse(ident, "there is nothing to hide: `#[derive(Debug)]`"),
    };
    let rows = parts.into_iter().map(|(ident, attributes)| {
        let flags = Attributes::of(attributes, OF_FIELDS)?.list(&["sensitive"]);
        Ok(quote!(#ident #flags))
    });
    let rows = rows.collect::<Result<Vec<_>>>()?;
    Ok(quote!(#root::masked_debug!(#kind #ident { #(#rows),* });))
}

/// `as "name"`, where the contract calls it otherwise than Rust.
pub(crate) fn renamed(attributes: &Attributes, usual: &str, ident: &Ident) -> Option<TokenStream> {
    let name = match &attributes.name {
        Some(name) => name.clone(),
        None if *ident == usual => return None,
        None => syn::LitStr::new(usual, ident.span()),
    };
    Some(quote!(as #name))
}

fn structure(head: &Head<'_>, fields: &Fields) -> Result<TokenStream> {
    if let Fields::Unnamed(_) = fields {
        return refuse(
            head.ident,
            "the fields of a contract have names: `struct Point { x: i32, y: i32 }`",
        );
    }
    let base = extend::base(fields)?;
    let mut numbers = Numbers::from(1);
    let (mut rows, mut unknown) = (Vec::new(), None);
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        if is_called(&field.ty, "UnknownFields") {
            unknown = Some(ident);
            continue;
        }
        if base.is_some() && ident == "base" {
            continue;
        }
        rows.push(Row::read(
            field,
            ident,
            &mut numbers,
            base.is_some() && rows.is_empty(),
        )?);
    }
    let extension = Extension {
        base,
        rows,
        unknown,
    };
    let fields = head
        .extended
        .then(|| extension.fields(&head.root, head.ident));
    let table = extension.table(&head.root, &head.full_title(), head.ident);
    Ok(quote!(#fields #table))
}

/// A field as a table has it.
pub(crate) struct Row {
    docs: Vec<Attribute>,
    id: Literal,
    ident: Ident,
    name: Option<TokenStream>,
    ty: Type,
    flags: Option<TokenStream>,
}

impl Row {
    /// The first one behind those of another struct has to say its id.
    fn read(field: &Field, ident: &Ident, numbers: &mut Numbers, after: bool) -> Result<Self> {
        let attributes = Attributes::of(&field.attrs, OF_FIELDS)?;
        let usual = plain(ident);
        if attributes.has("required") && is_called(&field.ty, "Option") {
            return refuse(
                &field.ty,
                "a required field is never absent; take `Option` or `required` away",
            );
        }
        if after && attributes.id.is_none() {
            return refuse(
                ident,
                "the first ids are those of the struct that is extended: say this one, `#[dovetail(id = 4)]`",
            );
        }
        Ok(Row {
            docs: docs(&field.attrs).cloned().collect(),
            id: field_id(&attributes, &usual, numbers, ident)?,
            ident: ident.clone(),
            name: renamed(&attributes, &usual, ident),
            ty: field.ty.clone(),
            flags: attributes.list(&[
                "required",
                "zigzag",
                "fixed",
                "zigzag_key",
                "fixed_key",
                "sensitive",
            ]),
        })
    }

    /// `1 x: i32`, with the way to the struct that has it in front of the field.
    pub(crate) fn write(&self, prefix: &TokenStream) -> TokenStream {
        let Row {
            docs,
            id,
            ident,
            name,
            ty,
            flags,
        } = self;
        quote!(#(#docs)* #id #prefix #ident #name: #ty #flags)
    }
}

/// The id of a field.
pub(crate) fn field_id(
    attributes: &Attributes,
    name: &str,
    numbers: &mut Numbers,
    ident: &Ident,
) -> Result<Literal> {
    match attributes.id {
        Some((id, span)) if id < 1 => Err(Error::new(span, "ids begin with 1")),
        _ => numbers.give(attributes, name, ident.span()),
    }
}

fn variants(head: &Head<'_>, variants: &Punctuated<Variant, Token![,]>) -> Result<TokenStream> {
    let mut all: Vec<&Variant> = variants.iter().collect();
    let last = all
        .pop()
        .and_then(|variant| Some((variant, only(variant)?)));
    match last {
        Some((unknown, ty)) if is_called(ty, "UnknownFields") => union(head, &all, &unknown.ident),
        Some((unknown, ty)) if is_called(ty, "i32") && all.iter().all(|v| v.fields.is_empty()) => {
            enumeration(head, &all, &unknown.ident)
        }
        _ if variants.iter().all(|variant| variant.fields.is_empty()) => refuse(
            head.ident,
            "numbers of a newer contract need a place: add a last variant `Unknown(i32)`",
        ),
        _ => refuse(
            head.ident,
            "fields of a newer contract need a place: add a last variant `Unknown(UnknownFields)`",
        ),
    }
}

fn union(head: &Head<'_>, variants: &[&Variant], unknown: &Ident) -> Result<TokenStream> {
    let mut numbers = Numbers::from(1);
    let mut rows = Vec::new();
    for variant in variants {
        let Some(ty) = only(variant) else {
            return refuse(
                *variant,
                "a variant of a union has one value: `Circle(f64)`; a struct holds several, or none",
            );
        };
        let attributes = Attributes::of(&variant.attrs, OF_VARIANTS)?;
        let flags = attributes.list(&["sensitive"]);
        let row = choice(variant, ty, &attributes, &mut numbers)?;
        let docs = docs(&variant.attrs);
        rows.push(quote!(#(#docs)* #row #flags));
    }
    let (root, title) = (&head.root, head.full_title());
    Ok(quote!(#root::union!(#title { #(#rows,)* ..#unknown });))
}

/// `1 Circle as "circle": f64`.
pub(crate) fn choice(
    variant: &Variant,
    ty: &Type,
    attributes: &Attributes,
    numbers: &mut Numbers,
) -> Result<TokenStream> {
    let (ident, usual) = (&variant.ident, snake(&plain(&variant.ident)));
    let id = field_id(attributes, &usual, numbers, ident)?;
    let name = renamed(attributes, &usual, ident);
    Ok(quote!(#id #ident #name: #ty))
}

fn enumeration(head: &Head<'_>, variants: &[&Variant], unknown: &Ident) -> Result<TokenStream> {
    if let Some(package) = &head.package {
        return refuse(
            package,
            "an enum has no package; it is never in an `Any` by itself",
        );
    }
    let mut numbers = Numbers::from(0);
    let mut rows = Vec::new();
    for variant in variants {
        let attributes = Attributes::of(&variant.attrs, OF_VALUES)?;
        if let Some((_, number)) = &variant.discriminant {
            return refuse(
                number,
                "a number of the contract is said as `#[dovetail(id = …)]`",
            );
        }
        let (ident, usual) = (&variant.ident, screaming(&plain(&variant.ident)));
        let id = numbers.give(&attributes, &usual, ident.span())?;
        let name = renamed(&attributes, &usual, ident);
        let docs = docs(&variant.attrs);
        rows.push(quote!(#(#docs)* #ident #name = #id));
    }
    let (root, title) = (&head.root, head.title());
    Ok(quote!(#root::variants!(#title { #(#rows,)* ..#unknown });))
}

/// The type of the only value of a variant.
pub(crate) fn only(variant: &Variant) -> Option<&Type> {
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            fields.unnamed.first().map(|field| &field.ty)
        }
        _ => None,
    }
}

/// Makes an exception an error. Its text is that of its field `message`, or of the only field that
/// it has, if that is text, as generated ones do.
fn exception(head: &Head<'_>, fields: &Fields, extends: bool) -> TokenStream {
    let ident = head.ident;
    let own = fields
        .iter()
        .filter(|field| !is_called(&field.ty, "UnknownFields") && !is_sensitive(field));
    let own: Vec<&Field> = own.collect();
    let named = own
        .iter()
        .find(|field| field.ident.as_ref().is_some_and(|ident| ident == "message"));
    let only = own.first().filter(|_| own.len() == 1);
    let text = named.or(only).and_then(|field| text(field));
    let text = text.unwrap_or_else(|| match extends {
        true => quote!(::core::fmt::Display::fmt(&self.base, f)),
        false => quote!(::core::fmt::Debug::fmt(self, f)),
    });
    quote! {
        impl ::core::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #text
            }
        }

        impl ::std::error::Error for #ident {}
    }
}

fn is_sensitive(field: &Field) -> bool {
    Attributes::of(&field.attrs, OF_FIELDS).is_ok_and(|attributes| attributes.has("sensitive"))
}

/// How a field is shown, if it is text.
fn text(field: &Field) -> Option<TokenStream> {
    let (ident, ty) = (field.ident.as_ref()?, &field.ty);
    let optional =
        is_called(ty, "Option") && arguments(ty).iter().any(|ty| is_called(ty, "String"));
    match (optional, is_called(ty, "String")) {
        (true, _) => Some(quote!(f.write_str(self.#ident.as_deref().unwrap_or_default()))),
        (_, true) => Some(quote!(f.write_str(&self.#ident))),
        _ => None,
    }
}
