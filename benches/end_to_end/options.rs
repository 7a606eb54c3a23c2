//! The options of the command line.

use std::path::PathBuf;
use std::time::Duration;

use super::gates::Transport;
use super::measure::Failure;

/// What can be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    Calls,
    Memory,
    HeadOfLine,
    Strict,
    Agents,
    List,
    Scale,
    Servers,
    Soak,
}

/// By the names of their options.
const TOPICS: [(&str, Topic); 8] = [
    ("--calls", Topic::Calls),
    ("--memory", Topic::Memory),
    ("--head-of-line", Topic::HeadOfLine),
    ("--strict", Topic::Strict),
    ("--agents", Topic::Agents),
    ("--list", Topic::List),
    ("--scale", Topic::Scale),
    ("--servers", Topic::Servers),
];

/// How much is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Preset {
    /// Under a minute.
    Quick,
    /// The rows of the table of speed.
    Table,
    /// Everything but the soak.
    Full,
}

/// What processors do that have nothing to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Idling {
    /// What the machine lets them do.
    Halted,
    /// They run a loop that yields to everything else.
    Awake,
}

/// The transports of agent and server.
pub(crate) type Pairing = (Transport, Transport);

pub(crate) const PAIRINGS: [Pairing; 4] = [
    (Transport::Stdio, Transport::Stdio),
    (Transport::Http, Transport::Http),
    (Transport::Http, Transport::Stdio),
    (Transport::Stdio, Transport::Http),
];

#[derive(Debug)]
pub(crate) struct Options {
    pub(crate) preset: Preset,
    pub(crate) topics: Vec<Topic>,
    pub(crate) pairings: Vec<Pairing>,
    pub(crate) in_flight: Vec<usize>,
    pub(crate) payloads: Vec<usize>,
    /// Calls a second of the open loop, if there is one.
    pub(crate) rate: Option<f64>,
    /// For each path and load.
    pub(crate) time: Duration,
    pub(crate) soak: Duration,
    pub(crate) idling: Idling,
    pub(crate) json: Option<PathBuf>,
    pub(crate) svg: Option<PathBuf>,
}

impl Options {
    pub(crate) fn read(words: &[String]) -> Result<Self, Failure> {
        let has = |option: &str| words.iter().any(|word| word == option);
        let mut options = Self::of(match (has("--quick"), has("--full")) {
            (true, _) => Preset::Quick,
            (false, true) => Preset::Full,
            (false, false) => Preset::Table,
        });
        let (mut topics, mut pairings) = (Vec::new(), Vec::new());
        let mut words = words.iter().map(String::as_str);
        while let Some(option) = words.next() {
            if let Some((_, topic)) = TOPICS.iter().find(|(name, _)| *name == option) {
                topics.push(*topic);
                continue;
            }
            if option == "--awake" {
                options.idling = Idling::Awake;
                continue;
            }
            if ["--quick", "--full"].contains(&option) {
                continue;
            }
            let value = words.next().ok_or(format!("`{option}` needs a value"))?;
            match option {
                "--pairing" => pairings.push(pairing(value)?),
                "--in-flight" => options.in_flight = list(value)?,
                "--payload" => options.payloads = list(value)?,
                "--rate" => options.rate = Some(value.parse()?),
                "--seconds" => options.time = Duration::try_from_secs_f64(value.parse()?)?,
                "--soak" => {
                    options.soak = Duration::from_secs(value.parse()?);
                    topics.push(Topic::Soak);
                }
                "--json" => options.json = Some(value.into()),
                "--svg" => options.svg = Some(value.into()),
                _ => {
                    return Err(format!(
                        "`{option}` is no option: see the head of `benches/end_to_end/main.rs`"
                    )
                    .into());
                }
            }
        }
        if !topics.is_empty() {
            options.topics = topics;
        }
        if !pairings.is_empty() {
            options.pairings = pairings;
        }
        Ok(options)
    }

    fn of(preset: Preset) -> Self {
        let (topics, seconds) = match preset {
            Preset::Quick => (vec![Topic::Calls], 0.6),
            Preset::Table => {
                let all = TOPICS.iter().map(|(_, topic)| *topic);
                (all.filter(|topic| *topic != Topic::Scale).collect(), 3.0)
            }
            Preset::Full => (TOPICS.iter().map(|(_, topic)| *topic).collect(), 1.0),
        };
        let (in_flight, payloads, rate) = match preset {
            Preset::Quick | Preset::Table => (vec![1, 16], vec![64], None),
            Preset::Full => (
                vec![1, 16, 256],
                vec![64, 1024, 65_536, 1_048_576],
                Some(2000.0),
            ),
        };
        Self {
            preset,
            topics,
            pairings: PAIRINGS.to_vec(),
            in_flight,
            payloads,
            rate,
            time: Duration::from_secs_f64(seconds),
            soak: Duration::ZERO,
            idling: Idling::Halted,
            json: None,
            svg: None,
        }
    }
}

/// Such as `http-stdio`: the agent's transport and the server's.
fn pairing(word: &str) -> Result<Pairing, Failure> {
    let name = |(agent, server): Pairing| format!("{}-{}", agent.name(), server.name());
    let mut all = PAIRINGS.into_iter();
    all.find(|pairing| name(*pairing).eq_ignore_ascii_case(word))
        .ok_or_else(|| format!("`{word}` is no pairing").into())
}

/// Such as `1,16`.
fn list(words: &str) -> Result<Vec<usize>, Failure> {
    let numbers = words.split(',').map(str::parse);
    Ok(numbers.collect::<Result<_, _>>()?)
}
