//! The sandbox of the server, with the places of the host's roots.

use crate::config::{ConfinedFiles, Confinement, SandboxedRoots};
use crate::policy::{Holder, Root, Roots};
use crate::upstream::sandbox::{Access, Place, Sandbox};

/// A root that is to be read only, inside of one that may be written: the kernel can only add rights
/// on the way down.
#[derive(Debug, thiserror::Error)]
#[error(
    "the root `{inner}` is not writable and lies in `{outer}`, which is; \
     no sandbox can keep a server from writing to it there"
)]
pub(in crate::cli) struct Nested {
    inner: String,
    outer: String,
}

/// What the server may reach, if that is limited. Roots that are no files are nothing to the kernel.
///
/// Those in force when the gate starts: a server that is started again later is confined by the same.
pub(in crate::cli) fn sandbox(
    confinement: Option<&Confinement>,
    roots: &Roots,
) -> Result<Option<Sandbox>, Nested> {
    let Some(Confinement {
        sandbox,
        files,
        roots: granted,
        egress: _,
    }) = confinement
    else {
        return Ok(None);
    };
    let mut sandbox = match files {
        ConfinedFiles::Named => sandbox.clone(),
        ConfinedFiles::All => sandbox.clone().with_all_files(),
    };
    if *granted == SandboxedRoots::Granted {
        if let Some(nested) = nested(roots) {
            return Err(nested);
        }
        // For any holder: its own roots lie in no other root.
        let of_some = roots.of_holder(&Holder::of("some", "some"));
        if let Some(nested) = of_some.ok().as_ref().and_then(nested) {
            return Err(nested);
        }
        sandbox.places.extend(roots.iter().filter_map(place));
    }
    Ok(Some(sandbox))
}

/// Whether the sandbox of a server takes roots.
pub(super) fn takes_roots(confinement: Option<&Confinement>) -> bool {
    confinement.is_some_and(|it| it.roots == SandboxedRoots::Granted)
}

/// The roots that are one holder's own, as places of its server's sandbox.
pub(super) fn own_places(roots: &Roots) -> impl Iterator<Item = Place> {
    roots.own().filter_map(|(root, _)| place(root))
}

fn place(root: &Root) -> Option<Place> {
    Some(Place {
        setting: format!("roots.{}", root.name),
        access: if root.writable {
            Access::Write
        } else {
            Access::Read
        },
        path: root.path()?.into(),
    })
}

fn nested(roots: &Roots) -> Option<Nested> {
    let writable = |root: &&Root| root.writable && root.path().is_some();
    let mut pairs = roots.iter().filter(writable).flat_map(|outer| {
        let inner = roots.iter().filter(|inner| !inner.writable);
        inner.map(move |inner| (inner, outer))
    });
    let (inner, outer) = pairs.find(|(inner, outer)| inner.lies_in(outer))?;
    Some(Nested {
        inner: inner.name.clone(),
        outer: outer.name.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::egress::Destinations;

    fn root(name: &str, place: &str, writable: bool) -> Root {
        let mut root = Root::at(name, place).unwrap();
        root.writable = writable;
        root
    }

    fn confinement(roots: SandboxedRoots) -> Confinement {
        Confinement {
            sandbox: Sandbox::default(),
            roots,
            egress: Destinations::default(),
            files: ConfinedFiles::Named,
        }
    }

    #[test]
    fn roots_of_files_are_places_of_the_sandbox_if_that_is_asked_for() {
        let roots = Roots::new(vec![
            root("docs", "/srv/work/../docs", false),
            root("work", "file:///srv/work", true),
            root("notes", "notes://team", true),
        ]);
        let granted = confinement(SandboxedRoots::Granted);
        let sandbox = sandbox(Some(&granted), &roots).unwrap().unwrap();
        let told = sandbox.places.iter().map(|place| {
            let path = place.path.display();
            format!("{} {:?} {path}", place.setting, place.access)
        });
        assert_eq!(
            told.collect::<Vec<_>>(),
            ["roots.docs Read /srv/docs", "roots.work Write /srv/work"]
        );
        let withheld = confinement(SandboxedRoots::Withheld);
        let sandbox = super::sandbox(Some(&withheld), &roots).unwrap().unwrap();
        assert_eq!(sandbox, Sandbox::default());
        assert_eq!(super::sandbox(None, &roots).unwrap(), None);
    }

    #[test]
    fn a_root_that_no_sandbox_could_protect_is_told() {
        let check = |inner: &str, outer: &str, expected: bool| {
            let roots = Roots::new(vec![
                root("inner", inner, false),
                root("outer", outer, true),
            ]);
            let granted = confinement(SandboxedRoots::Granted);
            let refused = sandbox(Some(&granted), &roots).is_err();
            assert_eq!(refused, expected, "{inner} {outer}");
        };
        check("/srv/work/secret", "/srv/work", true);
        check("/srv/workshop", "/srv/work", false);
        check("/srv", "/srv/work", false);
        check("notes://team/a", "notes://team", false);
    }
}
