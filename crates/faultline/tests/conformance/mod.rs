//! What the executable of any worker must do, whatever it is written in: the same jobs for the workers of every runtime.
//!
//! The arms come from the table of runtimes (`schema::runtime::RUNTIMES`), so that a method in it cannot be left out. What is
//! right is computed in `reference` by no code of a worker. What a machine cannot do is printed with its reason; what is not
//! among the reasons that a worker may have (`workers`) fails.

mod arms;
mod beats;
mod reading;
mod reference;
mod replay;
mod several;
mod talking;
mod trouble;
mod workers;
mod writing;
