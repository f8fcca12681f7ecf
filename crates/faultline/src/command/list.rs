//! `faultline list`: the tables, as they are.

use anyhow::Result;
use schema::{
    Consume, State, Workload,
    runtime::{OptionSpec, Values},
};

use crate::{
    cli::{ListArgs, Listed},
    exit::Exit,
    experiment::built_in,
    output,
};

pub fn run(args: &ListArgs) -> Result<Exit> {
    let mut entries: Vec<(String, String)> = Vec::new();
    let mut line = |name: &str, about: &str| entries.push((name.to_string(), about.to_string()));
    match args.what {
        Listed::Methods => {
            for runtime in lab::runtime::RUNTIMES {
                let spec = runtime.spec();
                let here = runtime.described().unwrap_or_else(|reason| format!("not available here: {reason}"));
                line(&format!("runtime {}", spec.name), &here);
                for method in spec.methods {
                    line(&spec.short(method.name), method.about);
                    method.options.iter().filter(|it| !spec.is_common(it)).for_each(|it| option(&mut line, it));
                }
                let common: Vec<&OptionSpec> = spec.common_options().collect();
                if !common.is_empty() {
                    line(&spec.short("…"), "every method of this runtime");
                    common.into_iter().for_each(|it| option(&mut line, it));
                }
            }
        }
        Listed::Workloads => Workload::ALL.iter().for_each(|it| line(it.word(), it.about())),
        Listed::Consumes => Consume::ALL.iter().for_each(|it| line(it.word(), it.about())),
        Listed::States => State::ALL.iter().for_each(|it| line(it.word(), it.about())),
        Listed::Probes => {
            line("usage", &format!("getrusage(2) of the worker: {}", schema::protocol::Usage::READINGS.join(", ")));
            for kind in lab::probe::PROBES {
                line(kind.name, &format!("{}: {}", kind.about, kind.readings.join(", ")));
            }
        }
        Listed::Scenarios => lab::scenario::SCENARIOS.iter().for_each(|it| line(it.name, it.about)),
        Listed::Experiments => built_in(schema::builtin::EXPERIMENTS).for_each(|it| line(&it.name, &it.title)),
        Listed::Studies => built_in(schema::builtin::STUDIES).for_each(|it| line(&it.name, &it.title)),
        Listed::Runs => {
            for (id, path, _) in history::Store::open(None)?.list_all()? {
                line(&id, &path.display().to_string());
            }
        }
    }
    output::show(&report::listing(&entries, output::terminal_width()))?;
    Ok(Exit::Answered)
}

fn option(line: &mut impl FnMut(&str, &str), option: &OptionSpec) {
    let values = match option.values {
        Values::Words(words) => words.join(" | "),
        Values::Number { min, max, default } => format!("{min} to {max}, default {default}"),
    };
    line(&format!("  {}", option.name), &format!("{values}: {}", option.about));
}
