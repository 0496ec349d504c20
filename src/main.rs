//! The `dermis` program: a viewer and a command line, guests of the library's public API.

#![deny(unsafe_code)]
// Refusals are errors, not panics; tests may.
#![cfg_attr(not(test), warn(clippy::expect_used, clippy::panic, clippy::unwrap_used))]

mod app;

fn main() -> std::process::ExitCode {
    quiet_device_select();
    app::main()
}

/// Mesa's device-select layer prints `error:` lines of its own where there is no desktop session. It only reorders
/// adapters, which this program does itself, so it is turned off there.
#[cfg(target_os = "linux")]
fn quiet_device_select() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: nothing else runs yet that could read the environment at the same time.
        #[expect(unsafe_code, reason = "the environment is process-wide; this is the first thing the program does")]
        unsafe {
            std::env::set_var("NODEVICE_SELECT", "1");
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn quiet_device_select() {}
