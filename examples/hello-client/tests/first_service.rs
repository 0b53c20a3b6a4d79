//! Builds the files that docs/first-service.md shows.

const PAGE: &str = include_str!("../../../docs/first-service.md");

#[test]
fn the_page_shows_what_is_built() {
    let rest = |text: &'static str| text.split_once("\n\n").map_or("", |(_, rest)| rest);
    let files = [
        rest(include_str!("../hello.thrift")),
        rest(include_str!("../build.rs")),
        include_str!("../examples/server.rs"),
        include_str!("../examples/client.rs"),
    ];
    for file in files {
        assert!(PAGE.contains(&format!("\n{file}```\n")), "{file}");
        assert!(file.lines().count() < 30, "{file}");
    }
}
