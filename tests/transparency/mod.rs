//! Through a gate that permits everything, agent and server read the very bytes that they read
//! without one. (Real servers: `tests/real_servers`.)

mod corpus;
mod everything;
