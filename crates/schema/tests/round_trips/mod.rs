//! Everything that is saved or exchanged is read back as it was written, to the last byte.

mod make;

use std::{fmt::Debug, path::Path};

use make::{Dice, MADE, Make};
use proptest::prelude::*;
use schema::{
    Experiment, Reading, Record,
    across::Across,
    findings::Document,
    inspection::Inspection,
    leftover::Leftover,
    plan::PlannedRun,
    protocol::{Reply, Request},
    saved::{History, SavedCell},
    trace::Header,
    unit_cost::Forecast,
};
use serde::{Serialize, de::DeserializeOwned};

fn is_read_back<T: Make + Serialize + DeserializeOwned + PartialEq + Debug>(seed: u64) -> Result<(), TestCaseError> {
    let written = T::make(&mut Dice(seed));
    let text = serde_json::to_string(&written).unwrap();
    let read: T = match serde_json::from_str(&text) {
        Ok(read) => read,
        Err(error) => return Err(TestCaseError::fail(format!("{error} in {text}"))),
    };
    prop_assert_eq!(&read, &written);
    // Equality takes -0.0 for 0.0, and text does not.
    prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn records_and_documents_are_read_back_as_they_were_written(seed in any::<u64>()) {
        is_read_back::<Record>(seed)?;
        is_read_back::<Document>(seed)?;
        is_read_back::<Experiment>(seed)?;
    }

    #[test]
    fn every_message_is_read_back_as_it_was_written(seed in any::<u64>()) {
        is_read_back::<Request>(seed)?;
        is_read_back::<Reply>(seed)?;
    }

    #[test]
    fn what_other_commands_print_and_keep_is_read_back_as_it_was_written(seed in any::<u64>()) {
        is_read_back::<Across>(seed)?;
        is_read_back::<PlannedRun>(seed)?;
        is_read_back::<History>(seed)?;
        is_read_back::<SavedCell>(seed)?;
        is_read_back::<Leftover>(seed)?;
        is_read_back::<Forecast>(seed)?;
        is_read_back::<Inspection>(seed)?;
        is_read_back::<Header>(seed)?;
    }
}

/// Names of the types in a folder that derive `Serialize` or implement it.
fn serialisable(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            serialisable(&path, found);
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        for after in text.split("#[derive(").skip(1) {
            let (derived, item) = after.split_once(")]").unwrap();
            let declared = item.lines().find_map(|line| {
                let line = line.trim_start();
                let line = line.strip_prefix("pub struct ").or_else(|| line.strip_prefix("pub enum "))?;
                line.split(|it: char| !it.is_alphanumeric()).next()
            });
            // Of the macro for closed sets of words, the name is a parameter.
            let name = declared.filter(|name| !name.is_empty());
            if derived.split(", ").any(|it| it == "Serialize") {
                found.extend(name.map(str::to_string));
            }
        }
    }
}

#[test]
fn no_type_that_is_written_is_left_out_here() {
    // Closed sets of words, and what is written as one text, are made by hand.
    const BY_HAND: [&str; 3] = ["Fill", "Means", "Reading"];
    let mut found = Vec::new();
    serialisable(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut found);
    assert!(found.len() > 100, "{found:?}");
    let made = |name: &str| MADE.iter().any(|it| it.rsplit("::").next().map(str::trim) == Some(name));
    let missing: Vec<&String> = found.iter().filter(|it| !made(it) && !BY_HAND.contains(&it.as_str())).collect();
    assert_eq!(missing, [""; 0]);
}

#[test]
fn a_reading_that_is_no_finite_number_is_written_as_unavailable() {
    for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let text = serde_json::to_string::<Reading<f64>>(&Reading::Value(value)).unwrap();
        let read: Reading<f64> = serde_json::from_str(&text).unwrap();
        assert!(read.reason().is_some(), "{text}");
        let text = serde_json::to_string::<Reading<Vec<f64>>>(&Reading::Value(vec![1.0, value])).unwrap();
        assert!(serde_json::from_str::<Reading<Vec<f64>>>(&text).unwrap().reason().is_some(), "{text}");
    }
}
