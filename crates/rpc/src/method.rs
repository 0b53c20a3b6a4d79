use dovetail_wire::Field;

/// What the runtime needs to know of a method. Generated code has one `static` of it for each method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name on the wire.
    pub name: &'static str,
    /// The parameters, in order.
    pub params: &'static [Field<'static>],
    /// True where no reply is sent, not even an error.
    pub oneway: bool,
    /// True where calling it twice is as good as calling it once: it may be sent again after a failure.
    pub idempotent: bool,
}

impl Method {
    /// A method that is answered, and of which nothing is known about calling it twice.
    pub const fn new(name: &'static str, params: &'static [Field<'static>]) -> Self {
        Method {
            name,
            params,
            oneway: false,
            idempotent: false,
        }
    }

    /// The same method, never answered.
    pub const fn oneway(mut self) -> Self {
        self.oneway = true;
        self
    }

    /// The same method, which may be called twice.
    pub const fn idempotent(mut self) -> Self {
        self.idempotent = true;
        self
    }
}

/// What the runtime needs to know of a service.
#[derive(Clone, Copy, Debug)]
pub struct ServiceDescriptor {
    /// The name in the contract, by which multiplexed calls address it.
    pub name: &'static str,
    /// The service whose methods come before this one's.
    pub base: Option<&'static ServiceDescriptor>,
    /// The service's own methods.
    pub methods: &'static [Method],
}

impl ServiceDescriptor {
    /// How many methods it has, inherited ones included.
    pub const fn len(&self) -> usize {
        match self.base {
            Some(base) => base.len() + self.methods.len(),
            None => self.methods.len(),
        }
    }

    /// True for a service without methods.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The method with this number; inherited methods come first.
    pub fn method(&self, index: usize) -> Option<&'static Method> {
        let inherited = self.base.map_or(0, ServiceDescriptor::len);
        match index.checked_sub(inherited) {
            Some(own) => self.methods.get(own),
            None => self.base.and_then(|base| base.method(index)),
        }
    }

    /// All methods with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (usize, &'static Method)> + '_ {
        (0..self.len()).filter_map(|index| Some((index, self.method(index)?)))
    }
}
