#!/usr/bin/env python3
"""Joins 10,000,000 facts on Spark as `svc-migrate help warehouses` says, and compares every cell with `dump` as CSV.

  svc-migrate dump --format parquet --output remap.parquet && svc-migrate dump --output remap.csv
  python3 test/warehouse/spark.py remap.parquet remap.csv

Needs Java 17 and `pip install pyspark`. The project's own tests do not run it.
"""

import argparse
import collections
import csv
import pathlib
import re

from pyspark.sql import SparkSession

PAGE = pathlib.Path(__file__).parents[2] / "src/docs/warehouses.md"
MODEL = "accounting/invoices"
ROWS = 10_000_000


def read_ids(file):
    """Every V3 id in the CSV, of any model, and the V4 id of those that are mapped in this one."""
    ids, mapped = set(), {}
    with open(file, newline="", encoding="utf8") as stream:
        for row in csv.DictReader(stream):
            if row["v3_svc_id"] == "":
                continue
            ids.add(int(row["v3_svc_id"]))
            if row["model"] == MODEL and row["path"] == "" and row["status"] == "matched":
                mapped[int(row["v3_svc_id"])] = int(row["v4_svc_id"])
    return [None, *sorted(ids)], mapped


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("parquet")
    parser.add_argument("csv")
    given = parser.parse_args()
    page = PAGE.read_text(encoding="utf8")
    load = re.search(r"^\| Spark \| `(.*)` \|$", page, re.M)[1].replace("remap.parquet", given.parquet)
    join = re.findall(r"```text\n(.*?)```", page, re.S)[1]
    ids, mapped = read_ids(given.csv)
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    spark.sql(load)
    table = spark.createDataFrame(list(enumerate(ids)), "place BIGINT, invoice_id BIGINT")
    facts = spark.range(ROWS).selectExpr("id", f"id % {len(ids)} AS place").join(table, "place")
    facts.select("id", "invoice_id").createOrReplaceTempView("facts")
    found = spark.sql(join).groupBy("invoice_id", "invoice_id_v4").count().collect()
    expected = collections.Counter()
    for place, v3 in enumerate(ids):
        expected[(v3, mapped.get(v3))] += (ROWS - place + len(ids) - 1) // len(ids)
    assert {(row[0], row[1]): row[2] for row in found} == dict(expected), "cells differ from the CSV"
    print(f"{ROWS} facts, {len(ids)} ids: every cell is as the CSV says")


main()
