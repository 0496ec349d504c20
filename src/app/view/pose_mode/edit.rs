//! Changes of the space itself: corners and the poses they can hold.

use std::sync::Arc;

use dermis::character::Rig;
use dermis::pose::{
    Carry, Coordinates, Corner, Fade, Hands, MAX_CORNERS, Mirror, Pose, PoseSpace, PoseSpaceDescriptor, Sample, Side,
};

use super::setup::Setup;

/// Why an edit is refused, in one line.
pub type Refusal = String;

impl Setup {
    /// Drags a corner; the shape must stay convex.
    pub fn move_corner(&mut self, corner: usize, to: [f32; 3]) -> Result<(), Refusal> {
        Arc::make_mut(&mut self.space).set_corner(corner, to).map_err(|e| match e {
            dermis::Error::NotConvex { .. } => format!("a corner cannot go there: {e}"),
            e => e.to_string(),
        })?;
        Arc::make_mut(&mut self.descriptor).corners[corner].at = to;
        Ok(())
    }

    /// A new pose at a corner, selected at once.
    pub fn add_pose(&mut self, rig: &Rig, corner: usize, name: &str, pose: Pose, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        let name = free_name(&d, name);
        d.samples.push(Sample { name, pose, texture: None });
        let new = d.samples.len() - 1;
        d.corners[corner].samples.push(new);
        let alternative = d.corners[corner].samples.len() - 1;
        let carry = self.carry();
        let carry = Carry { samples: with_new(carry.samples), ..carry };
        self.replace(rig, d, &carry, now)?;
        self.select(corner, alternative, Fade::at_once(now)).map_err(|e| e.to_string())
    }

    /// Another pose of the space as an alternative of a corner.
    pub fn share_pose(&mut self, rig: &Rig, corner: usize, sample: usize, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        d.corners[corner].samples.push(sample);
        self.replace(rig, d, &self.carry(), now)
    }

    /// A new corner that holds a pose: at the point if that is outside, else beyond the nearest side.
    pub fn add_corner(&mut self, rig: &Rig, name: &str, pose: Pose, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        if d.corners.len() >= MAX_CORNERS {
            return Err(format!("a space has at most {MAX_CORNERS} corners"));
        }
        let at = place_corner(self.space.coordinates(), self.state.point())?;
        let name = free_name(&d, name);
        d.samples.push(Sample { name, pose, texture: None });
        d.corners.push(Corner { at, samples: vec![d.samples.len() - 1] });
        let carry = self.carry();
        let carry = Carry { samples: with_new(carry.samples), corners: with_new(carry.corners) };
        self.replace(rig, d, &carry, now)
    }

    /// Removes a corner, and the poses that only it held.
    pub fn remove_corner(&mut self, rig: &Rig, corner: usize, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        let least = if d.dimensions == 2 { 3 } else { 4 };
        if d.corners.len() <= least {
            return Err(format!("a space of {} dimensions needs {least} corners", d.dimensions));
        }
        let gone = d.corners.remove(corner);
        let mut carry = self.carry();
        carry.corners.remove(corner);
        for sample in gone.samples {
            // By name: the numbers change as poses go.
            let name = &self.descriptor.samples[sample].name;
            if let Some(sample) = d.samples.iter().position(|s| s.name == *name) {
                drop_if_unused(&mut d, &mut carry, sample);
            }
        }
        self.replace(rig, d, &carry, now)
    }

    /// Takes a pose away from a corner.
    pub fn remove_pose(&mut self, rig: &Rig, corner: usize, alternative: usize, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        if d.corners[corner].samples.len() < 2 {
            return Err("this is the corner's only pose: remove the corner instead".into());
        }
        let sample = d.corners[corner].samples.remove(alternative);
        let mut carry = self.carry();
        drop_if_unused(&mut d, &mut carry, sample);
        self.replace(rig, d, &carry, now)
    }

    /// Gives a pose another name.
    pub fn rename(&mut self, rig: &Rig, sample: usize, name: &str, now: f64) -> Result<(), Refusal> {
        let name = name.trim();
        if name.is_empty() {
            return Err("a pose needs a name".into());
        }
        if self.descriptor.samples.iter().enumerate().any(|(i, s)| i != sample && s.name == name) {
            return Err(format!("there is another pose named {name:?}"));
        }
        let mut d = (*self.descriptor).clone();
        d.samples[sample].name = name.into();
        self.replace(rig, d, &self.carry(), now)
    }

    /// Puts a pose in the place of another.
    pub fn overwrite(&mut self, rig: &Rig, sample: usize, pose: Pose, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        d.samples[sample].pose = pose;
        self.replace(rig, d, &self.carry(), now)
    }

    /// The texture that goes with a pose.
    pub fn set_texture(&mut self, rig: &Rig, sample: usize, texture: Option<String>, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        d.samples[sample].texture = texture;
        self.replace(rig, d, &self.carry(), now)
    }

    /// The pose that groups in the default pose take.
    pub fn set_default(&mut self, rig: &Rig, sample: usize, now: f64) -> Result<(), Refusal> {
        let mut d = (*self.descriptor).clone();
        d.default = sample;
        self.replace(rig, d, &self.carry(), now)
    }

    /// Mirrors one hand of every pose to the other.
    pub fn mirror(&mut self, rig: &Rig, hands: &Hands, from: Side, now: f64) -> Result<(), Refusal> {
        let mirror = Mirror::new(rig, Some(hands)).map_err(|e| e.to_string())?;
        let mut d = (*self.descriptor).clone();
        for sample in &mut d.samples {
            let other = mirror.pose(rig, &sample.pose).map_err(|e| e.to_string())?;
            hands.take(from.other(), &other, &mut sample.pose);
        }
        self.replace(rig, d, &self.carry(), now)
    }

    fn carry(&self) -> Carry {
        Carry::same(&self.space)
    }

    /// The edited space in the place of the old one; on an error nothing has changed.
    fn replace(&mut self, rig: &Rig, d: PoseSpaceDescriptor, carry: &Carry, now: f64) -> Result<(), Refusal> {
        let space = PoseSpace::new(rig, d.clone()).map_err(|e| e.to_string())?;
        self.state = self.state.carried(&self.space, &space, carry, now).map_err(|e| e.to_string())?;
        (self.space, self.descriptor) = (Arc::new(space), Arc::new(d));
        Ok(())
    }
}

fn with_new(mut list: Vec<Option<usize>>) -> Vec<Option<usize>> {
    list.push(None);
    list
}

/// Removes a pose that no corner holds and that is not the default.
fn drop_if_unused(d: &mut PoseSpaceDescriptor, carry: &mut Carry, sample: usize) {
    if d.default == sample || d.corners.iter().any(|c| c.samples.contains(&sample)) {
        return;
    }
    d.samples.remove(sample);
    carry.samples.remove(sample);
    d.default -= usize::from(d.default > sample);
    for s in d.corners.iter_mut().flat_map(|c| &mut c.samples) {
        *s -= usize::from(*s > sample);
    }
}

/// `name`, or with the first number behind it that makes it the only one.
fn free_name(d: &PoseSpaceDescriptor, name: &str) -> String {
    let taken = |n: &str| d.samples.iter().any(|s| s.name == n);
    if !taken(name) {
        return name.into();
    }
    (2..).map(|i| format!("{name} {i}")).find(|n| !taken(n)).unwrap_or_default()
}

/// Where one more corner keeps the shape convex.
fn place_corner(shape: &Coordinates, point: [f32; 3]) -> Result<[f32; 3], Refusal> {
    let fits = |at: [f32; 3]| {
        let corners: Vec<[f32; 3]> = shape.corners().iter().copied().chain([at]).collect();
        Coordinates::new(shape.dimensions(), &corners).is_ok()
    };
    if fits(point) {
        return Ok(point);
    }
    let corners = shape.corners();
    let middle = |of: &[usize]| -> [f32; 3] {
        std::array::from_fn(|a| of.iter().map(|&c| corners[c][a]).sum::<f32>() / of.len() as f32)
    };
    let all: Vec<usize> = (0..corners.len()).collect();
    let center = middle(&all);
    let mut sides: Vec<[f32; 3]> = Vec::new();
    for face in shape.faces() {
        if shape.dimensions() == 3 {
            sides.push(middle(face));
        } else {
            sides.extend((0..face.len()).map(|i| middle(&[face[i], face[(i + 1) % face.len()]])));
        }
    }
    let away = |p: &[f32; 3]| (0..3).map(|a| (p[a] - point[a]).powi(2)).sum::<f32>();
    sides.sort_by(|a, b| away(a).total_cmp(&away(b)));
    // From the middle through the side, as far as its neighbours allow.
    let beyond = |side: &[f32; 3], by: f32| std::array::from_fn(|a| side[a] + by * (side[a] - center[a]));
    let tries = [0.8, 0.5, 0.3, 0.2, 0.12, 0.06, 0.03];
    let found = sides.iter().flat_map(|s| tries.map(|by| beyond(s, by))).find(|&at| fits(at));
    found.ok_or_else(|| "there is no room for another corner: the shape must stay convex".into())
}
