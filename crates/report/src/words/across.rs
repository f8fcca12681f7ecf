//! Why two runs are not comparable.

use schema::across::NotComparable;

use super::numbers::size;

pub fn not_comparable(why: &NotComparable) -> String {
    let or_none = |words: &str| if words.is_empty() { "none".to_string() } else { words.to_string() };
    match why {
        NotComparable::NoSharedCell => "the runs have no measured cell in common".into(),
        NotComparable::OneRun { run } => format!("both sides are the run {run}"),
        NotComparable::Subject { field, first, second } => {
            format!("{field} is not the same: {} in one run, {} in the other", or_none(first), or_none(second))
        }
        NotComparable::Command { arm } => format!("{arm} is not the same command in both runs"),
        NotComparable::Consumed { arm, bytes_per_block } => {
            let [first, second] = bytes_per_block.map(size);
            format!("{arm} consumed {first} of each block in one run and {second} in the other")
        }
        NotComparable::Output { arm } => format!("{arm} differs in output or exit code between the runs"),
        NotComparable::Bytes { arm, checksums: [first, second] } => {
            format!("{arm} read different bytes in the two runs: checksums {first} and {second}")
        }
    }
}
