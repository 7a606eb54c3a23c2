//! Who is known by what.
