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
    clap_complete::generate(args.shell, &mut Cli::command(), "faultline", &mut script);
    output::print(&String::from_utf8(script)?)?;
    Ok(Exit::Answered)
}
