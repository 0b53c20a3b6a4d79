#![allow(missing_docs, clippy::unwrap_used)]
fn main() {
    let schema = serde_json::from_reader(std::io::stdin()).unwrap();
    match dovetail_codegen::rust::generate(&schema, &Default::default()) {
        Ok(files) => print!("{}", files[0].text),
        Err(errors) => {
            errors.iter().for_each(|e| eprintln!("{e}"));
            std::process::exit(1)
        }
    }
}
