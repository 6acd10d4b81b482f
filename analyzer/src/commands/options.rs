//! Options of plugins, from a file and from the command line.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde_json::{Map, Value};
use trueno_host::plugin::{OptionSchema, Registry, known_options, refused_options};
use trueno_model::width::printable;

use crate::cli::Setting;

pub type Options = BTreeMap<String, Map<String, Value>>;

/// Options from the file and the command line. The command line wins, and the last of several values for one key.
pub fn gather(file: Option<&Path>, set: &[Setting]) -> anyhow::Result<Options> {
    let mut options = match file {
        Some(file) => read(file)?,
        None => Options::new(),
    };
    for Setting { plugin, key, value } in set {
        options
            .entry(plugin.clone())
            .or_default()
            .insert(key.clone(), value.clone());
    }
    Ok(options)
}

fn read(file: &Path) -> anyhow::Result<Options> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("--options {shown}"))?;
    let tables: toml::Table = toml::from_str(&text)
        .map_err(|error| anyhow::anyhow!("--options {shown}: {}", error.to_string().trim_end()))?;
    let mut options = Options::new();
    for (plugin, keys) in tables {
        let toml::Value::Table(keys) = keys else {
            anyhow::bail!(
                "--options {shown}: {plugin} is not a table (hint: write [{plugin}] on a line, and its options below)"
            );
        };
        let mut values = Map::new();
        for (key, value) in keys {
            let at = format!("{plugin}.{key}");
            let value =
                to_json(value).map_err(|why| anyhow::anyhow!("--options {shown}: {at} {why}"))?;
            values.insert(key, value);
        }
        options.insert(plugin, values);
    }
    Ok(options)
}

fn to_json(value: toml::Value) -> Result<Value, &'static str> {
    Ok(match value {
        toml::Value::String(text) => text.into(),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) if number.is_finite() => number.into(),
        toml::Value::Float(_) => return Err("is not a finite number"),
        toml::Value::Boolean(truth) => truth.into(),
        toml::Value::Datetime(time) => time.to_string().into(),
        toml::Value::Array(values) => values
            .into_iter()
            .map(to_json)
            .collect::<Result<Vec<_>, _>>()?
            .into(),
        toml::Value::Table(keys) => keys
            .into_iter()
            .map(|(key, value)| Ok((key, to_json(value)?)))
            .collect::<Result<Map<_, _>, &'static str>>()?
            .into(),
    })
}

/// Checks the options with the plugins, before the run is read.
///
/// # Errors
/// A plugin that tells its options has no such one, or refuses a value. A plugin that is not there is told of
/// later.
pub fn check(options: &Options, registry: &Registry) -> anyhow::Result<()> {
    for (id, keys) in options {
        let Some(plugin) = registry.get(id) else {
            continue;
        };
        if let OptionSchema::Keys(known) = known_options(plugin)
            && let Some(key) = keys.keys().find(|key| !known.contains(key))
        {
            let known = match known.as_slice() {
                [] => "it takes none".to_owned(),
                known => format!("it takes {}", known.join(", ")),
            };
            anyhow::bail!("{id}.{key}: the plugin {id} has no such option (hint: {known})");
        }
        let given = serde_json::to_string(keys).context("options of plugins")?;
        if let Some(why) = refused_options(plugin, &given) {
            // The plugin's words, on one line.
            anyhow::bail!("{id}: {}", printable(&why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(text: &str, set: &[Setting]) -> anyhow::Result<Options> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), text)?;
        gather(Some(file.path()), set)
    }

    #[test]
    fn the_command_line_goes_before_the_file() {
        let set = Setting {
            plugin: "a".into(),
            key: "top".into(),
            value: 3.into(),
        };
        let text = "[a]\ntop = 1\nnames = [\"x\", \"y\"]\n[b]\nshare = 0.5\n";
        let options = gathered(text, &[set]).unwrap();
        let json = serde_json::to_string(&options).unwrap();
        assert_eq!(
            json,
            r#"{"a":{"names":["x","y"],"top":3},"b":{"share":0.5}}"#
        );
    }

    #[test]
    fn what_is_wrong_with_a_file_is_told() {
        for (text, words) in [
            ("top = 1", "top is not a table"),
            ("[a]\ntop = nan", "a.top is not a finite number"),
            ("[a\n", "line 1"),
        ] {
            let error = gathered(text, &[]).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let error = gather(Some(Path::new("/no/such.toml")), &[]).unwrap_err();
        assert!(format!("{error:#}").contains("/no/such.toml: No such file"));
    }
}
