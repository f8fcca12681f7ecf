//! Threads, their processes, and their tables of descriptors.

use std::{
    cell::{Ref, RefCell},
    collections::HashMap,
    rc::Rc,
};

use super::files::OpenId;

/// The open files of a process by their descriptors; `None` for what is no file.
pub(super) type Table = HashMap<i32, Option<OpenId>>;

struct TracedThread {
    process: i32,
    /// Threads share one.
    table: Rc<RefCell<Table>>,
}

#[derive(Default)]
pub(super) struct TracedThreads(HashMap<i32, TracedThread>);

impl TracedThreads {
    /// A thread begins, with its parent's table or a copy of it.
    pub(super) fn begin(&mut self, thread: i32, process: i32, parent: Option<i32>, shares_files: bool) {
        let table = match parent.and_then(|it| self.0.get(&it)) {
            Some(parent) if shares_files => Rc::clone(&parent.table),
            Some(parent) => copied(&parent.table),
            None => Rc::default(),
        };
        self.0.insert(thread, TracedThread { process, table });
    }

    /// A thread ends. The process that ends with it.
    pub(super) fn end(&mut self, thread: i32) -> Option<i32> {
        let process = self.0.remove(&thread)?.process;
        (!self.0.values().any(|it| it.process == process)).then_some(process)
    }

    pub(super) fn process(&self, thread: i32) -> Option<i32> {
        self.0.get(&thread).map(|it| it.process)
    }

    pub(super) fn table(&self, thread: i32) -> Option<Ref<'_, Table>> {
        self.0.get(&thread).map(|it| it.table.borrow())
    }

    /// A descriptor now is of this open file.
    pub(super) fn set(&mut self, thread: i32, descriptor: i32, open: Option<OpenId>) {
        self.change(thread, |table| {
            table.insert(descriptor, open);
        });
    }

    pub(super) fn change(&mut self, thread: i32, change: impl FnOnce(&mut Table)) {
        if let Some(task) = self.0.get(&thread) {
            change(&mut task.table.borrow_mut());
        }
    }

    /// The thread shares its descriptors with no other from now on.
    pub(super) fn unshare(&mut self, thread: i32) {
        if let Some(task) = self.0.get_mut(&thread) {
            task.table = copied(&task.table);
        }
    }

    /// After exec(2).
    pub(super) fn replace(&mut self, thread: i32, table: Table) {
        if let Some(task) = self.0.get_mut(&thread) {
            task.table = Rc::new(RefCell::new(table));
        }
    }
}

fn copied(table: &Rc<RefCell<Table>>) -> Rc<RefCell<Table>> {
    Rc::new(RefCell::new(table.borrow().clone()))
}
