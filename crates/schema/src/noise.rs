//! How far apart two measurements of one thing lie.

use serde::{Deserialize, Serialize};

use crate::State;

/// What the A/A controls showed: how far apart two measurements of one thing lie.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NoiseFloor {
    /// Half the width of the middle 95 % of the controls' speedups, as a share (0.02: ±2 %); absent without controls.
    pub half_width: Option<f64>,
    /// Controls with an interval.
    pub pairs: u32,
    /// Controls whose interval leaves out 1.
    pub rejected: u32,
}

/// What the A/A controls whose passes started from one state showed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StateNoise {
    pub state: State,
    #[serde(flatten)]
    pub floor: NoiseFloor,
}

impl NoiseFloor {
    /// `±1.2 %`, the same wherever it is said.
    pub fn width(&self) -> Option<String> {
        let percent = 100.0 * self.half_width?;
        let digits = if percent < 9.95 { 1 } else { 0 };
        Some(format!("±{percent:.digits$} %"))
    }
}
