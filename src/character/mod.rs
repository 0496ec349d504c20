//! What a character is, on the CPU: a [`Rig`], the [`Skin`]s that hang on it, the [`Mesh`]es they deform, [`Clip`]s and
//! [`Material`]s. Plain data; nothing here knows files or a GPU.

mod clip;
mod material;
mod mesh;
mod rig;
mod skin;

pub use clip::{Channel, Clip, Interpolation, Target};
pub use material::{AlphaMode, Filter, Image, Material, Sampler, TextureRef, UvTransform, Wrap};
pub use mesh::{Mesh, MorphDelta, MorphTarget, Primitive};
pub use rig::{Rig, RigNode};
pub use skin::Skin;

/// One character (or prop) as a file or a program describes it.
#[derive(Clone, Debug, Default)]
pub struct Character {
    /// Name for people, e.g. the file's stem.
    pub name: String,
    /// The joints and every node between them and the scene's root.
    pub rig: Rig,
    /// Lists of rig nodes with inverse binds; rigid parts have a skin of one joint too.
    pub skins: Vec<Skin>,
    /// Vertex data, shared by the parts that use it.
    pub meshes: Vec<Mesh>,
    /// What is drawn: a mesh under a skin.
    pub parts: Vec<Part>,
    /// Animations.
    pub clips: Vec<Clip>,
    /// Surface descriptions, indexed by [`Primitive::material`].
    pub materials: Vec<Material>,
    /// Pictures, indexed by [`TextureRef::image`].
    pub images: Vec<Image>,
    /// Rig nodes by a file's own table of human bones (VRM's `humanBones`): name, e.g. `leftIndexProximal`, and rig node.
    pub humanoid: Vec<(String, usize)>,
    /// Names of the extensions the file uses, sorted.
    pub extensions: Vec<String>,
    /// What the importer repaired or ignored, one line each.
    pub warnings: Vec<String>,
}

impl Character {
    /// The rig node of a name: the file's, else of its table of human bones.
    pub fn find_node(&self, name: &str) -> Option<usize> {
        let human = || self.humanoid.iter().find(|h| h.0 == name).map(|h| h.1);
        self.rig.find(name).or_else(human)
    }
}

/// A mesh under a skin: what glTF calls a node with a mesh.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Part {
    /// Name of the node.
    pub name: String,
    /// Index of the node in its file (0 for parts made in code); `dermis skin` reports it.
    pub node: usize,
    /// Index into [`Character::meshes`].
    pub mesh: usize,
    /// Index into [`Character::skins`].
    pub skin: usize,
    /// True when the file has no skin here: every vertex follows joint 0 of `skin`, the node itself.
    pub rigid: bool,
    /// Default weight of each morph target of the mesh (the node's own, else the mesh's).
    pub morph_weights: Vec<f32>,
}
