//! Texts of /proc and sysfs with something exchanged: whatever a kernel may write, nothing that reads it ends the program.
//! `cargo xtask fault fuzz` makes as many of them as it is asked for.

use std::{fs, panic::catch_unwind, path::Path};

use planted::{Effort, Random, mutated_text};

use crate::{
    device, held, mount,
    process::{self, MappedFile},
};

/// As far as every machine has them, and one of each kind that is written here.
const WRITTEN: [&str; 4] = [
    "36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw,errors=continue",
    "7f00-7f10 r--s 00000000 08:01 4711 /data/a file\nSize: 64 kB\nRss: 16 kB\nPrivate_Dirty: 4 kB\nFilePmdMapped: 0 kB\nVmFlags: rd sh mr rr hg",
    "812 (a) b) (c) S 1 812 812 0 -1 4194560 97 0 0 0 1 2 0 0 20 0 1 0 5551234 3000 97",
    "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17",
];

#[test]
fn any_text_of_the_kernel_is_parsed_or_refused() {
    let paths = ["self/mountinfo", "self/smaps", "self/maps", "self/stat", "self/io", "self/status", "diskstats"];
    let read: Vec<String> =
        paths.iter().filter_map(|it| fs::read_to_string(Path::new("/proc").join(it)).ok()).collect();
    // The first lines are like the others.
    let read: Vec<String> = read.iter().map(|it| it.lines().take(40).collect::<Vec<_>>().join("\n")).collect();
    let corpus: Vec<&str> = WRITTEN.into_iter().chain(read.iter().map(String::as_str)).collect();
    let file = MappedFile::new(0x801, 4711, "/data/a file");
    let (mut inputs, mut panics) = (0, Vec::new());
    for seed in Effort::of(2000).seeds() {
        let text = mutated_text(&corpus, &mut Random(seed));
        inputs += 1;
        let parsed = catch_unwind(|| {
            let _ = (process::parse_stat(&text), process::parse_io(&text), process::parse_mappings(&text));
            let _ = (process::parse_smaps(&text, &file), process::number_after(&text, "Rss:"));
            let _ = (mount::find(text.as_bytes(), Path::new("/mount/point/x"), "98:0"), mount::unescape(&text));
            let _ = (mount::of_device(text.as_bytes(), [98, 0]), held::own_number(&text));
            process::parse_mappings(&text).iter().for_each(|it| drop((held::link(it), held::names(&it.name))));
            let _ = device::parse_counters(&text);
        });
        if parsed.is_err() {
            panics.push(seed);
        }
    }
    println!("texts of the kernel: {inputs} inputs, {} panics", panics.len());
    assert!(panics.is_empty(), "panics at the seeds {panics:?}");
}
