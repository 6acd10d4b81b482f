//! Draws a scene with plotters, as SVG or as pixels.

use std::fmt::Write as _;

use plotters::coord::Shift;
use plotters::prelude::{
    BitMapBackend, Circle, DrawingArea, DrawingBackend, IntoDrawingArea, IntoFont, PathElement,
    Rectangle, SVGBackend, Text,
};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color, RGBColor, TextStyle};
use trueno_model::width::is_hidden;

use super::palette::{Ink, SERIES};
use super::scene::{Anchor, Item, Mark, SMALL, Scene};
use super::{font, png};

/// Pixels of a PNG per pixel of the scene, for dense screens and print.
const DENSITY: f64 = 2.0;

const HEAD: f64 = 26.0;

#[derive(Debug, thiserror::Error)]
#[error("the chart \"{title}\" cannot be drawn: {why}")]
pub struct DrawError {
    title: String,
    why: String,
}

impl Scene {
    /// SVG to embed in a page: no background, colours that the page's style can change, and an invisible
    /// rectangle with a tooltip over each mark.
    ///
    /// # Errors
    /// plotters could not draw it.
    pub fn svg_for_page(&self) -> Result<String, DrawError> {
        let drawn = self.svg(None)?;
        let title = escaped(&self.title);
        let head = format!("<svg class=\"chart\" role=\"img\" aria-label=\"{title}\" ");
        let drawn = drawn.replacen("<svg ", &head, 1).replacen(
            " xmlns=\"http://www.w3.org/2000/svg\"",
            "",
            1,
        );
        Ok(drawn
            .replace("\n</text>", "</text>")
            .replace(" opacity=\"1\"", ""))
    }

    /// A standalone SVG file, light or dark like the reader's system.
    ///
    /// # Errors
    /// As [`svg_for_page`](Self::svg_for_page).
    pub fn svg_file(&self) -> Result<String, DrawError> {
        let drawn = self.headed().svg(Some(Ink::Paper))?;
        let at = drawn.find('>').map_or(0, |at| at + 1);
        let title = escaped(&self.title);
        Ok(format!(
            "{}\n<title>{title}</title>\n{}{}",
            &drawn[..at],
            style(),
            &drawn[at..]
        ))
    }

    fn svg(&self, background: Option<Ink>) -> Result<String, DrawError> {
        let mut out = String::new();
        {
            let size = (self.width.ceil() as u32, self.height.ceil() as u32);
            let area = SVGBackend::with_string(&mut out, size).into_drawing_area();
            self.draw(&area, 1.0, background)?;
            area.present().map_err(|error| self.failed(error))?;
        }
        let end = out.rfind("</svg>").unwrap_or(out.len());
        out.truncate(end);
        if !self.marks.is_empty() {
            out.push_str("<g class=\"marks\" fill=\"#000\" fill-opacity=\"0\">\n");
            for mark in &self.marks {
                let [x, y, w, h] = mark.at.map(|value| (value * 10.0).round() / 10.0);
                let text = escaped(&mark.text);
                let _ = writeln!(
                    out,
                    "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"><title>{text}</title></rect>"
                );
            }
            out.push_str("</g>\n");
        }
        out.push_str("</svg>\n");
        Ok(out)
    }

    /// A PNG file.
    ///
    /// # Errors
    /// As [`svg_for_page`](Self::svg_for_page).
    pub fn png(&self) -> Result<Vec<u8>, DrawError> {
        self.headed().pixels(DENSITY)
    }

    /// As a PNG file of its own size, without its title above it.
    ///
    /// # Errors
    /// As [`svg_for_page`](Self::svg_for_page).
    pub fn bare_png(&self) -> Result<Vec<u8>, DrawError> {
        self.pixels(1.0)
    }

    fn pixels(&self, density: f64) -> Result<Vec<u8>, DrawError> {
        let (width, height) = (
            (self.width * density).ceil() as u32,
            (self.height * density).ceil() as u32,
        );
        let mut pixels = vec![255; width as usize * height as usize * 3];
        {
            let area = BitMapBackend::with_buffer(&mut pixels, (width, height)).into_drawing_area();
            self.draw(&area, density, Some(Ink::Paper))?;
            area.present().map_err(|error| self.failed(error))?;
        }
        Ok(png::encode(&pixels, width, height))
    }

    fn headed(&self) -> Scene {
        let mut headed = Scene::new(&self.title, self.width, self.height + HEAD);
        let title = font::fit(&self.title, SMALL, self.width - 16.0);
        headed.text((8.0, HEAD / 2.0 + 2.0), &title, Anchor::Start, Ink::Text);
        for item in &self.items {
            let mut item = item.clone();
            match &mut item {
                Item::Rect { at, .. } => at[1] += HEAD,
                Item::Line { points, .. } => points.iter_mut().for_each(|point| point.1 += HEAD),
                Item::Dot { at, .. } | Item::Text { at, .. } => at.1 += HEAD,
            }
            headed.items.push(item);
        }
        for mark in &self.marks {
            let [x, y, w, h] = mark.at;
            headed.marks.push(Mark {
                at: [x, y + HEAD, w, h],
                text: mark.text.clone(),
            });
        }
        headed
    }

    fn failed(&self, why: impl std::fmt::Display) -> DrawError {
        DrawError {
            title: self.title.clone(),
            why: why.to_string(),
        }
    }

    fn draw<B: DrawingBackend>(
        &self,
        area: &DrawingArea<B, Shift>,
        by: f64,
        background: Option<Ink>,
    ) -> Result<(), DrawError> {
        if !font::known() {
            return Err(self.failed("its font cannot be read"));
        }
        if let Some(ink) = background {
            area.fill(&colour(ink))
                .map_err(|error| self.failed(error))?;
        }
        let px = |value: f64| (value * by).round() as i32;
        for item in &self.items {
            match item {
                Item::Rect {
                    at: [x, y, w, h],
                    ink,
                } => {
                    // From edge to edge, so that neighbours neither overlap nor part.
                    let (x0, y0) = (px(*x), px(*y));
                    let corner = (px(x + w).max(x0 + 1), px(y + h).max(y0 + 1));
                    area.draw(&Rectangle::new([(x0, y0), corner], colour(*ink).filled()))
                }
                Item::Line { points, ink, width } => {
                    let points: Vec<(i32, i32)> =
                        points.iter().map(|(x, y)| (px(*x), px(*y))).collect();
                    let style = colour(*ink).stroke_width((f64::from(*width) * by).round() as u32);
                    area.draw(&PathElement::new(points, style))
                }
                Item::Dot { at, radius, ink } => area.draw(&Circle::new(
                    (px(at.0), px(at.1)),
                    px(*radius),
                    colour(*ink).filled(),
                )),
                Item::Text {
                    at,
                    text,
                    ink,
                    anchor,
                    size,
                } => {
                    let side = match anchor {
                        Anchor::Start => HPos::Left,
                        Anchor::Middle => HPos::Center,
                        Anchor::End => HPos::Right,
                    };
                    let font = (font::FAMILY, size * font::LINE * by).into_font();
                    let colour = colour(*ink);
                    let style = TextStyle::from(font)
                        .color(&colour)
                        .pos(Pos::new(side, VPos::Center));
                    area.draw(&Text::new(text.as_str(), (px(at.0), px(at.1)), style))
                }
            }
            .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }
}

fn colour(ink: Ink) -> RGBColor {
    let (red, green, blue) = ink.rgb();
    RGBColor(red, green, blue)
}

fn style() -> String {
    format!(
        "<style>@media (prefers-color-scheme: dark) {{\n{}}}</style>\n",
        dark_rules("")
    )
}

/// CSS rules that replace light colours by dark ones below the element `within`.
pub fn dark_rules(within: &str) -> String {
    let text = |ink: Ink, dark: &str| {
        let (red, green, blue) = ink.rgb();
        let light = format!("#{red:02X}{green:02X}{blue:02X}");
        format!(
            "{within} [fill=\"{light}\"]{{fill:{dark}}}{within} [stroke=\"{light}\"]{{stroke:{dark}}}\n"
        )
    };
    let lighter = [
        "#3D9BDC", "#F0B429", "#25BF94", "#E096C0", "#7CC7F2", "#F07A2B", "#A78BDA",
    ];
    debug_assert_eq!(lighter.len(), SERIES.len());
    let mut rules = text(Ink::Text, "#E6E8EB");
    rules.push_str(&text(Ink::Faint, "#A3A9B2"));
    rules.push_str(&text(Ink::Grid, "#343A42"));
    rules.push_str(&text(Ink::Paper, "#15191E"));
    rules.push_str(&text(Ink::Unaccounted, "#565D66"));
    rules.push_str(&text(Ink::Alarm, "#F07A2B"));
    for (n, dark) in lighter.iter().enumerate() {
        rules.push_str(&text(Ink::Series(n), dark));
    }
    rules
}

/// Escapes text for XML. Characters that XML cannot hold become `?`; line ends stay.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push('\n'),
            c if is_hidden(c) || ('\u{fffe}'..='\u{ffff}').contains(&c) => out.push('?'),
            c => out.push(c),
        }
    }
    out
}
