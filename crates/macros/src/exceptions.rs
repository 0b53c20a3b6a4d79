//! `derive(Exceptions)`: the error types of methods.

use crate::attributes::{Attributes, refuse};
use crate::message::{OF_VALUES, choice, only};
use crate::names::is_called;
use crate::numbers::Numbers;
use proc_macro2::TokenStream;
use quote::quote;
use std::collections::HashMap;
use syn::{Data, DeriveInput, Result, Variant};

const WITHOUT_STATUS: &str = "a call can also fail in ways that the contract does not declare: add a last variant `Status(Status)`";

pub(crate) fn derive(input: &DeriveInput) -> Result<TokenStream> {
    let root = Attributes::of(&input.attrs, &["crate"])?.root();
    let ident = &input.ident;
    let Data::Enum(data) = &input.data else {
        return refuse(
            ident,
            "the error of a method is an enum: one variant for each exception, and `Status(Status)`",
        );
    };
    let mut exceptions: Vec<&Variant> = data.variants.iter().collect();
    let last = exceptions.pop().filter(|variant| variant.ident == "Status");
    if !last
        .and_then(only)
        .is_some_and(|ty| is_called(ty, "Status"))
    {
        return refuse(ident, WITHOUT_STATUS);
    }
    let mut times: HashMap<String, usize> = HashMap::new();
    for ty in exceptions.iter().copied().filter_map(only) {
        *times.entry(quote!(#ty).to_string()).or_default() += 1;
    }
    let mut numbers = Numbers::from(1);
    let mut rows = Vec::new();
    for variant in exceptions {
        let Some(ty) = only(variant) else {
            return refuse(
                variant,
                "a variant holds one exception: `NotFound(NotFound)`",
            );
        };
        let attributes = Attributes::of(&variant.attrs, OF_VALUES)?;
        let row = choice(variant, ty, &attributes, &mut numbers)?;
        let twice = times
            .get(&quote!(#ty).to_string())
            .is_some_and(|times| *times > 1);
        let ambiguous = twice.then(|| quote!([ambiguous]));
        rows.push(quote!(#row #ambiguous));
    }
    Ok(quote!(#root::generated::exceptions!(#ident { #(#rows,)* });))
}
