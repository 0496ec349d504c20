#!/usr/bin/env bash
# The gate: everything that must hold before a change lands. CI only calls this. Fast checks first.
#
# Needs: a Rust toolchain with rustfmt and clippy, a C++ compiler, and a graphics adapter or the software ones
# (Debian: mesa-vulkan-drivers libegl1 xvfb xdotool imagemagick). Missing packages are installed where this runs as root with apt.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

need_packages() {
    local missing=()
    ls /usr/share/vulkan/icd.d/*.json >/dev/null 2>&1 || missing+=(mesa-vulkan-drivers)
    # Not `grep -q`: it would end the pipe early, which pipefail takes for a failure.
    PATH=$PATH:/sbin:/usr/sbin ldconfig -p | grep 'libEGL\.so\.1' >/dev/null || missing+=(libegl1)
    command -v Xvfb >/dev/null || missing+=(xvfb)
    command -v xdotool >/dev/null || missing+=(xdotool)
    command -v import >/dev/null || missing+=(imagemagick)
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        step "installing ${missing[*]}"
        apt-get update -q >/dev/null
        DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null
    else
        echo "error: please install: ${missing[*]} (Debian: apt install ${missing[*]})" >&2
        exit 1
    fi
}

need_packages
# Mesa's EGL complains on stderr where this is not set.
if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
    XDG_RUNTIME_DIR=$(mktemp -d)
    export XDG_RUNTIME_DIR
    trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
fi

step 'format'
cargo fmt --check

step 'lints: everything, and the bare library'
cargo clippy --locked --all-targets -- -D warnings
cargo clippy --locked --no-default-features --lib -- -D warnings
if rustc --print target-libdir --target wasm32-unknown-unknown 2>/dev/null | xargs -r ls >/dev/null 2>&1; then
    cargo clippy --locked --no-default-features --lib --target wasm32-unknown-unknown -- -D warnings
else
    echo 'not checked: wasm32-unknown-unknown (rustup target add wasm32-unknown-unknown)'
fi

step 'documentation'
RUSTDOCFLAGS='-D warnings' cargo doc --locked --no-deps --lib

step 'examples'
pictures=$(mktemp -d)
cargo build --locked --examples
cargo run --locked -q --example embed
cargo run --locked -q --example crowd -- "$pictures/crowd.png"
cargo run --locked -q --example cull -- "$pictures/cull.png"
rm -rf "$pictures"

step 'tests on OpenGL'
WGPU_BACKEND=gl cargo test --locked --lib gpu -- --skip mutant
WGPU_BACKEND=gl cargo test --locked --test cull --test oracle --test render

step 'tests'
cargo test --locked
cargo test --locked --lib -- --ignored full_size
