/// How the messages of a call over HTTP are encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Codec {
    /// JSON.
    #[default]
    Json,
    /// Protobuf.
    Proto,
}

impl Codec {
    /// The name, as content types have it.
    pub const fn name(self) -> &'static str {
        match self {
            Codec::Json => "json",
            Codec::Proto => "proto",
        }
    }

    /// The one of which the name stands in a content type between this and its parameters, if there
    /// are any.
    pub(crate) fn behind(content_type: &[u8], begin: &str) -> Option<Self> {
        let kind = content_type
            .split(|byte| *byte == b';')
            .next()?
            .trim_ascii();
        let (start, name) = kind.split_at_checked(begin.len())?;
        let is = |codec: &Self| name.eq_ignore_ascii_case(codec.name().as_bytes());
        let found = [Codec::Json, Codec::Proto].into_iter().find(is);
        found.filter(|_| start.eq_ignore_ascii_case(begin.as_bytes()))
    }
}
