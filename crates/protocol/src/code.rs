//! The kinds of failure.

use std::fmt;

/// Gives the table of codes to a macro.
macro_rules! with_codes {
    ($use:ident) => {
        $use! {
            /// The caller gave the call up.
            Cancelled = 1, "CANCELLED", cancelled;
            /// Something that fits no other code.
            Unknown = 2, "UNKNOWN", unknown;
            /// The arguments are wrong, whatever the state of the server.
            InvalidArgument = 3, "INVALID_ARGUMENT", invalid_argument;
            /// The time given to the call is over.
            DeadlineExceeded = 4, "DEADLINE_EXCEEDED", deadline_exceeded;
            /// The requested thing does not exist.
            NotFound = 5, "NOT_FOUND", not_found;
            /// The thing to be made exists.
            AlreadyExists = 6, "ALREADY_EXISTS", already_exists;
            /// The caller is known and may not do this.
            PermissionDenied = 7, "PERMISSION_DENIED", permission_denied;
            /// A limit or quota is reached; the message says which.
            ResourceExhausted = 8, "RESOURCE_EXHAUSTED", resource_exhausted;
            /// The server is not in the state that the call needs.
            FailedPrecondition = 9, "FAILED_PRECONDITION", failed_precondition;
            /// The call lost against a concurrent one.
            Aborted = 10, "ABORTED", aborted;
            /// Past the valid range.
            OutOfRange = 11, "OUT_OF_RANGE", out_of_range;
            /// The peer has no such service or method, or the wire no such feature.
            Unimplemented = 12, "UNIMPLEMENTED", unimplemented;
            /// A promise of the system is broken: a bug.
            Internal = 13, "INTERNAL", internal;
            /// No connection, or it was lost; trying again later may help.
            Unavailable = 14, "UNAVAILABLE", unavailable;
            /// Data are lost or corrupted.
            DataLoss = 15, "DATA_LOSS", data_loss;
            /// The caller is not known.
            Unauthenticated = 16, "UNAUTHENTICATED", unauthenticated;
        }
    };
}
pub(crate) use with_codes;

macro_rules! codes {
    ($($(#[$meta:meta])* $code:ident = $number:literal, $name:literal, $_:ident;)*) => {
        /// The kind of failure, named as gRPC names it, so that one table serves all wires.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum Code {
            $($(#[$meta])* $code = $number,)*
        }

        impl Code {
            /// All of them, by number.
            pub const ALL: [Self; 16] = [$(Code::$code),*];

            /// The name as gRPC spells it, `DEADLINE_EXCEEDED` for example.
            pub fn name(self) -> &'static str {
                match self {
                    $(Code::$code => $name,)*
                }
            }
        }
    };
}

with_codes!(codes);

impl Code {
    /// The code with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.name() == name)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_number_and_its_name() {
        for (code, number) in Code::ALL.into_iter().zip(1..) {
            assert_eq!(code as u8, number);
            assert_eq!(Code::from_name(code.name()), Some(code));
        }
        assert_eq!(Code::DeadlineExceeded.to_string(), "DEADLINE_EXCEEDED");
    }
}
