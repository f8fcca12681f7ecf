//! Claims: the statement, the verdict, and why. The reason has the published figure beside the measured one.

use schema::{
    Bytes, Fill,
    experiment::Variant,
    findings::{ClaimFinding, ClaimOnFolios, ClaimVerdict},
    reason::Reason,
};

use crate::{
    layout::{
        page::Page,
        paint::Paint,
        text::{visible, width},
    },
    words::reasons,
};

/// How a variant is called in sentences.
pub fn variant(variant: Variant) -> &'static str {
    match variant {
        Variant::AsPublished => "as published",
        Variant::Corrected => "corrected",
    }
}

/// The claims of a run: what was said, and beneath it the verdict and why.
pub(crate) fn write(page: &mut Page, claims: &[ClaimFinding]) {
    if claims.is_empty() {
        return;
    }
    page.blank();
    page.paragraph(0, Paint::Heading, "Claims");
    if let Some(text) = folios_here(claims) {
        page.paragraph(2, Paint::Plain, &text);
    }
    let columns = columns(page, claims.iter());
    for claim in claims {
        write_one(page, claim, columns);
    }
}

/// How wide the ids of claims are; 0 where there is no room for them beside the text.
pub(crate) fn columns<'a>(page: &Page, claims: impl Iterator<Item = &'a ClaimFinding>) -> usize {
    let widest = widest(claims.map(|claim| claim.id.as_str()));
    if widest * 5 > page.width() { 0 } else { widest }
}

/// How wide the widest of some ids is.
pub(crate) fn widest<'a>(ids: impl Iterator<Item = &'a str>) -> usize {
    ids.map(|id| width(&visible(id))).max().unwrap_or(0)
}

pub(crate) fn write_one(page: &mut Page, claim: &ClaimFinding, columns: usize) {
    let indent = match columns {
        0 => {
            page.paragraph(2, Paint::Heading, &claim.id);
            page.paragraph(4, Paint::Plain, &says(claim));
            4
        }
        _ => {
            page.item(2, columns, &claim.id, Paint::Heading, &says(claim));
            columns + 4
        }
    };
    page.run_in(indent, &format!("{}:", claim.verdict.words()), paint(claim.verdict), &why(claim));
}

/// What was said, with the published figure where it has words of its own.
pub(crate) fn says(claim: &ClaimFinding) -> String {
    match &claim.published.words {
        Some(words) => format!("{} ({words})", claim.says),
        None => claim.says.clone(),
    }
}

/// Why, and what the claim comes to on each kind of folios.
pub(crate) fn why(claim: &ClaimFinding) -> String {
    let on = |it: &ClaimOnFolios| {
        let fill = format!("fill {}", it.fill);
        let whose = match it.fill {
            _ if it.then => "as in its time",
            Fill::Sequential => "as this machine reads files in",
            _ => &fill,
        };
        let size = it.folio_bytes.map_or_else(|| fill.clone(), |most| folios_of(it.least_folio_bytes, most));
        let size = if size == whose { String::new() } else { format!("{size}, ") };
        format!("{size}{whose}: {}", with_reason(it.verdict, &it.reasons))
    };
    // What is the claim's own verdict is not said twice.
    let own = |it: &&ClaimOnFolios| it.verdict == claim.verdict && it.reasons == claim.reasons;
    let folios: Vec<String> = claim.folios.iter().filter(|it| !own(it)).map(on).collect();
    [reason(claim.verdict, &claim.reasons)].into_iter().chain(folios).collect::<Vec<String>>().join("; ")
}

/// In which folios this machine reads a cached file in, beside those of the study's time.
pub(crate) fn folios_here(claims: &[ClaimFinding]) -> Option<String> {
    let folios = || claims.iter().flat_map(|it| &it.folios);
    let is_here = |it: &&ClaimOnFolios| !it.then && it.fill == Fill::Sequential;
    folios().find(is_here)?;
    // Of all claims.
    let ends = |is_meant: &dyn Fn(&&ClaimOnFolios) -> bool| {
        let meant = || folios().filter(is_meant);
        let least = meant().filter_map(|it| it.least_folio_bytes.or(it.folio_bytes)).min()?;
        Some((least, meant().filter_map(|it| it.folio_bytes).max()?))
    };
    Some(match (ends(&|it| it.then), ends(&is_here)) {
        (Some(then), Some(here)) if then == here => format!(
            "This machine reads files into {}, as the page cache had them when the study was made.",
            folios_of(Some(here.0), here.1)
        ),
        (Some(then), Some(here)) => format!(
            "This machine reads files into {}; when the study was made, the page cache had {}. Claims about cached files \
             are tested on both, and decided by this machine's.",
            folios_of(Some(here.0), here.1),
            folios_of(Some(then.0), then.1)
        ),
        _ => "Claims about cached files are tested on folios of the study's time, too, and decided by those that this \
             machine reads files into; their sizes are known to root alone."
            .to_string(),
    })
}

/// `folios of 2 MiB`, `folios of 4 KiB to 2 MiB`.
fn folios_of(least: Option<u64>, most: u64) -> String {
    let all = [least.filter(|it| *it != most), Some(most)]
        .into_iter()
        .flatten()
        .map(|it| Bytes(it).to_string().replace(' ', "\u{a0}"));
    format!("folios of {}", all.collect::<Vec<String>>().join(" to "))
}

/// Why, without the verdict's word where the reason begins with it too: `holds: in both conditions`.
fn reason(verdict: ClaimVerdict, of: &[Reason]) -> String {
    let all = reasons(of).unwrap_or_default();
    let rest = all.strip_prefix(verdict.words()).map(str::trim_start);
    rest.filter(|rest| rest.starts_with("in ")).unwrap_or(&all).to_string()
}

fn with_reason(verdict: ClaimVerdict, of: &[Reason]) -> String {
    let why = reason(verdict, of);
    [verdict.words(), if why.is_empty() { "" } else { ": " }, &why].concat()
}

fn paint(verdict: ClaimVerdict) -> Paint {
    match verdict {
        ClaimVerdict::Holds => Paint::Good,
        ClaimVerdict::Reversed => Paint::Bad,
        ClaimVerdict::NoDifference | ClaimVerdict::Mixed => Paint::Heading,
        ClaimVerdict::Undecided | ClaimVerdict::NotTestableHere => Paint::Unsure,
    }
}

/// `3 hold, 1 is reversed, …`, in the order of the verdicts.
pub(crate) fn counted<'a>(claims: impl Iterator<Item = &'a ClaimFinding> + Clone) -> String {
    const ALL: [(ClaimVerdict, &str, &str); 6] = [
        (ClaimVerdict::Holds, "holds", "hold"),
        (ClaimVerdict::Reversed, "reversed", "reversed"),
        (ClaimVerdict::NoDifference, "no difference", "no difference"),
        (ClaimVerdict::Mixed, "mixed", "mixed"),
        (ClaimVerdict::Undecided, "undecided", "undecided"),
        (ClaimVerdict::NotTestableHere, "not testable here", "not testable here"),
    ];
    let counts = ALL.iter().filter_map(|(verdict, one, many)| {
        match claims.clone().filter(|it| it.verdict == *verdict).count() {
            0 => None,
            1 => Some(format!("1 {one}")),
            several => Some(format!("{several} {many}")),
        }
    });
    counts.collect::<Vec<String>>().join(", ")
}
