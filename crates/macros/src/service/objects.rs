//! The code for references to objects: their type, and calls of an object that is not there yet.

use super::emit::allow;
use super::{Method, Service};
use crate::names::{last, plain, screaming};
use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use std::collections::HashSet;
use syn::{Ident, Path};

impl Service {
    /// `, passes [COUNTER]`: the services of the objects that its methods pass.
    pub(super) fn passes(&self) -> Option<TokenStream> {
        let passed = self.methods.iter().flat_map(|method| &method.passes);
        let mut known = HashSet::new();
        let paths: Vec<Path> = passed
            .map(table)
            .filter(|path| known.insert(quote!(#path).to_string()))
            .collect();
        (!paths.is_empty()).then(|| quote!(, passes [#(#paths),*]))
    }

    /// The type of references to objects of this service.
    pub(super) fn object(&self) -> Option<TokenStream> {
        let Service {
            root, vis, ident, ..
        } = self;
        let (object, descriptor) = (self.part("Object"), self.descriptor());
        let (server, client) = (self.part("Server"), self.part("Client"));
        let (blocking, allow) = (self.part("BlockingClient"), allow());
        let docs = format!(
            "A reference to an object that answers [`{}`], here or at the other end.",
            plain(ident)
        );
        self.is_object.then(|| {
            quote! {
                #root::generated::object!(#[doc = #docs] #vis struct #object of #descriptor);

                #allow
                impl #object {
                    /// An object whose calls this handler answers.
                    #vis fn new(handler: impl #ident) -> Self {
                        Self::from(#root::generated::ObjectRef::new(#server::new(handler)))
                    }

                    /// Calls it and waits for its answers, where it came to a blocking client.
                    #vis fn blocking(&self) -> #blocking {
                        self.blocking_channel(&#descriptor).into()
                    }
                }

                #root::generated::if_async! {
                    #allow
                    impl #object {
                        /// Calls it.
                        #vis fn client(&self) -> #client {
                            self.channel(&#descriptor).into()
                        }
                    }
                }
            }
        })
    }

    /// The name of the call that gives the object before it is returned, where the result is one. A
    /// method that is called so keeps its name.
    pub(super) fn pipelined(&self, method: &Method) -> Option<Ident> {
        let result = last(&method.result)?.ident.to_string();
        let named = |path: &Path| Some(format!("{}Object", path.segments.last()?.ident));
        let returned = method
            .passes
            .iter()
            .any(|path| named(path).as_ref() == Some(&result));
        let mut name = format_ident!("{}_pipelined", plain(&method.ident));
        while self.methods.iter().any(|other| other.ident == name) {
            name = format_ident!("{name}_");
        }
        returned.then_some(name)
    }
}

/// The path to the table of a service, from that to its trait.
fn table(service: &Path) -> Path {
    let mut path = service.clone();
    if let Some(last) = path.segments.last_mut() {
        last.ident = Ident::new(&screaming(&plain(&last.ident)), last.ident.span());
    }
    path
}
