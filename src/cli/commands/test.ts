// `records-sync test`: the tests of mappings, against a saved schema. It asks no service, opens no ledger, and writes nothing but the
// report that it is asked for.

import { writeFileSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import {
  findSync,
  placedMapping,
  readTests,
  type Config,
  type ImportSync,
} from '../../../config/index.ts'
import { ConfigError, type Issue } from '../../core/errors.ts'
import { suggestNearest } from '../../core/suggest.ts'
import { systemClock } from '../../core/ports.ts'
import { loadMapping } from '../../import/index.ts'
import {
  ageInDays,
  schemaAgeText,
  junitError,
  junitXml,
  mappingTestOf,
  readSavedSchema,
  readTestFile,
  runMappingTests,
  savedTarget,
  SCHEMA_DAYS_MAX,
  savedSchemaPath,
  TESTS_MAX,
  type MappingTest,
  type SavedSchema,
  type TestResult,
  type TestSuite,
} from '../../mapping-tests/index.ts'
import { printJson } from '../json.ts'
import { shellWord } from '../shared/command-line.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { withFilesOfOption } from '../shared/usage.ts'
import { printTests } from '../views/mapping-tests.ts'

export interface TestOptions {
  /** Default: next to the configuration. */
  readonly schema?: string
  readonly junit?: string
  /** Only tests whose name has this text. */
  readonly name?: string
}

type Written = Awaited<ReturnType<typeof readTests>>

/** @param names of syncs; none: all that have tests */
export async function testMappings(
  context: CommandContext,
  names: readonly string[],
  options: TestOptions,
): Promise<number> {
  const now = () => new Date(systemClock.now()).toISOString()
  try {
    const { schema, file, suites, warnings } = await runAll(context, names, options)
    if (options.junit !== undefined)
      writeReport(options.junit, junitXml(suites, now(), process.cwd()))
    const shown = { file, schema, suites, warnings, days: ageInDays(schema, systemClock.now()) }
    if (context.json) printJson(context.terminal, toJson(shown))
    else printTests(context.terminal, shown)
    const isFailed = suites.some(({ results }) => results.some(hasFailed))
    return isFailed ? EXIT.rejects : EXIT.done
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    if (options.junit !== undefined) writeReport(options.junit, junitError(message, now()))
    throw error
  }
}

const hasFailed = ({ differences }: TestResult): boolean => differences.length > 0

async function runAll(context: CommandContext, names: readonly string[], options: TestOptions) {
  const config = await context.loadConfig()
  const written = await readTests(config, context.env)
  const syncs = chosenSyncs(config, written, names)
  const { schema: given } = options
  const file = given === undefined ? savedSchemaPath(context.configFile) : resolve(given)
  const command = context.hint(
    `check --save-schema${given === undefined ? '' : ` ${shellWord(given)}`}`,
  )
  const schema = readSavedSchema(file, command)
  const suites: TestSuite[] = []
  const named: string[] = []
  for (const sync of syncs) {
    const begin = performance.now()
    const { target, columns } = savedTarget({ file, schema, command }, sync)
    const tests = await preparedTests(config, { sync, columns }, written.get(sync.name)!)
    named.push(...tests.map(({ name }) => name))
    const chosen = tests.filter(({ name }) => name.includes(options.name ?? ''))
    const results = await resultsOf(context, sync, { target, columns, tests: chosen }).catch(
      (error: unknown) => {
        const age = schemaAgeText(ageInDays(schema, systemClock.now()))
        context.terminal.err(`The schema was saved ${age}; ${command} reads it again`)
        throw error
      },
    )
    const seconds = (performance.now() - begin) / 1_000
    if (results.length > 0) suites.push({ sync: sync.name, results, seconds })
  }
  if (suites.length === 0) throw noneOfName(options.name ?? '', named)
  return { schema, file, suites, warnings: schemaWarnings(config, syncs, { schema, command }) }
}

/** @throws ConfigError: a run without a test proves nothing, and is not taken for one that passes */
function chosenSyncs(config: Config, written: Written, names: readonly string[]): ImportSync[] {
  const { file } = config
  if (names.length === 0 && written.size === 0)
    throw new ConfigError(
      file,
      'no sync has tests; write some under `tests` of a sync, next to its `import` (docs/imports.md)',
    )
  const chosen = names.length === 0 ? [...written.keys()] : [...new Set(names)]
  return chosen.map((name) => {
    const sync = findSync(config, name)
    if (sync.kind === 'import' && written.has(name)) return sync
    const why =
      sync.kind === 'import' ? 'write some under its `tests` (docs/imports.md)' : 'it is a mirror'
    throw new ConfigError(file, `sync ${name} has no tests; ${why}`)
  })
}

function noneOfName(name: string, names: readonly string[]): ConfigError {
  const hint = suggestNearest(name, names)
  return new ConfigError('--name', `no test has "${name}" in its name${hint}`)
}

/** All tests of a sync, in the order of the configuration. @throws ConfigError with all that is wrong in a file, SourceError */
async function preparedTests(
  config: Config,
  tested: { sync: ImportSync; columns: readonly string[] },
  written: NonNullable<ReturnType<Written['get']>>,
): Promise<MappingTest[]> {
  const { file } = config
  const tests: MappingTest[] = []
  const issues: Issue[] = []
  for (const one of written) {
    const ordinal = tests.length + 1
    if ('file' in one) {
      if (issues.length === 0)
        tests.push(...(await withFilesOfOption(() => readTestFile(tested, one.file, ordinal))))
    } else tests.push(mappingTestOf(tested, one, { file, ordinal, issues }))
  }
  if (issues.length > 0) throw new ConfigError(file, issues)
  if (tests.length > TESTS_MAX)
    throw new ConfigError(
      file,
      `sync ${tested.sync.name} has more than ${TESTS_MAX} tests; expected fewer`,
    )
  return tests
}

/** @throws MappingError, each problem with its place in the configuration */
async function resultsOf(
  context: CommandContext,
  sync: ImportSync,
  {
    target,
    columns,
    tests,
  }: ReturnType<typeof savedTarget> & { readonly tests: readonly MappingTest[] },
): Promise<TestResult[]> {
  try {
    const mapping = await loadMapping(sync.name, sync.import, target, columns)
    return runMappingTests(tests, sync.import, mapping)
  } catch (error) {
    throw await placedMapping(error, context.configFile, context.env)
  }
}

/** Why the schema may not be that of the services as they are now. */
function schemaWarnings(
  { connections }: Config,
  syncs: readonly ImportSync[],
  { schema, command }: { readonly schema: SavedSchema; readonly command: string },
): string[] {
  const days = ageInDays(schema, systemClock.now())
  const names = [...new Set(syncs.map((sync) => sync.import.to))]
  const elsewhere = names.filter(
    (name) => new URL(connections[name]!.service).origin !== schema.connections[name]!.service,
  )
  return [
    ...(days > SCHEMA_DAYS_MAX
      ? [`the schema is ${days} days old; \`${command}\` reads it again`]
      : []),
    ...elsewhere.map(
      (name) =>
        `the schema is that of ${schema.connections[name]!.service}, and connection ${name} is set to another service`,
    ),
  ]
}

function writeReport(file: string, text: string): void {
  try {
    writeFileSync(resolve(file), text)
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    throw new ConfigError(file, `the report cannot be written here (${code}); --junit names a file`)
  }
}

const toJson = ({
  file,
  schema,
  suites,
  warnings,
  days,
}: {
  readonly file: string
  readonly schema: SavedSchema
  readonly suites: readonly TestSuite[]
  readonly warnings: readonly string[]
  readonly days: number
}) => {
  const results = suites.flatMap((suite) =>
    suite.results.map((result) => ({ sync: suite.sync, ...result })),
  )
  const failed = results.filter(hasFailed).length
  return {
    ok: failed === 0,
    passed: results.length - failed,
    failed,
    schema: { file, saved_at: schema.saved_at, days },
    warnings,
    tests: results.map(({ sync, test, differences }) => ({
      sync,
      name: test.name,
      ok: differences.length === 0,
      file: relative(process.cwd(), test.file) || test.file,
      line: test.line,
      differences,
    })),
  }
}
