//! Starts real processes on the loopback address, and ends each by its own process id. Every wait for a process has a
//! time limit.

use crate::wait::until;
use std::{
    env, fs,
    fs::File,
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const COMMAND: &str = env!("CARGO_BIN_EXE_wgslice-scale");

/// Processes must start within this time.
const START_LIMIT: Duration = Duration::from_secs(60);

/// The processes of a cluster. They are killed when this value is dropped.
pub(crate) struct Cluster {
    pub(crate) url: String,
    scheduler: Child,
    executors: Vec<Option<Child>>,
    logs: PathBuf,
    /// A locked file, so that only one cluster runs at a time. With two clusters, heartbeats would be late.
    _lock: File,
}

impl Cluster {
    /// Starts a scheduler and three executors of one core each, for the test with this name. Executors get these
    /// additional arguments. All processes get the path of the folder of faults.
    pub(crate) fn start(test: &str, faults_folder: Option<&Path>, arguments: &[&str]) -> Self {
        Self::with_executors(test, 3, 5, faults_folder, arguments)
    }

    /// Starts a cluster with this many executors. An executor counts as lost after `timeout` seconds without a
    /// heartbeat.
    pub(crate) fn with_executors(
        test: &str,
        executor_count: usize,
        timeout: u64,
        faults_folder: Option<&Path>,
        arguments: &[&str],
    ) -> Self {
        let folder_text = faults_folder.map(|folder| folder.display().to_string());
        let variable = folder_text.map(|text| (wgslice_scale::job::faults::VARIABLE, text));
        let environment: Vec<_> = variable.into_iter().collect();
        Self::with_environment(test, executor_count, timeout, &environment, arguments)
    }

    /// Starts a cluster whose processes have these variables in their environment.
    pub(crate) fn with_environment(
        test: &str,
        executor_count: usize,
        timeout: u64,
        environment: &[(&str, String)],
        arguments: &[&str],
    ) -> Self {
        let lock_file = lock();
        let logs = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("cluster")
            .join(test);
        fs::create_dir_all(&logs).unwrap();
        let ports = free_ports(1 + 2 * executor_count);
        let address = format!("127.0.0.1:{}", ports[0]);
        let log = logs.join("scheduler.log");
        let scheduler = spawn(
            &[
                "scheduler",
                "-v",
                "--bind",
                &address,
                "--executor-timeout",
                &timeout.to_string(),
            ],
            &log,
            environment,
        );
        let mut cluster = Self {
            url: format!("df://{address}"),
            scheduler,
            executors: Vec::new(),
            logs: logs.clone(),
            _lock: lock_file,
        };
        until(START_LIMIT, "the scheduler listens", || {
            TcpStream::connect(&address).is_ok()
        });
        for number in 0..executor_count {
            let [port, command_port] =
                [ports[1 + 2 * number], ports[2 + 2 * number]].map(|port| port.to_string());
            let own_arguments = [
                "executor",
                "-v",
                "--scheduler",
                &address,
                "--cores",
                "1",
                "--heartbeat",
                "1",
                "--bind-port",
                &port,
                "--command-port",
                &command_port,
            ];
            let log = logs.join(format!("executor-{number}.log"));
            let executor = spawn(&[&own_arguments[..], arguments].concat(), &log, environment);
            cluster.executors.push(Some(executor));
        }
        until(START_LIMIT, "the executors are registered", || {
            let log = fs::read_to_string(&log).unwrap();
            log.matches("Received register executor request").count() >= executor_count
        });
        cluster
    }

    /// Returns the process ids of the executors that have not been killed.
    pub(crate) fn executor_ids(&self) -> Vec<u32> {
        self.executors.iter().flatten().map(Child::id).collect()
    }

    /// Ends an executor by SIGKILL.
    pub(crate) fn kill(&mut self, id: u32) {
        let executor = self
            .executors
            .iter_mut()
            .find(|executor| executor.as_ref().is_some_and(|e| e.id() == id));
        end(executor.unwrap().take().unwrap());
    }

    /// Returns the peak memory of each executor in bytes.
    pub(crate) fn peaks(&self) -> Vec<u64> {
        self.executor_ids().into_iter().map(peak).collect()
    }

    /// Returns the peak memory of the scheduler in bytes.
    pub(crate) fn scheduler_peak(&self) -> u64 {
        peak(self.scheduler.id())
    }

    /// Returns how many times a task failed at its last allowed attempt, according to the scheduler's log.
    pub(crate) fn exhausted_task_count(&self) -> usize {
        let log = fs::read_to_string(self.logs.join("scheduler.log")).unwrap();
        log.matches("times, fail the stage").count()
    }

    /// Asks all processes to end, and returns whether each has ended with success within 20 seconds.
    pub(crate) fn stop(mut self) -> bool {
        let mut children: Vec<_> = self
            .executors
            .iter_mut()
            .flatten()
            .chain([&mut self.scheduler])
            .collect();
        for child in &children {
            let signal_status = Command::new("kill")
                .arg("-TERM")
                .arg(child.id().to_string())
                .status();
            assert!(signal_status.unwrap().success());
        }
        let codes = children
            .iter_mut()
            .map(|child| wait(child, Duration::from_secs(20)));
        let codes: Vec<_> = codes.collect();
        codes.iter().all(|code| *code == Some(0))
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for executor in self.executors.iter_mut().filter_map(Option::take) {
            end(executor);
        }
        let _ = self.scheduler.kill();
        let _ = self.scheduler.wait();
    }
}

/// Returns the peak memory of a process in bytes.
fn peak(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM:"));
    let kibibytes: u64 = line
        .unwrap()
        .split_whitespace()
        .nth(1)
        .unwrap()
        .parse()
        .unwrap();
    kibibytes << 10
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

fn lock() -> File {
    let path = env::temp_dir().join("wgslice-scale-cluster.lock");
    let file = File::options()
        .create(true)
        .write(true)
        .truncate(false)
        .open(path)
        .unwrap();
    until(Duration::from_secs(1800), "no other cluster runs", || {
        file.try_lock().is_ok()
    });
    file
}

/// Returns ports on which no process listens. In rare cases, another process takes one of them before it is used.
fn free_ports(count: usize) -> Vec<u16> {
    let listeners: Vec<_> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0").unwrap())
        .collect();
    listeners
        .iter()
        .map(|listener| listener.local_addr().unwrap().port())
        .collect()
}

fn spawn(arguments: &[&str], log: &Path, environment: &[(&str, String)]) -> Child {
    let log = File::create(log).unwrap();
    Command::new(COMMAND)
        .args(arguments)
        .envs(environment.iter().cloned())
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap()
}

fn wait(child: &mut Child, limit: Duration) -> Option<i32> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code();
        }
        thread::sleep(Duration::from_millis(20));
    }
    None
}

/// A run of the command.
pub(crate) struct Run {
    child: Child,
    output: PathBuf,
    errors: PathBuf,
}

/// The exit code and the output of a run of the command.
#[derive(Debug)]
pub(crate) struct RunResult {
    pub(crate) code: i32,
    pub(crate) output: String,
    pub(crate) errors: String,
}

impl Run {
    /// Starts the command. Its output goes to files in `folder`.
    pub(crate) fn start(folder: &Path, arguments: &[&str]) -> Self {
        let (output, errors) = (folder.join("run.out"), folder.join("run.err"));
        let child = Command::new(COMMAND)
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::null())
            .stdout(File::create(&output).unwrap())
            .stderr(File::create(&errors).unwrap())
            .spawn()
            .unwrap();
        Self {
            child,
            output,
            errors,
        }
    }

    /// Waits until the run ends. The test fails if that takes longer than `limit`.
    pub(crate) fn end(mut self, limit: Duration) -> RunResult {
        let code = wait(&mut self.child, limit);
        let _ = self.child.kill();
        let _ = self.child.wait();
        let [output, errors] =
            [&self.output, &self.errors].map(|path| fs::read_to_string(path).unwrap());
        match code {
            Some(code) => RunResult {
                code,
                output,
                errors,
            },
            None => panic!("the command has not ended after {limit:?}: {output} {errors}"),
        }
    }
}

/// Runs the command to its end, which must be successful, and returns its output.
pub(crate) fn run(folder: &Path, arguments: &[&str]) -> String {
    let outcome = Run::start(folder, arguments).end(Duration::from_secs(120));
    assert_eq!(
        outcome.code, 0,
        "{arguments:?}: {}{}",
        outcome.output, outcome.errors
    );
    outcome.output
}
