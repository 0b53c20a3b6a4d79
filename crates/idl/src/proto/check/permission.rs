//! Permissions that methods lack.

use crate::diagnostic::Diagnostic;
use crate::proto::descriptor::{Options, Service};
use crate::proto::link::Linker;
use crate::proto::lower::{METHOD_PERMISSION, SERVICE_PERMISSION};
use crate::proto::syntax::below;
use crate::source::FileId;
use std::rc::Rc;

/// Warns of methods that nobody may call where permissions are checked: those without one beside
/// others that have one.
pub(crate) fn all(linker: &mut Linker<'_>) {
    let file = Rc::clone(&linker.parsed().file);
    for (at, service) in file.services.iter().enumerate() {
        if has(&service.options, SERVICE_PERMISSION) {
            continue;
        }
        let methods = service.methods.iter();
        let (with, without): (Vec<_>, Vec<_>) = methods
            .enumerate()
            .partition(|(_, method)| has(&method.options, METHOD_PERMISSION));
        if with.is_empty() {
            continue;
        }
        for (number, method) in without {
            let path = below(&below(&[], 6, at), 2, number);
            warn(linker, &path, service, &method.name);
        }
    }
}

fn has(options: &Options, permission: &str) -> bool {
    options.get(permission).is_some()
}

fn warn(linker: &mut Linker<'_>, path: &[i32], service: &Service, method: &str) {
    let warning = Diagnostic::without_permission(method, &service.name)
        .at(FileId(linker.current as u32), linker.span(path, 1), "")
        .help("write `option (dovetail.v1.permission) = \"…\";` in it, or `option (dovetail.v1.service_permission) = \"…\";` in the service for all of its methods");
    linker.sink.push(warning);
}
