//! Claims: the statement, the verdict, and why. The reason has the published figure beside the measured one.

use schema::{
    experiment::Variant,
    findings::{ClaimFinding, ClaimVerdict},
};

use crate::layout::{
    page::Page,
    paint::Paint,
    text::{visible, width},
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
    let columns = columns(page, claims.iter());
    for claim in claims {
        write_one(page, claim, columns);
    }
}

/// How wide the ids of claims are; 0 where there is no room for them beside the text.
pub(crate) fn columns<'a>(page: &Page, claims: impl Iterator<Item = &'a ClaimFinding>) -> usize {
    let widest = claims.map(|claim| width(&visible(&claim.id))).max().unwrap_or(0);
    if widest * 5 > page.width() { 0 } else { widest }
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
    page.run_in(indent, &format!("{}:", claim.verdict.words()), paint(claim.verdict), reason(claim));
}

/// What was said, with the published figure where it has words of its own.
pub(crate) fn says(claim: &ClaimFinding) -> String {
    match &claim.published.words {
        Some(words) => format!("{} ({words})", claim.says),
        None => claim.says.clone(),
    }
}

/// Why, without the verdict's word where the reason begins with it too: `holds: in both conditions`.
pub(crate) fn reason(claim: &ClaimFinding) -> &str {
    let rest = claim.reason.strip_prefix(claim.verdict.words()).map(str::trim_start);
    rest.filter(|rest| rest.starts_with("in ")).unwrap_or(&claim.reason)
}

fn paint(verdict: ClaimVerdict) -> Paint {
    match verdict {
        ClaimVerdict::Holds => Paint::Good,
        ClaimVerdict::Reversed => Paint::Bad,
        ClaimVerdict::NoDifference => Paint::Heading,
        ClaimVerdict::Undecided | ClaimVerdict::NotTestableHere => Paint::Unsure,
    }
}

/// `3 hold, 1 is reversed, …`, in the order of the verdicts.
pub(crate) fn counted<'a>(claims: impl Iterator<Item = &'a ClaimFinding> + Clone) -> String {
    const ALL: [(ClaimVerdict, &str, &str); 5] = [
        (ClaimVerdict::Holds, "holds", "hold"),
        (ClaimVerdict::Reversed, "reversed", "reversed"),
        (ClaimVerdict::NoDifference, "no difference", "no difference"),
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
