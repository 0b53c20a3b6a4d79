//! Structs that extend others. A macro sees one struct only, so one that is extended leaves a macro
//! behind, which puts its fields in front of those of the other one.

use crate::attributes::{Attributes, refuse};
use crate::message::Row;
use crate::names::{is_called, plain};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::{Field, Fields, Path, Result, Type};

/// The fields that a struct adds to the one that it extends, or to nothing.
pub(crate) struct Extension<'a> {
    /// The path to the one that it extends.
    pub(crate) base: Option<&'a Path>,
    pub(crate) rows: Vec<Row>,
    /// The field of what the contract does not know.
    pub(crate) unknown: Option<&'a Ident>,
}

impl Extension<'_> {
    /// The table of the struct of this title.
    pub(crate) fn table(&self, root: &Path, title: &TokenStream, ident: &Ident) -> TokenStream {
        let rows = self.rows.iter().map(|row| row.write(&quote!()));
        let unknown = self.unknown.iter();
        match self.base {
            None => quote!(#root::message!(#title { #(#rows,)* #(..#unknown)* });),
            Some(base) => {
                let fields = callback(base);
                quote! {
                    #fields!([#title] [base] [#(#rows,)*]);
                    #root::extends!(#ident: #base);
                }
            }
        }
    }

    /// The code by which structs that extend it ask for its fields.
    pub(crate) fn fields(&self, root: &Path, ident: &Ident) -> TokenStream {
        let name = callback(&ident.clone().into());
        let prefix = quote!($($prefix).+.);
        let rows = self.rows.iter().map(|row| row.write(&prefix));
        let unknown = self.unknown.iter();
        let table = match self.base {
            None => quote! {
                #root::message!($($title)* { #(#rows,)* $($rows)* #(..#prefix #unknown)* });
            },
            Some(base) => {
                let fields = callback(base);
                quote!(#fields!([$($title)*] [#prefix base] [#(#rows,)* $($rows)*]);)
            }
        };
        quote! {
            #[doc(hidden)]
            #[allow(unused_macros)]
            macro_rules! #name {
                ([$($title:tt)*] [$($prefix:ident).+] [$($rows:tt)*]) => { #table };
            }
            #[allow(unused_imports)]
            pub(crate) use #name;
        }
    }
}

/// The path of the macro that a struct leaves behind.
fn callback(of: &Path) -> Path {
    let mut path = of.clone();
    if let Some(last) = path.segments.last_mut() {
        last.ident = format_ident!(
            "__dovetail_fields_of_{}",
            plain(&last.ident),
            span = last.ident.span()
        );
    }
    path
}

/// The struct that is extended: that of the field `base`, with the attribute of the same name.
pub(crate) fn base(fields: &Fields) -> Result<Option<&Path>> {
    for field in fields {
        if !Attributes::of(&field.attrs, crate::message::OF_FIELDS)?.has("base") {
            continue;
        }
        let named = field.ident.as_ref().is_some_and(|ident| ident == "base");
        return match &field.ty {
            Type::Path(ty) if named => no_unknown(fields).map(|()| Some(&ty.path)),
            _ => refuse(
                field,
                "what a struct extends is its field `base`: `#[dovetail(base)] base: Animal`",
            ),
        };
    }
    Ok(None)
}

fn no_unknown(fields: &Fields) -> Result<()> {
    let unknown = |field: &&Field| is_called(&field.ty, "UnknownFields");
    match fields.iter().find(unknown) {
        Some(field) => refuse(
            field,
            "the struct that is extended keeps what the contract does not know",
        ),
        None => Ok(()),
    }
}
