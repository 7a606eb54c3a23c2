//! The numbers as OpenMetrics text, which Prometheus and its kin read.

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::histogram::Distribution;
use super::metrics::{Figures, Metrics};
use super::table::{Described, ROWS, Type};

/// The media type of what [`expose`] gives.
pub(super) const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything that numbers come from.
#[derive(Debug)]
pub(super) struct Exposed {
    pub(super) metrics: Arc<Metrics>,
    pub(super) figures: Figures,
}

/// What a metric says at the moment.
#[derive(Debug)]
pub(super) enum Reading {
    Counts(Vec<Sample>),
    Seconds(f64),
    /// With the value of the one label, if there is one.
    Spreads(Vec<(Option<&'static str>, Distribution)>),
}

/// One number, with a value for each label.
#[derive(Debug)]
pub(super) struct Sample {
    labels: Vec<String>,
    value: u64,
}

/// All of it, at this moment.
pub(super) fn expose(metrics: &Arc<Metrics>, figures: Figures) -> Result<String, fmt::Error> {
    let mut registry = Registry::default();
    let metrics = Arc::clone(metrics);
    registry.register_collector(Box::new(Exposed { metrics, figures }));
    let mut written = String::with_capacity(16 * 1024);
    text::encode(&mut written, &registry)?;
    Ok(written)
}

pub(super) fn count(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

impl Reading {
    pub(super) fn one(value: u64) -> Self {
        Self::Counts(vec![Sample::new([], value)])
    }

    pub(super) fn of(samples: impl IntoIterator<Item = Sample>) -> Self {
        Self::Counts(samples.into_iter().collect())
    }

    pub(super) fn words(counts: Vec<(Vec<String>, u64)>) -> Self {
        Self::of(
            counts
                .into_iter()
                .map(|(labels, value)| Sample { labels, value }),
        )
    }
}

impl Sample {
    pub(super) fn new<const N: usize>(labels: [&str; N], value: u64) -> Self {
        Self {
            labels: labels.map(str::to_owned).into(),
            value,
        }
    }
}

impl Collector for Exposed {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        ROWS.iter()
            .try_for_each(|row| write(&mut encoder, &row.described, &(row.read)(self)))
    }
}

fn write(
    encoder: &mut DescriptorEncoder<'_>,
    described: &Described,
    reading: &Reading,
) -> fmt::Result {
    let is = match described.is {
        Type::Counter => MetricType::Counter,
        Type::Gauge => MetricType::Gauge,
        Type::Histogram => MetricType::Histogram,
    };
    let Described { name, help, .. } = *described;
    let mut encoder = encoder.encode_descriptor(name, help, None, is)?;
    let samples = match reading {
        Reading::Counts(samples) => samples,
        Reading::Seconds(value) => return encoder.encode_gauge(value),
        Reading::Spreads(all) => {
            let name = described.labels.first().copied();
            return all
                .iter()
                .try_for_each(|(value, spread)| match name.zip(*value) {
                    Some(label) => spread_of(&mut encoder.encode_family(&[label])?, spread),
                    None => spread_of(&mut encoder, spread),
                });
        }
    };
    for Sample { labels, value } in samples {
        if labels.is_empty() {
            // An empty set of labels would be written as `{}`.
            number(&mut encoder, described.is, *value)?;
            continue;
        }
        let names = described.labels.iter().copied();
        let labels: Vec<_> = names.zip(labels.iter().map(String::as_str)).collect();
        number(&mut encoder.encode_family(&labels)?, described.is, *value)?;
    }
    Ok(())
}

fn spread_of(encoder: &mut MetricEncoder<'_>, spread: &Distribution) -> fmt::Result {
    let Distribution {
        seconds,
        count,
        buckets,
    } = spread;
    encoder.encode_histogram::<NoLabelSet>(*seconds, *count, buckets, None)
}

fn number(encoder: &mut MetricEncoder<'_>, is: Type, value: u64) -> fmt::Result {
    match is {
        Type::Counter => encoder.encode_counter::<NoLabelSet, _, u64>(&value, None),
        Type::Gauge | Type::Histogram => encoder.encode_gauge(&value),
    }
}
