//! Valid documents with a few things in them exchanged, most of them for something of the same type: what is refused at
//! once finds nothing.

use serde_json::{Map, Number, Value};

use crate::Random;

/// What a number is exchanged for: the ends of its types, and what becomes 0 or too large when it is multiplied.
const EXTREMES: [f64; 10] = [0.0, 1.0, 7.0, -1.0, u32::MAX as f64, 1_099_511_627_776.0, 9.2e18, 1.8e19, 1e300, 1e-300];
const ENDS: [u64; 3] = [i64::MAX as u64, u64::MAX - 1, u64::MAX];
const TEXTS: [&str; 9] = ["", "\u{0}", "é\u{202e}", "<script>", "=1+1", "/", "../..", "%s", "18446744073709551616"];

pub fn extremes() -> impl Iterator<Item = Number> {
    let whole = EXTREMES.iter().filter(|it| it.fract() == 0.0 && it.abs() < 1e19 && **it >= 0.0).map(|&it| it as u64);
    let whole = whole.chain(ENDS).map(Number::from);
    whole.chain(EXTREMES.into_iter().filter_map(Number::from_f64))
}

/// One of the documents, with one to three exchanges.
pub fn mutated(corpus: &[Value], random: &mut Random) -> Value {
    let mut document = any(corpus, random).clone();
    for _ in 0..=random.below(3) {
        let at = random.below(nodes(&document));
        let donor = any(corpus, random);
        let other = nth(donor, &mut random.below(nodes(donor))).cloned().unwrap_or_default();
        if let Some(node) = nth_mut(&mut document, &mut { at }) {
            exchange(node, other, random);
        }
    }
    document
}

fn exchange(node: &mut Value, other: Value, random: &mut Random) {
    // Something of any type, taken from anywhere.
    if random.below(8) == 0 {
        *node = other;
        return;
    }
    match node {
        Value::Null => *node = Value::from(random.below(3)),
        Value::Bool(is) => *is = !*is,
        Value::Number(number) => {
            let all: Vec<Number> = extremes().collect();
            *number = all[random.below(all.len() as u64) as usize].clone();
        }
        Value::String(text) => match (random.below(4), other) {
            (0, _) => text.clear(),
            (1, Value::String(other)) => *text = other,
            (2, _) => text.push_str(random.pick(&TEXTS)),
            _ => *text = random.pick(&TEXTS).repeat(1 + random.below(3) as usize),
        },
        Value::Array(all) => match random.below(4) {
            0 => all.clear(),
            1 => drop(all.pop()),
            2 if !all.is_empty() => drop(all.remove(random.below(all.len() as u64) as usize)),
            _ => all.extend(all.first().cloned()),
        },
        Value::Object(all) => exchange_member(all, other, random),
    }
}

fn exchange_member(all: &mut Map<String, Value>, other: Value, random: &mut Random) {
    let keys: Vec<String> = all.keys().cloned().collect();
    if keys.is_empty() {
        all.insert("more".into(), other);
        return;
    }
    let key = &keys[random.below(keys.len() as u64) as usize];
    let value = all.remove(key);
    match random.below(3) {
        0 => {}
        1 => drop(all.insert(key.clone(), other)),
        _ => drop(all.insert(format!("{key}x"), value.unwrap_or_default())),
    }
}

fn any<'a>(corpus: &'a [Value], random: &mut Random) -> &'a Value {
    &corpus[random.below(corpus.len() as u64) as usize]
}

/// How many values there are in a document, itself included.
fn nodes(value: &Value) -> u64 {
    1 + match value {
        Value::Array(all) => all.iter().map(nodes).sum(),
        Value::Object(all) => all.values().map(nodes).sum(),
        _ => 0,
    }
}

fn nth<'a>(value: &'a Value, left: &mut u64) -> Option<&'a Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(all) => all.iter().find_map(|it| nth(it, left)),
        Value::Object(all) => all.values().find_map(|it| nth(it, left)),
        _ => None,
    }
}

fn nth_mut<'a>(value: &'a mut Value, left: &mut u64) -> Option<&'a mut Value> {
    if *left == 0 {
        return Some(value);
    }
    *left -= 1;
    match value {
        Value::Array(all) => all.iter_mut().find_map(|it| nth_mut(it, left)),
        Value::Object(all) => all.values_mut().find_map(|it| nth_mut(it, left)),
        _ => None,
    }
}

/// One of the texts, with one to four exchanges: numbers for others, words for odd ones, lines left out, said twice or cut
/// short.
pub fn mutated_text(corpus: &[&str], random: &mut Random) -> String {
    let mut text = corpus[random.below(corpus.len() as u64) as usize].to_string();
    for _ in 0..=random.below(4) {
        let mut lines: Vec<String> = text.split('\n').map(String::from).collect();
        let at = random.below(lines.len() as u64) as usize;
        match random.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.insert(at, lines[at].clone()),
            2 => {
                let end = random.below(lines[at].chars().count() as u64 + 1) as usize;
                lines[at] = lines[at].chars().take(end).collect();
            }
            kind => {
                let mut words: Vec<String> = lines[at].split(' ').map(String::from).collect();
                let word = random.below(words.len() as u64) as usize;
                words[word] = match kind {
                    3 => random.pick(&TEXTS).to_string(),
                    4 => extremes()
                        .nth(random.below(extremes().count() as u64) as usize)
                        .map_or(String::new(), |it| it.to_string()),
                    _ => words[random.below(words.len() as u64) as usize].clone(),
                };
                lines[at] = words.join(" ");
            }
        }
        text = lines.join("\n");
    }
    text
}

/// The bytes with one to eight of them exchanged, and sometimes fewer of them or more.
pub fn mutated_bytes(of: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = of.to_vec();
    for _ in 0..=random.below(8) {
        let at = random.below(bytes.len() as u64 + 1) as usize;
        match random.below(12) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_within(at..),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte = random.below(256) as u8;
                }
            }
        }
    }
    bytes
}
