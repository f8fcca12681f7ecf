//! Whether a pass around the page cache says anything of the device.

use std::fmt;

use schema::Bytes;

/// Of what was read, at least.
const SHARE_OF_DEVICE: f64 = 0.9;

/// Much of what was read around the page cache did not come from the device: its time says nothing of it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct NotOfDevice {
    bytes: u64,
    device_bytes: f64,
}

/// `device_bytes` are absent where the kernel does not count them.
///
/// # Errors
/// A hole, or what is compressed there, takes the device no time.
pub(super) fn of_device(bytes: u64, device_bytes: Option<f64>) -> Result<(), NotOfDevice> {
    match device_bytes.filter(|&it| it < SHARE_OF_DEVICE * bytes as f64) {
        Some(device_bytes) => Err(NotOfDevice { bytes, device_bytes }),
        None => Ok(()),
    }
}

impl fmt::Display for NotOfDevice {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let [device, all] = [self.device_bytes as u64, self.bytes].map(Bytes);
        write!(f, "{device} of the {all} read came from the device: the file has holes, or is compressed")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_device_delivered_measures_none() {
        assert_eq!(of_device(1000, Some(1000.0)), Ok(()));
        assert_eq!(of_device(1000, Some(4096.0)), Ok(()), "sectors are whole");
        assert_eq!(of_device(1000, None), Ok(()), "the kernel does not count it");
        assert!(of_device(1000, Some(0.0)).is_err() && of_device(1000, Some(500.0)).is_err());
    }
}
