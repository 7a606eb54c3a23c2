use super::*;

#[test]
fn the_builtin_packs_load_without_a_notice() {
    let settings = Settings {
        allow: Some(vec!["echo".to_owned()]),
        ..Settings::default()
    };
    let loaded = load(&settings).unwrap();
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
    assert_eq!(
        loaded.surfaces.to_string(),
        "tools: echo; open: resources, prompts, completion, logging, subscriptions; \
         closed: sampling, elicitation, roots"
    );
}
