//! Documents must be what the code reads: every marked example in docs/FORMATS.md is parsed, what people may hand in
//! never panics, and a record survives being written and read.

mod round_trips;

use proptest::prelude::*;
use schema::{
    Experiment, Record,
    findings::Document,
    protocol::{Reply, Request},
    record::{FilledRange, FolioOrder, Reading, Sample},
};

const FORMATS: &str = include_str!("../../../docs/FORMATS.md");

/// Fenced blocks whose first line ends in `kind`.
fn examples(kind: &str) -> Vec<&'static str> {
    let blocks = FORMATS.split("```").skip(1).step_by(2);
    blocks
        .filter_map(|block| block.split_once('\n').filter(|(head, _)| head.ends_with(kind)).map(|(_, it)| it))
        .collect()
}

fn each<T: serde::de::DeserializeOwned + serde::Serialize>(kind: &str) -> usize {
    let examples = examples(kind);
    for example in &examples {
        let parsed: T = serde_json::from_str(example).unwrap_or_else(|error| panic!("{error} in {example}"));
        let written: serde_json::Value = serde_json::from_str(example).unwrap();
        assert_eq!(serde_json::to_value(&parsed).unwrap(), written, "something is missing in the code or the example");
    }
    examples.len()
}

#[test]
fn every_example_of_the_conversation_is_one() {
    assert_eq!(each::<Request>("json request"), 5);
    assert_eq!(each::<Reply>("json reply"), 7);
}

#[test]
fn every_example_of_a_sample_is_one() {
    assert_eq!(each::<Sample>("json sample"), 3);
}

#[test]
fn every_example_of_an_arm_is_one_and_a_command_can_be_run_from_it() {
    assert_eq!(each::<schema::Arm>("json arm"), 1);
    let arm: schema::Arm = serde_json::from_str(examples("json arm")[0]).unwrap();
    assert_eq!(schema::command::Spec::of(&arm.options).unwrap().line, "rg --mmap -c needle big.log");
}

#[test]
fn every_example_of_an_inspection_is_one() {
    assert_eq!(each::<schema::inspection::Inspection>("json inspection"), 2);
}

#[test]
fn every_example_of_an_observed_command_is_one() {
    assert_eq!(each::<schema::observation::Observed>("json observed"), 1);
}

#[test]
fn every_example_of_the_first_line_of_a_trace_is_one() {
    assert_eq!(each::<schema::trace::Header>("json trace"), 1);
}

#[test]
fn every_example_of_an_experiment_is_one() {
    let examples = examples("toml experiment");
    assert_eq!(examples.len(), 4);
    for example in examples {
        Experiment::parse("example", example).unwrap_or_else(|problem| panic!("{}", problem.at("FORMATS.md")));
    }
}

#[test]
fn every_marked_code_block_is_of_a_known_kind() {
    let heads: Vec<&str> = FORMATS.split("```").skip(1).step_by(2).filter_map(|block| block.lines().next()).collect();
    assert!(heads.len() > 5, "{heads:?}");
    for head in heads {
        let known = [
            "json request",
            "json reply",
            "json sample",
            "json arm",
            "json inspection",
            "json observed",
            "json trace",
            "toml experiment",
        ]
        .contains(&head);
        assert!(known, "```{head}");
    }
}

#[test]
fn a_fill_with_its_folio_sizes_is_read_back() {
    let fill = FilledRange {
        fill: None,
        pages_per_fault: None,
        looked_again: None,
        kept: false,
        range: schema::Span { offset: 0, bytes: 8192 },
        method: "read".into(),
        elapsed_ns: 5,
        folio_orders: Reading::Value(vec![FolioOrder { order: 0, pages: 2 }]),
    };
    let text = serde_json::to_string(&fill).unwrap();
    assert_eq!(serde_json::from_str::<FilledRange>(&text).unwrap(), fill);
}

proptest! {
    #[test]
    fn text_of_any_kind_is_an_experiment_or_a_problem_and_never_a_panic(text in ".{0,400}") {
        let _ = Experiment::parse("any", &text);
    }

    #[test]
    fn an_experiment_with_anything_in_it_never_panics(key in "[a-z_]{1,10}", value in "[\\PC]{0,40}", line in 0usize..12) {
        let mut lines: Vec<String> = examples("toml experiment")[0].lines().map(str::to_string).collect();
        lines.insert(line.min(lines.len()), format!("{key} = {value}"));
        if let Err(problem) = Experiment::parse("any", &lines.join("\n")) {
            prop_assert!(!problem.message.is_empty());
        }
    }

    #[test]
    fn bytes_of_any_kind_are_a_message_or_an_error_and_never_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = serde_json::from_slice::<Request>(&bytes);
        let _ = serde_json::from_slice::<Reply>(&bytes);
        let _ = serde_json::from_slice::<Record>(&bytes);
        let _ = serde_json::from_slice::<Document>(&bytes);
    }

    #[test]
    fn a_size_is_saved_and_shown_exactly(whole in any::<u64>(), shift in 0u32..64) {
        let size = schema::Bytes(whole >> shift);
        prop_assert_eq!(size.exact().parse::<schema::Bytes>(), Ok(size));
        let throttle = format!("{{\"read_bps\":\"{}\"}}", size.exact_rate());
        let throttle: schema::experiment::Throttle = serde_json::from_str(&throttle).unwrap();
        prop_assert_eq!(throttle.read_bps, Some(size));
        let saved = serde_json::to_string(&size).unwrap();
        prop_assert_eq!(serde_json::from_str::<schema::Bytes>(&saved).unwrap(), size);
    }
}
