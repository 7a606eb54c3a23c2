//! What users and their programs rely on, compared with what was published last (`docs/stability.md`).

#[cfg(test)]
mod admin_api;
#[cfg(test)]
mod cases;
#[cfg(test)]
mod compare;
#[cfg(test)]
mod names;
#[cfg(test)]
mod published;
#[cfg(test)]
mod releases;
#[cfg(test)]
mod schema;
