//! What a run answers, made of its comparisons: the map, crossovers, published figures, what fills do, what to choose.

pub(crate) mod choice;
pub(crate) mod crossover;
pub(crate) mod figures;
pub(crate) mod fills;
pub(crate) mod map;
pub(crate) mod stalls;
