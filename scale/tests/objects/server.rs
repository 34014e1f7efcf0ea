//! A server on the loopback address that implements the part of S3 that an array in a bucket needs. The bucket is a
//! folder.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt::Write as _,
    fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// A fault in place of the server's usual answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    /// The answer has status 500, and the request is not carried out.
    Status500,
    /// The request is carried out, but the connection ends after half of the answer's body, or before the answer if it
    /// has no body.
    Cut,
}

/// The name of the only bucket.
pub(crate) const BUCKET: &str = "bucket";

/// The maximum number of keys in a page of a listing.
const PAGE_KEYS: usize = 5;

pub(crate) struct Server {
    pub(crate) port: u16,
    state: Arc<State>,
}

struct State {
    root: PathBuf,
    shared: Mutex<Shared>,
}

#[derive(Default)]
struct Shared {
    /// The mark of each marked object, by the object's key: the id of the object's job, from the header
    /// `x-amz-meta-wgslice`.
    marks: BTreeMap<String, String>,
    /// The faults of later requests, each with a text that the method and path of such a request contain.
    faults: VecDeque<(String, Fault)>,
    /// The method and the path of each request, and the number of bytes in the body of its answer, 0 after a fault or
    /// an error.
    log: Vec<(String, String, u64)>,
    /// The time for which each answer is held back.
    delay: Duration,
    /// The number of answers that are held back, and the maximum of this number.
    held_count: usize,
    max_held: usize,
}

impl Server {
    /// Serves a folder until the process ends.
    pub(crate) fn start(root: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(State {
            root: root.to_owned(),
            shared: Mutex::default(),
        });
        let server_state = state.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let connection_state = server_state.clone();
                // A client can end a connection at any time, so an error does not matter.
                thread::spawn(move || connection_state.serve(&stream).unwrap_or_default());
            }
        });
        Self { port, state }
    }

    /// Returns the environment variables with which a process finds the server.
    pub(crate) fn environment(&self) -> Vec<(&'static str, String)> {
        environment(self.port)
    }

    /// Causes these faults in the next requests whose method and path contain a text, as in `GET bucket/a`.
    pub(crate) fn fail(&self, text: &str, faults: &[Fault]) {
        let faults = faults.iter().map(|&fault| (text.to_owned(), fault));
        self.state.shared.lock().unwrap().faults.extend(faults);
    }

    /// Removes the faults that no request has had yet, and returns their number.
    pub(crate) fn forgive(&self) -> usize {
        std::mem::take(&mut self.state.shared.lock().unwrap().faults).len()
    }

    /// Returns the requests since the last call: the method, the path, and the number of bytes in the body of the
    /// answer.
    pub(crate) fn take_log(&self) -> Vec<(String, String, u64)> {
        std::mem::take(&mut self.state.shared.lock().unwrap().log)
    }

    /// Holds back each answer for a time, like a remote store.
    pub(crate) fn delay(&self, delay: Duration) {
        self.state.shared.lock().unwrap().delay = delay;
    }

    /// Returns the maximum number of answers that were held back at a time since the last call.
    pub(crate) fn take_max_held(&self) -> usize {
        std::mem::take(&mut self.state.shared.lock().unwrap().max_held)
    }

    /// Replaces the mark of all marked objects whose keys begin with `prefix`, so that they belong to another job.
    pub(crate) fn mark(&self, prefix: &str, mark: &str) {
        let mut shared = self.state.shared.lock().unwrap();
        let marks = shared.marks.iter_mut();
        let mut marked_count = 0;
        for (_, old_mark) in marks.filter(|(key, _)| key.starts_with(prefix)) {
            *old_mark = mark.to_owned();
            marked_count += 1;
        }
        assert!(marked_count > 0, "{prefix}");
    }
}

/// Returns the environment variables with which a process finds a server at this port.
pub(crate) fn environment(port: u16) -> Vec<(&'static str, String)> {
    [
        ("AWS_ENDPOINT", &*format!("http://127.0.0.1:{port}")),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "nowhere"),
        ("NO_PROXY", "127.0.0.1"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .to_vec()
}

struct Request {
    method: String,
    /// The path without its first slash: the bucket, a slash and the key.
    key: String,
    query: BTreeMap<String, String>,
    headers: BTreeMap<String, String>,
    body: Vec<u8>,
}

struct Answer {
    status: &'static str,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

impl Answer {
    fn new(status: &'static str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: body.into(),
        }
    }

    fn error(status: &'static str, code: &str) -> Self {
        Self::new(status, format!("<Error><Code>{code}</Code></Error>"))
    }
}

impl State {
    fn serve(&self, stream: &TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut writer = stream;
        while let Some(request) = read(&mut reader)? {
            let mut shared = self.shared.lock().unwrap();
            let delay = shared.delay;
            if !delay.is_zero() {
                shared.held_count += 1;
                shared.max_held = shared.max_held.max(shared.held_count);
                drop(shared);
                thread::sleep(delay);
                shared = self.shared.lock().unwrap();
                shared.held_count -= 1;
            }
            let line = format!("{} {}", request.method, request.key);
            let is_match = |(text, _): &(String, Fault)| line.contains(text.as_str());
            let fault = shared.faults.iter().position(is_match);
            let fault = fault.and_then(|at| shared.faults.remove(at)).map(|f| f.1);
            let answer = match fault {
                Some(Fault::Status500) => Answer::error("500 Internal Error", "InternalError"),
                _ => self.answer(&request, &mut shared),
            };
            let is_head = request.method == "HEAD";
            let mut text = format!(
                "HTTP/1.1 {}\r\nContent-Length: {}\r\nLast-Modified: Mon, 23 Nov 2026 00:00:00 GMT\r\n",
                answer.status,
                answer.body.len()
            );
            for (name, value) in &answer.headers {
                write!(text, "{name}: {value}\r\n").unwrap();
            }
            text += "\r\n";
            let mut bytes = text.into_bytes();
            let body = if is_head { &[][..] } else { &answer.body };
            bytes.extend(body);
            if fault == Some(Fault::Cut) {
                let sent_length = match body.len() {
                    0 => 0,
                    length => bytes.len() - length.div_ceil(2),
                };
                bytes.truncate(sent_length);
            }
            let is_value = fault.is_none() && answer.status.starts_with('2');
            let sent_bytes = if is_value { body.len() } else { 0 };
            shared
                .log
                .push((request.method, request.key, sent_bytes as u64));
            drop(shared);
            match fault {
                Some(Fault::Cut) => {
                    writer.write_all(&bytes)?;
                    return stream.shutdown(std::net::Shutdown::Both);
                }
                _ => writer.write_all(&bytes)?,
            }
        }
        Ok(())
    }

    fn answer(&self, request: &Request, shared: &mut Shared) -> Answer {
        let Some(key) = request.key.strip_prefix(BUCKET) else {
            return Answer::error("404 Not Found", "NoSuchBucket");
        };
        let key = key.trim_start_matches('/');
        let path = self.root.join(key);
        match &*request.method {
            "GET" if request.query.contains_key("list-type") => self.list(&request.query),
            "GET" | "HEAD" => match fs::read(&path) {
                Ok(value) => get(value, request.headers.get("range"), shared.marks.get(key)),
                Err(_) => Answer::error("404 Not Found", "NoSuchKey"),
            },
            "PUT" => {
                let old_tag = fs::read(&path).ok().map(|value| etag(&value));
                let is_new = request.headers.contains_key("if-none-match");
                let expected_tag = request.headers.get("if-match");
                // A put without a condition would let a late task replace a shard of another job.
                let is_allowed = is_new || expected_tag.is_some() || !key.contains("/c/");
                assert!(is_allowed, "{key} is put without a condition");
                let is_refused = match expected_tag {
                    Some(expected_tag) => old_tag.as_ref() != Some(expected_tag),
                    None => is_new && old_tag.is_some(),
                };
                if is_refused {
                    return Answer::error("412 Precondition Failed", "PreconditionFailed");
                }
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(&path, &request.body).unwrap();
                shared.marks.remove(key);
                if let Some(mark) = request.headers.get("x-amz-meta-wgslice") {
                    shared.marks.insert(key.to_owned(), mark.clone());
                }
                let mut answer = Answer::new("200 OK", "");
                answer.headers.push(("ETag", etag(&request.body)));
                answer
            }
            "POST" if request.query.contains_key("delete") => {
                let text = String::from_utf8(request.body.clone()).unwrap();
                let mut answer = String::from("<DeleteResult>");
                for part in text.split("<Key>").skip(1) {
                    let key = part.split("</Key>").next().unwrap();
                    let _ = fs::remove_file(self.root.join(key));
                    shared.marks.remove(key);
                    write!(answer, "<Deleted><Key>{key}</Key></Deleted>").unwrap();
                }
                Answer::new("200 OK", answer + "</DeleteResult>")
            }
            _ => Answer::error("405 Method Not Allowed", "MethodNotAllowed"),
        }
    }

    fn list(&self, query: &BTreeMap<String, String>) -> Answer {
        let prefix = query.get("prefix").map_or("", String::as_str);
        let last_key = query.get("continuation-token");
        let files = crate::zarr::files(&self.root);
        let keys = files
            .iter()
            .map(|(path, value)| (path.to_str().unwrap(), value.len()));
        let mut keys: Vec<_> = keys.filter(|(key, _)| key.starts_with(prefix)).collect();
        keys.sort_unstable();
        if let Some(last_key) = last_key {
            keys.retain(|&(key, _)| key > last_key.as_str());
        }
        let mut text = String::from("<ListBucketResult>");
        for (key, size) in keys.iter().take(PAGE_KEYS) {
            write!(
                text,
                "<Contents><Key>{key}</Key><LastModified>2026-11-23T00:00:00.000Z</LastModified>\
                 <ETag>\"x\"</ETag><Size>{size}</Size></Contents>"
            )
            .unwrap();
        }
        if keys.len() > PAGE_KEYS {
            let page_end = keys[PAGE_KEYS - 1].0;
            write!(
                text,
                "<NextContinuationToken>{page_end}</NextContinuationToken>"
            )
            .unwrap();
        }
        Answer::new("200 OK", text + "</ListBucketResult>")
    }
}

fn etag(value: &[u8]) -> String {
    format!("\"{:08x}-{}\"", crc32c::crc32c(value), value.len())
}

fn get(value: Vec<u8>, range: Option<&String>, mark: Option<&String>) -> Answer {
    let size = value.len();
    let mut answer = Answer::new("200 OK", "");
    answer.headers.push(("ETag", etag(&value)));
    if let Some(mark) = mark {
        answer.headers.push(("x-amz-meta-wgslice", mark.clone()));
    }
    let Some(range) = range else {
        answer.body = value;
        return answer;
    };
    let (first, last) = range
        .strip_prefix("bytes=")
        .unwrap()
        .split_once('-')
        .unwrap();
    let (start, end) = match (first.parse::<usize>(), last.parse::<usize>()) {
        (Ok(first), Ok(last)) => (first, (last + 1).min(size)),
        (Ok(first), Err(_)) => (first, size),
        (Err(_), last) => (size.saturating_sub(last.unwrap()), size),
    };
    if start >= end {
        return Answer::error("416 Range Not Satisfiable", "InvalidRange");
    }
    let content_range = format!("bytes {start}-{}/{size}", end - 1);
    answer.status = "206 Partial Content";
    answer.headers.push(("Content-Range", content_range));
    answer.body = value[start..end].to_vec();
    answer
}

fn read(reader: &mut impl BufRead) -> std::io::Result<Option<Request>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ');
    let method = words.next().unwrap().to_owned();
    let target = words.next().unwrap();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let query = query.split('&').map(|part| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name), decoded(value))
    });
    let mut request = Request {
        method,
        key: decoded(path.trim_start_matches('/')),
        query: query.collect(),
        headers: BTreeMap::new(),
        body: Vec::new(),
    };
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        let value = value.trim().to_owned();
        request.headers.insert(name.to_ascii_lowercase(), value);
    }
    let length = request.headers.get("content-length");
    let length = length.map_or(0, |length| length.parse().unwrap());
    request.body = vec![0; length];
    reader.read_exact(&mut request.body)?;
    Ok(Some(request))
}

/// Returns the text with its percent escapes decoded.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut escaped_bytes = text.bytes();
    while let Some(byte) = escaped_bytes.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [escaped_bytes.next().unwrap(), escaped_bytes.next().unwrap()];
        let digits = String::from_utf8(digits.to_vec()).unwrap();
        bytes.push(u8::from_str_radix(&digits, 16).unwrap());
    }
    String::from_utf8(bytes).unwrap()
}
