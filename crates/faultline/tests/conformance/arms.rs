//! The arms of a method: as it is, with each of its options alone, and with all of them.

use schema::{
    Arm, Workload,
    arm::{Options, Setting},
    runtime::{MethodSpec, RuntimeSpec, Values},
};

/// Options that choose the executable and change nothing within it.
const OF_THE_EXECUTABLE: &[&str] = &["jdk", "python", "gil"];

/// What to do with the arms of a runtime.
pub fn of(runtime: &'static RuntimeSpec, workload: Workload) -> Vec<Arm> {
    let methods = runtime.methods.iter().filter(|it| it.can.does(workload));
    methods.flat_map(|method| of_method(runtime, method, workload)).collect()
}

fn of_method(runtime: &RuntimeSpec, method: &MethodSpec, workload: Workload) -> Vec<Arm> {
    let mut sets = vec![Options::new()];
    let mut everything = Options::new();
    for option in method.options.iter().filter(|it| it.can.does(workload) && !OF_THE_EXECUTABLE.contains(&it.name)) {
        let settings: Vec<Setting> = match option.values {
            Values::Words(words) => words[1..].iter().map(|it| Setting::Word(it.to_string())).collect(),
            Values::Number { min, max, .. } => [min, max.min(min + 2)].map(Setting::Number).into(),
        };
        everything.extend(settings.last().map(|last| (option.name.to_string(), last.clone())));
        sets.extend(settings.into_iter().map(|it| Options::from([(option.name.to_string(), it)])));
    }
    if everything.len() > 1 {
        sets.push(everything);
    }
    sets.iter().map(|it| Arm::new(runtime.name, method.name, it).unwrap()).collect()
}

#[test]
fn every_method_and_every_word_of_its_options_is_in_an_arm() {
    for runtime in schema::runtime::RUNTIMES {
        for method in runtime.methods {
            let workloads = [Workload::Scan, Workload::Overwrite].into_iter().filter(|&it| method.can.does(it));
            let arms: Vec<Arm> =
                workloads.flat_map(|it| of(runtime, it)).filter(|it| it.method == method.name).collect();
            assert!(!arms.is_empty(), "{}/{}", runtime.name, method.name);
            for option in method.options.iter().filter(|it| !OF_THE_EXECUTABLE.contains(&it.name)) {
                if let Values::Words(words) = option.values {
                    assert!(
                        words.iter().all(|word| arms.iter().any(|it| it.word(option.name) == *word)),
                        "{}",
                        method.name
                    );
                }
            }
        }
    }
}
