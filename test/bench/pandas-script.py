"""The same job with pandas: pages in memory, one merge for the records and one for the line items, pairs in SQLite."""

import json
import os
import sqlite3
import sys
import urllib.request

import pandas as pd

folder, companies, page_size, v3, v4 = sys.argv[1:]


def fetch_all(addresses, list_of):
    records = []
    for address in addresses:
        cursor = None
        while True:
            suffix = "" if cursor is None else f"&next={cursor}"
            with urllib.request.urlopen(f"{address}?limit={page_size}{suffix}") as answer:
                page = list_of(json.load(answer))
            records += page["data"]
            cursor = page["next"]
            if cursor is None:
                break
    return pd.DataFrame.from_records(records)


def items_of(records):
    items = records[["platform_id", "line_items"]].explode("line_items").dropna()
    return pd.DataFrame(
        {
            "parent": items["platform_id"].to_numpy(),
            "platform_id": [item["platform_id"] for item in items["line_items"]],
            "svc_id": [item["svc_id"] for item in items["line_items"]],
        }
    )


def pairs(left, right, keys, path):
    merged = left.merge(right, on=keys, how="left", suffixes=("_v3", "_v4"))
    return pd.DataFrame(
        {"path": path, "v3_svc_id": merged["svc_id_v3"], "v4_svc_id": merged["svc_id_v4"].astype("Int64")}
    )


in_v3 = fetch_all([f"{v3}/accounting/notes"], lambda body: body)
in_v4 = fetch_all(
    [f"{v4}/v4/core/companies/{company + 1}/notes" for company in range(int(companies))],
    lambda body: body["data"],
)
database = sqlite3.connect(os.path.join(folder, "pandas.db"))
for name, records in (("v3", in_v3), ("v4", in_v4)):
    stored = records.assign(line_items=records["line_items"].map(json.dumps))
    nested = [column for column in stored if stored[column].map(type).isin([list, dict]).any()]
    stored[nested] = stored[nested].map(json.dumps)
    stored.to_sql(name, database, index=False)
keys = ["platform_id"]
remap = pd.concat(
    [
        pairs(in_v3[["platform_id", "svc_id"]], in_v4[["platform_id", "svc_id"]], keys, ""),
        pairs(items_of(in_v3), items_of(in_v4), ["parent", "platform_id"], "line_items"),
    ]
)
remap.to_sql("remap", database, index=False)
database.commit()
database.close()
print(len(remap))
