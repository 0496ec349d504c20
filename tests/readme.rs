//! The README's example is the one that is compiled and run as `examples/embed.rs`.

#[test]
fn the_readme_shows_the_embed_example() {
    let readme = include_str!("../README.md");
    let example = include_str!("../examples/embed.rs");
    let (doc, code) = example.split_once("\n\n").unwrap();
    assert!(doc.starts_with("//!"));
    assert!(readme.contains(&format!("```rust\n{code}```")), "README.md and examples/embed.rs differ");
}
