//! What the viewer remembers from one time to the next, as a JSON file in the user's configuration folder.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::camera::Orbit;
use crate::app::output;

/// Files that are remembered.
const MOST: usize = 12;
/// Points: sizes of a window that may be remembered.
const SIZES: std::ops::RangeInclusive<f32> = 200.0..=16_384.0;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Size of the window in points, before it was maximized.
    pub window: [f32; 2],
    pub maximized: bool,
    pub theme: Theme,
    pub ground: bool,
    /// Files that were opened, the latest first.
    pub recent: Vec<Recent>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Theme {
    System,
    Dark,
    Light,
}

/// A file, and how it was looked at last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recent {
    pub path: PathBuf,
    #[serde(default)]
    pub view: Option<Orbit>,
}

impl Default for Settings {
    fn default() -> Self {
        Self { window: [1200.0, 800.0], maximized: false, theme: Theme::System, ground: true, recent: Vec::new() }
    }
}

impl From<egui::ThemePreference> for Theme {
    fn from(theme: egui::ThemePreference) -> Self {
        match theme {
            egui::ThemePreference::System => Self::System,
            egui::ThemePreference::Dark => Self::Dark,
            egui::ThemePreference::Light => Self::Light,
        }
    }
}

impl From<Theme> for egui::ThemePreference {
    fn from(theme: Theme) -> Self {
        match theme {
            Theme::System => Self::System,
            Theme::Dark => Self::Dark,
            Theme::Light => Self::Light,
        }
    }
}

impl Settings {
    /// Puts a file on top of the list; how it was looked at last time, if it was on it.
    pub fn opened(&mut self, path: &Path) -> Option<Orbit> {
        // A name that is no text cannot be kept in the file.
        path.to_str()?;
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let known = self.recent.iter().position(|r| r.path == path);
        let recent = known.map_or(Recent { path, view: None }, |i| self.recent.remove(i));
        let view = recent.view;
        self.recent.insert(0, recent);
        self.recent.truncate(MOST);
        view
    }

    /// Notes how a file of the list is looked at.
    pub fn looked(&mut self, path: &Path, view: Orbit) {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if let Some(recent) = self.recent.iter_mut().find(|r| r.path == path) {
            recent.view = Some(view);
        }
    }

    /// What is not possible, as after editing by hand, becomes what is.
    fn mended(mut self) -> Self {
        if self.window.iter().any(|s| !SIZES.contains(s)) {
            self.window = Self::default().window;
        }
        self.recent.truncate(MOST);
        self.recent.iter_mut().for_each(|r| r.view = r.view.filter(Orbit::is_sane));
        self
    }
}

/// The settings and the file they are kept in.
#[derive(Debug, Default)]
pub struct Memory {
    /// `None`: they end with the window.
    file: Option<PathBuf>,
    pub settings: Settings,
}

impl Memory {
    /// Settings from the user's configuration folder, and what is to be said of them.
    pub fn open() -> (Self, Option<String>) {
        let folder = directories::ProjectDirs::from("", "", "dermis");
        folder.map_or_else(Default::default, |f| Self::at(&f.config_dir().join("settings.json")))
    }

    /// Settings from a file. One that cannot be read is put aside, as `settings.json.broken`.
    fn at(file: &Path) -> (Self, Option<String>) {
        let (settings, note) = match fs::read(file) {
            Ok(text) => match serde_json::from_slice::<Settings>(&text) {
                Ok(settings) => (settings.mended(), None),
                Err(error) => {
                    let aside = file.with_extension("json.broken");
                    let moved = fs::rename(file, &aside).map_or(file, |()| aside.as_path());
                    (Settings::default(), Some(format!("settings forgotten: {}: {error}", moved.display())))
                }
            },
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Default::default(),
            Err(error) => (Settings::default(), Some(format!("settings forgotten: {}: {error}", file.display()))),
        };
        (Self { file: Some(file.to_owned()), settings }, note)
    }

    /// Writes the file, if there is one.
    pub fn save(&self) -> Result<(), String> {
        let Some(file) = &self.file else { return Ok(()) };
        let text = serde_json::to_string_pretty(&self.settings).map_err(|e| e.to_string())?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
        output::write(file, |out| Ok(writeln!(out, "{text}")?)).map_err(|e| e.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dermis-settings-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_is_saved_is_read() {
        let folder = folder("saved");
        let file = folder.join("deeper/settings.json");
        let (mut memory, note) = Memory::at(&file);
        assert_eq!((&memory.settings, note), (&Settings::default(), None));
        memory.settings.theme = Theme::Light;
        memory.settings.ground = false;
        memory.settings.window = [640.5, 480.0];
        memory.settings.opened(Path::new("a.glb"));
        memory.settings.looked(Path::new("a.glb"), Orbit { yaw: 1.25, ..Orbit::default() });
        memory.save().unwrap();
        let (again, note) = Memory::at(&file);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((again.settings, note), (memory.settings, None));
        assert!(Memory::default().save().is_ok(), "nothing is kept without a file");
    }

    #[test]
    fn a_broken_file_is_put_aside_and_an_impossible_one_mended() {
        let folder = folder("broken");
        let file = folder.join("settings.json");
        fs::write(&file, "{\"window\": 3").unwrap();
        let (memory, note) = Memory::at(&file);
        assert_eq!(memory.settings, Settings::default());
        assert!(note.unwrap().contains("settings.json.broken"));
        assert_eq!(fs::read_to_string(folder.join("settings.json.broken")).unwrap(), "{\"window\": 3");
        fs::write(
            &file,
            r#"{"window": [1e9, 0], "maximized": true, "unknown": 1,
            "recent": [{"path": "a", "view": {"target": [0, 0, 0], "yaw": 0, "pitch": 0, "distance": -1}}]}"#,
        )
        .unwrap();
        let (memory, note) = Memory::at(&file);
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!((memory.settings.window, memory.settings.maximized, note), ([1200.0, 800.0], true, None));
        assert_eq!(memory.settings.recent, [Recent { path: "a".into(), view: None }]);
    }

    #[test]
    fn the_latest_files_come_first_and_the_oldest_go() {
        let mut settings = Settings::default();
        for i in 0..20 {
            assert_eq!(settings.opened(Path::new(&format!("{i}.glb"))), None);
        }
        let view = Orbit { yaw: 2.0, ..Orbit::default() };
        settings.looked(Path::new("12.glb"), view);
        settings.looked(Path::new("3.glb"), view);
        assert_eq!(settings.opened(Path::new("12.glb")), Some(view));
        let names: Vec<_> = settings.recent.iter().map(|r| r.path.to_str().unwrap()).collect();
        assert_eq!(names[..3], ["12.glb", "19.glb", "18.glb"]);
        assert_eq!(names.len(), MOST);
    }
}
