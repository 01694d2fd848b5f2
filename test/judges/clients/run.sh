#!/bin/sh
# Makes clients from the document of the service at RECORDS_URL, in a folder of its own, and reads and writes with them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
node -e 'fetch(process.env.RECORDS_URL + "/rest/v1/openapi.json").then((a) => a.text()).then((t) => fs.writeFileSync("spec.json", t))'
python3 -m venv venv
venv/bin/pip install --quiet openapi-python-client==0.29.1
venv/bin/openapi-python-client generate --path spec.json --meta none --output-path made/records_service_client >python.log 2>&1
if grep -q 'WARNING parsing' python.log; then cat python.log; exit 1; fi
venv/bin/python "$here/check.py" made
echo '{"type":"module"}' >package.json
npm install --silent --no-save openapi-typescript@7 openapi-fetch@0 typescript@5 @types/node@20
npx openapi-typescript spec.json --output made.ts >/dev/null
cp "$here/check.ts.in" check.ts
npx tsc --strict --target es2022 --module nodenext --types node made.ts check.ts
node check.js
