//! Reads codes from Linux devices: a USB reader that acts as a keyboard, or a reader on a serial line. If a reader is
//! unplugged, the scanner waits for it.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow};
use evdev::{Device, EventSummary};
use rustix::fs::{Mode, OFlags};
use rustix::termios::{ControlModes, OptionalActions, SpecialCodeIndex, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use super::keys::Keys;
use super::lines::{Lines, Reading};
use crate::say::say;

/// How often the scanner looks for an unplugged reader.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Starts to read from a keyboard device.
pub fn evdev(path: PathBuf, to: mpsc::Sender<Reading>) -> anyhow::Result<()> {
    let mut device = Some(grab(&path)?);
    std::thread::spawn(move || {
        while let Some(open) = device.take().or_else(|| again(&path, &to, grab)) {
            type_codes(open, &to);
        }
    });
    Ok(())
}

/// Starts to read from a serial line.
pub fn serial(path: PathBuf, baud: u32, to: mpsc::Sender<Reading>) -> anyhow::Result<()> {
    let mut line = Some(raw(&path, baud)?);
    std::thread::spawn(move || {
        while let Some(open) = line.take().or_else(|| again(&path, &to, |path| raw(path, baud))) {
            read_on(open, &to);
        }
    });
    Ok(())
}

/// Waits until the reader is there again. `None`: the receiver is gone.
fn again<T>(path: &Path, to: &mpsc::Sender<Reading>, open: impl Fn(&Path) -> anyhow::Result<T>) -> Option<T> {
    say(format_args!("the reader {} is gone: waiting for it", path.display()));
    while !to.is_closed() {
        std::thread::sleep(LOOK_EVERY); // tidy-allow: the pause of a poll loop
        if let Ok(found) = open(path) {
            say(format_args!("the reader {} is there again", path.display()));
            return Some(found);
        }
    }
    None
}

/// Opens a keyboard for this process alone, because the reader's keys must not reach a console with a shell.
fn grab(path: &Path) -> anyhow::Result<Device> {
    let name = path.display();
    let mut device = Device::open(path).map_err(|error| {
        anyhow!("opening the reader {name}: {error}. Is it plugged in, and may this user read it (group input)?")
    })?;
    device.grab().with_context(|| format!("taking the reader {name} for this program alone: another one has it"))?;
    Ok(device)
}

fn type_codes(mut device: Device, to: &mpsc::Sender<Reading>) {
    let mut keys = Keys::default();
    while let Ok(events) = device.fetch_events() {
        for event in events {
            let EventSummary::Key(_, key, value) = event.destructure() else { continue };
            if let Some(code) = keys.take(key.code(), value)
                && to.blocking_send(Reading::Code(code, Instant::now())).is_err()
            {
                return;
            }
        }
    }
}

/// Opens a serial line in raw mode. It never becomes the terminal that controls this process.
fn raw(path: &Path, baud: u32) -> anyhow::Result<File> {
    let name = path.display();
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let line = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| {
        anyhow!("opening the reader {name}: {error}. Is it plugged in, and may this user read it (group dialout)?")
    })?;
    let mut settings = tcgetattr(&line).with_context(|| format!("{name} is no serial line"))?;
    settings.make_raw();
    settings.control_modes |= ControlModes::CLOCAL | ControlModes::CREAD;
    settings.special_codes[SpecialCodeIndex::VMIN] = 1;
    settings.special_codes[SpecialCodeIndex::VTIME] = 0;
    settings.set_speed(baud).with_context(|| format!("{baud} baud on {name}"))?;
    tcsetattr(&line, OptionalActions::Flush, &settings).with_context(|| format!("setting up {name}"))?;
    // Without a carrier signal a blocking open would wait forever. Reads should block, so the flag is removed here.
    let flags = rustix::fs::fcntl_getfl(&line)?;
    rustix::fs::fcntl_setfl(&line, flags - OFlags::NONBLOCK)?;
    Ok(File::from(line))
}

fn read_on(mut line: File, to: &mpsc::Sender<Reading>) {
    let (mut lines, mut bytes) = (Lines::default(), [0; 4_096]);
    loop {
        match line.read(&mut bytes) {
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Ok(0) | Err(_) => return,
            Ok(count) => {
                for code in lines.take(&bytes[..count]) {
                    if to.blocking_send(Reading::Code(code, Instant::now())).is_err() {
                        return;
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_serial_line_gives_bytes_as_they_come() {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let reader = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&reader).unwrap();
        unlockpt(&reader).unwrap();
        let path = ptsname(&reader, Vec::new()).unwrap().into_string().unwrap();
        let (to, mut from) = mpsc::channel(4);
        serial(path.into(), 9_600, to).unwrap();
        // A CR alone ends a code, and Ctrl-C is an ordinary byte.
        rustix::io::write(&reader, b"TICKET-1\rTI\x03CKET\n").unwrap();
        for expected in ["TICKET-1", "TI\u{3}CKET"] {
            let Some(Reading::Code(code, _)) = from.blocking_recv() else { panic!("no code") };
            assert_eq!(code, expected);
        }
    }
}
