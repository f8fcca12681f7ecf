//! `faultline ab`: the user's own commands, from a verified state.

use anyhow::Result;
use schema::{
    command::{self, Spec},
    observation::Means,
    record::missing_arms,
};

use crate::{
    cli::{AbArgs, Observe},
    exit::{Exit, UsageError},
    measure::{self, RunSettings},
    output,
    progress::Line,
    subject::{self, Subject},
};

pub fn run(args: &AbArgs) -> Result<Exit> {
    if !args.name.is_empty() && args.name.len() != args.commands.len() {
        let (names, commands) = (args.name.len(), args.commands.len());
        return Err(
            UsageError(format!("{names} --name for {commands} commands; give each command one, or none")).into()
        );
    }
    if let Some(folder) = args.file.iter().find(|it| it.is_dir()) {
        return Err(UsageError(format!("{} is a folder; use --dir for it", folder.display())).into());
    }
    if let Some(file) = args.dir.iter().find(|it| it.is_file()) {
        return Err(UsageError(format!("{} is a file; use --file for it", file.display())).into());
    }
    let specs: Vec<Spec> = (0..args.commands.len()).map(|index| spec(args, index)).collect();
    let experiment = command::experiment(&specs, &args.state, &args.fill);
    experiment.validate().map_err(|(_, message)| UsageError(message))?;
    args.output.check()?;
    let interrupted = measure::interrupt_flag()?;
    let store = output::store(&args.output);
    let line = Line::new(args.output.quiet);
    let keep_cache = subject::keeps_cache(&experiment);
    let subject = Subject::of_named(&args.file, &args.dir, keep_cache, &interrupted)?;
    args.output.spare_all(|path| subject.target.named.as_ref().is_some_and(|named| named.may_hold(path)))?;
    let (budget, budget_binds) = measure::bounds(args.budget, args.rounds, measure::BUDGET);
    let how = RunSettings {
        budget_binds,
        rounds: args.rounds,
        observed: observed(args),
        may_execute: true,
        store: store.as_ref(),
        ..RunSettings::new(args.seed, budget, &interrupted, &line)
    };
    let measured = measure::measure(&experiment, &subject, &how)?;
    let saved = measured.saved.as_deref();
    // What was not saved cannot be shown later.
    let details = args.details || (saved.is_none() && !args.output.quiet);
    output::emit(&measured.record, &measured.findings, saved, &args.output, details)?;
    Ok(match measured.outcome() {
        Exit::Answered | Exit::NothingDecided if !missing_arms(&measured.record.cells).is_empty() => Exit::Unavailable,
        other => other,
    })
}

/// What was requested by name is not replaced by something else.
fn observed(args: &AbArgs) -> Option<&'static [Means]> {
    match args.observe {
        Observe::Auto => Some(Means::ALL),
        Observe::Tracepoints => Some(&[Means::Tracepoints]),
        Observe::Ptrace => Some(&[Means::Ptrace]),
        Observe::None => None,
    }
}

fn spec(args: &AbArgs, index: usize) -> Spec {
    let line = &args.commands[index];
    Spec {
        line: line.clone(),
        name: args.name.get(index).unwrap_or(line).clone(),
        shell: (args.shell != "none").then(|| args.shell.clone()),
        prepare: args.prepare.clone(),
        cleanup: args.cleanup.clone(),
        timeout_s: args.timeout,
        compared: if args.anyway { schema::command::Compared::Nothing } else { schema::command::Compared::Output },
    }
}
