//! The code of a service: the same parts, by the same names, as from an IDL.

use super::{Method, Param, Service, Stream, is_small};
use crate::attributes::{docs, lines};
use crate::names::{arguments, is_called, plain, screaming};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use syn::{Attribute, Path, Type, parse_quote};

/// Lints that do not apply to generated code.
pub(super) fn allow() -> Attribute {
    parse_quote!(#[allow(
        dead_code,
        clippy::result_large_err,
        clippy::too_many_arguments,
        clippy::type_complexity,
        clippy::wrong_self_convention,
        clippy::new_ret_no_self
    )])
}

/// The differences between the two clients.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Async,
    Blocking,
}

impl Service {
    pub(super) fn emit(&self) -> TokenStream {
        let root = &self.root;
        let handler = self.handler();
        let table = self.table();
        let server = self.server();
        let client = self.client(Side::Async);
        let blocking = self.client(Side::Blocking);
        let object = self.object();
        quote! {
            #handler
            #table
            #server
            #root::generated::if_async! { #client }
            #blocking
            #object
        }
    }

    /// The name of a part of the service.
    pub(super) fn part(&self, suffix: &str) -> Ident {
        format_ident!("{}{suffix}", plain(&self.ident), span = self.ident.span())
    }

    pub(super) fn descriptor(&self) -> Ident {
        Ident::new(&screaming(&plain(&self.ident)), self.ident.span())
    }

    /// The path to a part of the service that this one extends.
    fn base(&self, part: impl Fn(&str) -> String) -> Option<Path> {
        let mut path = self.base.clone()?;
        let last = path.segments.last_mut()?;
        last.ident = Ident::new(&part(&plain(&last.ident)), last.ident.span());
        Some(path)
    }

    fn handler(&self) -> TokenStream {
        let Service {
            attributes,
            vis,
            ident,
            base,
            ..
        } = self;
        let allow = allow();
        let base = base.iter();
        let methods = self.methods.iter().map(|method| {
            let Method {
                attributes,
                ident,
                returns,
                ..
            } = method;
            let context = method.context.iter().map(|ty| quote!(cx: #ty,));
            let params = method
                .params
                .iter()
                .map(|Param { ident, ty, .. }| quote!(#ident: #ty));
            let sink = method
                .sink
                .as_ref()
                .map(|Stream { ty, .. }| quote!(items: #ty));
            let params = params.chain(sink);
            quote! {
                #(#attributes)*
                fn #ident(&self, #(#context)* #(#params),*)
                    -> impl ::core::future::Future<Output = #returns> + ::core::marker::Send;
            }
        });
        quote! {
            #(#attributes)*
            #allow
            #vis trait #ident: #(#base +)* ::core::marker::Send + ::core::marker::Sync + 'static {
                #(#methods)*
            }
        }
    }

    fn table(&self) -> TokenStream {
        let Service {
            root,
            vis,
            ident,
            name,
            ..
        } = self;
        let descriptor = self.descriptor();
        let extends = self.base(screaming).map(|base| quote!(extends #base));
        let rows = self.methods.iter().map(|method| row(method, root));
        let (lines, passes) = (lines(&self.attributes), self.passes());
        let docs = format!("The methods of [`{}`].", plain(ident));
        quote! {
            #root::generated::descriptor!(#[doc = #docs] #[allow(dead_code)] #vis static #descriptor = #name #extends, docs [#(#lines),*] #passes { #(#rows)* });
        }
    }

    fn server(&self) -> TokenStream {
        let Service {
            root, vis, ident, ..
        } = self;
        let (server, descriptor, allow) = (self.part("Server"), self.descriptor(), allow());
        let docs = format!("Serves [`{}`].", plain(ident));
        let first = match self.base(screaming) {
            Some(base) => quote!(#base.len()),
            None => quote!(0),
        };
        let arms = self
            .methods
            .iter()
            .enumerate()
            .map(|(index, method)| arm(index, method));
        let inherited = self.base(|base| format!("{base}Server")).map(
            |base| quote!(::core::option::Option::None => #base::dispatch(handler, method, call),),
        );
        quote! {
            #[doc = #docs]
            #[derive(Debug)]
            #allow
            #vis struct #server<__Handler>(::std::sync::Arc<__Handler>);

            #allow
            impl<__Handler: #ident> #server<__Handler> {
                /// A service whose calls this handler answers.
                #vis fn new(handler: __Handler) -> Self {
                    Self(::std::sync::Arc::new(handler))
                }

                #[doc(hidden)]
                #vis fn dispatch<'a>(handler: &'a __Handler, method: usize, call: #root::generated::Call) -> #root::generated::HandlerFuture<'a> {
                    let _ = handler;
                    match method.checked_sub(const { #first }) {
                        #(#arms)*
                        #inherited
                        _ => call.no_such_method(),
                    }
                }
            }

            impl<__Handler> ::core::convert::From<::std::sync::Arc<__Handler>> for #server<__Handler> {
                fn from(handler: ::std::sync::Arc<__Handler>) -> Self {
                    Self(handler)
                }
            }

            impl<__Handler: #ident> #root::generated::Service for #server<__Handler> {
                fn descriptor(&self) -> &'static #root::generated::ServiceDescriptor {
                    &#descriptor
                }

                fn call<'a>(&'a self, method: usize, call: #root::generated::Call) -> #root::generated::HandlerFuture<'a> {
                    Self::dispatch(&self.0, method, call)
                }
            }
        }
    }

    fn client(&self, side: Side) -> TokenStream {
        let Service { root, vis, .. } = self;
        let allow = allow();
        let (suffix, module, docs) = match side {
            Side::Async => ("Client", quote!(#root::generated), ""),
            Side::Blocking => (
                "BlockingClient",
                quote!(#root::blocking),
                " and waits for its answers",
            ),
        };
        let (client, channel) = (self.part(suffix), quote!(#module::Channel));
        let docs = format!("Calls `{}`{docs}.", plain(&self.ident));
        let base = self.base(|base| format!("{base}{suffix}"));
        let base_field = base.iter().map(|base| quote!(base: #base,));
        let base_value = base.iter().map(|_| quote!(base: channel.clone().into(),));
        let deref = base.iter().map(|base| {
            quote! {
                impl ::core::ops::Deref for #client {
                    type Target = #base;

                    fn deref(&self) -> &Self::Target {
                        &self.base
                    }
                }
            }
        });
        let methods = self.methods.iter().enumerate();
        let methods =
            methods.map(|(index, method)| self.client_method(index, method, side, &module));
        quote! {
            #[doc = #docs]
            #[derive(Clone, Debug)]
            #allow
            #vis struct #client { #(#base_field)* channel: #channel }

            impl ::core::convert::From<#channel> for #client {
                fn from(channel: #channel) -> Self {
                    Self { #(#base_value)* channel }
                }
            }

            #(#deref)*

            #allow
            impl #client { #(#methods)* }
        }
    }

    fn client_method(
        &self,
        index: usize,
        method: &Method,
        side: Side,
        module: &TokenStream,
    ) -> TokenStream {
        let (vis, ident, descriptor) = (&self.vis, &method.ident, self.descriptor());
        let index = Literal::usize_unsuffixed(index);
        let attributes = method.attributes.iter().filter(|attribute| {
            ["cfg", "deprecated", "doc"]
                .iter()
                .any(|name| attribute.path().is_ident(name))
        });
        let (params, sent): (Vec<_>, Vec<_>) = method.params.iter().map(argument).unzip();
        let result = client_result(method, &self.root, module);
        let function = match (method.sink.is_some(), method.stream.is_some()) {
            (true, true) => quote!(chat),
            (true, false) => quote!(upload),
            (false, true) => quote!(stream),
            (false, false) if method.oneway => quote!(notify),
            (false, false) => quote!(call),
        };
        let (keyword, wait) = match side {
            Side::Async => (quote!(async), quote!(.await)),
            Side::Blocking => (quote!(), quote!()),
        };
        let attributes: Vec<_> = attributes.collect();
        let pipelined = self.pipelined(method).map(|name| {
            let (root, ty, error) = (&self.root, &method.result, &method.error);
            let docs = format!("Calls [`{ident}`](Self::{ident}), and gives the object before it is returned.");
            quote! {
                #[doc = #docs]
                #vis #keyword fn #name(&self, #(#params),*) -> ::core::result::Result<#ty, #root::generated::Status> {
                    self.channel.pipelined::<_, _, #error>(&#descriptor.methods[#index], (#(#sent,)*)) #wait
                }
            }
        });
        quote! {
            #(#attributes)*
            #vis #keyword fn #ident(&self, #(#params),*) -> #result {
                self.channel.#function(&#descriptor.methods[#index], (#(#sent,)*)) #wait
            }

            #pipelined
        }
    }
}

/// `add(1 a: i32, 2 b: i32) -> i32 | Status;`
fn row(method: &Method, root: &Path) -> TokenStream {
    let Method {
        name,
        result,
        error,
        ..
    } = method;
    let params = method.params.iter().map(
        |Param {
             id,
             name,
             ty,
             flags,
             ..
         }| quote!(#id #name: #ty #flags),
    );
    let items = |word, stream: &Option<Stream>| {
        let Stream { item, error, .. } = stream.as_ref()?;
        let word = format_ident!("{word}");
        let error = error.iter();
        Some(quote!(, #word<#item #(| #error)*>))
    };
    let (sink, stream) = (items("sink", &method.sink), items("stream", &method.stream));
    let flags = [
        (method.oneway, quote!(oneway)),
        (method.idempotent, quote!(idempotent)),
        (!method.passes.is_empty(), quote!(objects)),
    ];
    let permission = method.permission.as_ref();
    let permission = permission.map(|permission| quote!(permission(#permission)));
    let flags = flags.into_iter().filter(|(set, _)| *set);
    let flags: Vec<_> = flags.map(|(_, flag)| flag).chain(permission).collect();
    let flags = (!flags.is_empty()).then(|| quote!([#(#flags),*]));
    let (docs, defaults) = (docs(&method.attributes), defaults(method, root));
    quote!(#(#docs)* #name(#(#params),*) -> #result | #error #sink #stream #flags #defaults;)
}

/// The parameters with default values, and the values; nothing where there are none.
fn defaults(method: &Method, root: &Path) -> Option<TokenStream> {
    let (mut fields, mut values) = (Vec::new(), Vec::new());
    for Param {
        id,
        name,
        ty,
        default,
        ..
    } in &method.params
    {
        let Some(default) = default else { continue };
        fields.push(quote!(#root::generated::wire::field!(#id, #name, #ty)));
        values.push(quote!(&{ let value: #ty = #default; value }));
    }
    let fresh = quote!(#root::generated::wire::description::fresh_params);
    (!fields.is_empty()).then(|| quote!(= || #fresh(&[#(#fields),*], &(#(#values,)*))))
}

/// Decodes the parameters of a method over their defaults, and runs its handler.
fn arm(index: usize, method: &Method) -> TokenStream {
    let (index, ident) = (Literal::usize_unsuffixed(index), &method.ident);
    let initial = method
        .params
        .iter()
        .map(|Param { ty, default, .. }| match default {
            Some(value) => quote!(#value),
            None => quote!(<#ty as ::core::default::Default>::default()),
        });
    let names: Vec<Ident> = (0..method.params.len())
        .map(|index| format_ident!("param{index}"))
        .collect();
    let (cx, passed) = match method.context.is_some() {
        true => (quote!(cx), quote!(cx,)),
        false => (quote!(_), quote!()),
    };
    let sink = method.sink.iter().map(|_| quote!(items));
    let items = sink.clone();
    let function = match (method.sink.is_some(), method.stream.is_some()) {
        (true, true) => quote!(chat),
        (true, false) => quote!(upload),
        (false, true) => quote!(stream),
        (false, false) => quote!(unary),
    };
    quote! {
        ::core::option::Option::Some(#index) => call.#function(
            (#(#initial,)*),
            move |#cx, (#(#names,)*) #(, #sink)*| handler.#ident(#passed #(#names,)* #(#items)*),
        ),
    }
}

/// A parameter as a client takes it, and as it sends it: by value if it is small, else by
/// reference.
fn argument(param: &Param) -> (TokenStream, TokenStream) {
    let Param { ident, ty, .. } = param;
    let arguments = arguments(ty);
    let borrowed = match arguments.as_slice() {
        _ if is_small(ty) => return (quote!(#ident: #ty), quote!(&#ident)),
        [] if is_called(ty, "String") => quote!(&str),
        [item] if is_called(ty, "Vec") => quote!(&[#item]),
        _ => quote!(&#ty),
    };
    (quote!(#ident: #borrowed), quote!(#ident))
}

/// The type that a call of a client returns.
fn client_result(method: &Method, root: &Path, module: &TokenStream) -> TokenStream {
    let Method { result, error, .. } = method;
    let answer = match &method.stream {
        None => quote!(#result),
        Some(stream) => {
            let receiver = received(stream, module);
            match result {
                Type::Tuple(tuple) if tuple.elems.is_empty() => receiver,
                result => quote!((#result, #receiver)),
            }
        }
    };
    match &method.sink {
        None => quote!(::core::result::Result<#answer, #error>),
        Some(Stream {
            item, error: sink, ..
        }) => {
            let sink = match sink {
                Some(sink) => quote!(#sink),
                None => quote!(#root::generated::Status),
            };
            quote!(::core::result::Result<#module::Upload<#item, #answer, #sink, #error>, #root::generated::Status>)
        }
    }
}

fn received(Stream { item, error, .. }: &Stream, module: &TokenStream) -> TokenStream {
    let error = error.iter();
    quote!(#module::Receiver<#item #(, #error)*>)
}
