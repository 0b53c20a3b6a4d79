//! Front ends on arbitrary text: a schema or diagnostics that can be shown, never a panic or a hang.

use dovetail_idl::{MemoryLoader, compile};

/// The bytes as a `.thrift` file, invalid UTF-8 replaced.
pub(crate) fn thrift(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let loader = MemoryLoader::from_iter([("fuzz.thrift", &*text)]);
    let compiled = compile("fuzz.thrift", &loader);
    let shown = compiled.render(false);
    assert!(
        compiled.schema.is_some() || !shown.is_empty(),
        "refused without a word"
    );
}
