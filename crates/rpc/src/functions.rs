//! Functions that are served by name, without a contract.

use crate::{Call, Exceptions, HandlerFuture, Method, Service, ServiceDescriptor, Status};
use dovetail_wire::{Field, FieldValue, ReadParams};
use std::marker::PhantomData;

/// A function that [`Server::bind`](crate::Server::bind) takes: `Fn(A, B, …) -> T`, of up to twelve parameters. `T` is a value, a
/// `Result` of one, or a future of either. `Form` tells these apart, and is never written.
#[diagnostic::on_unimplemented(
    message = "this function cannot be bound",
    note = "say the types of its parameters; they, and what it gives, are types of contracts, owned, not references"
)]
pub trait Function<Form>: Send + Sync + 'static {
    /// The table of its parameters.
    #[doc(hidden)]
    const PARAMS: &'static [Field<'static>];

    /// Answers a call.
    #[doc(hidden)]
    fn answer(&self, call: Call) -> HandlerFuture<'_>;
}

/// What a function gives.
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
            const PARAMS: &'static [Field<'static>] = <($($P,)*) as ReadParams>::UNNAMED;

            fn answer(&self, call: Call) -> HandlerFuture<'_> {
                call.unary(($($P::default(),)*), move |_, ($($param,)*)| async move {
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
            const PARAMS: &'static [Field<'static>] = <($($P,)*) as ReadParams>::UNNAMED;

            fn answer(&self, call: Call) -> HandlerFuture<'_> {
                call.unary(($($P::default(),)*), move |_, ($($param,)*)| async move {
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

/// A function of any form.
pub(crate) trait Answer: Send + Sync {
    fn answer(&self, call: Call) -> HandlerFuture<'_>;
}

struct Erased<F, Form>(F, PhantomData<fn() -> Form>);

impl<F: Function<Form>, Form> Answer for Erased<F, Form> {
    fn answer(&self, call: Call) -> HandlerFuture<'_> {
        self.0.answer(call)
    }
}

/// The function, of whatever form it is.
pub(crate) fn erased<F: Function<Form>, Form: 'static>(function: F) -> Box<dyn Answer> {
    Box::new(Erased(function, PhantomData))
}

/// A service of one function.
pub(crate) struct Bound {
    descriptor: &'static ServiceDescriptor,
    function: Box<dyn Answer>,
}

impl Bound {
    /// The function, under this name.
    pub(crate) fn new<F: Function<Form>, Form: 'static>(name: &'static str, function: F) -> Self {
        let methods = Box::leak(Box::new([Method::new(name, F::PARAMS)]));
        let descriptor = Box::leak(Box::new(ServiceDescriptor {
            name: "",
            base: None,
            docs: &[],
            package: "",
            methods,
            objects: &[],
        }));
        Bound {
            descriptor,
            function: erased(function),
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
