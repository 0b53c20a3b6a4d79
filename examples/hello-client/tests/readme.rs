//! Builds the files that the README shows under "A service with an IDL".

const README: &str = include_str!("../../../README.md");

#[test]
fn the_readme_shows_what_is_built() {
    let rest = |text: &'static str| text.split_once("\n\n").map_or("", |(_, rest)| rest);
    let files = [
        rest(include_str!("../hello.thrift")),
        rest(include_str!("../build.rs")),
        include_str!("../examples/server.rs"),
        include_str!("../examples/client.rs"),
    ];
    for file in files {
        assert!(README.contains(&format!("\n{file}```\n")), "{file}");
        assert!(file.lines().count() < 30, "{file}");
    }
}
