//! Typed arrays out of buffer views, checked before anything is allocated (glTF 2.0, section 3.6.2).

use gltf::json::accessor::{ComponentType, Type};
use gltf::json::validation::Checked;

use super::document::{Document, number};
use super::{Outcome, pick, refuse};

/// Most elements an accessor without any bytes behind it may have, unless something else in the file vouches for the
/// number.
const MOST_IMPLIED: u64 = 1 << 20;

/// One accessor, its numbers checked against each other and against the bytes behind it.
pub(super) struct Accessor<'d> {
    pub count: usize,
    pub component: ComponentType,
    pub kind: Type,
    pub normalized: bool,
    /// Bytes from the first element on, and the distance of elements; `None`: all zeros.
    base: Option<(&'d [u8], usize)>,
    sparse: Option<Sparse<'d>>,
    at: String,
}

struct Sparse<'d> {
    count: usize,
    indices: &'d [u8],
    index_type: ComponentType,
    values: &'d [u8],
}

fn size_of(component: ComponentType) -> usize {
    match component {
        ComponentType::I8 | ComponentType::U8 => 1,
        ComponentType::I16 | ComponentType::U16 => 2,
        ComponentType::U32 | ComponentType::F32 => 4,
    }
}

fn width_of(kind: Type) -> usize {
    match kind {
        Type::Scalar => 1,
        Type::Vec2 => 2,
        Type::Vec3 => 3,
        Type::Vec4 | Type::Mat2 => 4,
        Type::Mat3 => 9,
        Type::Mat4 => 16,
    }
}

fn name_of(kind: Type) -> &'static str {
    match kind {
        Type::Scalar => "SCALAR",
        Type::Vec2 => "VEC2",
        Type::Vec3 => "VEC3",
        Type::Vec4 => "VEC4",
        Type::Mat2 => "MAT2",
        Type::Mat3 => "MAT3",
        Type::Mat4 => "MAT4",
    }
}

impl<'d> Accessor<'d> {
    /// Opens accessor `index`. `expected`: the number of elements it must have, if something else decides it.
    pub fn open(document: &'d Document<'_>, index: usize, expected: Option<usize>) -> Outcome<Self> {
        let at = format!("accessors[{index}]");
        let json = pick(&document.root.accessors, index, "accessor", &at)?;
        let Checked::Valid(component) = json.component_type else {
            return refuse(at, "componentType is not one of 5120…5126");
        };
        let Checked::Valid(kind) = json.type_ else { return refuse(at, "type is not one glTF knows") };
        let (count, component) = (json.count.0, component.0);
        if let Some(expected) = expected
            && count != expected as u64
        {
            return refuse(at, format!("has {count} elements, but {expected} are needed"));
        }
        let size = size_of(component) * width_of(kind);
        let base = match json.buffer_view {
            None if expected.is_none() && count > MOST_IMPLIED => {
                return refuse(at, format!("has {count} elements, but no buffer view"));
            }
            None => None,
            Some(view) => {
                let offset = json.byte_offset.unwrap_or_default().0;
                Some(elements(document, number(view), offset, count, size, &at)?)
            }
        };
        let sparse = match &json.sparse {
            None => None,
            Some(sparse) => {
                let Checked::Valid(index_type) = sparse.indices.component_type else {
                    return refuse(at, "sparse.indices.componentType must be 5121, 5123 or 5125");
                };
                let (n, index_type) = (sparse.count.0, index_type.0);
                if n > count {
                    return refuse(at, format!("sparse.count is {n}, more than the {count} elements"));
                }
                let (view, offset) = (number(sparse.indices.buffer_view), sparse.indices.byte_offset.0);
                let (indices, _) = elements(document, view, offset, n, size_of(index_type), &at)?;
                let (view, offset) = (number(sparse.values.buffer_view), sparse.values.byte_offset.0);
                let (values, _) = elements(document, view, offset, n, size, &at)?;
                Some(Sparse { count: n as usize, indices, index_type, values })
            }
        };
        // Read as f32 or u32 whatever it is stored in.
        document.spend(count.saturating_mul(4 * width_of(kind) as u64), &at)?;
        Ok(Self { count: count as usize, component, kind, normalized: json.normalized, base, sparse, at })
    }

    /// Refuses another shape than `kind`.
    pub fn expect_kind(&self, kind: Type) -> Outcome<()> {
        if self.kind == kind {
            return Ok(());
        }
        refuse(&*self.at, format!("type is {}, but {} is needed", name_of(self.kind), name_of(kind)))
    }

    /// All numbers, element after element; integers as they are, or as fractions where `normalized`.
    pub fn floats(&self) -> Outcome<Vec<f32>> {
        let (component, fraction) = (self.component, self.normalized);
        self.collect(move |bytes| match component {
            ComponentType::F32 => f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            ComponentType::U32 => {
                let value = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                if fraction { (f64::from(value) / f64::from(u32::MAX)) as f32 } else { value as f32 }
            }
            ComponentType::U8 => scaled(f32::from(bytes[0]), 255.0, fraction),
            ComponentType::I8 => scaled(f32::from(bytes[0] as i8), 127.0, fraction),
            ComponentType::U16 => scaled(f32::from(u16::from_le_bytes([bytes[0], bytes[1]])), 65535.0, fraction),
            ComponentType::I16 => scaled(f32::from(i16::from_le_bytes([bytes[0], bytes[1]])), 32767.0, fraction),
        })
    }

    /// All elements as arrays of `N` numbers; `N` must be the accessor's width.
    pub fn rows<const N: usize>(&self) -> Outcome<Vec<[f32; N]>> {
        if width_of(self.kind) != N {
            return refuse(&*self.at, format!("type is {}, but {N} numbers are needed", name_of(self.kind)));
        }
        let floats = self.floats()?;
        let (rows, _) = floats.as_chunks::<N>();
        Ok(rows.to_vec())
    }

    /// All numbers of an unsigned integer accessor.
    pub fn unsigned(&self) -> Outcome<Vec<u32>> {
        let component = self.component;
        match component {
            ComponentType::U8 | ComponentType::U16 | ComponentType::U32 => {
                self.collect(move |bytes| unsigned(bytes, component))
            }
            _ => refuse(&*self.at, "must hold unsigned integers"),
        }
    }

    /// Copies every component, then puts the sparse elements in their place.
    fn collect<T: Copy + Default>(&self, read: impl Fn(&[u8]) -> T) -> Outcome<Vec<T>> {
        let (size, width) = (size_of(self.component), width_of(self.kind));
        // Columns of 1- and 2-byte matrices are padded to 4 bytes (section 3.6.2.4); none of them is read by us.
        let mut out = vec![T::default(); self.count * width];
        if let Some((bytes, stride)) = self.base {
            for (i, element) in out.chunks_exact_mut(width).enumerate() {
                let from = &bytes[i * stride..];
                for (component, slot) in element.iter_mut().enumerate() {
                    *slot = read(&from[component * size..]);
                }
            }
        }
        if let Some(sparse) = &self.sparse {
            let mut next = 0;
            for i in 0..sparse.count {
                let index = unsigned(&sparse.indices[i * size_of(sparse.index_type)..], sparse.index_type) as usize;
                if index < next || index >= self.count {
                    let problem = format!("sparse index {index} does not rise, or is not below {}", self.count);
                    return refuse(&*self.at, problem);
                }
                next = index + 1;
                let from = &sparse.values[i * width * size..];
                for (component, slot) in out[index * width..next * width].iter_mut().enumerate() {
                    *slot = read(&from[component * size..]);
                }
            }
        }
        Ok(out)
    }
}

fn unsigned(bytes: &[u8], component: ComponentType) -> u32 {
    match component {
        ComponentType::U8 => bytes[0].into(),
        ComponentType::U16 => u16::from_le_bytes([bytes[0], bytes[1]]).into(),
        _ => u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
    }
}

/// Section 3.6.2.2: signed fractions stop at −1.
fn scaled(value: f32, one: f32, fraction: bool) -> f32 {
    if fraction { (value / one).max(-1.0) } else { value }
}

/// The bytes of `count` elements of `size` bytes in a view from `offset`, and their distance.
fn elements<'d>(
    document: &'d Document<'_>,
    view: usize,
    offset: u64,
    count: u64,
    size: usize,
    at: &str,
) -> Outcome<(&'d [u8], usize)> {
    let (bytes, stride) = document.view(view, at)?;
    if stride != 0 && stride < size {
        return refuse(at, format!("elements of {size} bytes overlap at a stride of {stride}"));
    }
    let stride = if stride == 0 { size } else { stride };
    let fits = || {
        let last = count.checked_sub(1)?;
        let end = last.checked_mul(stride as u64)?.checked_add(offset)?.checked_add(size as u64)?;
        (end <= bytes.len() as u64).then_some(())
    };
    if count > 0 && fits().is_none() {
        let has = bytes.len();
        return refuse(
            at,
            format!(
                "{count} elements at stride {stride} from byte {offset} do not fit buffer view {view} ({has} bytes)"
            ),
        );
    }
    let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
    Ok((&bytes[start..], stride))
}
