use std::fs;
use std::path::Path;

use wgslice::DType;

use super::{assert_says, data_folder, read_at};
use crate::files::bytes::{Bytes, MIN_MAPPED_BYTES};
use crate::files::{Document, WriteOptions, Writer, write_array};

#[test]
fn a_failed_write_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    fs::write(&path, "before").unwrap();
    let mut writer =
        Writer::create(&path, WriteOptions::default(), DType::U8.into(), &[20]).unwrap();
    writer.write(b"half of it").unwrap();
    let error = writer.finish().unwrap_err().to_string();
    assert_says(&error, &["cannot write", "x.npy", "10 bytes are missing"]);
    assert_eq!(fs::read(&path).unwrap(), b"before");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_that_takes_no_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("none/x.npy");
    let error = write_array(&path, DType::U8, &[1], &[1])
        .unwrap_err()
        .to_string();
    assert_says(&error, &["cannot write", "none/x.npy", "choose a folder"]);
    let taken_path = folder.path().join("folder.npy");
    fs::create_dir(&taken_path).unwrap();
    let error = write_array(&taken_path, DType::U8, &[1], &[1])
        .unwrap_err()
        .to_string();
    assert_says(&error, &["cannot write", "folder.npy"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn the_target_of_a_link_is_replaced() {
    use std::os::unix::fs::symlink;
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("data")).unwrap();
    fs::write(at("data/old.npy"), "before").unwrap();
    symlink("data/old.npy", at("old.npy")).unwrap();
    symlink(at("old.npy"), at("twice.npy")).unwrap();
    // The target of this link does not exist yet.
    symlink("data/new.npy", at("new.npy")).unwrap();
    for (name, target) in [("old", "old"), ("twice", "old"), ("new", "new")] {
        let link = at(&format!("{name}.npy"));
        let value = name.as_bytes()[0];
        write_array(&link, DType::U8, &[1], &[value]).unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink(), "{name}");
        let target = at(&format!("data/{target}.npy"));
        assert!(fs::symlink_metadata(&target).unwrap().is_file(), "{name}");
        assert_eq!(read_at(&target).unwrap().bytes(), [value], "{name}");
    }
    assert_eq!(fs::read_dir(at("data")).unwrap().count(), 2);

    symlink("b.npy", at("a.npy")).unwrap();
    symlink("a.npy", at("b.npy")).unwrap();
    let error = write_array(&at("a.npy"), DType::U8, &[1], &[1]).unwrap_err();
    assert_says(&error.to_string(), &["cannot write", "a.npy", "circle"]);
    assert!(fs::symlink_metadata(at("a.npy")).unwrap().is_symlink());
}

#[cfg(unix)]
#[test]
fn paths_that_are_not_files_are_rejected_and_kept() {
    use std::os::unix::{fs::symlink, net::UnixListener};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let status = std::process::Command::new("mkfifo")
        .arg(at("pipe.npy"))
        .status();
    assert!(status.unwrap().success());
    let _listener = UnixListener::bind(at("socket.npy")).unwrap();
    fs::create_dir(at("folder.npy")).unwrap();
    symlink("/dev/null", at("device.npy")).unwrap();
    symlink("pipe.npy", at("link.npy")).unwrap();
    for name in ["pipe", "socket", "folder", "device", "link"] {
        let path = at(&format!("{name}.npy"));
        let file_types = || {
            (
                fs::symlink_metadata(&path).unwrap().file_type(),
                fs::metadata(&path).unwrap().file_type(),
            )
        };
        let before = file_types();
        let error = write_array(&path, DType::U8, &[1], &[1])
            .unwrap_err()
            .to_string();
        let reason = if name == "folder" {
            "it is a folder"
        } else {
            "device, a pipe or a socket"
        };
        assert_says(&error, &["cannot write", name, reason]);
        assert_eq!(file_types(), before, "{name}");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 5);
}

#[cfg(unix)]
#[test]
fn a_new_file_has_the_usual_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
    let (array_path, plain_path) = (folder.path().join("x.npy"), folder.path().join("plain"));
    write_array(&array_path, DType::U8, &[1], &[1]).unwrap();
    fs::write(&plain_path, "").unwrap();
    assert_eq!(mode(&array_path), mode(&plain_path));
}

/// Covers arrays in two formats, a text, and a write through a link.
#[cfg(unix)]
#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_owner() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let write_one_byte = |path: &Path| write_array(path, DType::U8, &[1, 1], &[1]).unwrap();
    let write_text = |path: &Path| Document::create(path).unwrap().finish("text").unwrap();
    symlink("target.npy", at("link.npy")).unwrap();
    for mode in [0o600, 0o640, 0o666, 0o700] {
        for (name, target, write) in [
            ("x.npy", "x.npy", &write_one_byte as &dyn Fn(&Path)),
            ("x.png", "x.png", &write_one_byte),
            ("link.npy", "target.npy", &write_one_byte),
            ("x.json", "x.json", &write_text),
        ] {
            let (path, target) = (at(name), at(target));
            fs::write(&target, "before").unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(mode)).unwrap();
            // Only a privileged user can change the owner.
            let has_owner = chown(&target, Some(1234), Some(4321)).is_ok();
            write(&path);
            let after = fs::metadata(&target).unwrap();
            assert_eq!(after.mode() & 0o7777, mode, "{name}");
            assert!(
                !has_owner || (after.uid(), after.gid()) == (1234, 4321),
                "{name}"
            );
            assert_ne!(fs::read(&target).unwrap(), b"before", "{name}");
        }
    }
}

/// On Unix, the mapping keeps the old file. Other systems might not permit replacing a mapped file.
#[cfg(unix)]
#[test]
fn a_mapped_file_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let old: Vec<u8> = (0..=250).cycle().take(MIN_MAPPED_BYTES).collect();
    write_array(&path, DType::U8, &[MIN_MAPPED_BYTES], &old).unwrap();
    let array = read_at(&path).unwrap();
    assert!(matches!(*array.bytes, Bytes::MappedBytes(_)));
    write_array(&path, DType::U8, &[2], &array.bytes()[5..7]).unwrap();
    assert_eq!(array.bytes(), old);
    assert_eq!(read_at(&path).unwrap().bytes(), [5, 6]);
}

#[test]
fn more_bytes_than_the_shape_needs_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["x.npy", "x.png"] {
        let path = folder.path().join(name);
        let mut writer =
            Writer::create(&path, WriteOptions::default(), DType::U8.into(), &[2, 3]).unwrap();
        writer.write(&[1; 4]).unwrap();
        let error = writer.write(&[1; 3]).unwrap_err().to_string();
        assert_says(&error, &["cannot write", name, "more bytes"]);
        drop(writer);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn a_path_without_a_folder_is_in_the_working_directory() {
    // The writer is dropped unfinished, so that the test leaves the working directory as it was.
    let writer = Writer::create(
        Path::new("never.npy"),
        WriteOptions::default(),
        DType::U8.into(),
        &[1],
    )
    .unwrap();
    drop(writer);
    assert!(data_folder().is_dir() && !Path::new("never.npy").exists());
}
