//! What a joint's name says: its side, its finger, its place in the finger. One reading of all the usual conventions: VRM
//! (`leftIndexProximal`), WebXR (`index-finger-phalanx-proximal`), Mixamo (`mixamorig:LeftHandIndex1`), Unreal
//! (`index_01_l`), Blender (`f_index.01.L`), 3ds Max biped (`Bip01 L Finger12`), VRoid (`J_Bip_L_Index1`).

/// Left or right, as the character itself would say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The character's left.
    Left,
    /// The character's right.
    Right,
}

impl Side {
    /// The other side.
    pub fn other(self) -> Self {
        if self == Self::Left { Self::Right } else { Self::Left }
    }

    /// `left` or `right`.
    pub fn name(self) -> &'static str {
        if self == Self::Left { "left" } else { "right" }
    }
}

/// A finger, the thumb included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Finger {
    /// Thumb.
    Thumb,
    /// Index finger.
    Index,
    /// Middle finger.
    Middle,
    /// Ring finger.
    Ring,
    /// Little finger or pinky.
    Little,
}

impl Finger {
    /// Thumb to little finger.
    pub const ALL: [Self; 5] = [Self::Thumb, Self::Index, Self::Middle, Self::Ring, Self::Little];

    /// `thumb`, `index`, `middle`, `ring` or `little`.
    pub fn name(self) -> &'static str {
        ["thumb", "index", "middle", "ring", "little"][self as usize]
    }

    /// The finger of a name as files write it; `pinky` is the little finger.
    pub fn from_name(name: &str) -> Option<Self> {
        finger_word(&name.to_lowercase())
    }
}

fn finger_word(word: &str) -> Option<Finger> {
    Some(match word {
        "thumb" => Finger::Thumb,
        "index" | "pointer" | "forefinger" => Finger::Index,
        "middle" | "mid" => Finger::Middle,
        "ring" => Finger::Ring,
        "little" | "pinky" | "pinkie" | "small" => Finger::Little,
        _ => return None,
    })
}

/// Lower-case words of a name: cut at anything that is no letter or digit, between letters and digits, and before a capital
/// that follows a small letter. A side glued to the rest (`Lefthand`) is cut off too.
pub(super) fn words(name: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut last: Option<char> = None;
    for c in name.chars() {
        if c.is_alphanumeric() {
            let joins = last.is_some_and(|l| {
                l.is_alphanumeric() && l.is_numeric() == c.is_numeric() && !(l.is_lowercase() && c.is_uppercase())
            });
            match out.last_mut() {
                Some(word) if joins => word.extend(c.to_lowercase()),
                _ => out.push(c.to_lowercase().collect()),
            }
        }
        last = Some(c);
    }
    let glued = |w: String| {
        for side in ["left", "right"] {
            if let Some(rest) = w.strip_prefix(side)
                && ["hand", "arm", "forearm", "leg", "foot", "shoulder", "thumb"].contains(&rest)
            {
                return vec![side.to_string(), rest.to_string()];
            }
        }
        vec![w]
    };
    out.into_iter().flat_map(glued).collect()
}

/// The side a name states as a word of its own (`Lefty` states none).
pub(super) fn side(words: &[String]) -> Option<Side> {
    words.iter().find_map(|w| match w.as_str() {
        "l" | "left" => Some(Side::Left),
        "r" | "right" => Some(Side::Right),
        _ => None,
    })
}

/// The name without its side, to find a joint's partner by.
pub(super) fn without_side(words: &[String]) -> Vec<String> {
    words.iter().filter(|w| !["l", "left", "r", "right"].contains(&w.as_str())).cloned().collect()
}

/// Where in a finger a joint stands, from the wrist outwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    Metacarpal,
    Proximal,
    Intermediate,
    Distal,
    Tip,
    /// The n-th of the finger's numbered joints.
    Number(u32),
}

/// Finger and rank of a finger joint's name.
pub(super) fn finger(words: &[String]) -> Option<(Finger, Rank)> {
    let is = |w: &str| words.iter().any(|x| x == w);
    if is("toe") || is("foot") || is("toes") || is("twist") || is("half") {
        return None;
    }
    let named: Vec<Finger> = words.iter().filter_map(|w| finger_word(w)).collect();
    let numbers: Vec<&String> = words.iter().filter(|w| w.starts_with(|c: char| c.is_ascii_digit())).collect();
    let tip = is("tip") || is("end") || is("nub");
    let (finger, mut rank) = match named.as_slice() {
        [] => return biped(words, tip),
        // `index middle`: the middle bone of the index finger.
        [finger, .., Finger::Middle] if numbers.is_empty() && *finger != Finger::Middle => {
            (*finger, Some(Rank::Intermediate))
        }
        // `RingPinky1`: the last one counts.
        [.., finger] => (*finger, None),
    };
    for w in words {
        rank = rank.or(match w.as_str() {
            "metacarpal" | "metacarp" | "meta" | "palm" => Some(Rank::Metacarpal),
            "proximal" => Some(Rank::Proximal),
            "intermediate" => Some(Rank::Intermediate),
            "distal" => Some(Rank::Distal),
            _ => None,
        });
    }
    if tip {
        rank = Some(Rank::Tip);
    }
    let number = || numbers.last().and_then(|n| n.parse().ok()).map(Rank::Number);
    Some((finger, rank.or_else(number)?))
}

/// 3ds Max biped: `Finger0`, `Finger01`, `Finger02` are the thumb's, `Finger1`… the index finger's.
fn biped(words: &[String], tip: bool) -> Option<(Finger, Rank)> {
    let at = words.iter().position(|w| w == "finger")?;
    let digits: Vec<u32> = words.get(at + 1)?.chars().map(|c| c.to_digit(10)).collect::<Option<_>>()?;
    let finger = *Finger::ALL.get(*digits.first()? as usize)?;
    let rank = if tip { Rank::Tip } else { Rank::Number(digits.get(1).copied().unwrap_or(0)) };
    (digits.len() <= 2).then_some((finger, rank))
}

/// True for the joint the fingers hang on.
pub(super) fn is_hand(words: &[String]) -> bool {
    let has = |w: &str| words.iter().any(|x| x == w);
    (has("hand") || has("wrist")) && finger(words).is_none() && !has("end") && !has("twist") && !has("roll")
}

/// True for the joint that an elbow bends (the lower arm).
pub(super) fn is_lower_arm(words: &[String]) -> bool {
    let joined = words.concat();
    let plain = !["twist", "roll", "end", "nub", "hand", "ik", "pole"].iter().any(|w| words.iter().any(|x| x == w));
    plain && ["forearm", "lowerarm", "elbow"].iter().any(|w| joined.contains(w))
}

/// True for the joint that a knee bends (the lower leg).
pub(super) fn is_lower_leg(words: &[String]) -> bool {
    let joined = words.concat();
    let has = |w: &str| words.iter().any(|x| x == w);
    let plain = !["twist", "roll", "end", "nub", "ik", "pole", "up", "upper", "foot"].iter().any(|w| has(w));
    let upper = joined.contains("upleg") || joined.contains("upperleg") || joined.contains("thigh");
    let lower = ["lowerleg", "calf", "shin", "knee"].iter().any(|w| joined.contains(w));
    plain && !upper && (lower || has("leg"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str) -> (Option<Side>, Option<(Finger, Rank)>) {
        let w = words(name);
        (side(&w), finger(&w))
    }

    #[test]
    fn the_usual_conventions_are_read() {
        use Finger::*;
        let (l, r) = (Some(Side::Left), Some(Side::Right));
        let cases = [
            ("leftIndexProximal", l, Index, Rank::Proximal),
            ("rightThumbMetacarpal", r, Thumb, Rank::Metacarpal),
            ("mixamorig:LeftHandIndex1", l, Index, Rank::Number(1)),
            ("index_01_l", l, Index, Rank::Number(1)),
            ("index_metacarpal_r", r, Index, Rank::Metacarpal),
            ("DEF-f_pinky.02.R", r, Little, Rank::Number(2)),
            ("thumb.01.L", l, Thumb, Rank::Number(1)),
            ("index.intermediate.L", l, Index, Rank::Intermediate),
            ("LeftHandRingPinky3", l, Little, Rank::Number(3)),
            ("J_Bip_L_Little1", l, Little, Rank::Number(1)),
            ("Bip01 L Finger12", l, Index, Rank::Number(2)),
            ("Bip01 R Finger0", r, Thumb, Rank::Number(0)),
            ("Bip01 L Finger4Nub", l, Little, Rank::Tip),
            ("rMid2", r, Middle, Rank::Number(2)),
            ("index_middle_l", l, Index, Rank::Intermediate),
            ("middle-finger-phalanx-intermediate", None, Middle, Rank::Intermediate),
        ];
        for (name, side, finger, rank) in cases {
            assert_eq!(read(name), (side, Some((finger, rank))), "{name}");
        }
        for name in ["LeftFootThumb1", "Bip01 L Toe0Nub", "wrist", "Lefthand", "RingNode", "hips"] {
            assert_eq!(read(name).1, None, "{name}");
        }
        assert!(is_hand(&words("Lefthand")) && is_hand(&words("hand_l")) && !is_hand(&words("LeftHandIndex1")));
        assert_eq!(side(&words("Lefthand")), l);
        assert_eq!(side(&words("Lefty")), None);
        for name in ["LeftForeArm", "lowerarm_l", "lower_arm.L", "leftLowerArm", "forearm.L"] {
            assert!(is_lower_arm(&words(name)), "{name}");
        }
        for name in ["LeftLeg", "calf_l", "leftLowerLeg", "shin.R", "lower_leg.L"] {
            assert!(is_lower_leg(&words(name)), "{name}");
        }
        for name in ["LeftUpLeg", "leftUpperLeg", "thigh_l", "upper_leg.L", "LeftFoot"] {
            assert!(!is_lower_leg(&words(name)), "{name}");
        }
    }
}
