//! Arms beside the fastest one: a simpler one of them may be what a reader takes.

use schema::findings::{AnswerOf, MARGIN, MapLine};

use super::place::Words;
use crate::{
    layout::words::list,
    words::numbers::{percent, thousands},
};

impl Words<'_> {
    /// Those that were proved equal to the fastest one.
    pub(super) fn as_fast<'l>(&self, lines: impl Iterator<Item = &'l MapLine>) -> Vec<String> {
        let what = format!("within {} of the fastest", percent(MARGIN));
        self.beside(&what, lines, |it| &it.ties)
    }

    /// Those that were proved neither slower than the fastest one nor equal to it. Of an answer at the size of the job they were not
    /// measured at that size.
    pub(super) fn not_told_apart<'l>(&self, lines: impl Iterator<Item = &'l MapLine>) -> Vec<String> {
        self.beside("from the fastest", lines, |it| match it.answer_of {
            AnswerOf::Job => &[],
            _ => &it.not_told_apart,
        })
    }

    /// `from the fastest: mmap+sequential in 3 of 14 answers`: each arm with the number of answers, the most first.
    fn beside<'l>(
        &self,
        what: &str,
        lines: impl Iterator<Item = &'l MapLine>,
        arms: impl Fn(&'l MapLine) -> &'l [String],
    ) -> Vec<String> {
        let answers: Vec<&MapLine> = lines.filter(|it| it.winner.is_some()).collect();
        let named = || answers.iter().flat_map(|it| arms(it));
        let mut found: Vec<(&String, usize)> =
            schema::distinct(named()).into_iter().map(|arm| (arm, named().filter(|it| *it == arm).count())).collect();
        found.sort_by_key(|it| std::cmp::Reverse(it.1));
        let of = |count: usize| match answers.len() {
            1 => String::new(),
            all => format!(" in {} of {}", thousands(count as u64), thousands(all as u64)),
        };
        let found: Vec<String> =
            found.into_iter().map(|(arm, count)| format!("{}{}", self.names.short(arm), of(count))).collect();
        let answers = if answers.len() > 1 { " answers" } else { "" };
        if found.is_empty() { Vec::new() } else { vec![format!("{what}: {}{answers}", list(&found))] }
    }
}
