//! Randomness from a seed. The same seed and purpose give the same numbers on every machine.

/// A stream of random numbers (splitmix64).
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    /// The stream of a seed for one purpose. Streams of different purposes are independent. So an organisation draws
    /// the same numbers whether or not another one exists (trust I13).
    pub fn of(seed: u64, purpose: &str, index: u64) -> Self {
        let mut state = seed ^ 0x9e37_79b9_7f4a_7c15;
        for byte in purpose.bytes().chain(index.to_be_bytes()) {
            state = (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
        }
        let mut rng = Self(state);
        rng.draw();
        rng
    }
    /// The next number.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    /// A number in `0..n`; 0 for `n` = 0.
    pub fn below(&mut self, n: u64) -> u64 {
        if n == 0 { 0 } else { self.draw() % n }
    }
    /// A number in `from..=to`.
    pub fn between(&mut self, from: i64, to: i64) -> i64 {
        from + self.below((to - from + 1).max(1) as u64) as i64
    }
    /// True in `p` of a thousand cases.
    pub fn per_mille(&mut self, p: u32) -> bool {
        self.below(1_000) < u64::from(p)
    }
    /// One element of a slice that must not be empty.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len() as u64) as usize]
    }
    /// Puts the elements into a random order.
    pub fn shuffle<T>(&mut self, of: &mut [T]) {
        for i in (1..of.len()).rev() {
            of.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
    /// Random bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        for chunk in out.chunks_mut(8) {
            chunk.copy_from_slice(&self.draw().to_le_bytes()[..chunk.len()]);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_purpose_has_its_own_stream_and_always_the_same() {
        let first = |purpose, index| Rng::of(7, purpose, index).bytes::<16>();
        assert_eq!(first("a", 0), first("a", 0));
        assert_ne!(first("a", 0), first("b", 0));
        assert_ne!(first("a", 0), first("a", 1));
        assert!((0..1_000).all(|_| (3..=5).contains(&Rng::of(1, "x", 0).between(3, 5))));
    }
}
