//! Messages as generated types.

use crate::{Failure, Task};

#[cfg(suite)]
mod messages {
    pub(super) mod proto2 {
        dovetail::include_contract!("protobuf_test_messages.proto2");
    }
    pub(super) mod proto3 {
        dovetail::include_contract!("protobuf_test_messages.proto3");
    }
    pub(super) mod editions_proto2 {
        dovetail::include_contract!("protobuf_test_messages.editions.proto2");
    }
    pub(super) mod editions_proto3 {
        dovetail::include_contract!("protobuf_test_messages.editions.proto3");
    }
    pub(super) mod edition2023 {
        dovetail::include_contract!("protobuf_test_messages.editions");
    }
}

#[cfg(suite)]
fn of_type<M: dovetail_wire::Value>(task: &Task<'_>) -> Result<Vec<u8>, Failure> {
    let mut message = M::default();
    task.read(&mut message)?;
    task.write(&message)
}

/// Registers the types that the suite puts into an `Any`.
#[cfg(suite)]
pub(crate) fn register() {
    use dovetail_wire::{Any, AnyType};
    use messages::editions_proto3::protobuf_test_messages::editions::proto3 as editions;
    use messages::proto3::google::protobuf::{FieldMask, Int32Value};
    use messages::proto3::protobuf_test_messages::proto3::TestAllTypesProto3;
    Any::register(&[
        AnyType::of::<FieldMask>("google.protobuf.FieldMask"),
        AnyType::of::<Int32Value>("google.protobuf.Int32Value"),
        AnyType::of::<TestAllTypesProto3>("protobuf_test_messages.proto3.TestAllTypesProto3"),
        AnyType::of::<editions::TestAllTypesProto3>(
            "protobuf_test_messages.editions.proto3.TestAllTypesProto3",
        ),
    ]);
}

/// Without the suite there are none.
#[cfg(not(suite))]
pub(crate) fn register() {}

/// Reads a message and writes it again.
#[cfg(suite)]
pub(crate) fn convert(task: &Task<'_>) -> Result<Vec<u8>, Failure> {
    use messages::*;
    match task.message_type {
        "protobuf_test_messages.proto2.TestAllTypesProto2" => {
            of_type::<proto2::protobuf_test_messages::proto2::TestAllTypesProto2>(task)
        }
        "protobuf_test_messages.proto3.TestAllTypesProto3" => {
            of_type::<proto3::protobuf_test_messages::proto3::TestAllTypesProto3>(task)
        }
        "protobuf_test_messages.editions.proto2.TestAllTypesProto2" => of_type::<
            editions_proto2::protobuf_test_messages::editions::proto2::TestAllTypesProto2,
        >(task),
        "protobuf_test_messages.editions.proto3.TestAllTypesProto3" => of_type::<
            editions_proto3::protobuf_test_messages::editions::proto3::TestAllTypesProto3,
        >(task),
        "protobuf_test_messages.editions.TestAllTypesEdition2023" => {
            of_type::<edition2023::protobuf_test_messages::editions::TestAllTypesEdition2023>(task)
        }
        _ => Err(Failure::Unknown),
    }
}

/// Without the suite there are no messages.
#[cfg(not(suite))]
pub(crate) fn convert(_: &Task<'_>) -> Result<Vec<u8>, Failure> {
    Err(Failure::Unknown)
}
