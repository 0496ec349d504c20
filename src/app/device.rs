//! Chooses and opens a wgpu device: `--adapter`, `DERMIS_ADAPTER`, `WGPU_BACKEND`; discrete, then integrated, then software.
