//! SplitMix64: 64 bits of state; each output adds `0x9E3779B97F4A7C15` to the state and mixes a copy of it:
//! `z = (z ^ z>>30) * 0xBF58476D1CE4E5B9`, `z = (z ^ z>>27) * 0x94D049BB133111EB`, `z ^ z>>31`, all modulo 2⁶⁴.

/// SplitMix64 (Steele, Lea, Flood 2014): a few cycles for an output, any seed will do, trivial to write in any
/// language.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    pub(crate) fn new(seed: u64) -> SplitMix64 {
        SplitMix64 { state: seed }
    }

    #[inline(always)]
    pub(crate) fn output(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `slots`. The bias of at most `slots / 2⁶⁴` is far below anything that could be measured.
    #[inline(always)]
    pub(crate) fn slot(&mut self, slots: u64) -> u64 {
        ((u128::from(self.output()) * u128::from(slots)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_outputs() {
        // For seed 1234567: the vector that circulates with the reference implementation (Vigna, splitmix64.c).
        let outputs = |seed| {
            let mut prng = SplitMix64::new(seed);
            [prng.output(), prng.output(), prng.output()]
        };
        assert_eq!(outputs(1234567), [6457827717110365317, 3203168211198807973, 9817491932198370423]);
        assert_eq!(outputs(0), [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F]);
    }
}
