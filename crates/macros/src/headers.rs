//! `derive(Headers)`: headers of calls as a struct.

use crate::attributes::{Attributes, refuse};
use proc_macro2::TokenStream;
use quote::quote;
use std::collections::HashSet;
use syn::{Data, DataStruct, DeriveInput, Fields, LitStr, Result};

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let root = Attributes::of(&input.attrs, &["crate"])?.root();
    let ident = &input.ident;
    let Data::Struct(DataStruct {
        fields: Fields::Named(fields),
        ..
    }) = &input.data
    else {
        return refuse(
            ident,
            "headers are a struct with named fields: `struct Origin { tenant: String }`",
        );
    };
    if !input.generics.params.is_empty() {
        return refuse(&input.generics, "a struct of headers takes no parameters");
    }
    let (mut names, mut reads, mut writes) = (HashSet::new(), Vec::new(), Vec::new());
    for field in &fields.named {
        let Some(name) = &field.ident else { continue };
        let header = Attributes::of(&field.attrs, &["header"])?.header;
        let header = header.unwrap_or_else(|| {
            let text = name.to_string();
            LitStr::new(
                &text.trim_start_matches("r#").replace('_', "-"),
                name.span(),
            )
        });
        if !names.insert(header.value()) {
            return refuse(&header, "another field has this header");
        }
        let trait_ = quote!(#root::generated::HeaderField);
        reads.push(quote!(#name: #trait_::read(#header, get(#header))?));
        writes.push(quote! {
            if let ::core::option::Option::Some(value) = #trait_::written(&self.#name) {
                set(#header, value);
            }
        });
    }
    Ok(quote! {
        impl #root::Headers for #ident {
            fn read<'a>(
                get: &dyn ::core::ops::Fn(&str) -> ::core::option::Option<&'a [u8]>,
            ) -> ::core::result::Result<Self, #root::generated::Status> {
                ::core::result::Result::Ok(Self { #(#reads),* })
            }

            fn write(&self, set: &mut dyn ::core::ops::FnMut(&'static str, #root::generated::Bytes)) {
                #(#writes)*
            }
        }
    })
}
