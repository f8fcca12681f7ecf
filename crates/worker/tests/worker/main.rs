//! The native worker as its controller sees it.

mod conversation;
mod writing;
