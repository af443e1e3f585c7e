//! The processor time and memory that a process of this machine used since a moment, as the kernel counts them.

use std::time::Duration;

use anyhow::Context;

/// The kernel's ticks per second, the same on every Linux.
const TICKS_A_SECOND: u64 = 100;

/// Processor time, and the peak of memory since [`Cost::from_now`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cost {
    /// Processor time of all threads, in user and kernel mode.
    pub processor: Duration,
    /// The peak of resident memory, in bytes.
    pub memory: u64,
}

impl Cost {
    /// The processor time and memory that the process has used so far. Also resets the process's peak of memory where
    /// that is allowed, because making an event with many tickets takes memory too.
    pub fn from_now(pid: u32) -> anyhow::Result<Self> {
        // 5: "reset the peak resident set size", proc(5).
        let _ = std::fs::write(format!("/proc/{pid}/clear_refs"), "5");
        Self::of(pid)
    }

    /// The process's use so far.
    pub fn of(pid: u32) -> anyhow::Result<Self> {
        let read = |name: &str| {
            std::fs::read_to_string(format!("/proc/{pid}/{name}")).with_context(|| format!("there is no process {pid}"))
        };
        Self::read(&read("stat")?, &read("status")?).with_context(|| format!("reading what process {pid} used"))
    }

    fn read(stat: &str, status: &str) -> Option<Self> {
        // The name is in brackets and may contain anything. The times are the 12th and 13th fields after it.
        let mut after = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
        let ticks = after.next()?.parse::<u64>().ok()? + after.next()?.parse::<u64>().ok()?;
        let most = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        let kilobytes = most.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?;
        Some(Self { processor: Duration::from_millis(ticks * 1_000 / TICKS_A_SECOND), memory: kilobytes * 1_024 })
    }

    /// The use since an earlier measurement.
    pub fn since(self, before: Self) -> Self {
        Self { processor: self.processor.saturating_sub(before.processor), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let stat = "7 (a b) c) S 1 7 7 0 -1 4194304 100 0 0 0 250 50 0 0 20 0 3 0 99 1 2";
        let cost = Cost::read(stat, "Name:\ta\nVmHWM:\t    2048 kB\nVmRSS:\t  1 kB\n").unwrap();
        assert_eq!(cost, Cost { processor: Duration::from_secs(3), memory: 2 << 20 });
        assert_eq!(cost.since(Cost { processor: Duration::from_secs(1), memory: 9 }).processor, Duration::from_secs(2));
        assert!(Cost::of(std::process::id()).unwrap().memory > 0);
    }
    #[test]
    fn the_most_memory_is_that_since_the_moment() {
        let pid = std::process::id();
        // A thread's stack is freed when the thread ends, but an allocator keeps its memory.
        let deep = || std::hint::black_box([1_u8; 200 << 20])[0];
        std::thread::Builder::new().stack_size(512 << 20).spawn(deep).unwrap().join().unwrap();
        let before = Cost::of(pid).unwrap().memory;
        assert!(before > 200 << 20);
        assert!(Cost::from_now(pid).unwrap().memory < before - (100 << 20));
    }
}
