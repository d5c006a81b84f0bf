#!/usr/bin/env python3
"""Rewrites facts with ids of three models on Spark, from the crosswalk of `svc-migrate dump --format parquet`.

Needs Java 17 and `pip install pyspark`. In the project, with Node.js:

  SVC_CROSSWALK=/tmp/lake CAMPAIGN=full npm test -- test/apply/emit/warehouse-rows.test.ts && python3 test/warehouse/spark.py /tmp/lake

The first half writes a crosswalk of 300,000 ids for each model and proves the same job on DuckDB and ClickHouse; this half
expects the same V4 ids. `--join shuffle` joins as for a crosswalk that is too large to broadcast, `--master 'local[2]'`
does without a cluster of two workers. This was not run by the project's own tests.
"""

import argparse
import hashlib
import json
import pathlib
import resource
import shutil
import sys
import tempfile
import time

ABOUT = "Crosswalk of V3 and V4 ids written by svc-migrate dump --format parquet"
MODELS = {"invoice_id": "accounting/invoices", "payment_id": "accounting/payments", "contact_id": "crm/contacts"}
# As in test/apply/emit/warehouse-rows.test.ts.
BASE = 9_007_199_254_740_993


class Refused(Exception):
    """Nothing was written."""


def require(holds, problem):
    if not holds:
        raise Refused(problem)


def read_manifest(folder):
    """The manifest, after comparing every file with it."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf8"))
    require(manifest.get("about") == ABOUT, f"{folder} holds no crosswalk")
    require(manifest["isComplete"] is True, "the crosswalk is not complete: some ids would be left out")
    for file in manifest["files"]:
        path = folder / file["path"]
        require(path.is_file() and path.stat().st_size == file["bytes"], f"{file['path']} is missing or cut off")
        digest = hashlib.sha256()
        with path.open("rb") as stream:
            while chunk := stream.read(1 << 20):
                digest.update(chunk)
        require(digest.hexdigest() == file["sha256"], f"{file['path']} was changed")
    return manifest


def read_crosswalk(spark, folder, manifest):
    """Model, V3 id and V4 id of every mapped record."""
    rows = spark.read.parquet(str(folder))
    found = {row["model"]: row["count"] for row in rows.groupBy("model").count().collect()}
    expected = {}
    for file in manifest["files"]:
        expected[file["model"]] = expected.get(file["model"], 0) + file["rows"]
    require(found == expected, f"Spark reads {found} rows, the manifest says {expected}")
    mapped = rows.where("path = '' AND status = 'matched' AND v4_svc_id IS NOT NULL")
    mapped = mapped.select("model", "v3_svc_id", "v4_svc_id")
    several = mapped.groupBy("model", "v3_svc_id").count().where("count > 1").count()
    require(several == 0, f"{several} ids have more than one V4 id: join on company or region as well")
    return mapped


def stored_sql(model, ids):
    """The V3 id in a row of the facts, as in the other half of this proof; the last seven are no V3 ids."""
    return f"CASE WHEN id % 1009 = {model} THEN NULL ELSE {BASE}L + 1 + (id * 31 + {model * 17}) % {ids + 7} END"


def expected_sql(model, ids):
    """The V4 id of that row, without the crosswalk."""
    number = f"(1 + (id * 31 + {model * 17}) % {ids + 7})"
    has_none = f"id % 1009 = {model} OR {number} > {ids} OR {number} % 100 = 17"
    return f"CASE WHEN {has_none} THEN NULL ELSE {BASE}L + 1 + ({number} * 7 + {model * 13}) % {ids} END"


def count_unmapped(rows, ids):
    """Ids without a V4 id in each column, counted row by row without Spark."""
    counts = dict.fromkeys(MODELS, 0)
    for model, column in enumerate(MODELS):
        for row in range(rows):
            if row % 1009 != model:
                number = 1 + (row * 31 + model * 17) % (ids + 7)
                counts[column] += number > ids or number % 100 == 17
    return counts


def rewrite(spark, facts, target, crosswalk, digest, join):
    """Writes the facts with a new column beside each id. A folder that is complete is never written again."""
    if target.exists():
        done = json.loads((target / "_svc_migrate.json").read_text(encoding="utf8"))
        require(done["remapSha256"] == digest, f"{target} was written from another remap")
        return False
    table = spark.read.parquet(str(facts))
    before = table.count()
    for column, model in MODELS.items():
        pairs = crosswalk.where(crosswalk.model == model).select(
            crosswalk.v3_svc_id.alias(f"{column}_v3"), crosswalk.v4_svc_id.alias(f"{column}_v4")
        )
        # Without a hint Spark broadcasts what it takes for less than 10 MB.
        pairs = pairs.hint("broadcast" if join == "broadcast" else "shuffle_hash")
        table = table.join(pairs, table[column] == pairs[f"{column}_v3"], "left").drop(f"{column}_v3")
    temporary = target.with_name(f"{target.name}.tmp")
    table.write.mode("overwrite").parquet(str(temporary))
    after = spark.read.parquet(str(temporary)).count()
    require(after == before, f"{before} rows became {after}")
    (temporary / "_svc_migrate.json").write_text(json.dumps({"remapSha256": digest, "rows": after}))
    temporary.rename(target)
    return True


def check(spark, target, rows, ids):
    """Compares every cell with what is expected of its row; returns the ids without a V4 id of each column."""
    table = spark.read.parquet(str(target))
    wrong = " OR ".join(
        f"NOT ({column} <=> {stored_sql(at, ids)}) OR NOT ({column}_v4 <=> {expected_sql(at, ids)})"
        for at, column in enumerate(MODELS)
    )
    require(table.where(f"{wrong} OR amount <> id % 97").count() == 0, "rows differ from the expected ones")
    found = table.selectExpr("count(*) AS n", "count(DISTINCT id) AS ids").first()
    require((found["n"], found["ids"]) == (rows, rows), f"{found} instead of {rows} rows")
    terms = [f"count({column}) - count({column}_v4) AS {column}" for column in MODELS]
    unmapped = table.selectExpr(*terms).first().asDict()
    expected = count_unmapped(rows, ids)
    require(unmapped == expected, f"{unmapped} ids without a V4 id instead of {expected}")
    return unmapped


def listing(folder):
    return sorted((path.name, path.stat().st_mtime_ns) for path in folder.iterdir())


def parse_arguments():
    parser = argparse.ArgumentParser(description="Rewrites facts with ids of three models on Spark.")
    parser.add_argument("crosswalk", type=pathlib.Path, help="folder written by dump --format parquet")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--join", choices=["broadcast", "shuffle"], default="broadcast")
    parser.add_argument("--master", default="local-cluster[2,1,2048]", help="or local[2]")
    return parser.parse_args()


def main():
    given = parse_arguments()
    manifest = read_manifest(given.crosswalk)
    ids = manifest["rows"] // len(MODELS)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(given.master).appName("svc-migrate crosswalk")
    # Workers of local-cluster get 2048 MB each: executors must fit.
    builder = builder.config("spark.executor.memory", "1536m").config("spark.sql.shuffle.partitions", "32")
    spark = builder.config("spark.sql.ansi.enabled", "true").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    folder = pathlib.Path(tempfile.mkdtemp(prefix="svc-spark-"))
    try:
        crosswalk = read_crosswalk(spark, given.crosswalk, manifest)
        facts, target = folder / "facts", folder / "facts_v4"
        columns = [f"{stored_sql(at, ids)} AS {column}" for at, column in enumerate(MODELS)]
        spark.range(given.rows).selectExpr("id", *columns, "id % 97 AS amount").write.parquet(str(facts))
        before = listing(facts)
        digest = manifest["remapSha256"]
        start = time.monotonic()
        require(rewrite(spark, facts, target, crosswalk, digest, given.join), "nothing was written")
        seconds = time.monotonic() - start
        unmapped = check(spark, target, given.rows, ids)
        written = listing(target)
        require(not rewrite(spark, facts, target, crosswalk, digest, given.join), "a second run wrote again")
        require((listing(facts), listing(target)) == (before, written), "a second run changed files")
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        print(f"{given.rows} rows with ids of {len(MODELS)} models rewritten in {seconds:.1f} s ({given.join} join,")
        print(f"{given.master}); ids without a V4 id: {unmapped}; this process used at most {memory} MiB, its workers more.")
    finally:
        spark.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    try:
        main()
    except Refused as problem:
        sys.exit(f"REFUSED: {problem}")
