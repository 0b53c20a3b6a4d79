/// What a handler can know of its call besides the parameters. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Context {}
