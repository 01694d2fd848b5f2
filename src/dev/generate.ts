// Writes docs/run-report.schema.json, the JSON Schema of what `report --json` and `show --json` print.
// `node --import tsx src/dev/generate.ts` writes; with `--check` it writes nothing and exits 1 if the file is stale.

import { readFileSync, writeFileSync } from 'node:fs'
import { argv } from 'node:process'
import { runReportSchemaText } from '../report/run-report.ts'

const NAME = 'docs/run-report.schema.json'
const file = new URL(`../../${NAME}`, import.meta.url)
const isCheck = argv.includes('--check')

const made = runReportSchemaText()
if (readOrEmpty() !== made) {
  if (isCheck) process.exitCode = 1
  else writeFileSync(file, made)
  console.log(`${NAME}: ${isCheck ? 'stale; run: npm run docs' : 'written'}`)
}

function readOrEmpty(): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}
