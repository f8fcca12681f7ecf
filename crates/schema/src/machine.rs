//! Which machine made a record, and where the record lies. The second decides what it may answer for.

use serde::{Deserialize, Serialize};

use crate::environment::Environment;

pub use crate::environment::{KeySource, Machine};

/// Where a record lies. Its content may come from anybody, so nothing in it decides what it may answer for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// In the folder that runs are saved in.
    Own,
    /// In the folder for records of others, or anywhere else.
    Imported,
}

/// What distinguishes the machines of two records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeOn {
    pub origin: Origin,
    pub host: String,
    /// Key and hardware; absent in records of earlier versions.
    pub identity: Option<(String, String)>,
}

impl MadeOn {
    pub fn new(environment: &Environment, origin: Origin) -> MadeOn {
        let identity = environment.machine.as_ref().map(|it| (it.key.clone(), it.hardware.clone()));
        MadeOn { origin, host: environment.host.clone(), identity }
    }

    /// The same for all records of one machine, in one place. Those without an identity are of a machine of their own: of
    /// two that share a nodename, either may have made them.
    pub fn machine(&self) -> (Origin, Option<&(String, String)>, &str) {
        (self.origin, self.identity.as_ref(), if self.identity.is_none() { &self.host } else { "" })
    }

    /// Whether a record of this answers for the machine that we are on.
    fn is_of(&self, here: &MadeOn) -> bool {
        let same = match &self.identity {
            Some(_) => self.identity == here.identity,
            None => self.host == here.host,
        };
        same && self.origin == Origin::Own
    }

    /// Whether two records of one place may be of one machine. Those without an identity are told apart by their nodenames.
    pub fn may_be(&self, other: &MadeOn) -> bool {
        let same = match (&self.identity, &other.identity) {
            (Some(own), Some(other)) => own == other,
            _ => self.host == other.host,
        };
        same && self.origin == other.origin
    }

    fn key(&self) -> Option<&str> {
        self.identity.as_ref().map(|(key, _)| key.as_str())
    }
}

/// Whose records.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Whose {
    #[default]
    All,
    /// Of the machine that this runs on, and from its own folder.
    Here(MadeOn),
    /// Of machines with this nodename, or whose key begins so.
    Named(String),
}

impl Whose {
    /// Shorter beginnings of keys are nodenames.
    pub const KEY_LEAST: usize = 8;

    /// What `--machine` means; `here` is asked only where its answer matters.
    pub fn selected(machine: Option<&str>, here: impl FnOnce() -> MadeOn) -> Whose {
        match machine {
            Some("all") => Whose::All,
            None => Whose::Here(here()),
            Some(name) => match here() {
                // The own key selects the own folder: what others say that they are does not lead there.
                here if begins(here.key(), name) => Whose::Here(here),
                _ => Whose::Named(name.to_string()),
            },
        }
    }

    /// Whom a record answers for, if it is one of those. One without an identity answers for this machine with the others.
    pub fn answers_for(&self, made: &MadeOn) -> Option<MadeOn> {
        match self {
            Whose::Here(here) => made.is_of(here).then(|| here.clone()),
            Whose::All => Some(made.clone()),
            Whose::Named(name) => (made.host == *name || begins(made.key(), name)).then(|| made.clone()),
        }
    }

    pub fn includes(&self, made: &MadeOn) -> bool {
        self.answers_for(made).is_some()
    }

    /// Whether records outside of the own folder can be meant.
    pub fn goes_beyond(&self) -> bool {
        !matches!(self, Whose::Here(_))
    }
}

fn begins(key: Option<&str>, with: &str) -> bool {
    with.len() >= Whose::KEY_LEAST && key.is_some_and(|it| it.starts_with(with))
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    fn made(origin: Origin, host: &str, identity: Option<(&str, &str)>) -> MadeOn {
        let identity = identity.map(|(key, hardware)| (key.to_string(), hardware.to_string()));
        MadeOn { origin, host: host.into(), identity }
    }

    #[test]
    fn an_own_record_answers_for_the_machine_of_its_key_and_hardware_whatever_that_is_called() {
        let here = made(Origin::Own, "lab", Some((KEY, "a")));
        let whose = Whose::selected(None, || here.clone());
        assert!(whose.includes(&made(Origin::Own, "renamed", Some((KEY, "a")))));
        assert!(!whose.includes(&made(Origin::Own, "lab", Some(("fedcba9876543210", "a")))));
        assert!(!whose.includes(&made(Origin::Own, "lab", Some((KEY, "b")))), "a copy of the image on other hardware");
    }

    #[test]
    fn an_own_record_without_identity_answers_for_the_machine_of_its_nodename() {
        let whose = Whose::selected(None, || made(Origin::Own, "lab", Some((KEY, "a"))));
        let older = made(Origin::Own, "lab", None);
        let ours = made(Origin::Own, "lab", Some((KEY, "a")));
        assert_eq!(whose.answers_for(&older).as_ref(), Some(&ours));
        assert!(older.machine() != ours.machine(), "of all machines it may be another");
        assert!(!whose.includes(&made(Origin::Own, "field", None)));
    }

    #[test]
    fn a_record_from_elsewhere_never_answers_for_this_machine_whatever_it_says() {
        let here = || made(Origin::Own, "lab", Some((KEY, "a")));
        let strangers = [Some((KEY, "a")), None].map(|it| made(Origin::Imported, "lab", it));
        for whose in
            [Whose::selected(None, here), Whose::selected(Some(KEY), here), Whose::selected(Some(&KEY[..8]), here)]
        {
            assert!(!strangers.iter().any(|it| whose.includes(it)), "{whose:?}");
            assert!(!whose.goes_beyond());
        }
        let ours = here();
        assert!(strangers[0].machine() != ours.machine());
        assert!(strangers.iter().all(|it| Whose::selected(Some("all"), here).includes(it)));
    }

    #[test]
    fn two_records_are_of_one_machine_by_their_identities_or_else_their_nodenames_and_in_one_place() {
        let ours = made(Origin::Own, "lab", Some((KEY, "a")));
        let [renamed, older] = [made(Origin::Own, "renamed", Some((KEY, "a"))), made(Origin::Own, "lab", None)];
        assert!(ours.may_be(&ours) && ours.may_be(&renamed) && ours.may_be(&older) && older.may_be(&ours));
        let others = [
            made(Origin::Own, "lab", Some(("fedcba9876543210", "a"))),
            made(Origin::Own, "lab", Some((KEY, "b"))),
            made(Origin::Own, "field", None),
            made(Origin::Imported, "lab", Some((KEY, "a"))),
        ];
        assert!(!others.iter().any(|it| ours.may_be(it) || it.may_be(&ours)));
    }

    #[test]
    fn another_machine_is_named_by_its_nodename_or_the_beginning_of_its_key() {
        let here = || made(Origin::Own, "lab", Some(("fedcba9876543210", "a")));
        let other = made(Origin::Imported, "field", Some((KEY, "b")));
        for name in ["field", KEY, &KEY[..8]] {
            assert!(Whose::selected(Some(name), here).includes(&other), "{name}");
        }
        for name in ["fie", &KEY[..7], "", "lab"] {
            assert!(!Whose::selected(Some(name), here).includes(&other), "{name}");
        }
    }
}
