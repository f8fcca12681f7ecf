//! Which Python: the one that was named, else the first that fits of VIRTUAL_ENV, PATH and the usual folders.
//!
//! An interpreter is asked what it is, because its name does not say it: a version manager puts scripts on PATH that start one of
//! several, and take their time for it. So what it calls itself is started from then on.

use std::{
    collections::BTreeMap,
    env, fs, io,
    path::{Path, PathBuf},
    process::Output,
    sync::{Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use serde_json::Value;

use super::super::Choice;

pub(super) static CHOICE: Choice = Choice::new(
    "python",
    "FAULTLINE_PYTHON",
    "The Python for arms of runtime python: its program or the folder of an environment [default: the first suitable one]",
);
/// The oldest Python the worker is written for.
pub const FLOOR: u32 = 309;
/// What an answer may take, where it usually takes a twentieth of a second.
const LIMIT: Duration = Duration::from_secs(10);

/// Folders in which installations lie side by side, each with its own `bin`.
const USUAL: &[&str] = &["/opt", "/opt/python", "/usr/local"];
/// The same, below the user's home.
const USUAL_AT_HOME: &[&str] =
    &[".pyenv/versions", ".asdf/installs/python", ".local/share/uv/python", ".local/share/mise/installs/python"];
/// Folders of programs, whether they are on PATH or not.
const USUAL_PROGRAMS: &[&str] = &["/usr/local/bin", "/usr/bin"];

/// One line of JSON. `Py_GIL_DISABLED` is set for free-threaded builds; numpy is looked up and not loaded, which takes longer than
/// all the rest.
const QUESTION: &str = "\
import json, os, sys, sysconfig
from importlib.util import find_spec
numpy = None
if find_spec('numpy'):
    from importlib.metadata import PackageNotFoundError, version
    try:
        numpy = version('numpy')
    except PackageNotFoundError:
        numpy = 'of an unknown version'
print(json.dumps({
    'program': sys.executable,
    'kind': sys.implementation.name,
    'version': sys.version.split()[0],
    'number': sys.version_info[0] * 100 + sys.version_info[1],
    'libraries': os.path.dirname(os.__file__),
    'free_threaded': bool(sysconfig.get_config_var('Py_GIL_DISABLED')),
    'numpy': numpy,
}))
";

/// An installed Python, by what it said of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interpreter {
    pub program: PathBuf,
    /// `cpython`, `pypy`.
    pub kind: String,
    pub version: String,
    /// 313 for 3.13.
    pub number: u32,
    /// Where its own modules lie.
    pub libraries: PathBuf,
    pub is_free_threaded: bool,
    /// The version, where it has one.
    pub numpy: Option<String>,
}

impl Interpreter {
    /// # Errors
    /// Why not, and what to install.
    pub fn fits(&self) -> Result<(), String> {
        let version = &self.version;
        if self.kind != "cpython" {
            return Err(format!(
                "Python {version} is {}; install CPython of version {} or later",
                self.kind,
                shown(FLOOR)
            ));
        }
        if self.number < FLOOR {
            return Err(format!("Python {version} is too old; install Python {} or later", shown(FLOOR)));
        }
        Ok(())
    }
}

/// 3.13 for 313.
fn shown(number: u32) -> String {
    format!("{}.{}", number / 100, number % 100)
}

/// The Python for an arm: of the version it asks for; else the preferred one; else the first that fits.
///
/// # Errors
/// What is missing, and what to install.
pub fn find(version: Option<u32>) -> Result<Interpreter, String> {
    let preferred = preferred()?;
    match (version, preferred) {
        (None, Some(python)) => python.fits().map(|()| python),
        (None, None) => first(programs().iter().filter_map(|it| look(it))),
        (Some(version), preferred) => of_version(version, preferred.into_iter().chain(all()).collect()),
    }
}

/// The Python that is used, and what else could be asked for.
///
/// # Errors
/// As `find`.
pub(super) fn described() -> Result<String, String> {
    let used = find(None)?;
    let mut others: Vec<u32> =
        all().into_iter().filter(|it| it.fits().is_ok() && it.number != used.number).map(|it| it.number).collect();
    others.sort_unstable();
    others.dedup();
    let others: Vec<String> = others.into_iter().rev().map(|version| format!("+python={version}")).collect();
    let also = if others.is_empty() { String::new() } else { format!("; also {}", others.join(", ")) };
    let numpy = used.numpy.map_or_else(|| "without numpy".to_string(), |version| format!("with numpy {version}"));
    Ok(format!("Python {}, {}, {numpy}{also}", used.version, used.program.display()))
}

fn first(found: impl Iterator<Item = Interpreter>) -> Result<Interpreter, String> {
    let mut unfit = None;
    for python in found {
        match python.fits() {
            Ok(()) => return Ok(python),
            Err(reason) => unfit = unfit.or(Some(reason)),
        }
    }
    Err(unfit.unwrap_or_else(|| {
        format!(
            "no Python was found that is writable by root and this user only; install Python {} or later, or name one with \
             --python",
            shown(FLOOR)
        )
    }))
}

fn of_version(version: u32, found: Vec<Interpreter>) -> Result<Interpreter, String> {
    let (same, others): (Vec<Interpreter>, Vec<Interpreter>) = found.into_iter().partition(|it| it.number == version);
    if same.is_empty() {
        let mut here: Vec<String> = others.into_iter().map(|it| it.version).collect();
        here.sort();
        here.dedup();
        let wanted = shown(version);
        return Err(match here.as_slice() {
            [] => format!("no Python was found; install Python {wanted}, or name it with --python"),
            here => format!(
                "no Python {wanted} was found (there is {}); install it, or name it with --python",
                here.join(", ")
            ),
        });
    }
    first(same.into_iter())
}

/// What `--python` or the environment names. It is used whoever may change it.
fn preferred() -> Result<Option<Interpreter>, String> {
    let Some((named, by)) = CHOICE.named() else { return Ok(None) };
    let program = program_of(&named);
    ask(&program).map(Some).map_err(|why| {
        format!(
            "{} ({by}) is not a Python that can be used: {why}; name a Python of version {} or later, or the folder of an \
             environment",
            named.display(),
            shown(FLOOR)
        )
    })
}

/// An environment may be named by its folder.
fn program_of(named: &Path) -> PathBuf {
    if named.is_dir() { named.join("bin/python3") } else { named.to_path_buf() }
}

/// A Python that other users can change is not started just because it is there; it has to be named. Neither is one asked that
/// would be another one.
fn look(program: &Path) -> Option<Interpreter> {
    let is_trusted_before = executed(program).iter().all(|it| sys::folder::trusted(it).is_ok());
    is_trusted_before.then(|| ask(program).ok()).flatten().filter(is_trusted)
}

/// The program, and what it executes when it starts, also when it is asked (the module `site`): its own modules, and what was installed
/// beside them or into its environment.
fn executed(program: &Path) -> Vec<PathBuf> {
    let installed = |library: PathBuf| [library.join("site-packages"), library.join("dist-packages"), library];
    let mut all = vec![program.to_path_buf()];
    if let Some(environment) = environment_of(program) {
        all.push(environment.join(OF_ENVIRONMENTS));
        all.extend(LIBRARIES.iter().flat_map(|it| entries(&environment.join(it))).flat_map(installed));
    }
    let real = fs::canonicalize(program).unwrap_or_default();
    if let (Some(prefix), Some(version)) = (real.parent().and_then(Path::parent), real.file_name()) {
        all.extend(LIBRARIES.iter().flat_map(|it| installed(prefix.join(it).join(version))));
    }
    all.retain(|it| fs::symlink_metadata(it).is_ok());
    all
}

fn is_trusted(python: &Interpreter) -> bool {
    [&python.program, &python.libraries].iter().all(|it| sys::folder::trusted(it).is_ok())
}

/// Every Python on this machine that only root and this user can change, in the order in which one is chosen.
pub fn all() -> Vec<Interpreter> {
    let programs = programs();
    // Each takes its time, and they wait for nothing of each other's.
    let answers: Vec<Option<Interpreter>> = std::thread::scope(|scope| {
        let asked: Vec<_> = programs.iter().map(|it| scope.spawn(|| look(it))).collect();
        asked.into_iter().map(|it| it.join().ok().flatten()).collect()
    });
    let mut found: Vec<Interpreter> = Vec::new();
    for python in answers.into_iter().flatten() {
        if found.iter().all(|it| it.program != python.program) {
            found.push(python);
        }
    }
    found
}

/// Programs that may be a Python: each file once, by the first of its names.
fn programs() -> Vec<PathBuf> {
    let environment = env::var_os("VIRTUAL_ENV").map(|it| PathBuf::from(it).join("bin/python3"));
    let mut named: Vec<PathBuf> = environment.into_iter().collect();
    let path = env::var_os("PATH");
    let folders: Vec<PathBuf> = path.iter().flat_map(env::split_paths).filter(|it| it.is_absolute()).collect();
    named.extend(folders.iter().map(|it| it.join("python3")));
    for folder in folders.iter().cloned().chain(USUAL_PROGRAMS.iter().map(PathBuf::from)) {
        named.extend(versions_in(&folder));
    }
    let at_home = env::var_os("HOME").map(PathBuf::from);
    let at_home = at_home.iter().flat_map(|home| USUAL_AT_HOME.iter().map(|folder| home.join(folder)));
    for folder in USUAL.iter().map(PathBuf::from).chain(at_home) {
        let mut installed: Vec<PathBuf> = entries(&folder).into_iter().map(|it| it.join("bin/python3")).collect();
        installed.sort();
        named.extend(installed.into_iter().rev());
    }
    let mut files = Vec::new();
    named.retain(|it| match fs::canonicalize(it) {
        // What an environment has is a link to the program that it was made of, and is another Python all the same.
        Ok(file) => {
            let file = if environment_of(it).is_some() { it.clone() } else { file };
            let is_new = !files.contains(&file);
            files.push(file);
            is_new
        }
        Err(_) => false,
    });
    named
}

/// Folders of an installation or an environment.
const LIBRARIES: [&str; 2] = ["lib", "lib64"];
/// What the folder of an environment has.
const OF_ENVIRONMENTS: &str = "pyvenv.cfg";

fn environment_of(program: &Path) -> Option<&Path> {
    program.parent().and_then(Path::parent).filter(|it| it.join(OF_ENVIRONMENTS).is_file())
}

/// Programs of one version in a folder, the newest first: `python3.13`, and not `python3.13-config`. Scripts of that name are of
/// a version manager, whose Pythons lie in a usual folder; each takes it a fifth of a second to start.
fn versions_in(folder: &Path) -> Vec<PathBuf> {
    let minor =
        |it: &PathBuf| it.file_name()?.to_str()?.strip_prefix("python3.")?.trim_end_matches('t').parse::<u32>().ok();
    let of_version = |it: PathBuf| Some((minor(&it)?, it)).filter(|it| !is_script(&it.1));
    let mut found: Vec<(u32, PathBuf)> = entries(folder).into_iter().filter_map(of_version).collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|it| it.1).collect()
}

fn is_script(program: &Path) -> bool {
    let mut first = [0; 2];
    fs::File::open(program).and_then(|mut it| io::Read::read_exact(&mut it, &mut first)).is_ok() && first == *b"#!"
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path()).collect()
}

type Answer = Result<Interpreter, String>;

/// Asks an interpreter what it is, once as long as it is the same file: nearly every pass needs to know.
///
/// # Errors
/// What is wrong with its answer.
fn ask(program: &Path) -> Answer {
    static ASKED: Mutex<BTreeMap<(PathBuf, Option<SystemTime>), Answer>> = Mutex::new(BTreeMap::new());
    let changed = fs::metadata(program).and_then(|it| it.modified()).ok();
    let key = (program.to_path_buf(), changed);
    let known = || ASKED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(answer) = known().get(&key) {
        return answer.clone();
    }
    let answer = answer_of(program);
    known().insert(key, answer.clone());
    answer
}

fn answer_of(program: &Path) -> Answer {
    let mut command = super::plain(program);
    command.args(["-c", QUESTION]);
    let output = sys::process::output_within(command, LIMIT).map_err(|error| error.to_string())?;
    understood(&output)
}

fn understood(output: &Output) -> Answer {
    let last_words = || {
        let said = String::from_utf8_lossy(&output.stderr);
        said.trim().lines().last().map_or_else(String::new, |line| format!(" ({line})"))
    };
    if !output.status.success() {
        return Err(format!("it ended with {}{}", output.status, last_words()));
    }
    let said: Value =
        serde_json::from_slice(&output.stdout).map_err(|_| format!("it does not say what it is{}", last_words()))?;
    let text = |key: &str| said[key].as_str().filter(|it| !it.is_empty()).map(str::to_string);
    let whole = || {
        Some(Interpreter {
            program: text("program").map(PathBuf::from).filter(|it| it.is_absolute())?,
            kind: text("kind")?,
            version: text("version")?,
            number: said["number"].as_u64()?.try_into().ok()?,
            libraries: text("libraries")?.into(),
            is_free_threaded: said["free_threaded"].as_bool()?,
            numpy: text("numpy"),
        })
    };
    whole().ok_or_else(|| "it does not say what it is".to_string())
}

#[cfg(test)]
mod tests {
    use std::os::unix::{
        fs::{PermissionsExt, symlink},
        process::ExitStatusExt,
    };

    use super::*;

    fn python(number: u32, version: &str) -> Interpreter {
        Interpreter {
            program: format!("/usr/bin/python{}", shown(number)).into(),
            kind: "cpython".into(),
            version: version.into(),
            number,
            libraries: "/usr/lib/python3".into(),
            is_free_threaded: false,
            numpy: None,
        }
    }

    #[test]
    fn no_python_an_old_one_and_another_kind_each_say_what_to_install() {
        let (old, good) = (python(308, "3.8.18"), python(313, "3.13.0"));
        let other = Interpreter { kind: "pypy".into(), ..python(310, "3.10.13") };
        let nothing = first([].into_iter()).unwrap_err();
        assert!(nothing.contains("writable by root and this user only; install Python 3.9 or later"), "{nothing}");
        assert!(first([old.clone()].into_iter()).unwrap_err().contains("Python 3.8.18 is too old; install Python 3.9"));
        assert!(first([other.clone()].into_iter()).unwrap_err().contains("is pypy; install CPython"));
        assert_eq!(first([old, other, good.clone()].into_iter()), Ok(good));
    }

    #[test]
    fn a_version_is_found_among_others_and_missed_by_name() {
        let (newer, wanted) = (python(313, "3.13.0"), python(311, "3.11.7"));
        assert_eq!(of_version(311, vec![newer.clone(), wanted.clone()]), Ok(wanted));
        let missing = of_version(312, vec![newer]).unwrap_err();
        assert!(missing.contains("no Python 3.12 was found (there is 3.13.0)"), "{missing}");
        assert!(of_version(312, vec![]).unwrap_err().contains("install Python 3.12, or name it with --python"));
    }

    #[test]
    fn an_answer_is_taken_whole_or_its_end_is_told() {
        let answered = |stdout: &str, stderr: &str, status: i32| {
            let [stdout, stderr] = [stdout, stderr].map(|it| it.as_bytes().to_vec());
            understood(&Output { status: std::process::ExitStatus::from_raw(status), stdout, stderr })
        };
        let whole = r#"{"program":"/usr/bin/python3.13","kind":"cpython","version":"3.13.0","number":313,"libraries":"/usr/lib/python3","free_threaded":false,"numpy":null}"#;
        assert_eq!(answered(whole, "", 0), Ok(python(313, "3.13.0")));
        let halves = [
            "",
            "Python 2.7.18",
            "{}",
            &whole.replace("/usr/bin/", ""),
            &whole.replace("\"/usr/bin/python3.13\"", "null"),
            &whole.replace("313,", "-1,"),
        ];
        for half in halves {
            assert!(answered(half, "", 0).unwrap_err().contains("does not say what it is"), "{half}");
        }
        let ended = answered(whole, "Traceback\nImportError: No module named util\n", 256).unwrap_err();
        assert!(ended.contains("exit status: 1") && ended.contains("No module named util"), "{ended}");
    }

    #[test]
    fn a_python_that_others_may_exchange_is_not_asked() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("python3");
        let asked = folder.path().join("asked");
        fs::write(&program, format!("#!/bin/sh\necho > '{}'\n", asked.display())).unwrap();
        for mode in [0o777, 0o755] {
            fs::set_permissions(&program, fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(look(&program), None);
            assert_eq!(asked.exists(), mode == 0o755, "{mode:o}");
        }
        // Nor is one asked that executes what they may exchange when it starts.
        fs::remove_file(&asked).unwrap();
        let (bin, packages) = (folder.path().join("app/bin"), folder.path().join("app/lib/python3.13/site-packages"));
        [&bin, &packages].iter().for_each(|it| fs::create_dir_all(it).unwrap());
        fs::write(folder.path().join("app/pyvenv.cfg"), "").unwrap();
        symlink(&program, bin.join("python3")).unwrap();
        for part in [packages.clone(), folder.path().join("app/pyvenv.cfg"), bin.clone(), folder.path().join("app")] {
            let before = fs::metadata(&part).unwrap().permissions();
            fs::set_permissions(&part, fs::Permissions::from_mode(0o777)).unwrap();
            assert_eq!((look(&bin.join("python3")), asked.exists()), (None, false), "{}", part.display());
            fs::set_permissions(&part, before).unwrap();
        }
        assert_eq!((look(&bin.join("python3")), asked.exists()), (None, true));
        // Nor is one used whose modules they may exchange.
        let own = Interpreter { program, libraries: folder.path().into(), ..python(313, "3.13.0") };
        assert!(is_trusted(&own));
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!is_trusted(&own));
    }

    #[test]
    fn programs_of_a_version_are_found_by_their_names_with_the_newest_first_and_scripts_are_not() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["python3.9", "python3.13t", "python3.11", "python3.11-config", "python3", "python4"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        fs::write(folder.path().join("python3.12"), "#!/bin/sh\n").unwrap();
        let expected = ["python3.13t", "python3.11", "python3.9"].map(|it| folder.path().join(it));
        assert_eq!(versions_in(folder.path()), expected);
    }

    #[test]
    fn a_program_of_an_environment_is_told_from_the_one_that_it_is_a_link_to() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("bin")).unwrap();
        fs::write(at("python3.13"), "").unwrap();
        symlink(at("python3.13"), at("bin/python3")).unwrap();
        assert!(environment_of(&at("bin/python3")).is_none());
        fs::write(at("pyvenv.cfg"), "").unwrap();
        assert!(environment_of(&at("bin/python3")).is_some());
        assert_eq!(program_of(folder.path()), at("bin/python3"));
    }
}
