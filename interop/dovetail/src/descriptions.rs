//! Both ends of a call can be generated or read a contract at run time: they describe methods
//! alike.

use dovetail::method::ServiceDescriptor;
use dovetail_dynamic::Contract;
use dovetail_idl::MemoryLoader;

#[test]
fn generated_code_and_schema_agree() {
    let files = [
        (
            "interop.thrift",
            include_str!("../../contract/interop.thrift"),
        ),
        (
            "shared.thrift",
            include_str!("../../contract/shared.thrift"),
        ),
        ("uuid.thrift", include_str!("../../contract/uuid.thrift")),
        (
            "streams.thrift",
            include_str!("../../contract/streams.thrift"),
        ),
        (
            "objects.thrift",
            include_str!("../../contract/objects.thrift"),
        ),
    ];
    let loader: MemoryLoader = files
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .into_iter()
        .collect();
    let rows: [(&str, &[&ServiceDescriptor]); 4] = [
        (
            "interop.thrift",
            &[
                &crate::interop::BASE,
                &crate::interop::INTEROP,
                &crate::interop::SECOND,
                &crate::interop::FUTURE,
            ],
        ),
        ("uuid.thrift", &[&crate::uuids::UUID_SERVICE]),
        (
            "streams.thrift",
            &[&crate::flows::STREAMS, &crate::flows::NEWER_STREAMS],
        ),
        (
            "objects.thrift",
            &[
                &crate::things::COUNTERS,
                &crate::things::COUNTER,
                &crate::things::LISTENER,
            ],
        ),
    ];
    for (file, services) in rows {
        let compiled = dovetail_idl::compile(file, &loader);
        let schema = compiled.schema.expect("a contract");
        let contract = Contract::new(&schema);
        for descriptor in services {
            let mut services = schema.services.iter();
            let service = services.find(|service| service.name == descriptor.name);
            let service = service.expect("a service");
            assert_eq!(service.methods.len(), descriptor.methods.len());
            for (method, generated) in service.methods.iter().zip(descriptor.methods) {
                let found = generated.description();
                assert_eq!(
                    found.as_deref(),
                    contract.describe(method).as_deref(),
                    "{}",
                    method.name
                );
                assert!(found.is_some());
            }
        }
    }
}
