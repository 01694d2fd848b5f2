"""Reads and writes through the client that openapi-python-client made: see ../../README.md."""

import importlib
import os
import pkgutil
import sys

sys.path.insert(0, sys.argv[1])
import records_service_client as made
from records_service_client import AuthenticatedClient

for module in pkgutil.walk_packages(made.__path__, made.__name__ + "."):
    importlib.import_module(module.name)

from records_service_client.api.records import (
    aggregate_records,
    create_record,
    list_records,
    query_records,
    update_record,
)
from records_service_client.api.service import read_self
from records_service_client.models import AggregateBody, QueryBody, RecordBody

client = AuthenticatedClient(base_url=os.environ["RECORDS_URL"], token=os.environ["RECORDS_KEY"])
kind = "svc_contact"


def done(answer, status):
    assert answer.status_code == status, (answer.status_code, answer.content)
    assert answer.parsed is not None
    return answer.parsed.to_dict()


def body(model, **fields):
    return model.from_dict(fields)


assert done(read_self.sync_detailed(client=client), 200)["data"]["reach"] == "org"
page = done(list_records.sync_detailed(kind, client=client), 200)
assert page["data"]
values = {"svc_external_id": "py-1", "svc_first_name": "Ada", "svc_score": 98.5}
record = body(RecordBody, data={"properties": values})
one = done(create_record.sync_detailed(kind, client=client, body=record), 201)["data"]
change = body(RecordBody, data={"properties": {"svc_first_name": None}})
after = done(update_record.sync_detailed(kind, one["id"], client=client, body=change), 200)
assert after["data"]["properties"]["svc_first_name"] is None
leaf = {"property": "svc_external_id", "op": "eq", "value": "py-1"}
tree = {"$and": [{"$or": [leaf, {**leaf, "value": "none"}]}, leaf]}
found = done(query_records.sync_detailed(kind, client=client, body=body(QueryBody, filter=tree)), 200)
assert [each["id"] for each in found["data"]] == [one["id"]]
count = body(AggregateBody, aggregations=[{"op": "count"}], filter=tree)
total = done(aggregate_records.sync_detailed(kind, client=client, body=count), 200)
assert total["data"]["results"][0]["value"] == 1
print("The Python client reads and writes")
