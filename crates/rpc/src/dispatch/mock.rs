use crate::dispatch::functions::{Function, FunctionAnswer, erased};
use crate::method::ServiceDescriptor;
use crate::peer::call::{Call, HandlerFuture};
use crate::{Code, Service, Status};

/// A service whose methods are closures: for tests of what calls it.
///
/// ```
/// use dovetail::blocking::Channel;
/// use dovetail::server::Mock;
/// use dovetail::{Status, descriptor};
///
/// descriptor!(static STORE = "Store" {
///     get(1 key: String) -> i64;
///     put(1 key: String, 2 value: i64);
/// });
///
/// let store = Mock::new(&STORE).on("get", |key: String| key.len() as i64);
/// let channel = Channel::in_process(store);
/// // With generated code: `StoreBlockingClient::from(channel).get("one")`.
/// let got: Result<i64, Status> = channel.call(&STORE.methods[0], ("one",));
/// assert_eq!(got, Ok(3));
/// ```
pub struct Mock {
    descriptor: &'static ServiceDescriptor,
    /// By the number of the method.
    answers: Vec<Option<Box<dyn FunctionAnswer>>>,
}

impl Mock {
    /// A service that answers all calls with `UNIMPLEMENTED`.
    pub fn new(descriptor: &'static ServiceDescriptor) -> Self {
        let answers = descriptor.iter().map(|_| None).collect();
        Mock {
            descriptor,
            answers,
        }
    }

    /// Answers a method, called as in the contract, with a function of its parameters, as
    /// [`Server::bind`](crate::Server::bind) takes it: for a method with declared exceptions it
    /// gives a `Result`.
    ///
    /// # Panics
    ///
    /// Panics if the contract has no such method, or one with other parameters: the test is wrong.
    #[track_caller]
    #[must_use]
    pub fn on<F: Function<Form>, Form: 'static>(mut self, method: &str, function: F) -> Self {
        let service = self.descriptor.name;
        let Some((number, known)) = self.descriptor.iter().find(|(_, m)| m.name == method) else {
            panic!("`{service}` has no method `{method}`");
        };
        let same = known.params.len() == F::PARAMS.len();
        let mut pairs = known.params.iter().zip(F::PARAMS);
        assert!(
            same && pairs.all(|(theirs, ours)| theirs.kind == ours.kind),
            "`{service}.{method}` has other parameters"
        );
        self.answers[number] = Some(erased::<false, F, Form>(function));
        self
    }
}

impl Service for Mock {
    fn descriptor(&self) -> &'static ServiceDescriptor {
        self.descriptor
    }

    fn call<'a>(&'a self, method: usize, call: Call) -> HandlerFuture<'a> {
        match self.answers.get(method) {
            Some(Some(answer)) => answer.answer(call),
            _ => {
                let what = "the mock does not answer this method; say what it answers with `on`";
                call.refuse(&Status::new(Code::Unimplemented, what))
            }
        }
    }
}
