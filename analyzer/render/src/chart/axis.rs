//! Axes: where a value lies, and which values are written beside them.

use trueno_model::units::Unit;
use trueno_plugin::Scale;

use super::data::show;
use super::palette::Ink;
use super::scene::{Anchor, Scene, overlap};

#[derive(Clone, Debug)]
pub struct Axis {
    scale: Scale,
    from: f64,
    to: f64,
    from_px: f64,
    to_px: f64,
    unit: Unit,
}

impl Axis {
    /// An axis over all `values` that it can show; `None` if there are none.
    pub fn over(
        values: impl IntoIterator<Item = f64>,
        scale: Scale,
        unit: Unit,
        [from_px, to_px]: [f64; 2],
    ) -> Option<Self> {
        let drawn = values
            .into_iter()
            .filter(|value| value.is_finite() && (scale == Scale::Linear || *value > 0.0));
        let (mut from, mut to) = drawn.fold((f64::MAX, f64::MIN), |(from, to), value| {
            (from.min(value), to.max(value))
        });
        if from > to {
            return None;
        }
        if from == to {
            (from, to) = match scale {
                Scale::Log => (from / 2.0, to * 2.0),
                Scale::Linear if from == 0.0 => (0.0, 1.0),
                Scale::Linear => (from - from.abs() * 0.1, to + to.abs() * 0.1),
            };
        }
        Some(Self {
            scale,
            from,
            to,
            from_px,
            to_px,
            unit,
        })
    }

    /// Extends the axis to leave room for marks at its ends.
    pub fn roomy(mut self) -> Self {
        match self.scale {
            Scale::Log => {
                let more = (self.to / self.from).powf(0.06).max(1.1);
                (self.from, self.to) = (self.from / more, self.to * more);
            }
            Scale::Linear => {
                let more = (self.to - self.from) * 0.04;
                // What is never negative does not get an axis that is.
                let least = if self.from >= 0.0 { 0.0 } else { f64::MIN };
                (self.from, self.to) = ((self.from - more).max(least), self.to + more);
            }
        }
        self
    }

    /// The pixel of a value; `None` if the axis cannot show it.
    pub fn px(&self, value: f64) -> Option<f64> {
        let share = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log if value > 0.0 => (value / self.from).ln() / (self.to / self.from).ln(),
            Scale::Log => return None,
        };
        let px = self.from_px + share * (self.to_px - self.from_px);
        px.is_finite().then_some(px)
    }

    pub fn px_within(&self, value: f64) -> Option<f64> {
        let (low, high) = (self.from_px.min(self.to_px), self.from_px.max(self.to_px));
        self.px(value).map(|px| px.clamp(low, high))
    }

    fn ticks(&self, count: f64) -> Vec<f64> {
        match self.scale {
            Scale::Linear => {
                let step = nice((self.to - self.from) / count);
                let first = (self.from / step).ceil() as i64;
                let last = (self.to / step).floor() as i64;
                (first..=last.min(first + 50))
                    .map(|n| n as f64 * step)
                    .collect()
            }
            Scale::Log => {
                let (low, high) = (self.from.log10(), self.to.log10());
                let step = ((high - low) / count).ceil().max(1.0) as i32;
                let first = low.ceil() as i32;
                let tens: Vec<f64> = (0..50)
                    .map(|n| first + n * step)
                    .take_while(|power| f64::from(*power) <= high)
                    .map(|power| 10_f64.powi(power))
                    .collect();
                if tens.len() > 1 {
                    return tens;
                }
                // Less than two powers of ten: also their halves and fifths.
                let power = low.floor() as i32;
                let fine = (0..3).flat_map(|n| [1.0, 2.0, 5.0].map(|m| m * 10_f64.powi(power + n)));
                fine.filter(|value| (self.from..=self.to).contains(value))
                    .collect()
            }
        }
    }

    /// Draws a horizontal axis: vertical grid lines, with values and title below.
    pub fn draw_below(&self, scene: &mut Scene, top: f64, bottom: f64, title: &str) {
        let mut written: Vec<[f64; 4]> = Vec::new();
        for value in self.ticks((self.to_px - self.from_px).abs() / 90.0) {
            let Some(x) = self.px(value) else { continue };
            scene.line(vec![(x, top), (x, bottom)], Ink::Grid, 1);
            let at = (x, bottom + 14.0);
            scene.text(at, &show(value, self.unit), Anchor::Middle, Ink::Faint);
            let bounds = scene.items.last().and_then(Scene::bounds);
            if let Some(bounds) = bounds {
                let outside = bounds[0] < 0.0 || bounds[0] + bounds[2] > scene.width;
                if outside || written.iter().any(|other| overlap(*other, bounds)) {
                    scene.items.pop();
                } else {
                    written.push(bounds);
                }
            }
        }
        let middle = (self.from_px + self.to_px) / 2.0;
        scene.text((middle, bottom + 31.0), title, Anchor::Middle, Ink::Faint);
        scene.line(
            vec![(self.from_px, bottom), (self.to_px, bottom)],
            Ink::Faint,
            1,
        );
    }

    /// Draws a vertical axis: horizontal grid lines, with values to the left and the title above.
    pub fn draw_beside(&self, scene: &mut Scene, left: f64, right: f64, title: &str) {
        for value in self.ticks((self.to_px - self.from_px).abs() / 45.0) {
            let Some(y) = self.px(value) else { continue };
            scene.line(vec![(left, y), (right, y)], Ink::Grid, 1);
            let at = (left - 6.0, y);
            scene.text(at, &show(value, self.unit), Anchor::End, Ink::Faint);
        }
        let above = self.from_px.min(self.to_px) - 12.0;
        scene.text((6.0, above), title, Anchor::Start, Ink::Faint);
    }
}

/// Rounds `step` up to 1, 2 or 5 times a power of ten.
fn nice(step: f64) -> f64 {
    if !(step.is_finite() && step > 0.0) {
        return 1.0;
    }
    let power = 10_f64.powf(step.log10().floor());
    let found = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|m| m * power >= step * 0.999);
    found.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_inside() {
        let axis =
            |from, to, scale| Axis::over([from, to], scale, Unit::None, [0.0, 100.0]).unwrap();
        assert_eq!(
            axis(0.0, 10.0, Scale::Linear).ticks(5.0),
            [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        );
        assert_eq!(
            axis(0.5, 2000.0, Scale::Log).ticks(5.0),
            [1.0, 10.0, 100.0, 1000.0]
        );
        assert_eq!(axis(1.5, 6.0, Scale::Log).ticks(5.0), [2.0, 5.0]);
        assert_eq!(axis(7.0, 7.0, Scale::Linear).px(7.0), Some(50.0));
        assert!(Axis::over([-1.0, 0.0], Scale::Log, Unit::None, [0.0, 1.0]).is_none());
        assert!(Axis::over([f64::NAN], Scale::Linear, Unit::None, [0.0, 1.0]).is_none());
    }
}
