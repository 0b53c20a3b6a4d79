//! Functions that are served by name, without a contract.

use crate::method::{Method, MethodTypes, ServiceDescriptor};
use crate::peer::call::{Call, HandlerFuture};
use crate::{Exceptions, Service, Status};
use dovetail_wire::{Field, FieldValue, Params, ReadParams};
use std::borrow::Cow;
use std::marker::PhantomData;

/// A function that [`Server::bind`](crate::Server::bind) takes: `Fn(A, B, …) -> T`, of up to twelve
/// parameters. `T` is a value, a `Result` of one, or a future of either. `Form` tells these apart,
/// and is never written.
#[diagnostic::on_unimplemented(
    message = "this function cannot be bound",
    note = "say the types of its parameters; they, and what it gives, are types of contracts, owned, not references"
)]
pub trait Function<Form>: Send + Sync + 'static {
    /// It has its answer when it returns.
    #[doc(hidden)]
    const PLAIN: bool;

    /// The table of its parameters.
    #[doc(hidden)]
    const PARAMS: &'static [Field<'static>];

    /// Returns the types of its parameters, its result and its errors.
    #[doc(hidden)]
    fn types() -> MethodTypes;

    /// Answers a call. Surplus parameters are an error where it is `EXACT`; else they may come from
    /// a newer contract.
    #[doc(hidden)]
    fn answer<const EXACT: bool>(&self, call: Call) -> HandlerFuture<'_>;
}

/// The result of a function.
#[doc(hidden)]
pub trait Outcome<Form> {
    type Value: FieldValue + Send + 'static;
    type Error: Exceptions + 'static;

    fn outcome(self) -> Result<Self::Value, Self::Error>;
}

/// The forms of functions: at once or later, a value or perhaps an error.
mod forms {
    #[derive(Debug)]
    pub struct Now;
    #[derive(Debug)]
    pub struct Later;
    #[derive(Debug)]
    pub struct Value;
    #[derive(Debug)]
    pub struct Fallible;
}

use forms::{Fallible, Later, Now, Value};

impl<T: FieldValue + Send + 'static> Outcome<Value> for T {
    type Value = T;
    type Error = Status;

    fn outcome(self) -> Result<T, Status> {
        Ok(self)
    }
}

impl<T: FieldValue + Send + 'static, E: Exceptions + 'static> Outcome<Fallible> for Result<T, E> {
    type Value = T;
    type Error = E;

    fn outcome(self) -> Result<T, E> {
        self
    }
}

macro_rules! function {
    ($($P:ident $param:ident),*) => {
        impl<F, R, O, $($P),*> Function<(Now, O, ($($P,)*))> for F
        where
            F: Fn($($P),*) -> R + Send + Sync + 'static,
            R: Outcome<O>,
            $($P: FieldValue + Send + 'static,)*
        {
            const PLAIN: bool = true;
            const PARAMS: &'static [Field<'static>] = <($($P,)*) as ReadParams>::UNNAMED;

            fn types() -> MethodTypes {
                types::<($($P,)*), R, O>()
            }

            fn answer<const EXACT: bool>(&self, call: Call) -> HandlerFuture<'_> {
                let initial = Params::<_, EXACT>(($($P::default(),)*));
                call.unary(initial, move |_, Params(($($param,)*))| async move {
                    self($($param),*).outcome()
                })
            }
        }

        impl<F, R, O, $($P),*> Function<(Later, O, ($($P,)*))> for F
        where
            F: Fn($($P),*) -> R + Send + Sync + 'static,
            R: Future<Output: Outcome<O>> + Send + 'static,
            $($P: FieldValue + Send + 'static,)*
        {
            const PLAIN: bool = false;
            const PARAMS: &'static [Field<'static>] = <($($P,)*) as ReadParams>::UNNAMED;

            fn types() -> MethodTypes {
                types::<($($P,)*), R::Output, O>()
            }

            fn answer<const EXACT: bool>(&self, call: Call) -> HandlerFuture<'_> {
                let initial = Params::<_, EXACT>(($($P::default(),)*));
                call.unary(initial, move |_, Params(($($param,)*))| async move {
                    self($($param),*).await.outcome()
                })
            }
        }
    };
}

macro_rules! functions {
    ($($P:ident $param:ident),* ;) => { function!($($P $param),*); };
    ($($P:ident $param:ident),* ; $N:ident $next:ident $(, $M:ident $rest:ident)*) => {
        function!($($P $param),*);
        functions!($($P $param,)* $N $next ; $($M $rest),*);
    };
    ($($P:ident $param:ident,)* ; $($M:ident $rest:ident),*) => {
        functions!($($P $param),* ; $($M $rest),*);
    };
}

functions!(; P1 a, P2 b, P3 c, P4 d, P5 e, P6 f, P7 g, P8 h, P9 i, P10 j, P11 k, P12 l);

fn types<P: ReadParams, R: Outcome<O>, O>() -> MethodTypes {
    MethodTypes::of::<R::Value, R::Error>(P::unnamed_types())
}

/// A function of any form.
pub(crate) trait FunctionAnswer: Send + Sync {
    fn answer(&self, call: Call) -> HandlerFuture<'_>;
}

struct Erased<F, Form, const EXACT: bool>(F, PhantomData<fn() -> Form>);

impl<F: Function<Form>, Form, const EXACT: bool> FunctionAnswer for Erased<F, Form, EXACT> {
    fn answer(&self, call: Call) -> HandlerFuture<'_> {
        self.0.answer::<EXACT>(call)
    }
}

/// Erases the type of a function, which takes surplus parameters unless it is `EXACT`.
pub(crate) fn erased<const EXACT: bool, F: Function<Form>, Form: 'static>(
    function: F,
) -> Box<dyn FunctionAnswer> {
    Box::new(Erased::<_, _, EXACT>(function, PhantomData))
}

/// The name of a function as `bind` and `call_by_name` take it: `add`, or with the names of its
/// parameters, `add(a, b)`.
#[derive(Debug, PartialEq)]
pub(crate) struct Spelling<'a> {
    pub(crate) name: &'a str,
    pub(crate) params: Option<Vec<&'a str>>,
}

impl<'a> Spelling<'a> {
    /// Reads such a name; the error says how it is written.
    pub(crate) fn of(text: &'a str) -> Result<Self, &'static str> {
        let Some((name, rest)) = text.split_once('(') else {
            let (name, params) = (text, None);
            return Ok(Spelling { name, params });
        };
        let inside = rest.strip_suffix(')');
        let inside = inside.ok_or("a name, or one with its parameters, as in `add(a, b)`")?;
        let params: Vec<_> = match inside.trim() {
            "" => Vec::new(),
            inside => inside.split(',').map(str::trim).collect(),
        };
        let twice = |at: usize| params[..at].contains(&params[at]);
        if params.iter().any(|param| param.is_empty()) || (0..params.len()).any(twice) {
            return Err("every parameter has a name of its own");
        }
        let params = Some(params);
        Ok(Spelling { name, params })
    }

    /// Gives the parameters in this table their names, where it has any.
    pub(crate) fn fields(
        self,
        unnamed: &'static [Field<'static>],
    ) -> Result<Cow<'a, [Field<'a>]>, &'static str> {
        let Some(names) = self.params else {
            return Ok(Cow::Borrowed(unnamed));
        };
        if names.len() != unnamed.len() {
            return Err("the names are not as many as the parameters");
        }
        let named = unnamed.iter().zip(names);
        Ok(named
            .map(|(field, name)| Field { name, ..*field })
            .collect())
    }
}

/// A service of one function.
pub(crate) struct Bound {
    descriptor: &'static ServiceDescriptor,
    function: Box<dyn FunctionAnswer>,
}

impl Bound {
    /// Binds the function to a name, which may name its parameters.
    ///
    /// # Panics
    ///
    /// Panics if the name is misspelled, or names more or fewer parameters than the function has.
    #[track_caller]
    pub(crate) fn new<F: Function<Form>, Form: 'static>(text: &'static str, function: F) -> Self {
        let spelling = match Spelling::of(text) {
            Ok(spelling) => spelling,
            Err(what) => panic!("`{text}`: {what}"),
        };
        let name = spelling.name;
        let mut types = F::types();
        if let Some(names) = &spelling.params {
            types = types.named(names);
        }
        let fields = match spelling.fields(F::PARAMS) {
            Ok(Cow::Borrowed(fields)) => fields,
            Ok(Cow::Owned(fields)) => Vec::leak(fields),
            Err(what) => panic!("`{text}`: {what}"),
        };
        let description = Vec::leak(types.description(name, false));
        let method = Method::new(name, fields).described(description);
        let method = method.plain(F::PLAIN);
        let descriptor = Box::leak(Box::new(ServiceDescriptor {
            name: "",
            base: None,
            docs: &[],
            package: "",
            methods: Box::leak(Box::new([method])),
            objects: &[],
        }));
        Bound {
            descriptor,
            function: erased::<true, F, Form>(function),
        }
    }
}

impl Service for Bound {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.descriptor
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match method {
            0 => self.function.answer(call),
            _ => call.no_such_method(),
        }
    }
}
