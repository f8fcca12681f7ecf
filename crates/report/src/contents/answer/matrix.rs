//! The answers as a table, and what its signs mean.

use schema::Workload;

use super::{
    Answer, Start,
    field::{Field, Standing, depths},
    place::work,
};
use crate::{
    layout::{
        table::{Cell, Column, Table},
        words::joined,
    },
    words::UNCONFIRMED,
};

impl Answer {
    /// Absent where a sentence says all of it.
    pub(crate) fn matrix(&self) -> Option<Table> {
        if self.columns.is_empty() || (self.columns.len() < 2 && self.starts.len() < 2) {
            return None;
        }
        let title = |(workload, block): &(Workload, u64)| work(*workload, *block);
        let begins = |at: usize| at > 0 && self.columns[at].0 != self.columns[at - 1].0;
        let column =
            |(at, it): (usize, &(Workload, u64))| Column { begins_group: begins(at), ..Column::left(title(it)) };
        let field = |it: &Option<Field>| match it {
            Some(field) => Cell::new(field.text(), field.paint()),
            None => Cell::absent(),
        };
        let row = |it: &Start| [Cell::plain(&it.label)].into_iter().chain(it.fields.iter().map(field)).collect();
        Some(Table {
            columns: [Column::left("")].into_iter().chain(self.columns.iter().enumerate().map(column)).collect(),
            rows: self.starts.iter().map(row).collect(),
        })
    }

    /// What the signs of the matrix mean, as far as they occur.
    pub(crate) fn legend(&self) -> String {
        let fields = || self.starts.iter().flat_map(|it| it.fields.iter().flatten());
        let has = |wanted: fn(&Standing) -> bool| fields().any(|it| wanted(&it.standing));
        let absent = self.starts.iter().any(|it| it.fields.contains(&None));
        let states = Some(self.states.join("; ")).filter(|it| !it.is_empty());
        let signs = [
            states,
            self.numbers(),
            has(|it| matches!(it, Standing::Same | Standing::Tied { .. })).then(|| "= no difference".to_string()),
            has(|it| matches!(it, Standing::Unbeaten { .. }))
                .then(|| "≥ nothing is faster, not proved equal".to_string()),
            has(|it| matches!(it, Standing::Undecided { up_to: None, .. })).then(|| "? undecided".to_string()),
            has(|it| matches!(it, Standing::Undecided { up_to: Some(_), .. })).then(|| {
                let but = match has(|it| matches!(it, Standing::Undecided { behind: Some(_), .. })) {
                    true => ", but for arms that are proved slower",
                    false => "",
                };
                format!("? ≤ undecided: as fast, or apart by so much at most{but}")
            }),
            has(|it| *it == Standing::NotComparable).then(|| "≠ not the same work".to_string()),
            absent.then(|| "– not measured".to_string()),
            depths(fields()).map(|it| format!("* {it} reads in flight")),
            self.marked(),
            fields().any(|it| it.of_job).then(|| self.of_job()),
            fields().any(|it| it.unconfirmed).then(|| format!("§ {UNCONFIRMED}")),
            self.reads.clone(),
        ];
        signs.into_iter().flatten().collect::<Vec<String>>().join("; ")
    }

    /// Of the fields in which an arm is ahead, what `of` takes of field, arm and baseline, each name once.
    fn named<'s>(&'s self, of: impl Fn(&'s Field, &'s str, Option<&'s str>) -> Option<&'s str>) -> String {
        let mut names: Vec<&str> = Vec::new();
        for it in self.starts.iter().flat_map(|it| it.fields.iter().flatten()) {
            let Standing::Ahead { arm, baseline, .. } = &it.standing else { continue };
            names.extend(of(it, arm, baseline.as_deref()).filter(|it| !names.contains(it)));
        }
        joined(&names, "or")
    }

    /// What the mark of the job means. Where a baseline wins there, few arms beside it were measured at that size.
    fn of_job(&self) -> String {
        let ahead = self.named(|it, arm, baseline| (baseline.is_none() && it.of_job && !it.marked).then_some(arm));
        let over = match ahead.is_empty() {
            true => String::new(),
            false => format!("; where {ahead} wins there, over the closest arm that was measured"),
        };
        format!("† at the size of the job{over}")
    }

    /// What the numbers of marked fields are over.
    fn marked(&self) -> Option<String> {
        let fields = || self.starts.iter().flat_map(|it| it.fields.iter().flatten()).filter(|it| it.marked);
        let job = "over the closest arm that was measured at that size";
        match (fields().any(|it| !it.of_job), fields().any(|it| it.of_job)) {
            (false, false) => None,
            (true, false) => Some("‡ over the runner-up".into()),
            (false, true) => Some(format!("‡ {job}")),
            (true, true) => Some(format!("‡ over the runner-up, with † {job}")),
        }
    }

    /// What the numbers of the matrix are over: the baselines that they are of.
    fn numbers(&self) -> Option<String> {
        let over = self.named(|_, _, baseline| baseline);
        let ahead = self.named(|it, arm, baseline| (baseline.is_none() && !it.of_job && !it.marked).then_some(arm));
        match (over.is_empty(), ahead.is_empty()) {
            (true, true) => None,
            (true, false) => Some(format!("number: speedup of {ahead} over the runner-up")),
            (false, true) => Some(format!("number: speedup over {over}")),
            (false, false) => Some(format!("number: speedup over {over}; where {ahead} wins, over the runner-up")),
        }
    }
}
