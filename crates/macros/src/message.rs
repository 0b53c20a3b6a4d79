//! `derive(Message)`: structs, exceptions, unions and enums.

use crate::attributes::{Attributes, refuse};
use crate::names::{arguments, is_called, plain, screaming, snake};
use crate::numbers::Numbers;
use proc_macro2::{Ident, Literal, TokenStream};
use quote::quote;
use syn::punctuated::Punctuated;
use syn::{Data, DeriveInput, Error, Field, Fields, Path, Result, Token, Type, Variant};

const OF_TYPES: &[&str] = &["name", "exception", "crate"];
const OF_FIELDS: &[&str] = &["id", "name", "required", "zigzag", "fixed"];
const OF_VARIANTS: &[&str] = &["id", "name"];

/// What is derived, and how it calls itself.
struct Head<'a> {
    root: Path,
    ident: &'a Ident,
    /// `as "Name"`, where that differs.
    name: Option<TokenStream>,
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
    };
    if attributes.has("exception") && !matches!(input.data, Data::Struct(_)) {
        return refuse(
            &input.ident,
            "an exception is a struct; `#[derive(dovetail::Exceptions)]` makes an enum the error of a method",
        );
    }
    match &input.data {
        Data::Struct(data) => {
            let table = structure(&head, &data.fields)?;
            let error = attributes
                .has("exception")
                .then(|| exception(&head, &data.fields));
            Ok(quote!(#table #error))
        }
        Data::Enum(data) => variants(&head, &data.variants),
        Data::Union(_) => refuse(&input.ident, "a union of a contract is an enum in Rust"),
    }
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
    let mut numbers = Numbers::from(1);
    let (mut rows, mut unknown) = (Vec::new(), None);
    for field in fields {
        let Some(ident) = &field.ident else { continue };
        if is_called(&field.ty, "UnknownFields") {
            unknown = Some(quote!(..#ident));
            continue;
        }
        rows.push(row(field, ident, &mut numbers)?);
    }
    let Head { root, ident, name } = head;
    Ok(quote!(#root::message!(#ident #name { #(#rows,)* #unknown });))
}

fn row(field: &Field, ident: &Ident, numbers: &mut Numbers) -> Result<TokenStream> {
    let attributes = Attributes::of(&field.attrs, OF_FIELDS)?;
    let usual = plain(ident);
    let (ty, name) = (&field.ty, renamed(&attributes, &usual, ident));
    if attributes.has("required") && is_called(ty, "Option") {
        return refuse(
            ty,
            "a required field is never absent; take `Option` or `required` away",
        );
    }
    let id = field_id(&attributes, &usual, numbers, ident)?;
    let flags = attributes.list(&["required", "zigzag", "fixed"]);
    Ok(quote!(#id #ident #name: #ty #flags))
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
        rows.push(choice(variant, ty, &mut numbers)?);
    }
    let Head { root, ident, name } = head;
    Ok(quote!(#root::union!(#ident #name { #(#rows,)* ..#unknown });))
}

/// `1 Circle as "circle": f64`.
pub(crate) fn choice(variant: &Variant, ty: &Type, numbers: &mut Numbers) -> Result<TokenStream> {
    let attributes = Attributes::of(&variant.attrs, OF_VARIANTS)?;
    let (ident, usual) = (&variant.ident, snake(&plain(&variant.ident)));
    let id = field_id(&attributes, &usual, numbers, ident)?;
    let name = renamed(&attributes, &usual, ident);
    Ok(quote!(#id #ident #name: #ty))
}

fn enumeration(head: &Head<'_>, variants: &[&Variant], unknown: &Ident) -> Result<TokenStream> {
    let mut numbers = Numbers::from(0);
    let mut rows = Vec::new();
    for variant in variants {
        let attributes = Attributes::of(&variant.attrs, OF_VARIANTS)?;
        if let Some((_, number)) = &variant.discriminant {
            return refuse(
                number,
                "a number of the contract is said as `#[dovetail(id = …)]`",
            );
        }
        let (ident, usual) = (&variant.ident, screaming(&plain(&variant.ident)));
        let id = numbers.give(&attributes, &usual, ident.span())?;
        let name = renamed(&attributes, &usual, ident);
        rows.push(quote!(#ident #name = #id));
    }
    let Head { root, ident, name } = head;
    Ok(quote!(#root::variants!(#ident #name { #(#rows,)* ..#unknown });))
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

/// What makes an exception an error. It says what its field `message` says, or the only field that it has, if that is
/// text, as generated ones do.
fn exception(head: &Head<'_>, fields: &Fields) -> TokenStream {
    let ident = head.ident;
    let own = fields
        .iter()
        .filter(|field| !is_called(&field.ty, "UnknownFields"));
    let own: Vec<&Field> = own.collect();
    let named = own
        .iter()
        .find(|field| field.ident.as_ref().is_some_and(|ident| ident == "message"));
    let only = own.first().filter(|_| own.len() == 1);
    let text = named.or(only).and_then(|field| text(field));
    let text = text.unwrap_or_else(|| quote!(::core::fmt::Debug::fmt(self, f)));
    quote! {
        impl ::core::fmt::Display for #ident {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                #text
            }
        }

        impl ::std::error::Error for #ident {}
    }
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
