//! `faultline completions`: a script for a shell, from the definitions that command lines are parsed by.

use anyhow::Result;
use clap::CommandFactory;

use crate::{
    cli::{Cli, CompletionsArgs},
    exit::Exit,
    output,
};

pub fn run(args: &CompletionsArgs) -> Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut visible(&Cli::command()), "faultline", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Exit::Answered)
}

/// Completions would offer hidden commands, too.
fn visible(all: &clap::Command) -> clap::Command {
    let commands = all.get_subcommands().filter(|it| !it.is_hide_set()).cloned();
    let version = all.get_version().unwrap_or_default().to_string();
    clap::Command::new("faultline").version(version).propagate_version(true).subcommands(commands)
}
