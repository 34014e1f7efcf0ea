//! Queries on tables in a bucket.

use super::{Place, url};
use crate::tables::{batch, tensors, write};
use datafusion::arrow::array::{ArrayRef, Float32Array, Int64Array};
use std::sync::Arc;

#[test]
fn queries_find_tables_in_a_bucket() {
    let place = Place::new();
    let table = place.key("t.parquet").display().to_string();
    let query = "SELECT column1 AS n FROM (VALUES (1), (20), (300))";
    let said = place.run(&["sql", query, "-o", &table]);
    assert_eq!(said.code, 0, "{said:?}");
    let query = format!("SELECT sum(n) AS total FROM '{}'", url("t.parquet"));
    let said = place.run(&["sql", &query, "--json"]);
    assert!(said.code == 0 && said.output.contains("321"), "{said:?}");
    let query = "SELECT n FROM 's3://other/t.parquet'";
    let said = place.run(&["sql", query]);
    let named = said.errors.contains("/other?") && said.errors.contains("NoSuchBucket");
    assert!(said.code == 2 && named, "{said:?}");

    let indices = (0..10).map(|row| if row == 7 { 9 } else { 1 });
    let columns: [(&str, ArrayRef); 2] = [
        (
            "v",
            tensors(Arc::new(Float32Array::from(vec![0.5; 20])), &[2], 10, &[]),
        ),
        ("i", Arc::new(Int64Array::from_iter_values(indices))),
    ];
    write(&place.key("v.parquet"), &batch(&columns));
    let query = format!("SELECT gather(v, i) FROM '{}'", url("v.parquet"));
    let said = place.run(&["sql", &query]);
    let named = said.errors.contains("in row 7 of s3://bucket/v.parquet, ");
    assert!(said.code == 1 && named, "{said:?}");
}
