//! What to change about how a command reaches a file: the findings of `faultline advise`.

use serde::{Deserialize, Serialize};

use crate::{ConditionId, Consume, Fill, State, estimate::Estimate, reason::Reason};

/// About one file, one state and one fill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Advice {
    /// Of the replay.
    #[serde(flatten)]
    pub id: ConditionId,
    pub file: String,
    /// So many, which the folder `file` has.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub files: u64,
    pub state: State,
    /// How the page cache was filled; of states that begin with the pages in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    pub verdict: AdviceVerdict,
    /// The arm to take, by its name; only of `switch`.
    pub to: Option<String>,
    pub code: AdviceCode,
    pub effort: Option<Effort>,
    pub grade: Option<Grade>,
    /// What the replays look at that `io` and `program` are of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consume: Option<Consume>,
    /// How many times less the accesses to the file take, and the whole program.
    pub io: Option<Estimate>,
    pub program: Option<Estimate>,
    /// As `AdviceOption::program_at_most`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_at_most: Option<Estimate>,
    /// What follows from the record; the words stand beside it.
    #[serde(rename = "because_data", default)]
    pub because: Vec<AdviceReason>,
    #[serde(rename = "how_data", default)]
    pub how: Option<How>,
    #[serde(rename = "caveats_data", default)]
    pub caveats: Vec<AdviceCaveat>,
    /// What would decide it; only of `unknown`.
    #[serde(rename = "settles_data", default, skip_serializing_if = "Option::is_none")]
    pub settles: Option<Settles>,
    /// What an execution of the program takes as it is, and a replay of what it did to the file.
    pub program_ns: Option<Estimate>,
    pub io_ns: Option<Estimate>,
    /// The share of the program's time that goes to the file; no method gains more than what it bounds.
    pub share: Option<Estimate>,
    pub faster_at_most: Option<f64>,
    /// What is predicted is the least that is gained, and no interval of it: the program has more than twice what its replay has of
    /// what the two are held against.
    #[serde(default, skip_serializing_if = "is_false")]
    pub at_least: bool,
    /// Others that gain, those with the least effort first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<AdviceOption>,
    /// What would gain if the program knew its offsets in advance, which no trace tells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_advance: Vec<AdviceOption>,
    /// The program's own switches, measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switched: Vec<Switched>,
}

fn one() -> u64 {
    1
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_one(files: &u64) -> bool {
    *files == 1
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceVerdict {
    /// The whole program gains: the interval excludes none, and it is worth the change.
    Switch,
    /// Nothing that was replayed gains as much as would be worth it.
    NoDifference,
    Unknown,
}

impl AdviceVerdict {
    pub fn is_decided(self) -> bool {
        self != AdviceVerdict::Unknown
    }
}

/// Which rule proposed it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum AdviceCode {
    /// A mapping brings in much more than is touched.
    #[serde(rename = "FL-M1")]
    M1,
    /// A cold mapping is walked in order.
    #[serde(rename = "FL-M2")]
    M2,
    /// Many small files are mapped, each by itself.
    #[serde(rename = "FL-M3")]
    M3,
    /// A cached mapping of which nearly all is used.
    #[serde(rename = "FL-M4")]
    M4,
    /// A mapping is populated, and little of it is touched.
    #[serde(rename = "FL-M6")]
    M6,
    /// Small cached reads in the same pages again and again.
    #[serde(rename = "FL-R1")]
    R1,
    /// Small reads in order.
    #[serde(rename = "FL-R2")]
    R2,
    /// Cold reads anywhere bring in more than they use.
    #[serde(rename = "FL-R3")]
    R3,
    /// The file's position is set before each read.
    #[serde(rename = "FL-R4")]
    R4,
    /// Calls copy to places right behind the beginning of a page.
    #[serde(rename = "FL-R5")]
    R5,
    #[serde(rename = "FL-OK")]
    Ok,
    #[serde(rename = "FL-?")]
    Unknown,
}

impl AdviceCode {
    pub fn word(self) -> &'static str {
        match self {
            AdviceCode::M1 => "FL-M1",
            AdviceCode::M2 => "FL-M2",
            AdviceCode::M3 => "FL-M3",
            AdviceCode::M4 => "FL-M4",
            AdviceCode::M6 => "FL-M6",
            AdviceCode::R1 => "FL-R1",
            AdviceCode::R2 => "FL-R2",
            AdviceCode::R3 => "FL-R3",
            AdviceCode::R4 => "FL-R4",
            AdviceCode::R5 => "FL-R5",
            AdviceCode::Ok => "FL-OK",
            AdviceCode::Unknown => "FL-?",
        }
    }
}

/// What a change takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Effort {
    /// A switch that the program has.
    E0,
    /// One call that gives a hint, or one less.
    E1,
    /// Another call, or a mapping.
    E2,
    /// The program reads ahead of itself.
    E3,
}

/// What a gain is known by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Grade {
    /// The program's own switch was measured.
    A,
    /// It was replayed, and in one of the states the replay takes neither more nor less than the program.
    B,
    /// It was replayed, and the replay could be held against the program on one side only, or of a trace that lacks accesses, or
    /// no rule explains it, or the program's own switch shows that replays are off.
    C,
    /// From the pattern alone.
    D,
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceReason {
    /// So much came from the device for so much that was touched.
    BroughtIn {
        bytes: f64,
        touched_bytes: f64,
    },
    /// So many of the accesses follow each other.
    InOrder {
        share: f64,
    },
    /// Of the file, so much is touched.
    Touched {
        share: f64,
    },
    /// So many mappings are made, of files of which the one in the middle has so many bytes.
    ManySmall {
        mappings: u64,
        median_bytes: u64,
    },
    /// What is populated is so much more than what is touched.
    Populated {
        touched_share: f64,
    },
    /// So much of the file is populated, or asked for in advance: a replay does that with all of it.
    PartPopulated {
        bytes: u64,
        file_bytes: u64,
    },
    /// So much of the file is mapped, and much of that is touched: a replay that populates its mapping does that with all of the file.
    PartMapped {
        bytes: u64,
        file_bytes: u64,
    },
    /// Another thread than the one that mapped the file touches it, and there are several processes: what the first one populates is in
    /// no page table of its children.
    MappedByAnother {
        arm: String,
    },
    /// So many times the bytes of the pages that were reached are read, by accesses of this size.
    Again {
        times: f64,
        access_bytes: f64,
    },
    SmallInOrder {
        access_bytes: f64,
    },
    /// So many of the reads begin elsewhere than where the one before them ended.
    Seeks {
        reads: f64,
        jumps: f64,
    },
    /// So much of what calls deliver is copied to 1 to 31 bytes behind the beginning of a page.
    BehindPage {
        share: f64,
    },
    /// No rule says why, but the replay is faster.
    ReplayAlone,
    /// Even without its accesses to the file, the program would gain no more.
    SmallShare {
        share: f64,
    },
    /// The best that was replayed, and the most that it gains.
    BestGains {
        arm: String,
        most: f64,
    },
    /// Nothing gains of what was replayed. By its check from one side the file may be such a share of the program's time, and with the
    /// best arm it would be up to so many times as fast then.
    MoreThanReplayed {
        arm: String,
        share: f64,
        most: f64,
    },
    /// In a state with all pages in memory an execution has so much from the device, and its replay has not.
    FromDevice {
        bytes: f64,
    },
    /// The first passes of all other replays took so many times as long at least.
    AllSlower {
        times: f64,
    },
    /// The interval of the best leaves it open.
    Open {
        arm: String,
        ci_low: f64,
        ci_high: f64,
    },
    /// One arm measured twice differs by as much.
    WithinNoise {
        arm: String,
        ci_low: f64,
        ci_high: f64,
        times: f64,
    },
    /// As this, where there was no time to measure one arm twice: so many times bound what it differs by.
    WithinAnyNoise {
        arm: String,
        ci_low: f64,
        ci_high: f64,
        times: f64,
    },
    TooFewRounds {
        rounds: u32,
        least: u32,
    },
    /// Without the program's own time, or without a replay of what it did.
    NotMeasured {
        reason: Reason,
    },
    /// An arm that may gain did other work than what was recorded.
    NotComparable {
        reason: Reason,
    },
    /// The replay is not what the program did.
    SelfCheckFailed {
        off: f64,
        most: f64,
    },
    /// The replay takes so many times as long as the whole program, which reads in so many threads.
    LongerThanProgram {
        times: f64,
        threads: u64,
    },
    NotChecked {
        why: Unchecked,
    },
    /// Whether it gains depends on how much the program looks at of each access.
    DependsOnUse {
        arm: String,
    },
    PagesUnseen {
        why: String,
    },
    /// It both reads and maps the file.
    MixedReach,
    Incomplete {
        coverage: f64,
    },
    /// The program set up so many rings (io_uring, Linux AIO): which files it reads through them is not seen.
    Rings {
        rings: u64,
    },
    /// Why the recording has less than the program did.
    NotAllSeen {
        why: String,
    },
    /// The command ran once alone.
    RanOnce,
    /// The command reached the file otherwise than in the recording.
    OtherReach,
    /// So many files are mapped so often, for so little each time. A replay maps each once, so it lacks what mapping costs.
    MappedAgain {
        mappings: u64,
        files: u64,
    },
    /// The kernel hands this share of the bytes to another descriptor: the program neither copies nor looks at them, and would have
    /// to write what it reads otherwise.
    HandedOn {
        share: f64,
    },
    /// In memory: it may write to pages of its own mapping, of which each becomes a copy; a replay only reads.
    WritesToCopies,
    /// Of a page of a mapping the first touch is known alone, and the program's own work leaves time for so many times as many touches,
    /// each of which is a call by this arm.
    TouchedAgain {
        arm: String,
        times: f64,
    },
    /// So many files are opened so often that this arm, whose replay maps each once, would map them as often.
    OpenedAgain {
        arm: String,
        opens: u64,
        files: u64,
    },
    /// In memory it is not known whether the program, which has several threads, waits for what one of them reads.
    SeveralThreads,
    /// In memory it has so many processors at work while so many threads read: what it waits for the rest of its time may end no
    /// earlier if it reads faster.
    WaitsElsewhere {
        busy: f64,
        threads: u32,
    },
    /// The program's own user time leaves so much of its time for its calls, and the replay of them takes more.
    MoreThanUserTimeLeaves {
        most: f64,
        replay: f64,
    },
    /// The command could not be watched, so that nothing shows whether the trace has all that it does.
    Unwatched,
    /// Which pages the command touches was not watched, and the trace may be of another run than it makes.
    TouchesUnwatched,
    /// The program's own switch gains, and no replay does: it changes more than how the file is reached.
    SwitchAlone,
    /// The program's own switch was measured and gains, and is not shown to gain less than what a replay says of another method.
    SwitchAsGood,
    /// Of the program's own switches that were measured, this one is shown to gain more than another, which a replay explains.
    SwitchGainsMost,
    /// The program's own switch was measured and gains; of the replays it is not known, for the reason that follows.
    SwitchMeasured,
    /// The program's own switch to this arm gains nothing, and the replay of the arm said much.
    SwitchContradicts {
        arm: String,
        predicted: f64,
        real: f64,
    },
    /// The program's own switch to this arm was measured, and whether it gains is open.
    SwitchOpen {
        arm: String,
        predicted: f64,
        ci_low: f64,
        ci_high: f64,
    },
}

/// What would decide what is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settles {
    /// About so many seconds have time for enough rounds, where some were made.
    LargerBudget {
        seconds: Option<u32>,
    },
    /// Than so many; something else than the budget ended them.
    MoreRounds {
        made: u32,
    },
    /// Of the program, if it has one.
    Switch,
    /// One was measured, and nothing else can be.
    SwitchMeasured,
    WithoutOnce,
    /// Of its pages.
    ExactRecording,
    /// The trace that was named is of something else.
    Anew,
    /// The reason says it.
    Reason,
}

/// Why the replay was not held against the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unchecked {
    /// The difference of both states is what shows it.
    NeedsBothStates,
    /// The program takes no longer cold than cached.
    NoColdTime,
    NoReading,
    /// The kernel counts system time by ticks, and the program has hardly one of them.
    TooCoarse,
}

/// The line to write, or the switch to set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum How {
    /// The program's own.
    Switch {
        line: String,
    },
    MadviseRandom,
    MadviseSequential,
    MadviseWillNeed,
    Populate,
    /// A mapping without what it was populated or advised with.
    PlainMapping,
    Pread,
    /// The whole file into a buffer, instead of a mapping.
    ReadWhole,
    Mapping,
    FadviseRandom,
    FadviseSequential,
    /// Fewer and larger reads for the same accesses.
    LargerBuffer {
        kib: u32,
    },
    PlainReads,
    /// The same calls, into a buffer that begins at a page.
    PageBuffer,
    InFlight {
        depth: u32,
    },
    Direct,
    /// What the program gives now and the arm does not.
    NoPopulate,
    NoWillNeed,
    /// Advice of an order that the program gives now, and the arm does not.
    NoOrder,
    NoDirect,
    /// All of these.
    All(Vec<How>),
    /// As the arm does it.
    AsTheArm,
}

/// What to know before a change.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AdviceCaveat {
    /// SIGBUS, resident memory, shootdowns, nothing asynchronous.
    TowardsMapping,
    /// A copy, records across the end of a buffer, and no pages shared with others.
    TowardsCalls,
    /// Valid here.
    ThisMachine,
    /// Within a page it is not known what was looked at, nor how often.
    WholePages,
    /// The self-check shows only that the replay claims no more than the program spends.
    OneSidedCheck,
    /// The trace has such a share of the accesses.
    Incomplete { coverage: f64 },
    /// The program's own switch gains more or less than its replay said.
    SwitchApart,
    /// So many mapped files are too small for their pages to be recorded: that all of each is touched is an assumption.
    TouchedWhole { files: u64 },
    /// The program opens so many files so often, and the replay opens each once.
    OpenedAgain { opens: u64, files: u64 },
    /// The switch reads so much of another file, which was in the page cache.
    OtherFile { path: String, bytes: u64 },
    /// It reads in so many threads at once, and the replay in so many.
    Threads { threads: u64, replayed: u32 },
    /// It waits for the device at so many more of the accesses than now, as a share of them. The low end of the gain allows for
    /// own work that takes so many times as long more after each wait.
    MoreWaits { share: f64, slower: f64 },
    /// Its replay gains, too, unless the program comes back to pages, which the trace does not have.
    Withheld { arm: String },
}

/// An arm that gains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdviceOption {
    pub to: String,
    pub code: AdviceCode,
    pub effort: Effort,
    pub grade: Grade,
    /// What these replays look at.
    pub consume: Consume,
    /// What the replay takes of what was recorded, of which `io` is the gain: it may look at less of the bytes than the one that
    /// is gone by first.
    #[serde(default)]
    pub io_ns: Option<Estimate>,
    pub io: Estimate,
    /// By the replays that speak least for it, as long as it was not measured.
    pub program: Estimate,
    /// By those after which it may gain most, where that is more: how much the program looks at is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program_at_most: Option<Estimate>,
    #[serde(rename = "how_data")]
    pub how: How,
}

/// A switch of the program's own.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Switched {
    /// The name of the command's arm, and what was typed.
    pub arm: String,
    pub line: String,
    pub cell: usize,
    pub ns: Option<Estimate>,
    /// How many times faster the program is with it.
    pub real: Option<Estimate>,
    /// The arm that reaches the file as the switched program was seen to; without one there is no prediction.
    pub like: Option<String>,
    /// By the replays that speak least for it.
    pub predicted: Option<Estimate>,
    /// By those that look at more or less of the bytes and speak most for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted_at_most: Option<Estimate>,
    /// Why there is no number.
    #[serde(rename = "reason_data", default)]
    pub reason: Option<Reason>,
}

/// The replay of what the program did, held against the program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AdviceSelfCheck {
    #[serde(flatten)]
    pub id: ConditionId,
    pub file: String,
    pub state: State,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fill: Option<Fill>,
    pub by: CheckedBy,
    /// What `by` says of an execution and of a replay: nanoseconds, or a number of faults.
    pub program: Option<f64>,
    pub replay: Option<f64>,
    /// The replay over the program, less 1.
    pub off: Option<f64>,
    pub passed: bool,
    /// The program's own work between the accesses of the replay, which is no part of its time here.
    #[serde(default, skip_serializing_if = "crate::condition::no_work")]
    pub own_work_ns: u64,
    #[serde(rename = "why_data", default)]
    pub why: Option<Unchecked>,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CheckedBy {
    /// The time that either takes longer cold than cached.
    ColdLessCached,
    /// The time that either waits longer cold than cached: the program works longer, too.
    Waits,
    /// System time; the program has some beside.
    SystemTime,
    /// User and system time together, where passes are too short for ticks to divide it; the program has some beside.
    CpuTime,
    /// Minor faults; the program has some beside.
    Faults,
    /// The time that either takes, where the replay takes longer than the whole program.
    Time,
}

impl CheckedBy {
    /// It shows only that the replay claims no more than there is.
    pub fn is_one_sided(self) -> bool {
        match self {
            CheckedBy::ColdLessCached | CheckedBy::Waits => false,
            CheckedBy::SystemTime | CheckedBy::CpuTime | CheckedBy::Faults | CheckedBy::Time => true,
        }
    }
}
