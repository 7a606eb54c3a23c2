//! The frame of a request.

use crate::wire::Fragment;

/// Arguments stand in it as they were typed: what is wrong with them is the gate's to find.
pub(super) fn request(method: &str, key: &str, name: &str, arguments: Option<&str>) -> String {
    let [method, name] = [method, name].map(|text| Fragment::string(text).into_string());
    let arguments = arguments.map_or_else(String::new, |text| format!(r#","arguments":{text}"#));
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":{method},"params":{{"{key}":{name}{arguments}}}}}"#
    )
}
