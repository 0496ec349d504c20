//! The GPU against the reference, and proof that the comparison notices broken kernels.

mod clips;
mod drives;
mod dual;
mod dual_pose;
mod frames;
mod history;
mod host;
mod joints;
mod layout;
mod math;
mod matrix;
mod mutants;
mod pose;
mod scene;
mod skinner;
mod space;
mod stress;
mod timed;

/// A device with WebGPU's default limits, so that nothing here needs more. A machine without an adapter fails the test.
pub(crate) fn device() -> (wgpu::Device, wgpu::Queue) {
    device_with(wgpu::Limits::default())
}

pub(crate) fn device_with(required_limits: wgpu::Limits) -> (wgpu::Device, wgpu::Queue) {
    device_of(required_limits, wgpu::Features::empty()).expect("no features are asked for")
}

/// As [`device_with`]; `None` where the adapter lacks a feature.
fn device_of(required_limits: wgpu::Limits, features: wgpu::Features) -> Option<(wgpu::Device, wgpu::Queue)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = pollster::block_on(instance.request_adapter(&wgpu::RequestAdapterOptions::default()))
        .expect("tests need a graphics adapter; a software one will do (Debian: apt install mesa-vulkan-drivers)");
    if !adapter.features().contains(features) {
        return None;
    }
    let descriptor = wgpu::DeviceDescriptor {
        label: Some("tests"),
        required_features: features,
        required_limits,
        ..Default::default()
    };
    Some(pollster::block_on(adapter.request_device(&descriptor)).expect("a device with these limits"))
}

/// PCG32 (O'Neill 2014): the same numbers on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(2).wrapping_add(1))
    }

    pub fn word(&mut self) -> u32 {
        let old = self.0;
        self.0 = old.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let shifted = (((old >> 18) ^ old) >> 27) as u32;
        shifted.rotate_right((old >> 59) as u32)
    }

    /// 0 ≤ x < 1.
    pub fn unit(&mut self) -> f32 {
        (self.word() >> 8) as f32 / (1 << 24) as f32
    }

    /// -1 ≤ x < 1.
    pub fn signed(&mut self) -> f32 {
        2.0 * self.unit() - 1.0
    }

    pub fn below(&mut self, n: u32) -> u32 {
        self.word() % n
    }

    pub fn direction(&mut self) -> glam::Vec3 {
        loop {
            let v = glam::Vec3::new(self.signed(), self.signed(), self.signed());
            if (0.01..1.0).contains(&v.length_squared()) {
                return v.normalize();
            }
        }
    }
}
