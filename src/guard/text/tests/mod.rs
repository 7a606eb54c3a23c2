mod corpus;
mod examples;
mod laws;
mod oracle;
mod seeds;

use super::super::text;
