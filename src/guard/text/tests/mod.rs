mod corpus;
mod examples;
mod laws;
mod oracle;
mod prefilter;
mod seeds;

use super::super::text;
