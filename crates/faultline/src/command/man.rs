//! `faultline man`: manual pages, from the definitions that command lines are parsed by.

use std::path::Path;

use anyhow::Result;
use clap::CommandFactory;
use clap_mangen::{
    Man,
    roff::{Roff, roman},
};
use schema::units::nearest;

use crate::{
    cli::{Cli, EXIT_CODES, ManArgs},
    exit::{Exit, UsageError},
    output,
};

pub fn run(args: &ManArgs) -> Result<Exit> {
    match &args.dir {
        Some(folder) => write(folder, args.force)?,
        None => output::print(&page(&named(args.command.as_deref())?)?)?,
    }
    Ok(Exit::Answered)
}

/// `faultline`, with all that a command has from it.
fn all() -> clap::Command {
    let mut all = Cli::command().after_help(clap::builder::Resettable::Reset).disable_help_subcommand(true);
    all.build();
    all
}

fn named(name: Option<&str>) -> Result<clap::Command> {
    let all = all();
    let Some(name) = name else { return Ok(all) };
    let (pages, whole) = (below(&all), format!("faultline-{name}"));
    let title = |it: &clap::Command| Man::new(it.clone()).get_filename().trim_end_matches(".1").to_string();
    if let Some(found) = pages.iter().find(|it| title(it) == whole) {
        return Ok((*found).clone());
    }
    let titles: Vec<String> = pages.iter().map(|it| title(it)).collect();
    let names: Vec<&str> = titles.iter().filter_map(|it| it.strip_prefix("faultline-")).collect();
    let hint = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean {near:?}?"),
        None => format!("there are {}", names.join(", ")),
    };
    Err(UsageError(format!("there is no command {name:?}; {hint}")).into())
}

/// Every command below one, and the commands below those: `trace record` has a page of its own.
fn below(of: &clap::Command) -> Vec<&clap::Command> {
    of.get_subcommands().flat_map(|it| std::iter::once(it).chain(below(it))).collect()
}

fn write(folder: &Path, force: bool) -> Result<()> {
    let all = all();
    let pages: Vec<_> = std::iter::once(&all)
        .chain(below(&all))
        .map(|it| (folder.join(Man::new(it.clone()).get_filename()), it))
        .collect();
    // All of them, or none.
    let documents: Vec<_> = pages.iter().map(|(path, _)| ("dir", Some(path.as_path()))).collect();
    output::check(&documents, force)?;
    pages.iter().try_for_each(|(path, command)| output::write(path, &page(command)?, force))
}

fn page(command: &clap::Command) -> Result<String> {
    let mut page = Vec::new();
    let source = format!("faultline {}", command.get_version().unwrap_or_default());
    Man::new(command.clone()).source(source).render(&mut page)?;
    Roff::new().control("SH", ["EXIT STATUS"]).text([roman(EXIT_CODES)]).to_writer(&mut page)?;
    Ok(String::from_utf8(page)?)
}
