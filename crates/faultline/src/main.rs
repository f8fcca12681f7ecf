//! faultline: mmap or read? Measured on your machine, explained by its mechanism.
//!
//! The words the user types, and what happens then: each command is a short list of stages, one of which measures.
//! Nothing is implemented here.

#![allow(unreachable_pub, reason = "a binary has no outside to hide from")]

mod browser;
mod cli;
mod command;
mod dry_run;
mod exit;
mod experiment;
mod locale;
mod machine;
mod measure;
mod output;
mod progress;
mod replay;
mod runtime;
mod stderr;
mod subject;
mod suggestion;

use clap::Parser;
use cli::{Cli, Command};
use exit::UsageError;
use runtime::RuntimeArgs;

fn main() -> std::process::ExitCode {
    sys::process::survive_file_size_limit();
    sys::process::keep_ended_children();
    // A worker starts for nearly every pass, and the definitions of all commands take a fifth of its start.
    if std::env::args_os().skip(1).eq(["worker"]) {
        return command::worker::run();
    }
    let cli = Cli::parse();
    if let Err(reason) = cli.command.runtimes().map_or(Ok(()), RuntimeArgs::prefer) {
        return exit::code(Err(UsageError(reason).into()));
    }
    let result = match cli.command {
        Command::Run(args) => command::run::run(&args),
        Command::Reproduce(args) => command::reproduce::run(&args),
        Command::Advise(args) => command::advise::run(&args),
        Command::Ab(args) => command::ab::run(&args),
        Command::Claims(args) => command::claims::run(&args),
        Command::Compare(args) => command::compare::run(&args),
        Command::History(args) => command::history::run(&args),
        Command::Rerun(args) => command::rerun::run(&args),
        Command::Predict(args) => command::predict::run(&args),
        Command::Import(args) => command::import::run(&args),
        Command::Trace(args) => command::trace::run(&args.command),
        Command::Report(args) => command::report::run(&args),
        Command::Inspect(args) => command::inspect::run(&args),
        Command::List(args) => command::list::run(&args),
        Command::Doctor(args) => command::doctor::run(&args),
        Command::Clean(args) => command::clean::run(&args),
        Command::Completions(args) => command::completions::run(&args),
        Command::Man(args) => command::man::run(&args),
    };
    exit::code(result)
}
