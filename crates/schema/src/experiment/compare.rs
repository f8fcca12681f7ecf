//! Arms against each other, and what is possible together.

use serde::{Deserialize, Serialize};

use super::{CELLS_MAX, Variant, one_or_many};
use crate::{
    Arm, Beside, Bytes, Condition, Consume, Descriptor, Durability, Fill, Layout, Span, State, Workload, trace::Traced,
    units,
};

/// Arms × conditions: every list is crossed with every other one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Compare {
    /// What claims and figures call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// In a study: whether this is what was published, or what should have been.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<Variant>,
    pub arms: Vec<Competitor>,
    pub workload: Vec<Workload>,
    pub block: Vec<Bytes>,
    pub consume: Vec<Consume>,
    pub state: Vec<State>,
    pub threads: Vec<u32>,
    pub descriptor: Vec<Descriptor>,
    pub aligned: Vec<bool>,
    /// The part of the file that may be touched; the planner chooses when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Blocks per pass: the size of the job, several to see how the answer depends on it. The planner chooses when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "one_or_many")]
    pub ops: Vec<u64>,
    /// The same two at the published size, with `--full`; and the blocks, where fewer do for an answer in two minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_range: Option<Range>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub full_ops: Option<u64>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub full_block: Vec<Bytes>,
    /// In state `limited`: the worker's memory as a share of the range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<f64>,
    /// Emulated storage; an empty entry is the disk as it is.
    #[serde(default = "plain_storage")]
    pub storage: Vec<Throttle>,
    /// Of workloads that write: when a block counts as written.
    #[serde(default = "nothing_synced")]
    pub durability: Vec<Durability>,
    /// Of workloads that write: what the file has in it before.
    #[serde(default = "written_before")]
    pub layout: Vec<Layout>,
    /// In states that live in the page cache: how it was filled.
    #[serde(default = "in_order")]
    pub fill: Vec<Fill>,
    /// Of workload `replay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceAsked>,
    /// What a second thread does during each pass.
    #[serde(default = "nothing_beside", skip_serializing_if = "is_nothing_beside")]
    pub beside: Vec<Beside>,
}

/// The trace of a comparison that replays one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TraceAsked {
    /// As it was written: not read yet.
    Named {
        path: String,
        /// The file whose accesses are meant, as the trace has it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        file: Option<String>,
    },
    Read(Traced),
}

impl TraceAsked {
    /// Whether both mean the same accesses, as far as that is known.
    pub fn is_same(&self, other: &TraceAsked) -> bool {
        let accesses = |it: &Traced| (it.digest.clone(), it.file, it.accesses, it.is_of_several());
        match (self, other) {
            (TraceAsked::Read(one), TraceAsked::Read(other)) => accesses(one) == accesses(other),
            (one, other) => one == other,
        }
    }

    pub fn words(&self) -> String {
        match self {
            TraceAsked::Named { path, file: None } => format!("trace {path}"),
            TraceAsked::Named { path, file: Some(file) } => format!("trace {path} of {file}"),
            TraceAsked::Read(traced) => format!("trace {}", traced.short()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Question<'a> {
    pub name: Option<&'a str>,
    pub variant: Option<Variant>,
    pub range: Option<Range>,
    pub ops: &'a [u64],
    /// As a share of the range.
    pub memory: Option<f64>,
}

pub(super) fn nothing_synced() -> Vec<Durability> {
    vec![Durability::None]
}

pub(super) fn written_before() -> Vec<Layout> {
    vec![Layout::Written]
}

pub(super) fn in_order() -> Vec<Fill> {
    vec![Fill::Sequential]
}

pub(crate) fn nothing_beside() -> Vec<Beside> {
    vec![Beside::Nothing]
}

fn is_nothing_beside(beside: &[Beside]) -> bool {
    *beside == [Beside::Nothing]
}

pub(super) fn plain_storage() -> Vec<Throttle> {
    vec![Throttle::default()]
}

/// A disk made slower: `{ read_bps = "21.8 MB/s" }`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Throttle {
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "units::rate")]
    pub read_bps: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_iops: Option<u64>,
}

impl Throttle {
    /// 0 of the disk as it is; nothing where only requests are limited.
    pub(super) fn rate(&self) -> Option<Bytes> {
        self.read_bps.or_else(|| self.read_iops.is_none().then_some(Bytes(0)))
    }

    /// Whether it is another one, as it was saved: an earlier version rounded sizes.
    pub(super) fn is_saved(&self, exact: &Throttle) -> bool {
        let is_rounded = || self.read_bps.zip(exact.read_bps).is_some_and(|(saved, exact)| saved.is_rounded(exact));
        self.read_iops == exact.read_iops && (self.read_bps == exact.read_bps || is_rounded())
    }
}

/// An arm in a comparison, with what it does differently from the condition. The first one is the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Competitor {
    pub arm: Arm,
    /// What `[arms]` calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    #[serde(default, skip_serializing_if = "Override::is_empty")]
    pub own: Override,
}

impl Competitor {
    /// An arm, and what `[arms]` calls it. The only place where its name is made: cells, claims and other runs know it by
    /// that, so one that does something of its own must not be taken for the plain one.
    pub fn new(arm: Arm, label: Option<String>, own: Override) -> Competitor {
        // What a command is called is the user's choice already.
        let name = match label.as_ref().filter(|_| !own.is_empty() && !arm.is_command()) {
            Some(label) => format!("{} ({label})", arm.name),
            None => arm.name,
        };
        Competitor { arm: Arm { name, ..arm }, label, own }
    }

    /// Whether it does what another one does, whatever the two are called. An older record lacks options that were added
    /// later.
    pub fn does_as(&self, other: &Competitor) -> bool {
        let does = |it: &Competitor| {
            let Arm { runtime, method, options, .. } = it.arm.resolved().ok()?;
            Some((runtime, method, options, it.own.clone()))
        };
        does(self).is_some_and(|it| Some(it) == does(other))
    }

    /// The same, resolved through the vocabulary once more, under the name that it has where it is written.
    ///
    /// # Errors
    /// As `Arm::resolved`.
    pub(super) fn resolved(&self) -> Result<Competitor, String> {
        Ok(Competitor::new(self.arm.resolved()?, self.label.clone(), self.own.clone()))
    }
}

/// What an arm may do differently from the condition it is entered under, to write down an unfair comparison.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Override {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<Workload>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consume: Option<Consume>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<Bytes>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<State>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aligned: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub consumed_percent: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub durability: Option<Durability>,
}

impl Override {
    pub fn is_empty(&self) -> bool {
        *self == Override::default()
    }
}

/// Of what size passes are asked to be; nothing where the planner chooses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeAsked {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// Blocks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ops: Option<u64>,
}

impl SizeAsked {
    pub fn is_open(&self) -> bool {
        *self == SizeAsked::default()
    }
}

/// A part of a file: from an offset, so many bytes; or a share of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    #[serde(default)]
    pub offset: Bytes,
    /// Up to the end when neither `bytes` nor `share` nor `blocks` is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<Bytes>,
    /// Of the file, counted from `offset`: 0.5 is half the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// So many blocks of the condition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<u64>,
}

impl Range {
    /// The window on a file of this size, cut at its end, for blocks of this size.
    pub fn of(&self, file_bytes: u64, block_bytes: u64) -> Span {
        let offset = self.offset.0.min(file_bytes);
        let rest = file_bytes - offset;
        let wanted = match (self.bytes, self.share, self.blocks) {
            (Some(bytes), ..) => bytes.0,
            (None, Some(share), _) => (file_bytes as f64 * share) as u64,
            (None, None, Some(blocks)) => blocks.saturating_mul(block_bytes),
            (None, None, None) => rest,
        };
        Span { offset, bytes: wanted.min(rest) }
    }

    fn possible(&self) -> Result<(), String> {
        let given = [self.bytes.is_some(), self.share.is_some(), self.blocks.is_some()];
        if given.into_iter().filter(|it| *it).count() > 1 {
            return Err("a range has only one of bytes, share and blocks".into());
        }
        if self.share.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err("a share lies above 0 and is at most 1".into());
        }
        if self.bytes == Some(Bytes(0)) || self.blocks == Some(0) {
            return Err(
                "a range has at least one byte; without bytes, share or blocks it reaches the file's end".into()
            );
        }
        Ok(())
    }
}

pub(crate) fn possible_block(block: Bytes) -> Result<(), String> {
    match block.0 {
        1..=BLOCK_MAX => Ok(()),
        _ => Err(format!("a block of {block} is not possible; it lies between 1 B and 1 GiB")),
    }
}

const BLOCK_MAX: u64 = 1 << 30;

/// All bytes of a pass can be counted in an `i64`, so that no product of the two overflows anywhere.
pub(crate) fn possible_ops(ops: u64, block_bytes: u64) -> Result<(), String> {
    if ops == 0 {
        return Err("a pass has at least one op".into());
    }
    match ops.checked_mul(block_bytes) {
        Some(bytes) if bytes <= i64::MAX as u64 => Ok(()),
        _ => Err(format!("{ops} ops of {} are too many bytes", Bytes(block_bytes))),
    }
}

const ALIGNED: &str = "blocks in ascending order are always aligned; aligned = false applies to random blocks";
const CONSUME: &str = "what is written is consumed by nothing; consume is for workloads that read";

impl Compare {
    /// Those of another comparison, but for what one of these does already.
    pub fn add_arms(&mut self, others: Vec<Competitor>) {
        for arm in others {
            if !self.arms.iter().any(|it| it.does_as(&arm)) {
                self.arms.push(arm);
            }
        }
    }

    /// Arms, the control among them, times conditions; nothing when that cannot be counted.
    pub(super) fn cells(&self) -> Option<usize> {
        let lists = [
            self.workload.len(),
            self.block.len().max(self.full_block.len()).max(usize::from(self.trace.is_some())),
            self.consume.len(),
            self.state.len(),
            self.threads.len(),
            self.descriptor.len(),
            self.aligned.len(),
            self.storage.len(),
            self.durability.len(),
            self.layout.len(),
            self.fill.len(),
            self.beside.len(),
            self.ops.len().max(1),
        ];
        lists.into_iter().try_fold(self.arms.len().checked_add(1)?, usize::checked_mul)
    }

    /// The planner chooses how large a pass is. Otherwise the question is of passes of the size that was written down, and of
    /// no other.
    pub fn leaves_size_open(&self) -> bool {
        self.ops.is_empty() && self.range.is_none() && self.trace.is_none()
    }

    /// Whether it replays the same accesses as another one, or none as that.
    pub(super) fn replays_as(&self, other: &Compare) -> bool {
        match (&self.trace, &other.trace) {
            (Some(one), Some(other)) => one.is_same(other),
            (one, other) => one.is_none() && other.is_none(),
        }
    }

    /// The accesses that it replays, once the trace was read.
    pub fn traced(&self) -> Option<&Traced> {
        match &self.trace {
            Some(TraceAsked::Read(traced)) => Some(traced),
            Some(TraceAsked::Named { .. }) | None => None,
        }
    }

    /// The planner chooses how many blocks a pass of one of its arms makes, and so how much it covers of a range that may be named.
    pub fn leaves_blocks_open_to(&self, arm: &str) -> bool {
        self.ops.is_empty() && self.trace.is_none() && self.own_of(arm).is_none_or(|it| it.ops.is_none())
    }

    /// Where the whole job of one of its arms lies: in the range that is named for it, or in all of the file.
    pub fn window_of(&self, arm: &str, condition: &Condition) -> Span {
        let named = self.own_of(arm).and_then(|it| it.range).or(self.range);
        let all = Span { offset: 0, bytes: condition.file_bytes };
        named.map_or(all, |it| it.of(condition.file_bytes, condition.block_bytes))
    }

    fn own_of(&self, arm: &str) -> Option<&Override> {
        self.arms.iter().find(|it| it.arm.name == arm && !it.own.is_empty()).map(|it| &it.own)
    }

    /// The size of a pass under one of its conditions, as far as it was written down: a part of the question.
    pub fn size_asked(&self, condition: &Condition) -> SizeAsked {
        let fits = || self.ops_made_into(condition);
        // A scan's range is as long as what it reads, so that more may have been asked for than it has.
        let asked = fits().find(|it| *it == condition.ops).or_else(|| fits().next());
        SizeAsked { range: self.range, ops: asked.or(Some(condition.ops).filter(|_| !self.ops.is_empty())) }
    }

    /// The numbers of reads that were written down and that a condition stands for: of a scan, several may be more than there
    /// is.
    fn ops_made_into(&self, condition: &Condition) -> impl Iterator<Item = u64> {
        self.ops.iter().copied().filter(|&asked| {
            let whole = condition.covered_ops(asked);
            condition.ops == if self.range.is_none() { condition.dense_ops(whole) } else { whole }
        })
    }

    /// Whether one of its conditions is under one of these numbers of reads.
    pub(super) fn asks_for_any(&self, ops: &[u64], condition: &Condition) -> bool {
        // A scan's range is as long as what it reads: of one that is not of all blocks, another condition may stand for more.
        let (file_bytes, block_bytes) = (condition.file_bytes, condition.block_bytes.max(1));
        let bytes = self.range.map_or(file_bytes, |it| it.of(file_bytes, block_bytes).bytes);
        let is_of_all = condition.ops >= bytes.div_ceil(block_bytes);
        let is_written = self.ops_made_into(condition).any(|it| it == condition.ops);
        let mut made =
            self.ops_made_into(condition).filter(|it| is_of_all || !is_written || *it == condition.ops).peekable();
        match made.peek() {
            Some(_) => made.any(|it| ops.contains(&it)),
            None => ops.contains(&condition.ops),
        }
    }

    /// The same of one of its arms, which may have a size of its own.
    pub fn size_asked_of(&self, condition: &Condition, arm: &str) -> SizeAsked {
        let asked = self.size_asked(condition);
        let own = self.own_of(arm);
        SizeAsked { range: own.and_then(|it| it.range).or(asked.range), ops: own.and_then(|it| it.ops).or(asked.ops) }
    }

    /// What two comparisons must have in common to ask one question about several blocks, sizes of a job or fills: an
    /// experiment may split it, where some have fewer arms. Beside that, their conditions say what they ask.
    pub fn question(&self) -> Question<'_> {
        let (name, ops) = (self.name.as_deref(), &self.ops[..]);
        Question { name, variant: self.variant, range: self.range, ops, memory: self.memory }
    }

    /// What it is called beside others, the most telling first.
    pub fn words(&self, index: Option<usize>) -> Vec<String> {
        vec![
            self.name.clone().unwrap_or_default(),
            self.variant.map_or(String::new(), |it| it.words().to_string()),
            index.map_or(String::new(), |it| format!("comparison {}", it + 1)),
        ]
    }

    /// Whether the lists make sense, each and together; also asked after command-line filters were applied, and of what
    /// a saved run says.
    ///
    /// # Errors
    /// Which key is at fault, and a sentence.
    pub fn validate(&self) -> Result<(), (&'static str, String)> {
        if self.arms.is_empty() {
            return Err(("arms", "no arm is left to compare".into()));
        }
        let empty = [
            ("workload", self.workload.is_empty()),
            ("block", self.block.is_empty() && self.trace.is_none()),
            ("state", self.state.is_empty()),
            ("consume", self.consume.is_empty()),
            ("threads", self.threads.is_empty()),
            ("descriptor", self.descriptor.is_empty()),
            ("aligned", self.aligned.is_empty()),
            ("storage", self.storage.is_empty()),
            ("durability", self.durability.is_empty()),
            ("layout", self.layout.is_empty()),
            ("fill", self.fill.is_empty()),
            ("beside", self.beside.is_empty()),
        ];
        if let Some((key, _)) = empty.into_iter().find(|(_, empty)| *empty) {
            return Err((key, one_or_many::EMPTY.into()));
        }
        self.validate_replay()?;
        if self.cells().is_none_or(|cells| cells > CELLS_MAX) {
            return Err((
                "compare",
                format!("these lists come to more than {CELLS_MAX} cells (arms times conditions); try shorter ones"),
            ));
        }
        let own = || self.arms.iter().map(|it| &it.own);
        let blocks =
            |key, list: &[Bytes]| list.iter().try_for_each(|&block| possible_block(block).map_err(|it| (key, it)));
        blocks("block", &self.block)?;
        blocks("full_block", &self.full_block)?;
        own().filter_map(|it| it.block).try_for_each(|block| possible_block(block).map_err(|it| ("arms", it)))?;
        for (key, range) in [("range", &self.range), ("full_range", &self.full_range)] {
            range.map_or(Ok(()), |range| range.possible()).map_err(|it| (key, it))?;
        }
        own().filter_map(|it| it.range).try_for_each(|range| range.possible().map_err(|it| ("arms", it)))?;
        let largest = self.block.iter().chain(&self.full_block).max().map_or(1, |it| it.0);
        for (key, ops) in [("ops", self.ops.as_slice()), ("full_ops", self.full_ops.as_slice())] {
            ops.iter().try_for_each(|&ops| possible_ops(ops, largest)).map_err(|it| (key, it))?;
        }
        own().try_for_each(|own| {
            let block = own.block.map_or(largest, |it| it.0);
            let ops = own.ops.or(self.ops.iter().copied().max()).or(self.full_ops);
            ops.map_or(Ok(()), |ops| possible_ops(ops, block)).map_err(|it| ("arms", it))
        })?;
        if let Some(percent) = own().filter_map(|it| it.consumed_percent).find(|it| !(1..=100).contains(it)) {
            return Err(("arms", format!("consumed_percent = {percent} is not possible; it lies between 1 and 100")));
        }
        for throttle in &self.storage {
            if throttle.read_bps == Some(Bytes(0)) || throttle.read_iops == Some(0) {
                return Err((
                    "storage",
                    "a limit of 0 reads cannot be measured; an empty entry, {}, is the disk without a limit".into(),
                ));
            }
        }
        for (workload, arm) in
            self.workload.iter().flat_map(|workload| self.arms.iter().map(move |arm| (workload, arm)))
        {
            let workload = arm.own.workload.unwrap_or(*workload);
            arm.arm.fits(workload).map_err(|message| ("workload", message))?;
        }
        if self.threads.iter().any(|threads| !(1..=1024).contains(threads)) {
            return Err(("threads", "threads must lie between 1 and 1024".into()));
        }
        let mut states = self.state.iter().copied().chain(self.arms.iter().filter_map(|it| it.own.state));
        if self.fill != in_order() && !states.any(|it| it.is_filled()) {
            return Err((
                "fill",
                "a fill applies to states that begin with the pages in the page cache: cached, mapped, locked".into(),
            ));
        }
        if self.memory.is_some_and(|share| !(share > 0.0 && share <= 1.0)) {
            return Err(("memory", "memory is a share of the range, above 0 and at most 1".into()));
        }
        self.is_possible_together()?;
        self.arms.iter().filter(|it| !it.own.is_empty()).try_for_each(|it| {
            let possible = self.beside_others(&it.own).and_then(|()| self.of(it).is_possible_together());
            possible.map_err(|(_, why)| ("arms", format!("{}: {why}", it.arm.name)))
        })
    }

    /// As if one of its arms were entered alone, and what it does of its own were what the lists say.
    fn of(&self, it: &Competitor) -> Compare {
        fn instead<T: Copy>(own: Option<T>, all: &[T]) -> Vec<T> {
            own.map_or_else(|| all.to_vec(), |it| vec![it])
        }
        let own = &it.own;
        Compare {
            arms: vec![Competitor { own: Override::default(), ..it.clone() }],
            workload: instead(own.workload, &self.workload),
            consume: instead(own.consume, &self.consume),
            block: instead(own.block, &self.block),
            state: instead(own.state, &self.state),
            aligned: instead(own.aligned, &self.aligned),
            durability: instead(own.durability, &self.durability),
            ..self.clone()
        }
    }

    /// Whether an arm that does something of its own leaves the others what they begin with.
    fn beside_others(&self, own: &Override) -> Result<(), (&'static str, String)> {
        // What writes has a file that is made anew before each pass, and is measured after all else.
        if let Some(own) = own.workload
            && let Some(other) = self.workload.iter().find(|it| it.writes() != own.writes())
        {
            return Err((
                "workload",
                format!("of {own} and {other} one writes, which no comparison has beside what reads"),
            ));
        }
        let is_found = self.state.iter().any(|it| it.is_filled()) && self.fill.contains(&Fill::Found);
        match own.state {
            Some(state @ State::AsIs) if self.state != [state] => {
                Err(("state", format!("the others evict or fill the file, so state {state} is of no arm alone")))
            }
            Some(state)
                if (is_found && !state.is_filled()) || state != State::AsIs && self.state.contains(&State::AsIs) =>
            {
                Err((
                    "state",
                    format!(
                        "state {state} changes which pages are in the page cache, and the others need those that were there"
                    ),
                ))
            }
            _ => Ok(()),
        }
    }

    /// What cannot be measured together under one condition.
    fn is_possible_together(&self) -> Result<(), (&'static str, String)> {
        if self.workload.contains(&Workload::Command) && self.beside.contains(&Beside::Beat) {
            return Err(("beside", "a command has no threads that a beat could be beside".into()));
        }
        let is_of_files = |it: &Workload| matches!(it, Workload::Command | Workload::Replay);
        if self.state.contains(&State::AsFound) && !self.workload.iter().all(is_of_files) {
            return Err(("state", "state as-found is of whole files: of commands and of replays".into()));
        }
        let writes = self.workload.iter().any(|it| it.writes());
        if !writes && (self.durability != nothing_synced() || self.layout != written_before()) {
            return Err(("workload", "durability and layout are for workloads that write".into()));
        }
        if writes && self.threads != [1] {
            return Err(("workload", "workloads that write have one thread".into()));
        }
        if writes && self.state.contains(&State::Limited) {
            return Err(("workload", "workloads that write are not measured in state limited".into()));
        }
        let holes = self.workload.contains(&Workload::Append) || self.layout != written_before();
        let held = self.state.iter().find(|&&it| !matches!(it, State::Cold | State::AsIs));
        if let Some(state) = held.filter(|_| writes && holes) {
            return Err((
                "workload",
                format!(
                    "a file that was never written has no pages in the page cache: state {state} is not possible; use \
                     cold"
                ),
            ));
        }
        Ok(())
    }

    /// A replay has its trace, and all that the trace says is said nowhere else.
    fn validate_replay(&self) -> Result<(), (&'static str, String)> {
        let own = || self.arms.iter().map(|it| &it.own);
        let is_named = self.workload.contains(&Workload::Replay);
        if is_named && self.trace.is_none() || own().any(|it| it.workload == Some(Workload::Replay)) {
            return Err(("workload", "a replay needs its trace: workload = { replay = \"FILE\" }".into()));
        }
        if self.trace.is_none() {
            return Ok(());
        }
        if self.workload != [Workload::Replay] {
            return Err((
                "workload",
                "a replay is compared with no other workload; try a [[compare]] of its own".into(),
            ));
        }
        let says = [
            ("block", !self.block.is_empty()),
            ("full_block", !self.full_block.is_empty()),
            ("threads", self.threads != [1]),
            ("aligned", self.aligned != [true]),
            ("range", self.range.is_some()),
            ("full_range", self.full_range.is_some()),
            ("ops", !self.ops.is_empty()),
            ("full_ops", self.full_ops.is_some()),
        ];
        let sized = |it: &Override| {
            it.workload.is_some()
                || it.block.is_some()
                || it.range.is_some()
                || it.aligned.is_some()
                || it.ops.is_some()
        };
        let said = says.into_iter().find(|(_, said)| *said).map(|(key, _)| key);
        match said.or(own().any(sized).then_some("arms")) {
            Some(key) => {
                Err((key, "a replay has the sizes, the places and the threads of its trace; leave it out".into()))
            }
            None => Ok(()),
        }
    }

    /// Some condition may have more than one thread. A trace has those that were recorded.
    pub fn has_several_threads(&self) -> bool {
        self.trace.is_some() || self.threads.iter().any(|it| *it > 1)
    }

    /// Whether one of its workloads reads, or one that an arm has instead.
    pub fn reads(&self) -> bool {
        let own = self.arms.iter().filter_map(|it| it.own.workload);
        self.workload.iter().copied().chain(own).any(|it| !it.writes())
    }

    /// Whether everything that was written down can change what is measured. Not asked after filters, which leave less.
    ///
    /// # Errors
    /// As `validate`.
    pub(super) fn has_effect(&self) -> Result<(), (&'static str, String)> {
        let own = || self.arms.iter().map(|it| &it.own);
        let states = self.state.iter().copied().chain(own().filter_map(|it| it.state));
        if self.memory.is_some() && !states.into_iter().any(|it| it == State::Limited) {
            return Err(("memory", "memory applies to state limited, and none of these states is limited".into()));
        }
        let mut states = self.state.iter().copied().chain(own().filter_map(|it| it.state));
        let mut workloads = self.workload.iter().copied().chain(own().filter_map(|it| it.workload));
        let is_throttled = self.storage.iter().any(|it| *it != Throttle::default());
        if is_throttled && states.all(|it| it.is_filled()) && workloads.all(|it| !it.writes()) {
            return Err((
                "storage",
                "a limit applies to reads of the device, and all of these states begin with the pages in the page cache".into(),
            ));
        }
        if self.descriptor.contains(&Descriptor::Shared) && !self.has_several_threads() {
            return Err((
                "descriptor",
                "one thread shares its file with no other: descriptor = \"shared\" is for several".into(),
            ));
        }
        let workloads = self.workload.iter().copied().chain(own().filter_map(|it| it.workload));
        if self.aligned.contains(&false) && workloads.into_iter().all(Workload::is_ascending) {
            return Err(("aligned", ALIGNED.into()));
        }
        // Conditions differ in what they have themselves; an arm with a state or workload of its own takes the first of the list.
        if self.aligned.len() > 1 && self.workload.iter().all(|it| it.is_ascending()) {
            return Err(("aligned", "none of these workloads is random: name one value for the arm that is".into()));
        }
        if self.fill.len() > 1 && !self.state.iter().any(|it| it.is_filled()) {
            let why =
                "none of these states begins with the pages in the page cache: name one fill for the arm that does";
            return Err(("fill", why.into()));
        }
        // Conditions have a layout by their own workload, whatever an arm does instead.
        if self.layout != written_before() && !self.workload.iter().any(|it| it.has_layout()) {
            return Err(("layout", "a file that is appended to is empty before, whatever layout there is".into()));
        }
        if self.consume != [Consume::Sum] && !self.reads() {
            return Err(("consume", CONSUME.into()));
        }
        if self.consume.len() > 1 && self.workload.iter().all(|it| it.writes()) {
            return Err(("consume", "none of these workloads reads: name one value for the arm that does".into()));
        }
        self.arms.iter().try_for_each(|it| {
            let workload = self.of(it).workload;
            let (ascending, writes) =
                (workload.iter().all(|it| it.is_ascending()), workload.iter().all(|it| it.writes()));
            let why = match &it.own {
                Override { aligned: Some(_), .. } if ascending => ALIGNED,
                Override { consume: Some(_), .. } | Override { consumed_percent: Some(_), .. } if writes => CONSUME,
                _ => return Ok(()),
            };
            Err(("arms", format!("{}: {why}", it.arm.name)))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Condition, Experiment, Span, State, Workload};

    #[test]
    fn what_was_asked_for_is_what_was_written_down_and_not_what_the_planner_made_of_it() {
        let compare = |ops: &str, more: &str| {
            let text = format!(
                "title = \"t\"\n[arms]\nhalf = {{ method = \"pread\", own = {{ ops = 7 }} }}\n[[compare]]\narms = [\"read\", \
                 \"half\"]\nworkload = [\"random\", \"scan\"]\nblock = \"4 KiB\"\nstate = \"cached\"\nops = {ops}\n{more}"
            );
            Experiment::parse("t", &text).unwrap_or_else(|it| panic!("{}", it.at("t"))).comparisons.remove(0)
        };
        let made = |workload, bytes: u64, ops| Condition {
            workload,
            state: State::Cached,
            block_bytes: 4096,
            range: Span { offset: 0, bytes },
            ops,
            ..Condition::plain(1 << 30)
        };
        let several = compare("[100, 30000, 12188]", "");
        let asked = |it: &Condition| several.size_asked(it).ops;
        // In 13/32 of the file so many of the 30,000 are as dense; another run had a larger window.
        assert_eq!(asked(&made(Workload::Random, 13 << 25, 12_188)), Some(30_000));
        assert_eq!(asked(&made(Workload::Random, 14 << 25, 13_125)), Some(30_000));
        assert_eq!(asked(&made(Workload::Random, 1 << 30, 12_188)), Some(12_188));
        assert_eq!(asked(&made(Workload::Random, 13 << 25, 100)), Some(100));
        // The window has fewer blocks than were asked for.
        assert_eq!(asked(&made(Workload::Scan, 16 << 20, 4096)), Some(30_000));
        assert_eq!(asked(&made(Workload::Scan, 100 * 4096, 100)), Some(100));
        // A condition stands for all that were asked for and come to it.
        let more_than_there_is = compare("[1024, 4096, 7]", "");
        let scan = Condition { file_bytes: 4 << 20, ..made(Workload::Scan, 4 << 20, 1024) };
        let asked = [1024, 4096, 7].map(|ops| more_than_there_is.asks_for_any(&[ops], &scan));
        assert_eq!(asked, [true, true, false]);
        let of_a_part = Condition { range: Span { offset: 0, bytes: 7 * 4096 }, ops: 7, ..scan };
        let asked = [1024, 4096, 7].map(|ops| more_than_there_is.asks_for_any(&[ops], &of_a_part));
        assert_eq!(asked, [false, false, true]);
        // All of the range that was written down.
        let of_half = compare("[256, 1024]", "range = { share = 0.25 }");
        let all = Condition { range: Span { offset: 0, bytes: 1 << 20 }, ops: 256, ..of_a_part };
        assert_eq!([256, 1024].map(|ops| of_half.asks_for_any(&[ops], &all)), [true, true]);
        let of_range = compare("30000", "range = { share = 0.5 }");
        assert_eq!(of_range.size_asked(&made(Workload::Random, 1 << 29, 30_000)).ops, Some(30_000));
        // An arm may be asked for something else.
        let half = several.size_asked_of(&made(Workload::Random, 1 << 30, 100), &several.arms[1].arm.name);
        assert_eq!((half.range, half.ops), (None, Some(7)));
    }
}
