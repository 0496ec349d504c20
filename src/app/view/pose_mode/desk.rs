//! The hand setup without its pictures: what is edited, how, and the steps back.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use dermis::Character;
use dermis::pose::{Blended, BuiltIn, Fade, HandChoice, Hands, Outside, Pose, PoseSpaceDescriptor, Side};

use super::clip::FromClip;
use super::desk_ui::Wish;
use super::edit::Refusal;
use super::setup::{Lock, PARTS, Setup};
use crate::app::textures;
use crate::app::view::undo::Undo;

/// Seconds after which another touch of the same thing is a step of its own.
const PAUSE: f64 = 0.7;

/// What the user asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Act {
    Point([f32; 3]),
    Own(usize, [f32; 3]),
    Corner(usize, [f32; 3]),
    Select(usize, usize),
    Lock(usize, Lock),
    /// How far a group with a lock leaves the point, 0…1.
    Strength(usize, f32),
    /// A click on a finger: hold it, or let it go.
    Toggle(Vec<usize>),
    Hands(HandChoice),
    Outside(Outside),
    AddPose(usize),
    SharePose(usize, usize),
    Overwrite(usize),
    /// A sample takes the pose of a clip at a time.
    Clip(usize, usize, f32),
    Rename(usize, String),
    RemovePose(usize, usize),
    Texture(usize, Option<String>),
    Default(usize),
    AddCorner,
    RemoveCorner(usize),
    Mirror(Side),
    BuiltIn(BuiltIn),
    Blank,
}

/// A setup before and after a step.
pub struct Step {
    before: Setup,
    after: Setup,
}

/// What the tab works on while a character is shown.
pub struct Desk {
    pub hands: Option<Hands>,
    /// Why there are no hands.
    pub handless: String,
    pub setup: Setup,
    pub undo: Undo<Step>,
    /// What was touched last, and when.
    touched: (String, f64),
    /// Seconds since the tab's clock began; fades count in it.
    pub clock: f64,
    /// Seconds that a change takes.
    pub fade: f32,
    /// What of a joint is held.
    pub chosen: [bool; PARTS],
    /// Corners are dragged.
    pub editing: bool,
    /// The hand the user last touched.
    pub hand: Option<Side>,
    /// The file the space was read from or written to.
    pub file: Option<PathBuf>,
    /// The descriptor as it is in that file, or as it was made.
    pub saved: Arc<PoseSpaceDescriptor>,
    /// The pose at the point, for numbers and marks.
    pub blended: Blended,
    /// Text of the name that is being edited, and of which pose.
    pub rename: (usize, String),
    /// A pose that is being taken from a clip.
    pub from_clip: Option<FromClip>,
    /// Pictures that were chosen for samples, by the names they will have in the file's folder.
    pub chosen_pictures: Vec<(String, PathBuf)>,
    /// A file is wanted.
    pub wish: Option<Wish>,
}

impl Desk {
    /// The built-in triangle where there are hands, else three rest poses.
    pub fn new(character: &Character) -> Result<Self, Refusal> {
        let hints: Vec<&str> =
            character.parts.iter().map(|p| p.name.as_str()).chain([character.name.as_str()]).collect();
        let found = Hands::find(&character.rig, &character.humanoid, &hints);
        let (hands, handless) = match found {
            Ok(hands) => (Some(hands), String::new()),
            Err(error) => (None, error.to_string()),
        };
        let setup = match &hands {
            Some(hands) => Setup::built_in(&character.rig, hands, BuiltIn::Triangle),
            None => Setup::blank(character, None),
        };
        let mut setup = setup.map_err(|e| e.to_string())?;
        if hands.is_some() {
            // Open, a little on the way to the others.
            setup.move_point([0.25, 0.2, 0.0]).map_err(|e| e.to_string())?;
        }
        let blended = setup.blended(0.0).map_err(|e| e.to_string())?;
        Ok(Self {
            saved: setup.descriptor.clone(),
            hands,
            handless,
            setup,
            undo: Undo::default(),
            touched: (String::new(), 0.0),
            clock: 0.0,
            fade: 0.35,
            chosen: [true; PARTS],
            editing: false,
            hand: None,
            file: None,
            blended,
            rename: (usize::MAX, String::new()),
            from_clip: None,
            chosen_pictures: Vec::new(),
            wish: None,
        })
    }

    /// Does what the user asks; a refusal leaves everything as it was.
    pub fn act(&mut self, character: &Character, eye: [f32; 3], act: &Act) -> Result<(), Refusal> {
        let mut setup = self.setup.clone();
        self.change(character, eye, act, &mut setup)?;
        let blended = setup.blended(self.clock).map_err(|e| e.to_string())?;
        let before = std::mem::replace(&mut self.setup, setup);
        self.blended = blended;
        let what = match act {
            Act::Point(_) => "point".to_owned(),
            Act::Own(group, _) => format!("own {group}"),
            Act::Corner(corner, _) => format!("corner {corner}"),
            Act::Strength(group, _) => format!("strength {group}"),
            Act::Clip(sample, ..) => format!("clip {sample}"),
            _ => String::new(),
        };
        let goes_on = !what.is_empty() && what == self.touched.0 && self.clock - self.touched.1 < PAUSE;
        self.touched = (what, self.clock);
        match self.undo.last().filter(|_| goes_on) {
            Some(step) => step.after = self.setup.clone(),
            None => self.undo.push(Step { before, after: self.setup.clone() }),
        }
        Ok(())
    }

    fn change(&mut self, character: &Character, eye: [f32; 3], act: &Act, s: &mut Setup) -> Result<(), Refusal> {
        let (rig, now) = (&character.rig, self.clock);
        let fade = Fade { now, seconds: self.fade };
        let hands = self.hands.as_ref();
        let need = || hands.ok_or_else(|| self.handless.clone());
        let text = |e: dermis::Error| e.to_string();
        let pose = self.blended.pose.clone();
        match act {
            Act::Point(to) => s.move_point(*to).map_err(text),
            Act::Own(group, to) => s.move_own(*group, *to).map_err(text),
            Act::Corner(corner, to) => s.move_corner(*corner, *to),
            Act::Select(corner, alternative) => s.select(*corner, *alternative, fade).map_err(text),
            Act::Lock(group, lock) => s.set_lock(hands, *group, self.chosen, *lock, fade).map_err(text),
            Act::Strength(group, strength) => s.set_strength(*group, self.chosen, *strength, now).map_err(text),
            Act::Toggle(groups) => {
                let free = |g: &usize| s.lock(*g, self.chosen) == Some(Lock::Follow);
                let lock = if groups.iter().any(free) { Lock::Held } else { Lock::Follow };
                // What is held already keeps what it has.
                let those: Vec<usize> = groups.iter().copied().filter(|g| lock == Lock::Follow || free(g)).collect();
                those.into_iter().try_for_each(|g| s.set_lock(hands, g, self.chosen, lock, fade)).map_err(text)
            }
            Act::Hands(choice) => {
                let hands = need()?;
                let sides = hands.sides(rig, *choice, self.hand, eye).map_err(text)?;
                s.choice = *choice;
                s.activate(hands, &sides, fade).map_err(text)
            }
            Act::Outside(outside) => {
                s.set_outside(*outside);
                Ok(())
            }
            Act::AddPose(corner) => s.add_pose(rig, *corner, "new pose", pose, now),
            Act::SharePose(corner, sample) => s.share_pose(rig, *corner, *sample, now),
            Act::Overwrite(sample) => s.overwrite(rig, *sample, pose, now),
            Act::Clip(sample, clip, time) => {
                let mut pose = Pose::rest(rig);
                character.clips.get(*clip).ok_or("there is no such clip")?.sample(*time, &mut pose);
                s.overwrite(rig, *sample, pose, now)
            }
            Act::Rename(sample, name) => s.rename(rig, *sample, name, now),
            Act::RemovePose(corner, alternative) => s.remove_pose(rig, *corner, *alternative, now),
            Act::Texture(sample, texture) => s.set_texture(rig, *sample, texture.clone(), now),
            Act::Default(sample) => s.set_default(rig, *sample, now),
            Act::AddCorner => s.add_corner(rig, "new pose", pose, now),
            Act::RemoveCorner(corner) => s.remove_corner(rig, *corner, now),
            Act::Mirror(from) => s.mirror(rig, need()?, *from, now),
            Act::BuiltIn(kind) => {
                *s = Setup::built_in(rig, need()?, *kind).map_err(text)?;
                Ok(())
            }
            Act::Blank => {
                *s = Setup::blank(character, hands).map_err(text)?;
                Ok(())
            }
        }
    }

    /// A picture that a sample may have as its texture; its name in the space.
    pub fn choose_picture(&mut self, path: &Path) -> Result<String, Refusal> {
        let refuse = |why: &str| format!("{}: {why}", path.display());
        let name = path.file_name().and_then(|n| n.to_str()).ok_or_else(|| refuse("its name is no text"))?;
        textures::read(path, name).map_err(|e| refuse(&e))?;
        let path = path.canonicalize().map_err(|e| refuse(&e.to_string()))?;
        match self.chosen_pictures.iter().find(|c| c.0 == name) {
            Some((_, other)) if *other != path => {
                return Err(refuse(&format!("{} has the same name", other.display())));
            }
            Some(_) => {}
            None => self.chosen_pictures.push((name.into(), path.clone())),
        }
        Ok(name.into())
    }

    /// Puts a space that was read in the place of the one there is.
    pub fn open(&mut self, character: &Character, d: PoseSpaceDescriptor, file: PathBuf) -> Result<(), Refusal> {
        let setup = Setup::new(&character.rig, self.hands.as_ref(), d).map_err(|e| e.to_string())?;
        self.blended = setup.blended(self.clock).map_err(|e| e.to_string())?;
        let before = std::mem::replace(&mut self.setup, setup);
        self.undo.push(Step { before, after: self.setup.clone() });
        self.saved = self.setup.descriptor.clone();
        self.file = Some(file);
        Ok(())
    }

    /// Takes a step back or does it again; false when there is none.
    pub fn step(&mut self, back: bool) -> bool {
        let step =
            if back { self.undo.undo().map(|s| s.before.clone()) } else { self.undo.redo().map(|s| s.after.clone()) };
        let Some(setup) = step else { return false };
        self.setup = setup;
        self.touched.0.clear();
        self.refresh();
        true
    }

    /// In automatic choice, follows the hand that was touched or is nearer.
    pub fn choose_hand(&mut self, character: &Character, eye: [f32; 3]) {
        let Some(hands) = self.hands.as_ref().filter(|_| self.setup.choice == HandChoice::Auto) else { return };
        let Ok(sides) = hands.sides(&character.rig, HandChoice::Auto, self.hand, eye) else { return };
        if hands.hands.iter().any(|h| self.setup.is_active(h.side) != sides.contains(&h.side)) {
            let fade = Fade { now: self.clock, seconds: self.fade };
            // Checked before: the hands are those of this rig.
            let _ = self.setup.activate(hands, &sides, fade);
            self.refresh();
        }
    }

    /// Moves the clock on; true while a fade is under way.
    pub fn tick(&mut self, step: f64) -> bool {
        let before = self.setup.state.is_settled(self.clock);
        self.clock += step;
        if !before {
            self.refresh();
        }
        !self.setup.state.is_settled(self.clock)
    }

    fn refresh(&mut self) {
        if let Ok(blended) = self.setup.blended(self.clock) {
            self.blended = blended;
        }
    }

    /// True when the space is not what its file says.
    pub fn edited(&self) -> bool {
        !Arc::ptr_eq(&self.saved, &self.setup.descriptor)
    }
}
