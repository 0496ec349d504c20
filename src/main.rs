//! The `dermis` program: a viewer and a command line, guests of the library's public API.

#![forbid(unsafe_code)]

mod app;

fn main() -> std::process::ExitCode {
    app::main()
}
