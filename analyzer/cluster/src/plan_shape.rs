//! Shapes of plans that are submitted: those that this version of Ballista gets right.
//!
//! Rows were lost or doubled, or a query hung, with leaf nodes of our own (each rank counted by each task), patterns in the
//! paths of tables (rows of one table appeared in another), UNION of many branches, adaptive planning of UNION ALL with
//! ORDER BY, and GROUP BY on dictionaries across a shuffle. So a plan is a scan of the files of one folder with a
//! condition, columns and groups of plain types, and nothing else; it is looked at before it is sent.

use anyhow::{bail, ensure};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::ListingTable;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};

/// Rejects plans of other shapes.
///
/// # Errors
/// It has a node, or a column of a type, that is not known to be safe; it reads not exactly one folder.
pub fn check(plan: &LogicalPlan) -> anyhow::Result<()> {
    let (mut scans, mut wrong) = (0, None);
    plan.apply(|node| {
        match node {
            LogicalPlan::TableScan(scan) => {
                scans += 1;
                if !reads_one_folder(scan) {
                    wrong = Some(node.display().to_string());
                }
            }
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::SubqueryAlias(_) => {}
            other => wrong = Some(other.display().to_string()),
        }
        for field in node.schema().fields() {
            if !is_plain(field.data_type()) {
                wrong = Some(format!("{}: {}", field.name(), field.data_type()));
            }
        }
        // Subqueries lie in expressions.
        let is_subquery = |expr: &Expr| {
            Ok(matches!(
                expr,
                Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_)
            ))
        };
        let mut with_subqueries = false;
        for expr in node.expressions() {
            with_subqueries |= expr.exists(is_subquery)?;
        }
        if with_subqueries {
            wrong = Some("a subquery".to_owned());
        }
        Ok(match wrong {
            Some(_) => TreeNodeRecursion::Stop,
            None => TreeNodeRecursion::Continue,
        })
    })?;
    if let Some(wrong) = wrong {
        bail!("this part of the plan may not be safe in Ballista 55: {wrong}");
    }
    ensure!(scans == 1, "a plan reads one table, and this one {scans}");
    Ok(())
}

/// Whether all machines list the same files: no custom node, no glob.
fn reads_one_folder(scan: &TableScan) -> bool {
    let Ok(provider) = source_as_provider(&scan.source) else {
        return false;
    };
    let Some(table) = provider.downcast_ref::<ListingTable>() else {
        return false;
    };
    let [path] = table.table_paths().as_slice() else {
        return false;
    };
    path.get_glob().is_none() && path.is_collection()
}

/// Types that stay the same across a shuffle.
fn is_plain(ty: &DataType) -> bool {
    matches!(
        ty,
        DataType::Boolean
            | DataType::UInt32
            | DataType::UInt64
            | DataType::Int64
            | DataType::Float64
            | DataType::Utf8
    )
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::datatypes::{Field, Schema};
    use datafusion::datasource::empty::EmptyTable;
    use datafusion::datasource::file_format::parquet::ParquetFormat;
    use datafusion::datasource::listing::{ListingOptions, ListingTableConfig, ListingTableUrl};
    use datafusion::prelude::SessionContext;

    use super::*;

    fn schema(text: DataType) -> Arc<Schema> {
        let name = Field::new("name", text, true);
        Arc::new(Schema::new(vec![
            name,
            Field::new("dur_ns", DataType::Int64, true),
        ]))
    }

    /// Checks a plan over tables of a folder and over tables that are not safe.
    async fn checked(sql: &str) -> anyhow::Result<()> {
        let context = SessionContext::new();
        let folder = tempfile::tempdir()?;
        let path = folder.path().display().to_string();
        let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
        for (table, path, text) in [
            ("kernels", format!("{path}/"), DataType::Utf8),
            ("coded", format!("{path}/"), dictionary),
            ("pattern", format!("{path}/*.parquet"), DataType::Utf8),
        ] {
            let config = ListingTableConfig::new(ListingTableUrl::parse(path)?)
                .with_listing_options(ListingOptions::new(Arc::new(ParquetFormat::default())))
                .with_schema(schema(text));
            context.register_table(table, Arc::new(ListingTable::try_new(config)?))?;
        }
        let own = EmptyTable::new(schema(DataType::Utf8));
        context.register_table("own", Arc::new(own))?;
        check(context.sql(sql).await?.logical_plan())
    }

    #[tokio::test]
    async fn scans_with_conditions_and_groups_are_safe() {
        for sql in [
            r#"SELECT "name", "dur_ns" FROM "kernels""#,
            r#"SELECT "name" FROM "kernels" WHERE ("dur_ns" > 5)"#,
            r#"SELECT "name", SUM("dur_ns") AS "a", COUNT(*) AS "n" FROM "kernels" GROUP BY "name""#,
            r#"SELECT COUNT(*) AS "n" FROM "kernels""#,
        ] {
            let checked = checked(sql).await;
            checked.unwrap_or_else(|why| panic!("{sql}: {why}"));
        }
    }

    #[tokio::test]
    async fn shapes_that_went_wrong_are_refused() {
        let many = vec!["SELECT dur_ns FROM kernels"; 1_000].join(" UNION ALL ");
        for (sql, why) in [
            ("SELECT dur_ns FROM own", "TableScan: own"),
            ("SELECT dur_ns FROM pattern", "TableScan: pattern"),
            (
                "SELECT dur_ns FROM kernels UNION ALL SELECT dur_ns FROM kernels ORDER BY dur_ns",
                "Sort",
            ),
            (many.as_str(), "Union"),
            (
                "SELECT name, COUNT(*) FROM coded GROUP BY name",
                "Dictionary",
            ),
            (
                "SELECT a.dur_ns FROM kernels a JOIN kernels b ON a.name = b.name",
                "Join",
            ),
            ("SELECT dur_ns FROM kernels ORDER BY dur_ns", "Sort"),
            ("SELECT dur_ns FROM kernels LIMIT 3", "Limit"),
            (
                "SELECT SUM(dur_ns) OVER (ORDER BY name) AS s FROM kernels",
                "Window",
            ),
            ("SELECT 1 AS one", "EmptyRelation"),
            (
                "SELECT COUNT(*) AS n FROM kernels WHERE dur_ns IN (SELECT dur_ns FROM kernels)",
                "subquery",
            ),
        ] {
            let told = checked(sql).await.expect_err(sql).to_string();
            assert!(told.contains(why), "{sql}: {told}");
        }
    }
}
