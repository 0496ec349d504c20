//! From a drawn skeleton to a bound model, on a thread of its own.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use dermis::Character;
use dermis::influence::bind::{DistanceOptions, HeatOptions};

use super::draft::Draft;
use crate::app::binding::{self, Method};
use crate::app::view::source::Source;
use crate::app::weights::Weights;

/// How to bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub heat: bool,
    pub max_influences: u8,
}

impl Default for Options {
    fn default() -> Self {
        Self { heat: true, max_influences: 4 }
    }
}

/// A model that was bound.
pub struct Bound {
    /// The file it would be saved as.
    pub glb: Arc<Vec<u8>>,
    pub warnings: Vec<String>,
}

/// Binding under way.
pub struct Job {
    answer: Receiver<Result<Bound, String>>,
    pub since: Instant,
}

impl Job {
    pub fn start(character: Arc<Character>, source: Source, draft: &Draft, options: Options) -> Self {
        let (sender, answer) = channel();
        let draft = draft.clone();
        std::thread::spawn(move || {
            let work = || bind(&character, &source, &draft, options).map_err(|e| e.to_string());
            let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| Err("binding broke off".into()));
            // Without a receiver nobody waits for the answer.
            drop(sender.send(done));
        });
        Self { answer, since: Instant::now() }
    }

    /// The answer, once it is there.
    pub fn poll(&self) -> Option<Result<Bound, String>> {
        use std::sync::mpsc::TryRecvError;
        match self.answer.try_recv() {
            Ok(answer) => Some(answer),
            Err(TryRecvError::Empty) => None,
            Err(TryRecvError::Disconnected) => Some(Err("binding broke off".into())),
        }
    }
}

fn bind(
    character: &Character,
    source: &Source,
    draft: &Draft,
    options: Options,
) -> Result<Bound, Box<dyn std::error::Error>> {
    let (rig, _) = draft.rig();
    let joints: Vec<usize> = (0..rig.nodes.len()).collect();
    let mut edit = source.edit()?;
    let method = match options.heat {
        true => Method::Heat(HeatOptions::default()),
        false => Method::Distance(DistanceOptions::default()),
    };
    let targets = binding::put_under_new(character, &mut edit, &rig, &joints)?;
    let mut warnings = Vec::new();
    for target in targets {
        warnings.extend(target.bind(&mut edit, &method, options.max_influences, Weights::default())?);
    }
    let glb = edit.to_glb()?;
    Ok(Bound { glb: Arc::new(glb), warnings })
}
