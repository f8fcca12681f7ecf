//! What an arm is to a program: what changing to it takes, and which arm does what a program was seen to do. Known by its
//! properties and options, and never by its name.

use schema::{
    Arm,
    advice::{Effort, How},
    advised::Pattern,
    observation::Access,
};

use crate::commands::mechanism::{self, Ways};

/// Calls that bring in this many times as much as the accesses of a trace are other calls.
const OTHER_CALLS: f64 = 4.0;

/// A program would have to know its offsets before it needs the bytes, or keep a page cache of its own.
pub(crate) fn is_in_advance(arm: &Arm) -> bool {
    arm.is_direct() || arm.number("queue_depth").is_some()
}

/// Its pages are brought in before they are touched.
pub(crate) fn populates(arm: &Arm) -> bool {
    !matches!(arm.word("populate"), "" | "no") || arm.word("advice") == "willneed"
}

pub(crate) fn is_advised(arm: &Arm, advice: &str) -> bool {
    arm.word("advice") == advice
}

/// Of calls: how much of the file each brings in, where that is more than is asked for.
pub(crate) fn buffer_kib(arm: &Arm) -> Option<u32> {
    arm.number("buffer_kib").filter(|&it| it > 0)
}

pub(crate) fn is_plain(arm: &Arm) -> bool {
    matches!(arm.word("advice"), "" | "normal") && !populates(arm) && buffer_kib(arm).is_none()
}

pub(crate) fn effort(recorded: &Arm, arm: &Arm) -> Effort {
    match () {
        () if is_in_advance(arm) => Effort::E3,
        () if recorded.method == arm.method => Effort::E1,
        // The program goes on reading as it does, out of the buffer.
        () if buffer_kib(arm).is_some() && !recorded.maps() => Effort::E1,
        () => Effort::E2,
    }
}

pub(crate) fn how(recorded: &Arm, arm: &Arm) -> How {
    if let Some(depth) = arm.number("queue_depth") {
        return How::InFlight { depth };
    }
    if let Some(kib) = buffer_kib(arm) {
        return How::LargerBuffer { kib };
    }
    match arm.maps() {
        _ if arm.is_direct() => How::Direct,
        true if is_advised(arm, "random") => How::MadviseRandom,
        true if is_advised(arm, "sequential") => How::MadviseSequential,
        true if is_advised(arm, "willneed") => How::MadviseWillNeed,
        true if populates(arm) => How::Populate,
        true if !is_plain(arm) => How::AsTheArm,
        true if recorded.maps() => How::PlainMapping,
        true => How::Mapping,
        // That takes two lines.
        false if recorded.maps() && !is_plain(arm) => How::AsTheArm,
        false if is_advised(arm, "random") => How::FadviseRandom,
        false if is_advised(arm, "sequential") => How::FadviseSequential,
        false if recorded.method == arm.method => How::PlainReads,
        false => How::Pread,
    }
}

/// What a program was seen to do, as options of arms that do it.
struct Seen {
    maps: bool,
    direct: bool,
    advice: &'static str,
    populates: bool,
    /// Of a call on average; 0 without one.
    call_bytes: f64,
}

impl Seen {
    /// Nothing where it does both, or neither.
    fn of(access: &Access) -> Option<Seen> {
        let Ways { calls, mappings } = mechanism::ways(access);
        let maps = match (calls, mappings) {
            (true, false) => false,
            (false, true) => true,
            _ => return None,
        };
        let call = if maps { "madvise(MADV_" } else { "posix_fadvise(POSIX_FADV_" };
        let hinted = |hint: &str| access.hints.keys().any(|it| *it == format!("{call}{hint})"));
        let advices = [("RANDOM", "random"), ("SEQUENTIAL", "sequential"), ("WILLNEED", "willneed")];
        let advice = advices.into_iter().find(|(hint, _)| hinted(hint)).map_or("normal", |it| it.1);
        let populates = hinted("POPULATE_READ") || access.mappings.iter().any(|it| it.populate);
        let (count, bytes) = access
            .calls
            .values()
            .fold((0u64, 0u64), |all, it| (all.0.saturating_add(it.count), all.1.saturating_add(it.bytes)));
        let call_bytes = bytes as f64 / count.max(1) as f64;
        Some(Seen { maps, direct: access.opens_direct > 0, advice, populates: maps && populates, call_bytes })
    }

    /// Accesses are of `bytes` on average.
    fn is_done_by(&self, arm: &Arm, bytes: f64) -> bool {
        let advice = match arm.word("advice") {
            "" => "normal",
            advice => advice,
        };
        let is_populated = !matches!(arm.word("populate"), "" | "no");
        let in_flight = arm.number("queue_depth").is_some();
        let options = (arm.maps(), arm.is_direct(), advice, is_populated, in_flight);
        let in_larger_calls = !self.maps && self.call_bytes > OTHER_CALLS * bytes;
        options == (self.maps, self.direct, self.advice, self.populates, false)
            && in_larger_calls == buffer_kib(arm).is_some()
    }
}

/// The arms that reach a file as a program was seen to, out of those by which accesses of this pattern were replayed.
pub(crate) fn done_by<'a>(access: &Access, pattern: &Pattern, arms: impl Iterator<Item = &'a Arm>) -> Vec<&'a Arm> {
    let bytes = pattern.bytes as f64 / pattern.accesses.max(1) as f64;
    match Seen::of(access) {
        Some(seen) => arms.filter(|arm| seen.is_done_by(arm, bytes)).collect(),
        None => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use schema::observation::MappingCount;

    use super::*;

    fn arm(name: &str) -> Arm {
        name.parse().unwrap()
    }

    #[test]
    fn a_hint_is_one_call_another_way_of_reading_is_more_and_reading_ahead_of_oneself_is_most() {
        let effort = |from: &str, to: &str| effort(&arm(from), &arm(to));
        assert_eq!(effort("mmap", "mmap+random"), Effort::E1);
        assert_eq!(effort("mmap+map-populate", "mmap"), Effort::E1);
        assert_eq!(effort("pread", "pread+random"), Effort::E1);
        assert_eq!(effort("read", "pread+random"), Effort::E2);
        assert_eq!(effort("read", "pread+buffer_kib=128"), Effort::E1);
        assert_eq!(effort("mmap", "pread"), Effort::E2);
        assert_eq!(effort("read", "pread"), Effort::E2);
        assert_eq!(effort("pread", "mmap+sequential"), Effort::E2);
        assert_eq!(effort("pread", "uring"), Effort::E3);
        assert_eq!(effort("pread", "direct"), Effort::E3);
    }

    #[test]
    fn every_change_has_a_line_to_write() {
        let how = |from: &str, to: &str| how(&arm(from), &arm(to));
        assert_eq!(how("mmap", "mmap+random"), How::MadviseRandom);
        assert_eq!(how("mmap", "mmap+populate-read"), How::Populate);
        assert_eq!(how("mmap+map-populate", "mmap"), How::PlainMapping);
        assert_eq!(how("pread", "mmap"), How::Mapping);
        assert_eq!(how("mmap", "pread"), How::Pread);
        assert_eq!(how("read", "pread"), How::Pread);
        assert_eq!(how("pread", "pread+random"), How::FadviseRandom);
        assert_eq!(how("read", "read+sequential"), How::FadviseSequential);
        assert_eq!(how("pread+sequential", "pread"), How::PlainReads);
        assert_eq!(how("mmap", "pread+random"), How::AsTheArm);
        assert_eq!(how("read", "pread+buffer_kib=128"), How::LargerBuffer { kib: 128 });
        assert_eq!(how("mmap", "pread+buffer_kib=128"), How::LargerBuffer { kib: 128 });
        assert_eq!(how("pread", "uring+queue_depth=8"), How::InFlight { depth: 8 });
        assert_eq!(how("pread", "direct"), How::Direct);
    }

    #[test]
    fn a_program_is_like_the_arm_that_does_what_it_was_seen_to_do() {
        let arms = [
            "pread",
            "pread+random",
            "pread+sequential",
            "pread+buffer_kib=128",
            "mmap",
            "mmap+random",
            "mmap+populate-read",
            "uring",
            "direct",
        ]
        .map(arm);
        let pattern = Pattern {
            file_bytes: 1 << 30,
            accesses: 1000,
            bytes: 1000 * 4096,
            page_bytes: 4096,
            distinct_pages: 1000,
            in_order: 999,
            threads: 1,
            mappings: 0,
            sizes: Vec::new(),
        };
        let names = |access: &Access| -> Vec<String> {
            done_by(access, &pattern, arms.iter()).iter().map(|it| it.short_name().to_string()).collect()
        };
        let mut reads = Access::default();
        (0..1000).for_each(|_| reads.count_call("pread64", 4096, 4096, false));
        assert_eq!(names(&reads), ["pread"]);
        let mut large = Access::default();
        (0..32).for_each(|_| large.count_call("read", 128 << 10, 128 << 10, true));
        assert_eq!(names(&large), ["pread+buffer_kib=128"]);
        for (hint, arm) in [("RANDOM", "pread+random"), ("SEQUENTIAL", "pread+sequential")] {
            let hints = [(format!("posix_fadvise(POSIX_FADV_{hint})"), 1)].into();
            assert_eq!(names(&Access { hints, ..reads.clone() }), [arm]);
        }
        let mut maps = Access::default();
        maps.count_mapping(&MappingCount { count: 1, bytes: 1 << 30, ..MappingCount::default() });
        assert_eq!(names(&maps), ["mmap"]);
        maps.hints.insert("madvise(MADV_RANDOM)".into(), 1);
        assert_eq!(names(&maps), ["mmap+random"]);
        maps.hints = [("madvise(MADV_POPULATE_READ)".to_string(), 1)].into();
        assert_eq!(names(&maps), ["mmap+populate-read"]);
        assert_eq!(names(&Access::default()), [""; 0], "it was seen to do nothing");
        maps.calls = reads.calls;
        assert_eq!(names(&maps), [""; 0], "it does both");
    }
}
