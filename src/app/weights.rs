//! How `prune` and `bind` store weights.

use std::error::Error;

use clap::ValueEnum;
use dermis::influence::{Influences, PruneContext, Pruned, Quantised, Ties};
use dermis::io::{FileEdit, FileMesh, influence_sets, quantised_sets};
use serde::{Deserialize, Serialize};

/// The format of WEIGHTS_n.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Weights {
    /// Bytes that sum to 255.
    #[default]
    U8,
    /// 16-bit numbers that sum to 65535.
    U16,
    /// Floats.
    F32,
}

impl Weights {
    /// What a vertex's integers sum to; `None` for floats.
    pub fn total(self) -> Option<u32> {
        match self {
            Self::U8 => Some(255),
            Self::U16 => Some(65535),
            Self::F32 => None,
        }
    }

    /// Pruned influences as they are stored: as integers, if they are, and as the weights that these stand for.
    pub fn stored(
        self,
        pruned: &Pruned,
        ties: Ties,
        context: &PruneContext<'_>,
    ) -> dermis::Result<(Option<Quantised>, Influences)> {
        let quantised = self.total().map(|total| pruned.quantise(total, ties, context)).transpose()?;
        let stored = quantised.as_ref().map_or_else(|| pruned.influences.clone(), |q| q.to_influences());
        Ok((quantised, stored))
    }

    /// Puts pruned influences of a mesh into the file, with one width for all of its primitives; returns the influences as
    /// stored.
    pub fn store(
        self,
        edit: &mut FileEdit,
        file_mesh: usize,
        file: &FileMesh,
        pruned: &Pruned,
        ties: Ties,
        context: &PruneContext<'_>,
    ) -> Result<Influences, Box<dyn Error>> {
        let (quantised, stored) = self.stored(pruned, ties, context)?;
        put(edit, file_mesh, file, quantised.as_ref(), &stored)?;
        Ok(stored)
    }
}

/// Puts influences into the file, with one width for all primitives of the mesh: the integers, else the floats.
pub fn put(
    edit: &mut FileEdit,
    file_mesh: usize,
    file: &FileMesh,
    quantised: Option<&Quantised>,
    influences: &Influences,
) -> dermis::Result<()> {
    let sets = influences.max_per_vertex().div_ceil(4);
    for (primitive, vertices) in &file.primitives {
        let mut rows = match quantised {
            Some(q) => quantised_sets(q, vertices.clone())?,
            None => influence_sets(influences, vertices.clone())?,
        };
        while rows.len() < sets {
            rows.push(rows[0].zeroed());
        }
        edit.set_influences(file_mesh, *primitive, &rows)?;
    }
    Ok(())
}
