//! The messages of OTLP that are sent and read here, with the fields that we use. Their numbers and types are
//! those of the protocol's definitions, version 1.10. The crate `opentelemetry-proto` has them too, but
//! brings the SDK with it; tests read with it what is written here.

use prost::{Enumeration, Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportTraceRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) spans: Vec<Span>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Span {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) id: Vec<u8>,
    #[prost(bytes = "vec", tag = "4")]
    pub(super) parent_span_id: Vec<u8>,
    #[prost(fixed32, tag = "16")]
    pub(super) flags: u32,
    #[prost(string, tag = "5")]
    pub(super) name: String,
    #[prost(enumeration = "SpanKind", tag = "6")]
    pub(super) kind: i32,
    #[prost(fixed64, tag = "7")]
    pub(super) start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    pub(super) end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(message, repeated, tag = "13")]
    pub(super) links: Vec<Link>,
    #[prost(message, optional, tag = "15")]
    pub(super) status: Option<Status>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum SpanKind {
    Unspecified = 0,
    Server = 2,
    Client = 3,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Link {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub(super) span_id: Vec<u8>,
    #[prost(fixed32, tag = "6")]
    pub(super) flags: u32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Status {
    #[prost(string, tag = "2")]
    pub(super) message: String,
    #[prost(enumeration = "StatusCode", tag = "3")]
    pub(super) code: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum StatusCode {
    Unset = 0,
    Error = 2,
}

/// The answer to spans. That to logs has the same fields.
#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ExportLogsRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_logs: Vec<ResourceLogs>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ResourceLogs {
    #[prost(message, optional, tag = "1")]
    pub(super) resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    pub(super) scope_logs: Vec<ScopeLogs>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ScopeLogs {
    #[prost(message, optional, tag = "1")]
    pub(super) scope: Option<InstrumentationScope>,
    #[prost(message, repeated, tag = "2")]
    pub(super) log_records: Vec<LogRecord>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct LogRecord {
    #[prost(fixed64, tag = "1")]
    pub(super) time_unix_nano: u64,
    #[prost(fixed64, tag = "11")]
    pub(super) observed_time_unix_nano: u64,
    #[prost(enumeration = "SeverityNumber", tag = "2")]
    pub(super) severity_number: i32,
    #[prost(string, tag = "3")]
    pub(super) severity_text: String,
    #[prost(message, optional, tag = "5")]
    pub(super) body: Option<AnyValue>,
    #[prost(message, repeated, tag = "6")]
    pub(super) attributes: Vec<KeyValue>,
    #[prost(fixed32, tag = "8")]
    pub(super) flags: u32,
    #[prost(bytes = "vec", tag = "9")]
    pub(super) trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "10")]
    pub(super) span_id: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub(super) enum SeverityNumber {
    Unspecified = 0,
    Info = 9,
    Warn = 13,
    Error = 17,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Resource {
    #[prost(message, repeated, tag = "1")]
    pub(super) attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct InstrumentationScope {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "2")]
    pub(super) version: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct KeyValue {
    #[prost(string, tag = "1")]
    pub(super) key: String,
    #[prost(message, optional, tag = "2")]
    pub(super) value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct AnyValue {
    #[prost(oneof = "Value", tags = "1, 3, 5")]
    pub(super) value: Option<Value>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Value {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(int64, tag = "3")]
    Integer(i64),
    #[prost(message, tag = "5")]
    List(ArrayValue),
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ArrayValue {
    #[prost(message, repeated, tag = "1")]
    pub(super) values: Vec<AnyValue>,
}
