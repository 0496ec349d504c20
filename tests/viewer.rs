//! The viewer in a real window on a virtual screen, used with the mouse: dragging the point closes the hand.
//!
//! Needs Xvfb, xdotool and ImageMagick's `import`, as `check.sh` installs them; without them it says so and passes.

#![cfg(all(feature = "app", target_os = "linux"))]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Pixels of the screen, which the window fills.
const SIZE: [u32; 2] = [1200, 800];
/// Width of the panel on the left.
const PANEL: u32 = 262;
/// What any step may take: software rendering on a busy machine is slow.
const PATIENCE: Duration = Duration::from_secs(180);

/// Colours of the first two corners of a pose space.
const OPEN: [u8; 3] = [86, 180, 233];
const FIST: [u8; 3] = [230, 159, 0];

/// A program that ends with the test.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        // Fails if it has ended already.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// A virtual screen and the viewer on it.
struct Desk {
    display: String,
    viewer: Ended,
    _screen: Ended,
}

/// Left, top, right and bottom of a group of touching pixels, and how many they are.
#[derive(Clone, Copy, Debug)]
struct Patch {
    low: [u32; 2],
    high: [u32; 2],
    pixels: u32,
}

impl Patch {
    fn middle(&self) -> [u32; 2] {
        [0, 1].map(|i| (self.low[i] + self.high[i]) / 2)
    }

    fn sides(&self) -> [u32; 2] {
        [0, 1].map(|i| self.high[i] + 1 - self.low[i])
    }
}

/// The largest rectangle-shaped or round group of touching pixels that `is` holds for and `wanted` likes.
fn find(picture: &image::RgbImage, is: impl Fn([u8; 3]) -> bool, wanted: impl Fn(&Patch) -> bool) -> Option<Patch> {
    let (width, height) = picture.dimensions();
    let mut seen = vec![false; (width * height) as usize];
    let mut best: Option<Patch> = None;
    for start in 0..width * height {
        let mut patch = Patch { low: [width, height], high: [0, 0], pixels: 0 };
        let mut stack = vec![[start % width, start / width]];
        while let Some([x, y]) = stack.pop() {
            let at = (y * width + x) as usize;
            if std::mem::replace(&mut seen[at], true) || !is(picture.get_pixel(x, y).0) {
                continue;
            }
            patch.pixels += 1;
            patch.low = [patch.low[0].min(x), patch.low[1].min(y)];
            patch.high = [patch.high[0].max(x), patch.high[1].max(y)];
            for y in y.saturating_sub(1)..(y + 2).min(height) {
                stack.extend((x.saturating_sub(1)..(x + 2).min(width)).map(|x| [x, y]));
            }
        }
        if patch.pixels > best.map_or(0, |b| b.pixels) && wanted(&patch) {
            best = Some(patch);
        }
    }
    best
}

/// The white disc that is dragged.
fn point(picture: &image::RgbImage) -> Option<Patch> {
    let round = |p: &Patch| p.pixels > 60 && p.sides().iter().all(|s| (10..40).contains(s));
    find(picture, |c| c.iter().all(|&v| v > 250), round)
}

/// The frame around the picture of a corner.
fn corner(picture: &image::RgbImage, color: [u8; 3]) -> Option<Patch> {
    let frame = |p: &Patch| p.sides().iter().all(|&s| s > 40) && 2 * p.pixels < p.sides()[0] * p.sides()[1];
    find(picture, |c| (0..3).all(|i| c[i].abs_diff(color[i]) < 12), frame)
}

/// Pixels of skin between the panel and column `right`, and the row of the topmost.
fn hand(picture: &image::RgbImage, right: u32) -> (u32, u32) {
    let is_skin = |c: [u8; 3]| {
        let [r, g, b] = c.map(u32::from);
        r > 60 && 10 * r > 12 * g && 10 * g > 10 * b
    };
    let mut rows = vec![0; SIZE[1] as usize];
    for (x, y, pixel) in picture.enumerate_pixels() {
        rows[y as usize] += u32::from((PANEL..right).contains(&x) && is_skin(pixel.0));
    }
    let top = rows.iter().position(|&n| n > 4).unwrap_or(0);
    (rows.iter().sum(), top as u32)
}

impl Desk {
    /// `None`, having said why, where the programs are missing.
    fn open(arguments: &[&str]) -> Option<Self> {
        for program in ["Xvfb", "xdotool", "import"] {
            let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).output().unwrap();
            if !found.status.success() {
                eprintln!("not tested: there is no {program}");
                return None;
            }
        }
        let [width, height] = SIZE;
        let mut screen = Command::new("Xvfb");
        screen.args(["-displayfd", "1", "-nolisten", "tcp", "-screen", "0", &format!("{width}x{height}x24")]);
        let mut screen = Ended(screen.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
        let mut number = String::new();
        BufReader::new(screen.0.stdout.take().unwrap()).read_line(&mut number).unwrap();
        let display = format!(":{}", number.trim());
        let mut viewer = Command::new(env!("CARGO_BIN_EXE_dermis"));
        viewer.arg("view").args(arguments).env("DISPLAY", &display).env_remove("WAYLAND_DISPLAY");
        let viewer = viewer.stdout(Stdio::null()).spawn().unwrap();
        Some(Self { display, viewer: Ended(viewer), _screen: screen })
    }

    fn run(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(program).args(arguments).env("DISPLAY", &self.display).output().unwrap()
    }

    fn mouse(&self, arguments: &[&str]) {
        let output = self.run("xdotool", arguments);
        assert!(output.status.success(), "xdotool {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        // A frame each, so that no move is overlooked.
        std::thread::sleep(Duration::from_millis(300));
    }

    fn picture(&self) -> image::RgbImage {
        let output = self.run("import", &["-window", "root", "png:-"]);
        assert!(output.status.success(), "import: {}", String::from_utf8_lossy(&output.stderr));
        image::load_from_memory(&output.stdout).unwrap().to_rgb8()
    }

    /// The picture once `ready` likes it and it stands still.
    fn settled(&mut self, what: &str, ready: impl Fn(&image::RgbImage) -> bool) -> image::RgbImage {
        let start = Instant::now();
        let mut last = self.picture();
        loop {
            std::thread::sleep(Duration::from_millis(700));
            if let Some(status) = self.viewer.0.try_wait().unwrap() {
                panic!("the viewer ended while waiting for {what}: {status}");
            }
            let now = self.picture();
            if now == last && ready(&now) {
                return now;
            }
            if start.elapsed() > PATIENCE {
                let seen = std::env::temp_dir().join("dermis-viewer-test.png");
                now.save(&seen).unwrap();
                panic!("waited for {what}; the screen is in {}", seen.display());
            }
            last = now;
        }
    }

    fn drag(&self, from: [u32; 2], to: [u32; 2]) {
        let go = |[x, y]: [u32; 2]| self.mouse(&["mousemove", &x.to_string(), &y.to_string()]);
        go(from);
        self.mouse(&["mousedown", "1"]);
        for step in 1..=4 {
            go([0, 1].map(|i| (from[i] * (4 - step) + to[i] * step) / 4));
        }
        self.mouse(&["mouseup", "1"]);
    }

    /// Closes the window as its user would; the viewer ends well.
    fn close(mut self) {
        let window = self.run("xdotool", &["search", "--name", "dermis"]).stdout;
        let window = String::from_utf8(window).unwrap();
        // Without a window manager nobody gives the window the keys.
        self.mouse(&["windowfocus", window.lines().next().expect("a window")]);
        self.mouse(&["key", "ctrl+q"]);
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            if let Some(status) = self.viewer.0.try_wait().unwrap() {
                return assert!(status.success(), "{status}");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        panic!("the window does not close");
    }
}

#[test]
fn dragging_the_point_to_a_corner_closes_the_hand() {
    let Some(mut desk) = Desk::open(&["hand", "--tab", "pose", "--no-settings"]) else { return };
    let shown = |p: &image::RgbImage| point(p).is_some() && corner(p, OPEN).is_some() && corner(p, FIST).is_some();
    let start = desk.settled("the pose space", shown);
    // Frames grow thin as their corner loses weight, but stay where they are.
    let [to_open, to_fist] = [OPEN, FIST].map(|color| corner(&start, color).expect("shown"));
    let drag = |desk: &mut Desk, from: [u32; 2], to: [u32; 2]| {
        desk.drag(from, to);
        let there = |p: [u32; 2]| (0..2).all(|i| p[i].abs_diff(to[i]) < 6);
        desk.settled("the dragged point", |picture| point(picture).is_some_and(|p| there(p.middle())))
    };
    let open = drag(&mut desk, point(&start).expect("shown").middle(), to_open.middle());
    let fist = drag(&mut desk, to_open.middle(), to_fist.middle());
    let [(open_pixels, open_top), (fist_pixels, fist_top)] = [&open, &fist].map(|p| hand(p, to_open.low[0] - 20));
    let said = format!("open: {open_pixels} pixels from row {open_top}; fist: {fist_pixels} from row {fist_top}");
    assert!(open_pixels > 10_000, "{said}");
    assert!(f64::from(fist_pixels) < 0.85 * f64::from(open_pixels), "{said}");
    assert!(fist_top > open_top + 40, "{said}");
    desk.close();
}
