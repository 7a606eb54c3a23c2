//! `mcp-protector test-policy` as scripts and people meet it.

#[cfg(test)]
mod bad_input;
#[cfg(test)]
mod program;
#[cfg(test)]
mod watching;
