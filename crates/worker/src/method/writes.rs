//! `write(2)` and `pwrite(2)`: methods that only write. How is in `writing`, as for every method that writes.

use crate::{
    method::Method,
    session::Session,
    task::{Fault, Refusal, Task},
};

pub(super) struct Writes {
    pub(super) name: &'static str,
}

impl Method for Writes {
    fn name(&self) -> &'static str {
        self.name
    }

    fn support(&self, _: &Task) -> Result<(), String> {
        Ok(())
    }

    /// Only jobs that read come here; `schema::Arm::fits` keeps them away.
    fn session(&self, task: Task) -> Result<Box<dyn Session>, Refusal> {
        Err(Refusal::Failed(Fault::new(format!("method {} cannot do workload {}", self.name, task.job.workload))))
    }
}
