//! What an arm with settings of its own does otherwise than its condition says.

use crate::{
    Condition,
    fields::{self, Field, INSTEAD, NONE, Role},
};

/// Each field in which it differs, as the arm has it and as the condition has it.
fn differences(own: Option<&Condition>, condition: &Condition, of: impl Fn(&Field) -> bool) -> Vec<[String; 2]> {
    let Some(own) = own else { return Vec::new() };
    let or_none = |words: String| if words.is_empty() { NONE.to_string() } else { words };
    let roles = [Role::Asked, Role::Subject, Role::Size].into_iter();
    let differ = roles.flat_map(|role| fields::differences(role, own, condition)).filter(|it| of(it.0));
    differ.map(|(_, own, described)| [own, described].map(or_none)).collect()
}

/// `64 KiB instead of 4 KiB`, field by field.
pub fn instead(own: Option<&Condition>, condition: &Condition) -> Vec<String> {
    let differ = differences(own, condition, |_| true).into_iter();
    differ.map(|[own, described]| format!("{own}{INSTEAD}{described}")).collect()
}

/// The label of a condition with what the arm has instead.
pub fn label(label: String, own: Option<&Condition>, condition: &Condition) -> String {
    [label].into_iter().chain(instead(own, condition)).collect::<Vec<String>>().join(", ")
}

/// The name of an arm with what it does of its own, but for the sizes of its passes: `mmap, cold`.
pub fn name(name: &str, own: Option<&Condition>, condition: &Condition, says_block: bool) -> String {
    let is_told = |field: &Field| field.role != Role::Size && (says_block || field.name != "block");
    let words = differences(own, condition, is_told).into_iter().map(|[own, _]| own);
    [name.to_string()].into_iter().chain(words).collect::<Vec<String>>().join(", ")
}
