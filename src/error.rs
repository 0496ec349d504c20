//! Every way a call can be refused, with the numbers that say why.

/// The one error type of the crate.
///
/// Messages are one line, start in lower case, and name what was refused and where, so that a command line can print
/// `error: {message}` and an artist can find the vertex, joint or file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A rig node lists a parent that does not come before it.
    #[error("rig node {node} has parent {parent}, but parents must come before their children")]
    ParentAfterChild {
        /// Index of the node in the rig.
        node: usize,
        /// The parent it names.
        parent: usize,
    },
    /// A number that must be finite is not.
    #[error("{what} {index} is not finite")]
    NotFinite {
        /// What kind of thing, e.g. `position of vertex`.
        what: &'static str,
        /// Its index.
        index: usize,
    },
    /// Two things that must have the same number of elements do not.
    #[error("{what} has {found} elements, but {expected} are needed")]
    LengthMismatch {
        /// What was given.
        what: &'static str,
        /// Elements given.
        found: usize,
        /// Elements needed.
        expected: usize,
    },
    /// An index points past the end of what it indexes.
    #[error("{what} {index} is out of range: there are {count}")]
    OutOfRange {
        /// What was indexed.
        what: &'static str,
        /// The index.
        index: usize,
        /// How many there are.
        count: usize,
    },
    /// A vertex names a joint its skin does not have.
    #[error("vertex {vertex} names joint {joint}, but the skin has {joint_count}")]
    JointOutOfRange {
        /// The vertex.
        vertex: usize,
        /// The joint it names.
        joint: usize,
        /// Joints in the skin.
        joint_count: usize,
    },
    /// A weight is negative, NaN or infinite.
    #[error("vertex {vertex} has weight {weight} for joint {joint}; weights must be finite and not negative")]
    InvalidWeight {
        /// The vertex.
        vertex: usize,
        /// The joint.
        joint: usize,
        /// The weight found.
        weight: f32,
    },
    /// A parameter is outside the range it is defined for.
    #[error("{what} is {value}, but must be {expected}")]
    InvalidParameter {
        /// Name of the parameter.
        what: &'static str,
        /// The value given, as text.
        value: String,
        /// The range, in words.
        expected: &'static str,
    },
    /// A corner of a pose space is not in strictly convex position.
    #[error("corner {corner} {problem}")]
    NotConvex {
        /// The corner.
        corner: usize,
        /// What is wrong with it, in words.
        problem: &'static str,
    },
    /// An identifier belongs to something that was removed, or to another skinner.
    #[error("{what} is no longer (or never was) part of this skinner")]
    StaleId {
        /// What kind of identifier.
        what: &'static str,
    },
    /// Something cannot be removed while characters use it.
    #[error("the {what} is still used by {characters} characters: despawn them, or give them others, first")]
    InUse {
        /// What was to be removed.
        what: &'static str,
        /// How many use it.
        characters: usize,
    },
    /// The transforms of a character's joints were asked for and are not known.
    #[error(
        "the joints of this character are not known: its palettes come from the host, or the skinner keeps no joints"
    )]
    UnknownPose,
    /// A device lacks a limit this call needs.
    #[error("{what} needs {needed}, but the device allows {limit}")]
    DeviceLimit {
        /// What was asked for.
        what: &'static str,
        /// The amount needed.
        needed: u64,
        /// The device's limit.
        limit: u64,
    },
    /// A device was made without a feature this call needs.
    #[error("{what} need the feature {feature}, which the device was made without")]
    MissingFeature {
        /// What was asked for, plural.
        what: &'static str,
        /// The name of the wgpu feature.
        feature: &'static str,
    },
    /// The skinner's memory budget would be passed.
    #[error("{needed} more bytes would pass the memory budget of {budget} bytes ({used} in use)")]
    OverBudget {
        /// Bytes asked for.
        needed: u64,
        /// Bytes in use.
        used: u64,
        /// The budget.
        budget: u64,
    },
    /// The GPU refused or lost a request.
    #[error("the GPU refused: {0}")]
    Gpu(String),
    /// A file could not be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: std::path::PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file's contents cannot be used.
    #[error("{at}: {problem}")]
    Format {
        /// File and place in it, e.g. `hand.glb: accessors[3]`.
        at: String,
        /// What is wrong there.
        problem: String,
    },
    /// A name that does not exist where it was looked for.
    #[error("there is no {what} named {name:?}; found: {found}")]
    UnknownName {
        /// What was looked for.
        what: &'static str,
        /// The name given.
        name: String,
        /// The names that exist, joined by commas.
        found: String,
    },
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
