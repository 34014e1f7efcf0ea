//! Queries on tables in a bucket.

use super::{Fixture, url};
use crate::tables::{batch, tensors, write};
use datafusion::arrow::array::{ArrayRef, Float32Array, Int64Array};
use std::sync::Arc;

#[test]
fn queries_find_tables_in_a_bucket() {
    let fixture = Fixture::new();
    let table = fixture.key_path("t.parquet").display().to_string();
    let query = "SELECT column1 AS n FROM (VALUES (1), (20), (300))";
    let outcome = fixture.run(&["sql", query, "-o", &table]);
    assert_eq!(outcome.code, 0, "{outcome:?}");
    let query = format!("SELECT sum(n) AS total FROM '{}'", url("t.parquet"));
    let outcome = fixture.run(&["sql", &query, "--json"]);
    assert!(
        outcome.code == 0 && outcome.output.contains("321"),
        "{outcome:?}"
    );
    let query = "SELECT n FROM 's3://other/t.parquet'";
    let outcome = fixture.run(&["sql", query]);
    let is_named = outcome.errors.contains("/other?") && outcome.errors.contains("NoSuchBucket");
    assert!(outcome.code == 2 && is_named, "{outcome:?}");

    let indices = (0..10).map(|row| if row == 7 { 9 } else { 1 });
    let columns: [(&str, ArrayRef); 2] = [
        (
            "v",
            tensors(Arc::new(Float32Array::from(vec![0.5; 20])), &[2], 10, &[]),
        ),
        ("i", Arc::new(Int64Array::from_iter_values(indices))),
    ];
    write(&fixture.key_path("v.parquet"), &batch(&columns));
    let query = format!("SELECT gather(v, i) FROM '{}'", url("v.parquet"));
    let outcome = fixture.run(&["sql", &query]);
    let is_named = outcome
        .errors
        .contains("in row 7 of s3://bucket/v.parquet, ");
    assert!(outcome.code == 1 && is_named, "{outcome:?}");
}
