//! What to know of a forecast.

use schema::{
    Bytes,
    unit_cost::{ForecastRemark, Lean, Waits},
};

use super::numbers::{percent, thousands};

pub fn forecast_remark(remark: &ForecastRemark) -> String {
    match remark {
        ForecastRemark::RandomMisses { memory_bytes, file_bytes, resident_share, arms } => format!(
            "{} of memory hold {} of a file of {}; {} of the random reads{} are expected to come from the device",
            Bytes(*memory_bytes),
            percent(*resident_share),
            Bytes(*file_bytes),
            percent(1.0 - resident_share),
            through_the_cache(arms)
        ),
        ForecastRemark::ScansEvict { memory_bytes, range_bytes, resident_share, arms } => format!(
            "{} of memory hold {} of the {} that a scan reads; in a repeated scan{} each page is evicted before it is \
             read again, so each pass is expected to read all of it from the device",
            Bytes(*memory_bytes),
            percent(*resident_share),
            Bytes(*range_bytes),
            through_the_cache(arms)
        ),
        ForecastRemark::BeyondCalibration { calibrated_bytes, file_bytes } => format!(
            "the calibration covered {}; a file of {} has more TLB and cache misses, so the interval is widened",
            Bytes(*calibrated_bytes),
            Bytes(*file_bytes)
        ),
        ForecastRemark::BeyondRequests { bytes, calibrated_bytes } => format!(
            "requests of {} were not calibrated, and of {} at most: what goes beyond is taken to come at the highest rate \
             that the run measured of the device; the interval is widened",
            Bytes(*bytes),
            Bytes(*calibrated_bytes)
        ),
        ForecastRemark::Threads { threads, cpus } => format!(
            "unit costs are of one thread: {} are assumed to share the work on {cpus} CPUs without contention, and their \
             waits for the device to overlap; the interval is widened",
            thousands((*threads).into())
        ),
        ForecastRemark::Device { name } => format!("the device is assumed to be the {name} of that run"),
        ForecastRemark::TooFewCells { waits, factor } => format!(
            "The run has too few cells {} to show the error of the unit costs, so the interval is a factor of {factor} \
             in each direction, before other causes widen it",
            that_wait(*waits)
        ),
        ForecastRemark::Interval { cells, waits, fill } => {
            let fill = fill.as_ref().map_or_else(String::new, |fill| format!(" after fill {fill}"));
            format!(
                "The interval contains the estimate and spans the middle 90 % of the prediction errors of the run's own \
                 {} cells {}{fill}; cells whose block size was calibrated are not among them",
                thousands(*cells as u64),
                that_wait(*waits)
            )
        }
        ForecastRemark::OneSided(lean) => {
            let (measured, end) = match lean {
                Lean::TooShort => ("longer", "lower"),
                Lean::TooLong => ("shorter", "upper"),
            };
            format!(
                "Nearly all of these cells took {measured} than predicted, so the estimate is the {end} end of the \
                 interval"
            )
        }
        ForecastRemark::OtherMachine { host } => format!("the unit costs are those of another machine, {host}"),
        ForecastRemark::OtherKernel { then, now } => format!(
            "the kernel was {then} then and is {now} now; `faultline run . -e calibrate` measures unit costs anew"
        ),
    }
}

/// ` through the page cache (pread, mmap)`, where others go past it.
fn through_the_cache(arms: &[String]) -> String {
    let names: Vec<&str> = arms.iter().map(|it| schema::arm::short(it)).collect();
    if names.is_empty() { String::new() } else { format!(" through the page cache ({})", names.join(", ")) }
}

fn that_wait(waits: Waits) -> &'static str {
    match waits {
        Waits::Memory => "that stay in memory",
        Waits::PageCache => "that wait for the device",
        Waits::Around => "that read around the page cache",
    }
}
