//! Where the fields of a tracepoint lie, from its `format` file. The text comes from the kernel, but it differs between
//! versions and decides which bytes are read, so every value in it is checked.

/// More than any event of the kernel has.
const RECORD_BYTES_MAX: usize = 1 << 16;

/// A number inside a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceField {
    pub name: String,
    pub offset: usize,
    /// 1, 2, 4 or 8 for a number; anything else is an array.
    pub bytes: usize,
    pub signed: bool,
}

impl TraceField {
    /// The number in this place of a record; nothing when it is no number or the record is too short.
    pub fn number(&self, record: &[u8]) -> Option<u64> {
        let raw = record.get(self.offset..self.offset.checked_add(self.bytes)?)?;
        let mut wide = [0; 8];
        if !matches!(raw.len(), 1 | 2 | 4 | 8) {
            return None;
        }
        let at = if cfg!(target_endian = "little") { 0 } else { 8 - raw.len() };
        wide[at..at + raw.len()].copy_from_slice(raw);
        let value = u64::from_ne_bytes(wide);
        let unused = 64 - 8 * raw.len() as u32;
        Some(if self.signed { ((value << unused) as i64 >> unused) as u64 } else { value })
    }

    /// The text in this place of a record, up to its end mark.
    pub fn text<'a>(&self, record: &'a [u8]) -> Option<&'a [u8]> {
        let raw = record.get(self.offset..self.offset.checked_add(self.bytes)?)?;
        raw.split(|&byte| byte == 0).next()
    }
}

/// All fields of a tracepoint.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Format {
    fields: Vec<TraceField>,
}

impl Format {
    /// Lines like `field:unsigned long pfn; offset:8; size:8; signed:0;`. Lines that make no sense are left out.
    pub fn parse(text: &str) -> Format {
        Format { fields: text.lines().filter_map(field).collect() }
    }

    /// # Errors
    /// This kernel's tracepoint has no such field.
    pub fn field(&self, name: &str) -> Result<&TraceField, String> {
        let found = self.fields.iter().find(|field| field.name == name);
        found.ok_or_else(|| format!("this kernel's tracepoint has no field {name:?}"))
    }
}

fn field(line: &str) -> Option<TraceField> {
    let mut parts = line.trim().strip_prefix("field:")?.split(';').map(str::trim);
    let declaration = parts.next()?;
    let without_array = declaration.split('[').next()?.trim_end();
    let name = without_array.rsplit([' ', '*']).next().filter(|name| !name.is_empty())?;
    let (mut offset, mut bytes, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.parse().ok(),
            Some(("size", value)) => bytes = value.parse().ok(),
            Some(("signed", value)) => signed = value == "1",
            _ => {}
        }
    }
    let (offset, bytes): (usize, usize) = (offset?, bytes?);
    (offset <= RECORD_BYTES_MAX && bytes <= RECORD_BYTES_MAX).then(|| TraceField {
        name: name.into(),
        offset,
        bytes,
        signed,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ADDED: &str = "name: mm_filemap_add_to_page_cache\nID: 507\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:unsigned long pfn;\toffset:8;\tsize:8;\tsigned:0;\n\
        \tfield:unsigned char order;\toffset:36;\tsize:1;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:40;\tsize:10;\tsigned:0;\n\
        \tfield:int error;\toffset:52;\tsize:4;\tsigned:1;\n\
        \nprint fmt: \"pfn=0x%lx\", REC->pfn\n";

    #[test]
    fn fields_lie_where_the_format_says() {
        let format = Format::parse(ADDED);
        let mut record = vec![0; 56];
        record[8..16].copy_from_slice(&0x1234_5678_9abcu64.to_ne_bytes());
        record[36] = 9;
        record[40..43].copy_from_slice(b"RAM");
        record[52..56].copy_from_slice(&(-5i32).to_ne_bytes());
        let number = |name: &str| format.field(name).unwrap().number(&record);
        assert_eq!(number("pfn"), Some(0x1234_5678_9abc));
        assert_eq!(number("order"), Some(9));
        assert_eq!(number("error"), Some(-5i64 as u64));
        assert_eq!(number("rwbs"), None, "an array is no number");
        assert_eq!(format.field("rwbs").unwrap().text(&record), Some(b"RAM".as_slice()));
        assert!(format.field("index").unwrap_err().contains("index"));
    }

    #[test]
    fn a_record_that_is_too_short_has_no_number() {
        assert_eq!(Format::parse(ADDED).field("order").unwrap().number(&[0; 36]), None);
    }

    proptest! {
        #[test]
        fn no_text_and_no_record_can_make_it_fail(
            text in "(\t?field:[a-z _*\\[\\]0-9]{0,20};\t?(offset|size|signed):-?[0-9]{0,22};.{0,20}\n|.{0,30}\n){0,8}",
            record in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            for field in Format::parse(&text).fields {
                let _ = field.number(&record);
                let _ = field.text(&record);
            }
        }

        #[test]
        fn a_field_that_was_written_is_read_back(name in "[a-z_]{1,12}", offset in 0usize..1000, signed: bool) {
            let line = format!("\tfield:long {name};\toffset:{offset};\tsize:8;\tsigned:{};", u8::from(signed));
            let expected = TraceField { name: name.clone(), offset, bytes: 8, signed };
            let format = Format::parse(&line);
            prop_assert_eq!(format.field(&name), Ok(&expected));
        }
    }
}
