//! The shipped WGSL, parsed, against the Rust records and constants that feed it.

use super::super::skin::{Batch, CHUNK, DELTA_ROWS, FRESH, GROUP_SIZE, Job, REST_ROWS, SETTLE, SOURCE};

#[test]
fn records_have_the_shader_s_layout() {
    let module = naga::front::wgsl::parse_str(SOURCE).unwrap();
    let mut validator =
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty());
    validator.validate(&module).unwrap();

    let layout = |name: &str| {
        let (_, ty) = module.types.iter().find(|(_, t)| t.name.as_deref() == Some(name)).unwrap();
        let naga::TypeInner::Struct { members, span } = &ty.inner else { panic!("{name} is no struct") };
        let members: Vec<_> = members.iter().map(|m| (m.name.clone().unwrap(), m.offset as usize)).collect();
        (members, *span as usize)
    };
    macro_rules! same_layout {
        ($ty:ident { $($field:ident),* }) => {
            let expected: Vec<(String, usize)> =
                vec![$((stringify!($field).to_owned(), std::mem::offset_of!($ty, $field))),*];
            assert_eq!(layout(stringify!($ty)), (expected, size_of::<$ty>()));
        };
    }
    same_layout!(Batch { jobs, job_count, group_count, grid_width });
    same_layout!(Job { first_group, block_count, quad_count, quads, stride, instances, instance_count, unused });

    let skin = &module.entry_points[0];
    assert_eq!((skin.name.as_str(), skin.workgroup_size), ("skin", [GROUP_SIZE, 1, 1]));
    let constant = |name: &str| {
        let found = module.constants.iter().find(|(_, c)| c.name.as_deref() == Some(name)).map(|(_, c)| c.init);
        match module.global_expressions[found.unwrap()] {
            naga::Expression::Literal(naga::Literal::U32(value)) => value,
            ref other => panic!("{name} is {other:?}"),
        }
    };
    assert_eq!(constant("GROUP_SIZE"), GROUP_SIZE);
    assert_eq!(constant("REST_ROWS"), REST_ROWS);
    assert_eq!(constant("DELTA_ROWS"), DELTA_ROWS);
    assert_eq!((constant("SETTLE"), constant("FRESH")), (SETTLE, FRESH));
    assert!(SOURCE.contains(&format!("keys: array<u32, {}>", 6 * CHUNK * constant("KEY_STRIDE"))));
    const { assert!(6 * CHUNK <= GROUP_SIZE, "a lane for an instance, axis and side") };
    let storage = module.global_variables.iter().filter(|(_, v)| matches!(v.space, naga::AddressSpace::Storage { .. }));
    assert!(storage.count() <= 8, "WebGPU guarantees 8 storage buffers per stage");
}
