//! `#[service]`: a trait, read as a service of a contract.

mod emit;
mod objects;

use crate::attributes::{Attributes, refuse};
use crate::message::field_id;
use crate::names::{arguments, is_called, last, plain};
use crate::numbers::Numbers;
use proc_macro2::{Ident, Literal, TokenStream};
use syn::meta::parser;
use syn::parse::Parser;
use syn::{
    Attribute, Error, Expr, FnArg, ItemTrait, LitStr, Pat, Path, ReceiverKind, Result, ReturnType,
    Signature, TraitItem, TraitItemFn, Type, TypeParamBound, Visibility,
};

const OF_SERVICES: &[&str] = &["name", "object", "crate", "permission"];
const OF_METHODS: &[&str] = &["name", "oneway", "idempotent", "passes", "permission"];
const OF_PARAMS: &[&str] = &["id", "name", "required", "sensitive", "default"];

/// As many as tuples are sent of.
const MAX_PARAMS: usize = 32;

/// A service as the trait says it.
struct Service {
    /// The crate that has the runtime.
    root: Path,
    attributes: Vec<Attribute>,
    vis: Visibility,
    ident: Ident,
    /// The name in the contract.
    name: String,
    /// The trait of the service that it extends.
    base: Option<Path>,
    methods: Vec<Method>,
    /// References to its objects have a type.
    is_object: bool,
}

struct Method {
    attributes: Vec<Attribute>,
    ident: Ident,
    /// The name in the contract.
    name: Ident,
    /// The type of the context that the handler takes, as written.
    context: Option<Type>,
    params: Vec<Param>,
    /// The items that the caller sends after the parameters.
    sink: Option<Stream>,
    /// The type that the handler returns, as written.
    returns: Type,
    /// The type that is sent back: `()` for nothing.
    result: Type,
    /// How it can fail.
    error: Type,
    /// The items that are sent after the result.
    stream: Option<Stream>,
    oneway: bool,
    idempotent: bool,
    /// The permission that it takes, where it has one of its own.
    permission: Option<LitStr>,
    /// The services whose objects are among its parameters or in its result.
    passes: Vec<Path>,
}

struct Param {
    id: Literal,
    ident: Ident,
    /// The name in the contract.
    name: Ident,
    ty: Type,
    /// `[required, sensitive]`.
    flags: Option<TokenStream>,
    /// The value if the caller leaves it out.
    default: Option<Expr>,
}

/// A sequence of items.
struct Stream {
    /// `Items<'_, T>` or `Receiver<T>`, as written.
    ty: Type,
    item: Type,
    /// How it can fail; `None` for the usual way.
    error: Option<Type>,
}

pub(crate) fn expand(arguments: TokenStream, item: ItemTrait) -> Result<TokenStream> {
    let mut attributes = Attributes::default();
    parser(|meta| attributes.add(&meta, OF_SERVICES)).parse2(arguments)?;
    Service::read(item, &attributes).map(|service| service.emit())
}

impl Service {
    fn read(item: ItemTrait, attributes: &Attributes) -> Result<Self> {
        if !item.generics.params.is_empty() {
            return refuse(
                &item.generics,
                "a service has no parameters; contracts in other languages could not say them",
            );
        }
        let mut methods = Vec::new();
        let mut errors: Option<Error> = None;
        for item in item.items {
            match Method::read(item) {
                Ok(method) => methods.push(Method {
                    permission: method.permission.or(attributes.permission.clone()),
                    ..method
                }),
                Err(error) => match &mut errors {
                    Some(errors) => errors.combine(error),
                    None => errors = Some(error),
                },
            }
        }
        match errors {
            Some(errors) => Err(errors),
            None => Ok(Service {
                root: attributes.root(),
                attributes: item.attrs,
                vis: item.vis,
                name: match &attributes.name {
                    Some(name) => name.value(),
                    None => plain(&item.ident),
                },
                ident: item.ident,
                base: base(item.supertraits.iter())?,
                methods,
                is_object: attributes.has("object"),
            }),
        }
    }
}

/// The supertrait that is a service: any but those that all handlers have.
fn base<'a>(bounds: impl Iterator<Item = &'a TypeParamBound>) -> Result<Option<Path>> {
    let mut base = None;
    for bound in bounds {
        let TypeParamBound::Trait(bound) = bound else {
            continue;
        };
        let own = ["Send", "Sync"]
            .iter()
            .any(|name| bound.path.is_ident(name));
        if !own && base.replace(bound.path.clone()).is_some() {
            return refuse(&bound.path, "a service extends one other service");
        }
    }
    Ok(base)
}

impl Method {
    fn read(item: TraitItem) -> Result<Self> {
        let TraitItem::Fn(mut item) = item else {
            return refuse(&item, "a service has methods only");
        };
        let own = Attributes::take(&mut item.attrs, OF_METHODS)?;
        check(&item)?;
        let ident = item.sig.ident.clone();
        let outcome = Outcome::read(&item.sig)?;
        let mut method = Method {
            attributes: item.attrs,
            name: contract_name(&own, &ident),
            ident,
            context: None,
            params: Vec::new(),
            sink: None,
            returns: outcome.returns,
            result: outcome.result,
            error: outcome.error,
            stream: outcome.stream,
            oneway: own.has("oneway"),
            idempotent: own.has("idempotent"),
            permission: own.permission,
            passes: own.passes,
        };
        method.read_params(item.sig.inputs)?;
        if method.oneway
            && (!is_unit(&method.result) || method.stream.is_some() || method.sink.is_some())
        {
            return refuse(
                &method.returns,
                "nothing comes back from a one-way method: it returns `Result<(), Status>`",
            );
        }
        if let Some(first) = method.passes.first()
            && (method.oneway || method.stream.is_some() || method.sink.is_some())
        {
            return refuse(
                first,
                "one-way methods and those with streams pass no objects",
            );
        }
        Ok(method)
    }

    fn read_params(&mut self, inputs: impl IntoIterator<Item = FnArg>) -> Result<()> {
        let mut numbers = Numbers::from(1);
        for input in inputs {
            let FnArg::Typed(mut input) = input else {
                continue;
            };
            let Pat::Ident(pattern) = &*input.pat else {
                return refuse(&input.pat, "a parameter has a name");
            };
            let (ident, ty) = (pattern.ident.clone(), *input.ty);
            if let Some(sink) = &self.sink {
                return refuse(&sink.ty, "what the caller sends comes last");
            }
            if is_called(&ty, "Context") && self.context.is_none() && self.params.is_empty() {
                self.context = Some(ty);
                continue;
            }
            if is_called(&ty, "Receiver") {
                self.sink = Some(Stream::read(&ty)?);
                continue;
            }
            if let Type::Reference(_) = ty {
                return refuse(
                    &ty,
                    "a handler owns its parameters: `String`, `Vec<T>`; clients borrow them all the same",
                );
            }
            if self.params.len() == MAX_PARAMS {
                return refuse(
                    &ty,
                    "a method has at most 32 parameters; put them into a struct",
                );
            }
            let own = Attributes::take(&mut input.attrs, OF_PARAMS)?;
            let name = contract_name(&own, &ident);
            self.params.push(Param {
                id: field_id(&own, &name.to_string(), &mut numbers, &ident)?,
                ident,
                name,
                ty,
                flags: own.list(&["required", "sensitive"]),
                default: own.default,
            });
        }
        Ok(())
    }
}

/// Checks the properties that every method must have.
fn check(item: &TraitItemFn) -> Result<()> {
    let sig = &item.sig;
    if sig.asyncness.is_none() {
        return refuse(
            &sig.fn_token,
            "a handler may have to wait: write `async fn`",
        );
    }
    if !sig.generics.params.is_empty() {
        return refuse(
            &sig.generics,
            "a method has no type parameters; contracts in other languages could not say them",
        );
    }
    match sig.inputs.first() {
        Some(FnArg::Receiver(receiver))
            if matches!(receiver.kind, ReceiverKind::Reference(_, None, None)) => {}
        _ => {
            return refuse(
                &sig.ident,
                "calls share their handler: the first parameter is `&self`",
            );
        }
    }
    match &item.default {
        Some(body) => refuse(
            body,
            "what a method does is said where the trait is implemented",
        ),
        None => Ok(()),
    }
}

/// The end of a call, as a signature declares it.
struct Outcome {
    returns: Type,
    result: Type,
    error: Type,
    stream: Option<Stream>,
}

impl Outcome {
    fn read(sig: &Signature) -> Result<Self> {
        let why = "a call can fail: return `Result<T, Status>`, or an error type with `#[derive(dovetail::Exceptions)]`";
        let returns = match &sig.output {
            ReturnType::Type(_, ty) => (**ty).clone(),
            ReturnType::Default => return refuse(&sig.ident, why),
        };
        let both = arguments(&returns);
        let (true, [result, error]) = (is_called(&returns, "Result"), both.as_slice()) else {
            return refuse(&returns, why);
        };
        let (result, error) = ((*result).clone(), (*error).clone());
        let (result, stream) = split(result)?;
        Ok(Outcome {
            returns,
            result,
            error,
            stream,
        })
    }
}

/// A result, and the stream behind it.
fn split(result: Type) -> Result<(Type, Option<Stream>)> {
    if is_called(&result, "Items") {
        return Ok((syn::parse_quote!(()), Some(Stream::read(&result)?)));
    }
    match &result {
        Type::Tuple(tuple) if tuple.elems.len() == 2 && is_called(&tuple.elems[1], "Items") => {
            Ok((tuple.elems[0].clone(), Some(Stream::read(&tuple.elems[1])?)))
        }
        Type::Tuple(tuple) if !tuple.elems.is_empty() => refuse(
            &result,
            "a method has one result; put several into a struct",
        ),
        _ => Ok((result, None)),
    }
}

impl Stream {
    fn read(ty: &Type) -> Result<Self> {
        match arguments(ty).as_slice() {
            [item] => Ok(Stream {
                ty: ty.clone(),
                item: (*item).clone(),
                error: None,
            }),
            [item, error] => Ok(Stream {
                ty: ty.clone(),
                item: (*item).clone(),
                error: Some((*error).clone()),
            }),
            _ => refuse(
                ty,
                "say what it is a stream of: `Items<'_, T>`, `Receiver<T>`",
            ),
        }
    }
}

/// Returns the name in the contract; it may be a word that Rust reserves.
fn contract_name(attributes: &Attributes, ident: &Ident) -> Ident {
    match &attributes.name {
        Some(name) => Ident::new(&name.value(), name.span()),
        None => Ident::new(&plain(ident), ident.span()),
    }
}

fn is_unit(ty: &Type) -> bool {
    matches!(ty, Type::Tuple(tuple) if tuple.elems.is_empty())
}

/// Whether values of this type are passed by value: numbers, times and uuids, also where they may
/// be absent.
fn is_small(ty: &Type) -> bool {
    const SMALL: &[&str] = &[
        "bool",
        "i8",
        "i16",
        "i32",
        "i64",
        "u8",
        "u16",
        "u32",
        "u64",
        "f32",
        "f64",
        "Uuid",
        "Timestamp",
        "TimestampTz",
        "Date",
        "SignedDuration",
        "Decimal",
    ];
    let called = last(ty).is_some_and(|segment| SMALL.iter().any(|name| segment.ident == name));
    called || (is_called(ty, "Option") && arguments(ty).iter().all(|ty| is_small(ty)))
}
