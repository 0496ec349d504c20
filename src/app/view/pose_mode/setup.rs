//! What the hand setup holds: a space, where its point is, and what its groups do. All of it comes back with undo.

use std::sync::Arc;

use dermis::character::Rig;
use dermis::pose::{
    Blended, BuiltIn, Channels, Corner, Fade, Finger, GroupMode, HandChoice, Hands, Outside, Pose, PoseSpace,
    PoseSpaceDescriptor, Sample, Side, SpaceState, built_in_limits,
};
use dermis::{Character, Result};

/// What a joint does, as the user chose it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lock {
    /// Follows its hand's point.
    #[default]
    Follow,
    /// Keeps the weights it had.
    Held,
    /// Takes the default pose.
    Default,
    /// Follows a point of its own.
    Own,
}

/// Number of [`parts`].
pub const PARTS: usize = 4;

/// What of a joint can be held apart: name and channels.
pub fn parts() -> [(&'static str, Channels); PARTS] {
    [
        ("rotation", Channels::ROTATION),
        ("place", Channels::TRANSLATION | Channels::SCALE),
        ("shape", Channels::LENGTH | Channels::THICKNESS),
        ("texture", Channels::TEXTURE),
    ]
}

/// The channels of some parts; without any, all.
fn channels(chosen: [bool; PARTS]) -> Channels {
    let those = parts().into_iter().zip(chosen).filter(|(_, on)| *on).map(|((_, channels), _)| channels);
    those.reduce(|a, b| a | b).unwrap_or(Channels::ALL)
}

/// A space in use; cheap to copy.
#[derive(Clone)]
pub struct Setup {
    /// What the space is made from.
    pub descriptor: Arc<PoseSpaceDescriptor>,
    pub space: Arc<PoseSpace>,
    pub state: SpaceState,
    /// The hands that follow the point.
    pub choice: HandChoice,
    /// By rig node and part.
    pub(super) locks: Vec<[Lock; PARTS]>,
    /// Where the point was left for a hand that does not follow it now; left, right.
    pub(super) parked: [Option<[f32; 3]>; 2],
}

impl Setup {
    /// A space with everything live, both hands at its point.
    pub fn new(rig: &Rig, hands: Option<&Hands>, mut descriptor: PoseSpaceDescriptor) -> Result<Self> {
        let own = descriptor.groups.len();
        add_hand_groups(&mut descriptor, hands);
        let space = match PoseSpace::new(rig, descriptor.clone()) {
            Ok(space) => space,
            // Groups of the author's own may leave no room for those of every finger.
            Err(_) if descriptor.groups.len() > own => {
                descriptor.groups.truncate(own);
                PoseSpace::new(rig, descriptor.clone())?
            }
            Err(error) => return Err(error),
        };
        Ok(Self {
            state: SpaceState::new(&space),
            space: Arc::new(space),
            descriptor: Arc::new(descriptor),
            choice: HandChoice::Both,
            locks: vec![[Lock::Follow; PARTS]; rig.nodes.len()],
            parked: [None; 2],
        })
    }

    /// A built-in space for every hand there is.
    pub fn built_in(rig: &Rig, hands: &Hands, kind: BuiltIn) -> Result<Self> {
        let sides = hands.sides(rig, HandChoice::Both, None, [0.0; 3])?;
        Self::new(rig, Some(hands), kind.descriptor(rig, hands, &sides)?)
    }

    /// A triangle of three rest poses, to be filled.
    pub fn blank(character: &Character, hands: Option<&Hands>) -> Result<Self> {
        let sample =
            |i: usize| Sample { name: format!("pose {}", i + 1), pose: Pose::rest(&character.rig), texture: None };
        let at = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.5, 0.87, 0.0]];
        let descriptor = PoseSpaceDescriptor {
            name: "new".into(),
            dimensions: 2,
            corners: at.iter().enumerate().map(|(i, &at)| Corner { at, samples: vec![i] }).collect(),
            samples: (0..3).map(sample).collect(),
            groups: hands.map(Hands::groups).unwrap_or_default(),
            limits: built_in_limits(&character.rig, hands)?,
            leaders: hands.map(|h| h.leaders.clone()).unwrap_or_default(),
            ..PoseSpaceDescriptor::default()
        };
        Self::new(&character.rig, hands, descriptor)
    }

    /// The pose now, its weights and clamped joints.
    pub fn blended(&self, now: f64) -> Result<Blended> {
        self.space.evaluate(&self.state, now)
    }

    /// Moves the point.
    pub fn move_point(&mut self, to: [f32; 3]) -> Result<()> {
        self.state.set_point(to)
    }

    /// Changes what a point outside the corners means.
    pub fn set_outside(&mut self, outside: Outside) {
        Arc::make_mut(&mut self.space).set_outside(outside);
        Arc::make_mut(&mut self.descriptor).outside = outside;
    }

    /// Changes to another pose of a corner.
    pub fn select(&mut self, corner: usize, alternative: usize, fade: Fade) -> Result<()> {
        self.state.select(&self.space, corner, alternative, fade)
    }

    /// What the chosen parts of a group's joints do; `None` where they differ.
    pub fn lock(&self, group: usize, chosen: [bool; PARTS]) -> Option<Lock> {
        let nodes = &self.space.groups().get(group)?.nodes;
        let mut all =
            nodes.iter().flat_map(|&n| self.locks[n].iter().zip(chosen).filter(|(_, on)| *on).map(|(lock, _)| *lock));
        let first = all.next().unwrap_or_default();
        all.all(|lock| lock == first).then_some(first)
    }

    /// Gives the chosen parts of a group's joints something to do. A hold keeps what is there now.
    pub fn set_lock(
        &mut self,
        hands: Option<&Hands>,
        group: usize,
        chosen: [bool; PARTS],
        lock: Lock,
        fade: Fade,
    ) -> Result<()> {
        let space = self.space.clone();
        let mode = match lock {
            Lock::Follow => None,
            Lock::Held => Some(GroupMode::Held),
            Lock::Default => Some(GroupMode::Default),
            Lock::Own => Some(GroupMode::Point(self.place(hands, group))),
        };
        for (part, (_, channels)) in parts().into_iter().enumerate().filter(|(part, _)| chosen[*part]) {
            if let Some(mode) = &mode {
                self.state.set_group(&space, group, channels, mode, fade)?;
            }
            for &node in space.groups().get(group).map_or(&[][..], |g| &g.nodes) {
                self.locks[node][part] = lock;
            }
        }
        self.follow(hands, fade)
    }

    /// How far the chosen parts of a group's joints leave their hand's point, 0…1.
    pub fn strength(&self, group: usize, chosen: [bool; PARTS], now: f64) -> f32 {
        self.state.group_strength(&self.space, group, channels(chosen), now).unwrap_or(0.0)
    }

    /// Changes that, at once, for what has something else to do than to follow.
    pub fn set_strength(&mut self, group: usize, chosen: [bool; PARTS], strength: f32, now: f64) -> Result<()> {
        let space = self.space.clone();
        self.state.set_strength(&space, group, channels(chosen), strength, Fade::at_once(now))
    }

    /// The point that a group follows: its own, its hand's or the space's.
    pub fn place(&self, hands: Option<&Hands>, group: usize) -> [f32; 3] {
        if let Ok(Some(GroupMode::Point(own))) = self.state.group_mode(&self.space, group, Channels::ROTATION) {
            return own;
        }
        let nodes = self.space.groups().get(group).map_or(&[][..], |g| &g.nodes);
        let parked = nodes.first().and_then(|&n| side_of(hands, n)).and_then(|side| self.parked[side as usize]);
        parked.unwrap_or(self.state.point())
    }

    /// Moves a group's own point.
    pub fn move_own(&mut self, group: usize, to: [f32; 3]) -> Result<()> {
        self.state.move_group_point(&self.space, group, to)
    }

    /// Groups that have a point of their own, the smallest where several share their joints.
    pub fn own_points(&self) -> Vec<(usize, [f32; 3])> {
        let mut out: Vec<(usize, [f32; 3])> = Vec::new();
        let mut covered = vec![false; self.locks.len()];
        for group in self.by_size().into_iter().rev() {
            let nodes = &self.space.groups()[group].nodes;
            let own = !nodes.is_empty() && nodes.iter().all(|&n| self.locks[n].contains(&Lock::Own));
            if own && !nodes.iter().all(|&n| covered[n]) {
                nodes.iter().for_each(|&n| covered[n] = true);
                out.push((group, self.own_point(group)));
            }
        }
        out
    }

    fn own_point(&self, group: usize) -> [f32; 3] {
        let modes = parts().into_iter().map(|(_, channels)| self.state.group_mode(&self.space, group, channels));
        let own = modes.flatten().flatten().find_map(|m| if let GroupMode::Point(p) = m { Some(p) } else { None });
        own.unwrap_or(self.state.point())
    }

    /// Lets these hands follow the point and leaves the others where they are. When one hand takes over, the point goes to
    /// where that hand was left.
    pub fn activate(&mut self, hands: &Hands, sides: &[Side], fade: Fade) -> Result<()> {
        let point = self.state.point();
        for hand in &hands.hands {
            let parked = &mut self.parked[hand.side as usize];
            if !sides.contains(&hand.side) && parked.is_none() {
                *parked = Some(point);
            }
        }
        // At once: a parked hand must not feel that the point goes elsewhere.
        self.follow(Some(hands), Fade::at_once(fade.now))?;
        for &side in sides {
            if let (Some(left), 1) = (self.parked[side as usize].take(), sides.len()) {
                self.state.set_point(left)?;
            }
        }
        self.follow(Some(hands), fade)
    }

    /// True while this hand follows the point.
    pub fn is_active(&self, side: Side) -> bool {
        self.parked[side as usize].is_none()
    }

    /// Where a hand that does not follow the point was left.
    pub fn parked(&self, side: Side) -> Option<[f32; 3]> {
        self.parked[side as usize]
    }

    /// Brings all joints without a lock to the point of their hand.
    fn follow(&mut self, hands: Option<&Hands>, fade: Fade) -> Result<()> {
        let space = self.space.clone();
        for group in self.by_size() {
            let nodes = &space.groups()[group].nodes;
            let place = |n: usize| side_of(hands, n).and_then(|side| self.parked[side as usize]);
            let Some(first) = nodes.first().map(|&n| place(n)) else { continue };
            if nodes.iter().any(|&n| place(n) != first) {
                continue;
            }
            let wanted = first.map_or(GroupMode::Live, GroupMode::Point);
            for (part, (_, channels)) in parts().into_iter().enumerate() {
                let free = nodes.iter().all(|&n| self.locks[n][part] == Lock::Follow);
                if free && self.state.group_mode(&space, group, channels)?.as_ref() != Some(&wanted) {
                    self.state.set_group(&space, group, channels, &wanted, fade)?;
                }
            }
        }
        Ok(())
    }

    /// Groups, the largest first.
    fn by_size(&self) -> Vec<usize> {
        let groups = self.space.groups();
        let mut order: Vec<usize> = (0..groups.len()).collect();
        order.sort_by_key(|&g| std::cmp::Reverse(groups[g].nodes.len()));
        order
    }

    /// The group that locks a finger: exactly its joints, else the largest of only its joints.
    pub fn finger_group(&self, hands: &Hands, side: Side, finger: Finger) -> Option<usize> {
        let nodes: Vec<usize> = hands.get(side)?.fingers[finger as usize].nodes().collect();
        let groups = self.space.groups();
        let inside = |g: &usize| !groups[*g].nodes.is_empty() && groups[*g].nodes.iter().all(|n| nodes.contains(n));
        (0..groups.len()).filter(inside).max_by_key(|&g| groups[g].nodes.len())
    }
}

fn side_of(hands: Option<&Hands>, node: usize) -> Option<Side> {
    hands?.hands.iter().find(|h| h.nodes().any(|n| n == node)).map(|h| h.side)
}

fn same_set(a: &[usize], b: &[usize]) -> bool {
    a.iter().all(|n| b.contains(n)) && b.iter().all(|n| a.contains(n))
}

/// Adds the groups of hands and fingers that the space does not have, so that each can be locked.
fn add_hand_groups(descriptor: &mut PoseSpaceDescriptor, hands: Option<&Hands>) {
    for group in hands.map(Hands::groups).unwrap_or_default() {
        let known = |g: &dermis::pose::Group| g.name == group.name || same_set(&g.nodes, &group.nodes);
        if !descriptor.groups.iter().any(known) {
            descriptor.groups.push(group);
        }
    }
}
