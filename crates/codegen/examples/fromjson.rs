#![allow(missing_docs, clippy::unwrap_used)]
fn main() {
    let schema = serde_json::from_reader(std::io::stdin()).unwrap();
    match dovetail_codegen::rust::generate(&schema, &opts()) {
        Ok(files) => print!("{}", files[0].text),
        Err(errors) => {
            errors.iter().for_each(|e| eprintln!("{e}"));
            std::process::exit(1)
        }
    }
}
fn opts() -> dovetail_codegen::rust::Options {
    let a = std::env::args().nth(1).unwrap_or_default();
    dovetail_codegen::rust::Options { server: !a.contains("noserver"), async_client: !a.contains("noasync"), blocking_client: !a.contains("noblocking"), maps: if a.contains("hashed") { dovetail_codegen::rust::Maps::Hashed } else { Default::default() }, ..Default::default() }
}
