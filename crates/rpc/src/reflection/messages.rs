//! The questions and answers, by the numbers of `reflection.proto`.

use dovetail_wire::{Bytes, message};

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Request {
    pub(super) host: String,
    pub(super) file_by_filename: Option<String>,
    pub(super) file_containing_symbol: Option<String>,
    pub(super) file_containing_extension: Option<ExtensionRequest>,
    pub(super) all_extension_numbers_of_type: Option<String>,
    pub(super) list_services: Option<String>,
}

message!(Request {
    1 host: String,
    3 file_by_filename: Option<String>,
    4 file_containing_symbol: Option<String>,
    5 file_containing_extension: Option<ExtensionRequest>,
    6 all_extension_numbers_of_type: Option<String>,
    7 list_services: Option<String>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ExtensionRequest {
    pub(super) containing_type: String,
    pub(super) extension_number: i32,
}

message!(ExtensionRequest {
    1 containing_type: String,
    2 extension_number: i32,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Response {
    pub(super) valid_host: String,
    pub(super) original_request: Option<Request>,
    pub(super) file_descriptor: Option<FileDescriptorResponse>,
    pub(super) numbers: Option<NumbersResponse>,
    pub(super) services: Option<ListServiceResponse>,
    pub(super) error: Option<ErrorResponse>,
}

message!(Response {
    1 valid_host: String,
    2 original_request: Option<Request>,
    4 file_descriptor: Option<FileDescriptorResponse>,
    5 numbers: Option<NumbersResponse>,
    6 services: Option<ListServiceResponse>,
    7 error: Option<ErrorResponse>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct FileDescriptorResponse {
    pub(super) file_descriptor_proto: Vec<Bytes>,
}

message!(FileDescriptorResponse {
    1 file_descriptor_proto: Vec<Bytes>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct NumbersResponse {
    pub(super) base_type_name: String,
    pub(super) extension_number: Vec<i32>,
}

message!(NumbersResponse {
    1 base_type_name: String,
    2 extension_number: Vec<i32>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ListServiceResponse {
    pub(super) service: Vec<ServiceResponse>,
}

message!(ListServiceResponse {
    1 service: Vec<ServiceResponse>,
});

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ServiceResponse {
    pub(super) name: String,
}

message!(ServiceResponse { 1 name: String, });

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ErrorResponse {
    pub(super) error_code: i32,
    pub(super) error_message: String,
}

message!(ErrorResponse {
    1 error_code: i32,
    2 error_message: String,
});
