//! The options that name what a runtime is to use: one for each runtime that has a choice.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, value_parser};
use lab::runtime::{Choice, Runtime, choices};

/// What was typed.
pub struct RuntimeArgs(Vec<(&'static dyn Runtime, &'static Choice, PathBuf)>);

impl RuntimeArgs {
    /// Has these used, also by commands that may need none of them: what was named is there, or nothing begins.
    ///
    /// # Errors
    /// Which option names something that cannot be used, and why.
    pub fn prefer(&self) -> Result<(), String> {
        self.0.iter().try_for_each(|(runtime, choice, path)| {
            lab::runtime::prefer(*runtime, choice, path.clone())
                .map_err(|reason| format!("--{}: {reason}", choice.option))
        })
    }
}

impl Args for RuntimeArgs {
    fn augment_args(command: Command) -> Command {
        let option = |choice: &'static Choice| {
            let path = value_parser!(PathBuf);
            Arg::new(choice.option).long(choice.option).value_name("PATH").value_parser(path).help(choice.help)
        };
        command.args(choices().map(|(_, choice)| option(choice)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for RuntimeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let typed = |(runtime, choice): (_, &'static Choice)| {
            Some((runtime, choice, matches.get_one::<PathBuf>(choice.option)?.clone()))
        };
        Ok(RuntimeArgs(choices().filter_map(typed).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        Self::from_arg_matches(matches).map(|new| *self = new)
    }
}
