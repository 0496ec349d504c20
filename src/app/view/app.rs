//! The viewer's event loop.

use std::path::PathBuf;

use winit::application::ApplicationHandler;
use winit::event::{StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoopProxy};
use winit::window::WindowId;

use super::manners::Leaving;
use super::session::Session;
use super::settings::Memory;

/// Another thread has something to show.
pub struct Wake;

/// What a script asks for.
#[derive(Clone, Default)]
pub struct Script {
    /// Picture to save before closing.
    pub screenshot: Option<PathBuf>,
    /// Index of the tab to begin with.
    pub tab: usize,
    /// Closes after this many frames of the loaded character.
    pub frames: Option<u32>,
}

impl Script {
    /// True when nobody sits before the window.
    pub fn is_any(&self) -> bool {
        self.screenshot.is_some() || self.frames.is_some()
    }
}

/// The viewer.
pub struct App {
    proxy: EventLoopProxy<Wake>,
    adapter: Option<String>,
    model: Option<PathBuf>,
    script: Script,
    /// Until the window opens: what is remembered, and what is to be said of it.
    memory: (Memory, Option<String>),
    /// Why there is no window, or why it had to close.
    pub failure: Option<String>,
    open: Option<Session>,
}

impl App {
    pub fn new(
        proxy: EventLoopProxy<Wake>,
        adapter: Option<&str>,
        model: Option<PathBuf>,
        script: Script,
        memory: (Memory, Option<String>),
    ) -> Self {
        Self { proxy, adapter: adapter.map(str::to_owned), model, script, memory, failure: None, open: None }
    }

    /// True when there was a window.
    pub fn opened(&self) -> bool {
        self.open.is_some()
    }

    fn fail(&mut self, event_loop: &ActiveEventLoop, failure: impl ToString) {
        self.failure = Some(failure.to_string());
        event_loop.exit();
    }
}

impl ApplicationHandler<Wake> for App {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        if self.open.is_some() {
            return;
        }
        let (memory, note) = std::mem::take(&mut self.memory);
        match Session::new(event_loop, &self.proxy, self.adapter.as_deref(), memory) {
            Ok(mut open) => {
                open.shell.messages.note = note;
                open.shell.first_tab = Some(self.script.tab);
                open.shell.load(self.model.clone());
                open.screen.window.request_redraw();
                self.open = Some(open);
            }
            Err(error) => self.fail(event_loop, error),
        }
    }

    fn new_events(&mut self, _event_loop: &ActiveEventLoop, cause: StartCause) {
        if let (StartCause::ResumeTimeReached { .. }, Some(open)) = (cause, &mut self.open) {
            open.screen.window.request_redraw();
        }
    }

    fn user_event(&mut self, _event_loop: &ActiveEventLoop, _wake: Wake) {
        if let Some(open) = &self.open {
            open.screen.window.request_redraw();
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _window: WindowId, event: WindowEvent) {
        let Some(open) = &mut self.open else { return };
        let response = open.egui.on_window_event(&open.screen.window, &event);
        if response.repaint && !matches!(event, WindowEvent::RedrawRequested) {
            open.screen.window.request_redraw();
        }
        match event {
            WindowEvent::CloseRequested => {
                open.shell.leave(Leaving::Close);
                open.screen.window.request_redraw();
                if open.shell.closing {
                    event_loop.exit();
                }
            }
            WindowEvent::Resized(_) | WindowEvent::ScaleFactorChanged { .. } => open.screen.resize(),
            WindowEvent::DroppedFile(path) => {
                open.shell.leave(Leaving::Open(Some(path)));
                open.screen.window.request_redraw();
            }
            WindowEvent::RedrawRequested => {
                let outcome = open.frame();
                match outcome {
                    Ok(()) if open.shell.closing => event_loop.exit(),
                    Ok(()) => self.after_frame(event_loop),
                    Err(error) => self.fail(event_loop, error),
                }
            }
            _ => {}
        }
    }

    fn exiting(&mut self, _event_loop: &ActiveEventLoop) {
        if let Some(Err(problem)) = self.open.as_mut().map(Session::remember) {
            eprintln!("warning: {problem}");
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        let wake = self.open.as_ref().and_then(|open| open.wake);
        event_loop.set_control_flow(wake.map_or(ControlFlow::Wait, ControlFlow::WaitUntil));
    }
}

impl App {
    /// Does what the script wants once enough frames were shown.
    fn after_frame(&mut self, event_loop: &ActiveEventLoop) {
        let Some(open) = &mut self.open else { return };
        if !self.script.is_any() {
            return;
        }
        let loading = open.shell.loading.is_some();
        if !loading && let (None, Some(problem)) = (&open.shell.stage, &open.shell.messages.problem) {
            let problem = problem.clone();
            return self.fail(event_loop, problem);
        }
        if loading || open.frames < self.script.frames.unwrap_or(1).max(1) {
            return open.screen.window.request_redraw();
        }
        if let Some(path) = self.script.screenshot.take()
            && let Err(error) = open.screenshot(&path)
        {
            return self.fail(event_loop, error);
        }
        event_loop.exit();
    }
}
