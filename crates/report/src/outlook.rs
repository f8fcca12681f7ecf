//! Which claims of a study can be decided on this machine, and what the others need: `doctor --for`.

use schema::{Experiment, claims::ClaimOutlook};

use crate::{
    Style,
    contents::claim,
    layout::{page::Page, paint::Paint, words::plural},
    words::reasons,
};

/// One study after the other. `Err` of a study: why none of its claims can be decided.
pub fn outlook(studies: &[(&Experiment, Result<Vec<ClaimOutlook>, String>)], style: Style) -> String {
    let mut page = Page::new(style);
    for (at, (study, claims)) in studies.iter().enumerate() {
        if at > 0 {
            page.blank();
        }
        page.labelled(0, &study.name, Paint::Heading, &study.title);
        match claims {
            Ok(claims) => of_claims(&mut page, claims),
            Err(reason) => {
                page.run_in(2, "none of its claims can be decided:", Paint::Unsure, reason);
            }
        }
    }
    page.finish()
}

fn of_claims(page: &mut Page, claims: &[ClaimOutlook]) {
    let decidable = claims.iter().filter(|it| it.is_decidable()).count();
    let all = claims.len();
    let counted = match decidable {
        some if some == all => format!("All {all} claim{} can be decided here.", plural(all)),
        some => format!("{some} of {all} claim{} can be decided here.", plural(all)),
    };
    page.paragraph(2, Paint::Plain, &counted);
    let columns = claim::widest(claims.iter().map(|it| it.id.as_str()));
    for it in claims {
        page.item(2, columns, &it.id, Paint::Heading, &it.says);
        let (indent, needs) = (columns + 4, reasons(&it.needs).unwrap_or_default());
        match (it.lost, it.is_decidable()) {
            (0, _) => page.paragraph(indent, Paint::Good, "can be decided"),
            (lost, true) => page.run_in(
                indent,
                &format!("can be decided, without {lost} of {} conditions:", it.asked),
                Paint::Plain,
                &needs,
            ),
            (_, false) => page.run_in(indent, "needs:", Paint::Unsure, &needs),
        }
    }
}
