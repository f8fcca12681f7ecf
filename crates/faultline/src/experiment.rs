//! From what the user typed to a checked experiment: found by name or file, then filtered by options.

use std::{io::Read, path::Path};

use anyhow::Result;
use schema::{
    Arm, Descriptor, Experiment, Fill, State, Workload, builtin, distinct,
    experiment::{Compare, Competitor, FILE_BYTES_MAX},
    units::nearest,
};

use crate::{
    cli::{ReproduceArgs, RunArgs},
    exit::UsageError,
    replay,
};

/// The experiment of a run.
///
/// # Errors
/// Unknown names and mistakes in a file are usage errors, with the nearest name or the line.
pub fn load(args: &RunArgs) -> Result<Experiment> {
    let mut experiment = find(&args.experiment)?;
    let written = experiment.clone();
    filter(&mut experiment, args).map_err(UsageError)?;
    experiment.note_filtered(&written);
    Ok(experiment)
}

/// The built-in experiments or studies, parsed.
pub fn built_in(list: &'static [(&str, &str)]) -> impl Iterator<Item = Experiment> {
    list.iter().map(|(name, text)| Experiment::parse(name, text).expect("a test parses every built-in experiment"))
}

/// The studies that were named, each once, at the size and in the states that were asked for.
///
/// # Errors
/// Unknown names, with the nearest one, and studies without any of the states.
pub fn studies(args: &ReproduceArgs) -> Result<Vec<Experiment>> {
    let mut studies = named_studies(&args.studies)?;
    has_states(&studies, &args.state)?;
    for study in &mut studies {
        if args.full {
            study.full();
        }
        let written = study.clone();
        keep_states(study, &args.state)?;
        set_fills(study, &args.fill).map_err(UsageError)?;
        study.note_filtered(&written);
        study.validate().map_err(|(_, message)| UsageError(message))?;
    }
    Ok(studies)
}

/// The studies of these names, each once, or `all`, as they are written.
///
/// # Errors
/// Unknown names, with the nearest one.
pub fn named_studies(wanted: &[String]) -> Result<Vec<Experiment>> {
    let names = || builtin::STUDIES.iter().map(|(name, _)| *name);
    if let Some(unknown) = wanted.iter().find(|it| *it != "all" && !names().any(|name| name == *it)) {
        let hint = match nearest(unknown, names()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("there are {}, or all", names().collect::<Vec<_>>().join(", ")),
        };
        return Err(UsageError(format!("there is no study {unknown:?}; {hint}")).into());
    }
    if wanted.iter().any(|it| it == "all") {
        return Ok(built_in(builtin::STUDIES).collect());
    }
    let position = |it: &Experiment| wanted.iter().position(|name| *name == it.name);
    let mut named: Vec<Experiment> = built_in(builtin::STUDIES).filter(|it| position(it).is_some()).collect();
    named.sort_by_key(position);
    Ok(named)
}

/// Every state that was asked for is one of a study's.
fn has_states(studies: &[Experiment], wanted: &[State]) -> Result<()> {
    let has = |state: &State| studies.iter().flat_map(|it| &it.comparisons).any(|it| it.state.contains(state));
    let Some(lacking) = wanted.iter().find(|it| !has(it)) else { return Ok(()) };
    let there: Vec<String> = studies.iter().map(|it| format!("{:?} has {}", it.name, states(it))).collect();
    Err(UsageError(format!("no study that was named has state {lacking}; {}", there.join("; "))).into())
}

fn states(study: &Experiment) -> String {
    let mut states: Vec<&str> = study.comparisons.iter().flat_map(|it| &it.state).map(|it| it.word()).collect();
    states.sort_unstable();
    states.dedup();
    states.join(", ")
}

/// A study is written for its states: asking for some keeps the comparisons that have them.
fn keep_states(study: &mut Experiment, wanted: &[State]) -> Result<()> {
    if wanted.is_empty() {
        return Ok(());
    }
    let none = format!("study {:?} has none of these states; it has {}", study.name, states(study));
    for compare in &mut study.comparisons {
        compare.state.retain(|state| wanted.contains(state));
    }
    study.comparisons.retain(|compare| !compare.state.is_empty());
    if study.comparisons.is_empty() { Err(UsageError(none).into()) } else { Ok(()) }
}

fn find(name: &str) -> Result<Experiment> {
    if let Some(text) = builtin::find(name) {
        return Ok(Experiment::parse(name, text).expect("a test parses every built-in experiment"));
    }
    let path = Path::new(name);
    let names = || builtin::all().map(|(name, _)| name);
    if !path.exists() {
        let hint = match nearest(name, names()) {
            Some(near) => format!("did you mean {near:?}?"),
            None => format!("built in are {}", names().collect::<Vec<_>>().join(", ")),
        };
        return Err(UsageError(format!("{name:?} is neither a built-in experiment nor a file; {hint}")).into());
    }
    // A device or a pipe may never end.
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes))
        .map_err(|error| UsageError(format!("cannot read {name}: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let line = error.as_bytes()[..error.utf8_error().valid_up_to()].iter().filter(|&&it| it == b'\n').count() + 1;
        UsageError(format!("{name}:{line}: this is not valid UTF-8"))
    })?;
    let stem = path.file_stem().map_or_else(|| name.to_string(), |stem| stem.to_string_lossy().into_owned());
    Experiment::parse(&stem, &text).map_err(|problem| UsageError(problem.at(name)).into())
}

/// Options replace the lists of every comparison in the experiment.
fn filter(experiment: &mut Experiment, args: &RunArgs) -> Result<(), String> {
    if let Some(trace) = &args.trace {
        replay::instead(&mut experiment.comparisons, trace);
        if experiment.comparisons.is_empty() {
            return Err(format!(
                "experiment {:?} has no arm that can replay a trace: none does that writes, or has values of its own \
                 (`own`)",
                experiment.name
            ));
        }
    }
    if let Some(twice) = first_twice(&args.method) {
        return Err(format!("{} is listed twice; faultline adds the A/A control itself", twice.short_name()));
    }
    let is_kept = |arm: &Arm| args.runtime.is_empty() || args.runtime.contains(&arm.runtime);
    if let Some(arm) = args.method.iter().find(|arm| !is_kept(arm)) {
        return Err(format!("--runtime leaves out {}, which --method names; try without one of the two", arm.name));
    }
    let written = experiment.comparisons.clone();
    for compare in &mut experiment.comparisons {
        // What is written is consumed by nothing.
        if compare.reads() {
            replace(&mut compare.consume, &args.consume);
        }
        replace(&mut compare.block, &args.block);
        replace(&mut compare.ops, &args.ops);
        replace(&mut compare.threads, &args.threads);
        // One thread shares with none; a trace has the threads that were recorded.
        if compare.has_several_threads() {
            replace(&mut compare.descriptor, &args.descriptor);
        }
        replace(&mut compare.beside, &args.beside);
        if !args.method.is_empty() {
            compare.arms = args
                .method
                .iter()
                .map(|arm| Competitor { arm: arm.clone(), label: None, own: Default::default() })
                .collect();
        }
        compare.arms.retain(|competitor| is_kept(&competitor.arm));
    }
    let has_several = experiment.comparisons.iter().any(Compare::has_several_threads);
    if args.descriptor.contains(&Descriptor::Shared) && !has_several {
        return Err("--descriptor shared is for several threads; try --threads 2 with it".into());
    }
    if !args.method.is_empty() {
        keep_fitting(&mut experiment.comparisons, &args.workload)?;
    }
    for compare in &mut experiment.comparisons {
        // A comparison is written for its workloads; asking for one of them keeps those that have it.
        if !args.workload.is_empty() {
            compare.workload.retain(|workload| args.workload.contains(workload));
        }
    }
    let is_study = experiment.study.is_some();
    set_states(&mut experiment.comparisons, &args.state, is_study);
    join_repeated(&mut experiment.comparisons, &written);
    experiment.comparisons.retain(|compare| !compare.workload.is_empty() && !compare.state.is_empty());
    // Who names states means them as they usually are; --fill names others.
    let fits = |it: &Compare| args.state.is_empty() || !is_for_fills(it, is_study);
    if experiment.comparisons.iter().any(fits) {
        experiment.comparisons.retain(fits);
    }
    // Every state that was asked for is measured, or none.
    let has = |state: &State| experiment.comparisons.iter().any(|it| it.state.contains(state));
    let lacking: Vec<&str> = args.state.iter().filter(|it| !has(it)).map(|it| it.word()).collect();
    if !experiment.comparisons.is_empty() && !lacking.is_empty() {
        return Err(format!(
            "experiment {:?} compares fills of the page cache, and --state {} has no fill",
            experiment.name,
            lacking.join(",")
        ));
    }
    let has = |workload: &Workload| experiment.comparisons.iter().any(|it| it.workload.contains(workload));
    let lacking: Vec<Workload> = args.workload.iter().copied().filter(|it| !has(it)).collect();
    if !lacking.is_empty() {
        let left: Vec<&str> = experiment.comparisons.iter().flat_map(|it| &it.workload).map(|it| it.word()).collect();
        let (but, leave_out) = match left.is_empty() {
            true => (String::new(), ""),
            false => (format!("workload {} and ", distinct(left).join(", ")), "leave that out; "),
        };
        let words: Vec<&str> = lacking.iter().map(|it| it.word()).collect();
        let elsewhere: Vec<String> = lacking.iter().map(|it| elsewhere(*it, &args.experiment)).collect();
        return Err(format!(
            "experiment {:?} has {but}no comparison with workload {}; {leave_out}{}",
            experiment.name,
            words.join(", "),
            elsewhere.join("; ")
        ));
    }
    if !args.consume.is_empty() && !experiment.comparisons.iter().any(Compare::reads) {
        let name = &experiment.name;
        return Err(format!("--consume is for what is read, and what is left of experiment {name:?} only writes"));
    }
    set_fills(experiment, &args.fill)?;
    // What differed in a list that was replaced is the same question now.
    experiment.comparisons = distinct(std::mem::take(&mut experiment.comparisons));
    experiment.validate().map_err(|(_, message)| message)
}

/// Which other experiments have a workload.
fn elsewhere(workload: Workload, asked: &str) -> String {
    let others = built_in(builtin::EXPERIMENTS).chain(built_in(builtin::STUDIES));
    let having =
        others.filter(|it| it.name != asked && it.comparisons.iter().any(|it| it.workload.contains(&workload)));
    let names: Vec<String> = having.map(|it| format!("-e {}", it.name)).collect();
    match names.is_empty() {
        true => format!(
            "no other experiment that is built in has {workload}: write one with `workload = \"{workload}\"` \
             (docs/FORMATS.md), and measure it with --experiment FILE"
        ),
        false => format!("{workload} is in {}", names.join(", ")),
    }
}

/// Methods that were named are compared in the workloads that all of them do. Workloads that were named, too, are meant.
fn keep_fitting(comparisons: &mut [Compare], wanted: &[Workload]) -> Result<(), String> {
    let misfit = |compare: &Compare, workload: Workload| compare.arms.iter().find_map(|it| it.arm.fits(workload).err());
    let pairs = || comparisons.iter().flat_map(|compare| compare.workload.iter().map(move |it| (compare, *it)));
    let fitting = distinct(pairs().filter(|(compare, it)| misfit(compare, *it).is_none()).map(|(_, it)| it.word()));
    if fitting.is_empty() {
        // Which of them does not fit is said where experiments are checked.
        return Ok(());
    }
    let meant = pairs().filter(|(_, workload)| wanted.contains(workload));
    if let Some(message) = meant.filter_map(|(compare, workload)| misfit(compare, workload)).next() {
        return Err(format!("{message}; these methods fit --workload {}", fitting.join(",")));
    }
    for compare in comparisons {
        let arms = &compare.arms;
        compare.workload.retain(|workload| arms.iter().all(|it| it.arm.fits(*workload).is_ok()));
    }
    Ok(())
}

/// It names fills of its own. A study names those of its time, which are a part of every question about cached files.
fn is_for_fills(compare: &Compare, is_study: bool) -> bool {
    compare.fill != [Fill::Sequential] && !is_study
}

/// The states that were asked for. Of comparisons that differ in nothing but states, blocks and arms, those that are
/// written for a state have it; one that none is written for goes where the first of them is. A comparison of fills keeps
/// its own states where it can have none of these.
fn set_states(comparisons: &mut [Compare], wanted: &[State], is_study: bool) {
    if wanted.is_empty() {
        return;
    }
    let question = |it: &Compare| Compare {
        state: Vec::new(),
        block: Vec::new(),
        arms: Vec::new(),
        full_block: Vec::new(),
        ..it.clone()
    };
    let written = comparisons.to_vec();
    for (compare, own) in comparisons.iter_mut().zip(&written) {
        let alike: Vec<&Compare> = written.iter().filter(|it| question(it) == question(own)).collect();
        let takes = |state: &State| match alike.iter().any(|it| it.state.contains(state)) {
            true => own.state.contains(state),
            false => own.state == alike[0].state,
        };
        let states: Vec<State> =
            wanted.iter().copied().filter(|it| (it.is_filled() || !is_for_fills(own, is_study)) && takes(it)).collect();
        if !states.is_empty() || !is_for_fills(own, is_study) {
            compare.state = states;
        }
    }
}

/// Options may make one comparison of several that were written apart: then the first is measured, with the arms of all.
fn join_repeated(comparisons: &mut Vec<Compare>, written: &[Compare]) {
    let question = |it: &Compare| Compare { arms: Vec::new(), full_block: Vec::new(), ..it.clone() };
    let mut kept: Vec<(usize, Compare)> = Vec::new();
    for (at, compare) in std::mem::take(comparisons).into_iter().enumerate() {
        let is_repeated = |(before, it): &&mut (usize, Compare)| {
            question(it) == question(&compare) && question(&written[*before]) != question(&written[at])
        };
        match kept.iter_mut().find(is_repeated) {
            Some((_, known)) => known.add_arms(compare.arms),
            None => kept.push((at, compare)),
        }
    }
    *comparisons = kept.into_iter().map(|(_, it)| it).collect();
}

/// Fills apply to the comparisons with a state that begins in the page cache. Those for which an experiment has fills
/// are removed, where others have none: the same cells would be measured twice.
fn set_fills(experiment: &mut Experiment, wanted: &[Fill]) -> Result<(), String> {
    if wanted.is_empty() {
        return Ok(());
    }
    let is_filled = |it: &Compare| it.state.iter().any(|state| state.is_filled());
    let is_study = experiment.study.is_some();
    let is_open = |it: &Compare| is_filled(it) && !is_for_fills(it, is_study);
    if experiment.comparisons.iter().any(is_open) {
        experiment.comparisons.retain(|it| is_open(it) || !is_filled(it));
    }
    if !experiment.comparisons.iter().any(is_filled) {
        return Err("--fill applies to states that begin with the pages in the page cache, and none of these states \
                    does"
            .into());
    }
    let written = experiment.comparisons.clone();
    for compare in experiment.comparisons.iter_mut().filter(|it| is_filled(it)) {
        replace(&mut compare.fill, wanted);
    }
    join_repeated(&mut experiment.comparisons, &written);
    Ok(())
}

fn replace<T: Clone + PartialEq>(list: &mut Vec<T>, wanted: &[T]) {
    if !wanted.is_empty() {
        list.clear();
        for it in wanted {
            // Said twice is meant once.
            if !list.contains(it) {
                list.push(it.clone());
            }
        }
    }
}

fn first_twice<T: PartialEq>(list: &[T]) -> Option<&T> {
    list.iter().enumerate().find(|(index, it)| list[..*index].contains(it)).map(|(_, it)| it)
}
