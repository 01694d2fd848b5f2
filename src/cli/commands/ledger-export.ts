// `records-sync ledger export DIR`: the ledger's tables and views as Parquet files. Promise kept here: a failed export
// changes no file; memory does not grow with the ledger.

import { access, constants, mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { ConfigError } from '../../core/errors.ts'
import { type Archive, type ExportName, type ExportPage, EXPORTS } from '../../ledger/ledger.ts'
import type { ParquetColumn, ParquetRow, ParquetType } from '../../warehouses/duckdb/parquet.ts'
import { loadDuckdb } from '../../warehouses/duckdb/installed.ts'
import { isRunning } from '../../warehouses/processes.ts'
import { EXIT, withLedger, type CommandContext } from '../shared/context.ts'
import { findRun } from '../shared/find-run.ts'
import { formatNumber, table } from '../shared/terminal.ts'
import { printJson } from '../json.ts'

const PAGE_ROWS = 1_000

/** The columns of each file: those of the table or view of its name. */
const COLUMNS: Readonly<Record<ExportName, string>> = {
  runs: `id sync kind mode state reason message workflow_id workflow_run_id config destination key_fingerprint
    source_columns source_digest rows_staged rows_read stage_fence batches warnings counts opened_at closed_at watermark
    purpose of_run properties verified_through`,
  results: `sync run ordinal line key outcome state record_id http_status code reason column field value detail request_id attempts
    replayed in_doubt verified purpose of_run of_ordinal mended_by`,
  link_results: `sync run ordinal number line association key target_type by target column outcome state source_id target_id
    replaced_id http_status code reason detail request_id attempts replayed in_doubt purpose of_run`,
  differences: `run number stream subject key record_id ordinal kind field whose ours theirs repaired
    version`,
  deletions: `sync run number key record_id cause outcome state attempts in_doubt http_status code reason detail before watermark`,
  before_images: `run ordinal verdict record_id before sent kept kept_values marks after written_over watermark`,
  last_accepted: `sync origin org_id object_type matching_property destination key record_id hash run`,
  requests: `run batch attempt operation first last items digest sent_at settled_at status request_id duration_ms`,
  streams: `run stream table_name state mode requests read inserted changed unchanged deleted misfits service_count
    table_count message place older reverted differs`,
  schema_changes: `run stream number sync property kind type_before type_now handling column_names found_at done_at`,
  manifests: `run sync body digest signature`,
  actions: `number began_at ended_at who via action sync run details token state result workflow_id`,
}

/** Columns that hold no text; a name means the same in every table. */
const TYPES: Readonly<Record<Exclude<ParquetType, 'text'>, string>> = {
  integer: `id destination rows_staged rows_read stage_fence batches of_run run ordinal line http_status attempts replayed
    in_doubt of_ordinal mended_by number repaired org_id batch attempt first last items status requests read inserted changed
    unchanged deleted misfits service_count table_count older reverted differs kept_values
    written_over`,
  number: `duration_ms`,
  instant: `opened_at closed_at verified_through sent_at settled_at began_at ended_at found_at
    done_at`,
}

const words = (text: string): string[] => text.split(/\s+/)
const typeOf = new Map(
  Object.entries(TYPES).flatMap(([type, names]) =>
    words(names).map((name) => [name, type as ParquetType]),
  ),
)

export const exportColumns = (name: ExportName): readonly ParquetColumn[] =>
  words(COLUMNS[name]).map((column) => ({ name: column, type: typeOf.get(column) ?? 'text' }))

/** `run`: only what is of this run. */
export async function ledgerExport(
  context: CommandContext,
  folderText: string,
  options: { readonly run?: string | undefined },
): Promise<number> {
  const { terminal } = context
  const folder = resolve(folderText)
  await loadDuckdb()
  return await withLedger(context, async (ledger) => {
    const run = options.run === undefined ? null : (await findRun(ledger, options.run)).id
    await makeFolder(folder)
    await removeLeftovers(folder)
    const files = await writeAll(ledger, folder, run, (name, rows) =>
      terminal.live(`${name}.parquet  ${formatNumber(rows)} rows`),
    )
    terminal.endLive()
    if (context.json) printJson(terminal, { folder, run, files })
    else {
      terminal.out(
        table(
          ['file', 'rows'],
          files.map(({ name, rows }) => [`${name}.parquet`, rows]),
        ),
      )
      terminal.err(
        `${formatNumber(files.length)} files are in ${folder}${run === null ? '' : `, with what is of run ${run}`}`,
      )
    }
    return EXIT.done
  })
}

/** Writes every file next to its place, and moves them all there at the end. */
async function writeAll(
  ledger: Archive,
  folder: string,
  run: number | null,
  written: (name: ExportName, rows: number) => void,
) {
  const { writeParquet } = await import('../../warehouses/duckdb/parquet.ts')
  const temporary = (name: ExportName) => join(folder, `.${name}.parquet.${process.pid}.tmp`)
  try {
    const files: { readonly name: ExportName; readonly rows: number }[] = []
    for (const name of EXPORTS) {
      const pages = pagesOf(ledger, name, run, (rows) => written(name, rows))
      files.push({ name, rows: await writeParquet(temporary(name), exportColumns(name), pages) })
    }
    for (const name of EXPORTS) await rename(temporary(name), join(folder, `${name}.parquet`))
    return files
  } finally {
    for (const name of EXPORTS) await rm(temporary(name), { force: true })
  }
}

/** The rows of a table or view, of one run or of all. */
async function* pagesOf(
  ledger: Archive,
  name: ExportName,
  run: number | null,
  onRows: (rows: number) => void,
): AsyncGenerator<readonly ParquetRow[], void, undefined> {
  let read = 0
  for (let after: string | null = null; ;) {
    const { rows, next }: ExportPage = await ledger.exportRows(name, {
      after,
      limit: PAGE_ROWS,
    })
    onRows((read += rows.length))
    const ofRun = name === 'runs' ? 'id' : 'run'
    yield run === null ? rows : rows.filter((row) => row[ofRun] === run)
    if (next === null) return
    after = next
  }
}

/** What an export left behind that was killed: temporary files of processes that are gone. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const file of await readdir(folder)) {
    const pid = Number(/^\.\w+\.parquet\.(\d+)\.tmp(\.lines)?$/.exec(file)?.[1] ?? NaN)
    if (Number.isNaN(pid) || isRunning(pid)) continue
    await rm(join(folder, file), { force: true })
  }
}

/** @throws ConfigError if there can be no such folder */
async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    await access(folder, constants.W_OK)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    const why =
      code === 'EEXIST' || code === 'ENOTDIR'
        ? 'a file is in its place'
        : `it cannot be made or written (${code ?? 'unknown reason'})`
    throw new ConfigError('DIR', `expected a folder: ${folder}: ${why}`)
  }
}
