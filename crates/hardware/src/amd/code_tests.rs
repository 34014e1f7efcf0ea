//! Tests the counts of short listings of machine code. Each test covers one aspect.

use super::*;

fn parse_path(text: &str) -> CountedPath {
    CountedPath::from_text(text, LoadCounter::Loads).unwrap()
}

#[test]
fn every_kind_of_instruction_is_counted() {
    let path = parse_path(
        "
BB0:
	s_load_dwordx4 s[4:7], s[2:3], null      ; f4080101 fa000000
	s_mov_b32 s0, s3                         ; be800303
	s_waitcnt lgkmcnt(0)                     ; bf8cc07f
	v_lshl_add_u32 v0, s0, 8, v0             ; d7460000 04011000
	v_mul_hi_u32 v0, v0, v1
	v_mul_u32_u24_e32 v0, v0, v1
	ds_write_b32 v0, v1
	s_barrier
	buffer_load_ubyte_d16_hi v1, v0, s[4:7], 0 offen
	global_load_b64 v[2:3], v0, off
	buffer_atomic_add v1, v0, s[4:7], 0 offen
	s_cbranch_execz BB1
	buffer_store_short v1, v0, s[4:7], 0 offen
BB1:
	s_endpgm",
    );
    assert_eq!(
        path,
        CountedPath {
            vector_instructions: 3,
            multiplications: 1,
            scalar_instructions: 1,
            scalar_loads: 1,
            loads: vec![1, 8],
            stores: vec![2],
            atomics: 1,
            shared_accesses: 1,
            branches: 1,
            barriers: 1,
            bytes_in_flight: 9,
            has_loop: false,
        }
    );
}

#[test]
fn loads_are_in_flight_until_one_waits_for_them() {
    let load = "buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen\n";
    let one_wait = format!("{load}{load}s_waitcnt vmcnt(0)\n{load}s_endpgm");
    assert_eq!(parse_path(&one_wait).bytes_in_flight, 32);
    let combined_wait = format!("{load}s_waitcnt vmcnt(0) lgkmcnt(0)\n{load}s_endpgm");
    assert_eq!(parse_path(&combined_wait).bytes_in_flight, 16);
    // This wait lets one load stay in flight.
    let partial_wait = format!("{load}{load}s_waitcnt vmcnt(1)\n{load}{load}s_endpgm");
    assert_eq!(parse_path(&partial_wait).bytes_in_flight, 48);
    let other_waits =
        format!("{load}s_waitcnt lgkmcnt(0)\ns_waitcnt_vscnt null, 0x0\n{load}s_endpgm");
    assert_eq!(parse_path(&other_waits).bytes_in_flight, 32);
}

/// Before RDNA, stores also count as in flight. If a store follows a load, a wait until one access is in flight
/// therefore waits for the load.
#[test]
fn stores_count_as_in_flight_if_the_family_counts_them() {
    let load = "buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen\n";
    let store = "buffer_store_dword v4, v1, s[4:7], 0 offen\n";
    let text = format!("{load}{store}s_waitcnt vmcnt(1)\n{load}s_endpgm");
    let in_flight = |counter| {
        CountedPath::from_text(&text, counter)
            .unwrap()
            .bytes_in_flight
    };
    assert_eq!(in_flight(LoadCounter::LoadsAndStores), 16);
    assert_eq!(in_flight(LoadCounter::Loads), 32);
}

#[test]
fn code_without_loads_and_stores_is_jumped_over() {
    let path = parse_path(
        "
	v_mov_b32 v0, 0
	s_cbranch_execz BB2
	v_mov_b32 v0, 1
	v_mov_b32 v0, 2
	buffer_atomic_umin v1, v0, s[4:7], 0 offen
BB2:
	s_mov_b64 exec, s[0:1]
	buffer_store_dword v0, v1, s[4:7], 0 offen
	s_endpgm",
    );
    assert_eq!(
        (path.vector_instructions, path.atomics, &path.stores[..]),
        (1, 0, &[4][..])
    );
}

#[test]
fn an_if_around_a_store_is_taken() {
    let path = parse_path(
        "
	s_cbranch_execz BB2
	v_mov_b32 v0, 1
	buffer_store_dword v0, v1, s[4:7], 0 offen
BB2:
	s_endpgm",
    );
    assert_eq!((path.vector_instructions, path.stores.len()), (1, 1));
}

#[test]
fn an_if_around_a_load_is_taken() {
    let path = parse_path(
        "
	s_cbranch_execz BB2
	buffer_load_dword v0, v1, s[4:7], 0 offen
BB2:
	s_mov_b64 exec, s[0:1]
	buffer_store_dword v0, v1, s[4:7], 0 offen
	s_endpgm",
    );
    assert_eq!((path.loads.len(), path.stores.len()), (1, 1));
}

/// A store in a loop, for example of words that contain several rows, does not decide the path if other stores are
/// outside of loops.
#[test]
fn a_store_in_a_loop_is_an_exception_if_others_are_outside() {
    let code_text = |first: &str| {
        format!(
            "{first}
	s_cbranch_scc1 BB2
BB1:
	v_mov_b32 v0, 0
	buffer_store_byte v0, v1, s[4:7], 0 offen
	s_cbranch_scc1 BB1
BB2:
	s_endpgm"
        )
    };
    assert_eq!(parse_path(&code_text("")).stores, [1]);
    let path = parse_path(&code_text("buffer_store_dword v0, v1, s[4:7], 0 offen"));
    assert_eq!(
        (&path.stores[..], path.vector_instructions, path.has_loop),
        (&[4][..], 0, false)
    );
}

#[test]
fn of_two_ways_to_store_the_same_the_shorter_is_taken() {
    let path_text = |moves: usize| {
        format!(
            "{}buffer_store_dword v0, v1, s[4:7], 0 offen\n",
            "v_mov_b32 v0, 1\n".repeat(moves)
        )
    };
    for (first, second) in [(3, 5), (5, 3)] {
        let text = format!(
            "s_cbranch_scc1 BB2\n{}s_branch BB3\nBB2:\n{}BB3:\ns_endpgm",
            path_text(first),
            path_text(second)
        );
        assert_eq!(
            parse_path(&text).vector_instructions,
            3,
            "{first} and {second}"
        );
    }
}

/// RADV's code for a divergent `if (c) { store } else { store }`.
#[test]
fn a_lane_is_on_one_side_of_an_else_only() {
    let branch_text = |moves: usize| {
        format!(
            "{}buffer_store_dword v0, v1, s[4:7], 0 offen\n",
            "v_mov_b32 v0, 1\n".repeat(moves)
        )
    };
    for (first, second) in [(3, 5), (5, 3)] {
        for invert in [
            "s_andn2_b64 exec, s[0:1], exec",
            "s_and_not1_b32 exec_lo, s0, exec_lo",
            "s_xor_b64 exec, s[0:1], exec",
        ] {
            let path = parse_path(&format!(
                "s_and_saveexec_b64 s[0:1], vcc\ns_cbranch_execz BB2\n{}BB2:\n{invert}\n\
                 s_cbranch_execz BB4\n{}BB4:\ns_mov_b64 exec, s[0:1]\n\
                 v_mov_b32 v9, 0\nbuffer_store_dword v9, v1, s[4:7], 0 offen\ns_endpgm",
                branch_text(first),
                branch_text(second)
            ));
            assert_eq!((path.vector_instructions, path.stores.len()), (4, 2));
        }
    }
}

#[test]
fn without_stores_atomics_count() {
    let path = parse_path(
        "
	s_cbranch_execz BB2
	global_atomic_add v0, v1, off
BB2:
	s_endpgm",
    );
    assert_eq!(path.atomics, 1);
}

#[test]
fn the_body_of_a_loop_counts_once() {
    for end in ["s_branch BB1", "s_cbranch_scc1 BB1"] {
        let path = parse_path(&format!(
            "
	v_mov_b32 v0, 0
BB1:
	v_add_nc_u32 v0, v0, 1
	s_cbranch_vccnz BB2
	buffer_store_dword v0, v1, s[4:7], 0 offen
	{end}
BB2:
	v_mov_b32 v0, 0
	s_endpgm"
        ));
        assert_eq!(
            (path.vector_instructions, path.stores.len(), path.has_loop),
            (3, 1, true)
        );
    }
}

#[test]
fn an_unknown_instruction_is_an_error() {
    for line in [
        "image_load v0",
        "buffer_load_format_x v0",
        "s_branch BB7",
        "s_waitcnt vmcnt(x)",
    ] {
        let error = CountedPath::from_text(line, LoadCounter::Loads).unwrap_err();
        assert!(error.contains(line), "{error}");
    }
}
