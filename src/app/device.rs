//! Chooses and opens a wgpu device: `--adapter`, `DERMIS_ADAPTER`, `WGPU_BACKEND`; discrete, then integrated, then software.

use dermis::wgpu;

/// Anything the command line reports in one line.
type Failure = Box<dyn std::error::Error>;

/// Storage buffers the skin pass binds at once: WebGPU's own minimum, but more than some OpenGL ES drivers have.
const STORAGE_BUFFERS: u32 = 8;

/// An adapter of this machine, and why it cannot be used, if so.
pub struct Candidate {
    pub adapter: wgpu::Adapter,
    pub info: wgpu::AdapterInfo,
    pub refusal: Option<String>,
}

/// A device that is ready to use, and the adapter it came from.
pub struct Opened {
    pub adapter: wgpu::Adapter,
    pub device: wgpu::Device,
    pub queue: wgpu::Queue,
    pub info: wgpu::AdapterInfo,
}

impl Opened {
    /// Refuses the few adapters that can skin but not draw.
    pub fn check_drawing(&self) -> Result<(), Failure> {
        if self.adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::VERTEX_STORAGE) {
            return Ok(());
        }
        let info = &self.info;
        Err(format!("{} ({}) cannot draw: no storage buffers in vertex shaders", info.name, info.backend).into())
    }
}

/// Opens a device without a window; `adapter` is an index or a part of a name, as `--adapter` takes it.
pub fn open(adapter: Option<&str>) -> Result<(wgpu::Device, wgpu::Queue, wgpu::AdapterInfo), Failure> {
    let opened = open_on(&instance(), None, adapter)?;
    Ok((opened.device, opened.queue, opened.info))
}

/// An instance without a display, on the backends `WGPU_BACKEND` names (all by default).
pub fn instance() -> wgpu::Instance {
    instance_with(wgpu::InstanceDescriptor::new_without_display_handle())
}

/// An instance made from `descriptor` and the environment; an empty `WGPU_BACKEND` counts as none.
pub fn instance_with(descriptor: wgpu::InstanceDescriptor) -> wgpu::Instance {
    let backends = descriptor.backends;
    let mut descriptor = descriptor.with_env();
    if std::env::var("WGPU_BACKEND").is_ok_and(|b| b.trim().is_empty()) {
        descriptor.backends = backends;
    }
    wgpu::Instance::new(descriptor)
}

/// Opens a device that can also draw to `surface`, which must come from the same instance.
pub fn open_on(
    instance: &wgpu::Instance,
    surface: Option<&wgpu::Surface<'_>>,
    adapter: Option<&str>,
) -> Result<Opened, Failure> {
    let Candidate { adapter, info, .. } = choose(candidates(instance, surface), adapter)?;
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("dermis"),
        required_features: adapter.features() & wgpu::Features::TIMESTAMP_QUERY,
        required_limits: limits(&adapter.limits()),
        ..Default::default()
    };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
        .map_err(|e| format!("{} ({}) gave no device: {e}", info.name, info.backend))?;
    // What wgpu cannot return as an error, such as running out of memory, ends the program in one line, not in a panic.
    device.on_uncaptured_error(std::sync::Arc::new(|error: wgpu::Error| {
        let text = error.to_string();
        let line = text.split('\n').map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(": ");
        eprintln!("error: the GPU refused: {line}");
        std::process::exit(1);
    }));
    Ok(Opened { adapter, device, queue, info })
}

/// Every adapter, the one that would be chosen first; places in this list are what `--adapter INDEX` means.
pub fn candidates(instance: &wgpu::Instance, surface: Option<&wgpu::Surface<'_>>) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()))
        .into_iter()
        .map(|adapter| {
            let refusal = refusal(&adapter, surface);
            Candidate { info: adapter.get_info(), refusal, adapter }
        })
        .collect();
    // A stable sort: what is equal stays in the order the drivers gave.
    found.sort_by_key(|c| (kind(c.info.device_type).0, c.info.backend == wgpu::Backend::Gl));
    found
}

/// Rank (first is best) and name of a kind of adapter.
pub fn kind(device_type: wgpu::DeviceType) -> (u32, &'static str) {
    match device_type {
        wgpu::DeviceType::DiscreteGpu => (0, "discrete"),
        wgpu::DeviceType::IntegratedGpu => (1, "integrated"),
        wgpu::DeviceType::VirtualGpu => (2, "virtual"),
        wgpu::DeviceType::Other => (3, "other"),
        wgpu::DeviceType::Cpu => (4, "software"),
    }
}

/// The first usable candidate that `wanted` (an index, or a part of "name backend driver") matches.
fn choose(candidates: Vec<Candidate>, wanted: Option<&str>) -> Result<Candidate, Failure> {
    if candidates.is_empty() {
        return Err(no_adapter().into());
    }
    let wanted = wanted.map(str::trim).filter(|w| !w.is_empty());
    let index = wanted.and_then(|w| w.parse::<usize>().ok());
    let text = wanted.map(str::to_lowercase);
    let matches = |i: usize, info: &wgpu::AdapterInfo| match (index, &text) {
        // Larger numbers are parts of names, such as 4090.
        (Some(index), _) if index < 100 => i == index,
        (_, Some(text)) => words(info).to_lowercase().contains(text.as_str()),
        _ => true,
    };
    let matching: Vec<usize> = (0..candidates.len()).filter(|&i| matches(i, &candidates[i].info)).collect();
    let Some(&first) = matching.first() else {
        let wanted = wanted.unwrap_or_default();
        return Err(format!("no adapter matches {wanted:?}; found: {}", listed(&candidates)).into());
    };
    let usable = matching.into_iter().find(|&i| candidates[i].refusal.is_none());
    match (usable, &candidates[first]) {
        (Some(i), _) => candidates.into_iter().nth(i).ok_or_else(|| no_adapter().into()),
        (None, c) => {
            let why = c.refusal.as_deref().unwrap_or_default();
            Err(format!("{} ({}) cannot be used: {why}; found: {}", c.info.name, c.info.backend, listed(&candidates))
                .into())
        }
    }
}

/// What to say where there is nothing to run on.
pub fn no_adapter() -> String {
    let chosen = std::env::var("WGPU_BACKEND").unwrap_or_default();
    let backends = if chosen.trim().is_empty() { String::new() } else { format!(" for WGPU_BACKEND={chosen}") };
    format!(
        "no graphics adapter found{backends}; a software one will do (Debian: apt install mesa-vulkan-drivers libegl1)"
    )
}

fn words(info: &wgpu::AdapterInfo) -> String {
    format!("{} {} {}", info.name, info.backend, info.driver)
}

fn listed(candidates: &[Candidate]) -> String {
    let name = |(i, c): (usize, &Candidate)| format!("{i}: {} ({})", c.info.name, c.info.backend);
    candidates.iter().enumerate().map(name).collect::<Vec<_>>().join(", ")
}

/// Why an adapter cannot run the skinner and draw to `surface`, or `None`.
fn refusal(adapter: &wgpu::Adapter, surface: Option<&wgpu::Surface<'_>>) -> Option<String> {
    let flags = adapter.get_downlevel_capabilities().flags;
    for (flag, what) in [
        (wgpu::DownlevelFlags::COMPUTE_SHADERS, "no compute shaders"),
        (wgpu::DownlevelFlags::BASE_VERTEX, "no base vertex in draws"),
    ] {
        if !flags.contains(flag) {
            return Some(what.into());
        }
    }
    let limits = adapter.limits();
    for (what, have, need) in [
        ("storage buffers per shader stage", limits.max_storage_buffers_per_shader_stage, STORAGE_BUFFERS),
        ("invocations per workgroup", limits.max_compute_invocations_per_workgroup, 64),
        ("bind groups", limits.max_bind_groups, 4),
        ("vertex buffers", limits.max_vertex_buffers, 4),
    ] {
        if have < need {
            return Some(format!("{have} {what}, but {need} are needed"));
        }
    }
    match surface {
        Some(surface) if !adapter.is_surface_supported(surface) => Some("it cannot draw to this window".into()),
        _ => None,
    }
}

/// WebGPU's default limits, lowered to what the adapter has; sizes of buffers and textures as large as it allows, because
/// how big a page may grow depends on them.
fn limits(adapter: &wgpu::Limits) -> wgpu::Limits {
    let mut limits = wgpu::Limits::default().or_worse_values_from(adapter).using_resolution(adapter.clone());
    limits.max_buffer_size = adapter.max_buffer_size;
    limits.max_storage_buffer_binding_size = adapter.max_storage_buffer_binding_size;
    limits.min_uniform_buffer_offset_alignment = adapter.min_uniform_buffer_offset_alignment;
    limits.min_storage_buffer_offset_alignment = adapter.min_storage_buffer_offset_alignment;
    limits
}
