// `records-sync init`: a first configuration. From a CSV file and a service where there are some; else a starter with comments, or an
// example that runs as it is.

import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join, relative, resolve } from 'node:path'
import { CONFIG_FILE, STARTER_CONFIG } from '../../../config/index.ts'
import { ConfigError } from '../../core/errors.ts'
import { EXIT, type CommandContext } from '../shared/context.ts'
import { createAsker, type Asker } from '../shared/questions.ts'
import { exampleFolder } from '../shared/examples.ts'
import { initFromFile, requireNew, writeConfig, type InitOptions } from './init-file.ts'

export interface InitCommandOptions extends InitOptions {
  readonly yes: boolean
  /** A folder; true: the usual one. */
  readonly example?: string | boolean
}

const EXAMPLE_FOLDER = 'records-sync-example'

/** @param umask of the caller: the configuration holds no secret, and may be for others too */
export async function init(
  context: CommandContext,
  file: string | undefined,
  options: InitCommandOptions,
  umask: number,
): Promise<number> {
  const { example } = options
  if (example !== undefined && example !== false) {
    if (file !== undefined)
      throw new ConfigError('--example', 'it has a file of its own; expected no other')
    return initExample(context, example === true ? EXAMPLE_FOLDER : example, umask)
  }
  if (file === undefined) requireNew(context.configFile)
  const asker = askerOf(context, options)
  try {
    const chosen = file ?? (asker ? await askFile(asker) : undefined)
    if (chosen !== undefined) return await initFromFile(context, chosen, options, { umask, asker })
    requireNoFileOptions(options)
    return initStarter(context, umask)
  } finally {
    asker?.close()
  }
}

function askerOf({ terminal, json }: CommandContext, { yes }: InitCommandOptions): Asker | null {
  if (yes || json || !terminal.isScreen || !process.stdin.isTTY) return null
  return createAsker({ input: process.stdin, output: process.stderr })
}

/** The CSV file to begin from; undefined: none. */
async function askFile(asker: Asker): Promise<string | undefined> {
  const here = readdirSync('.').filter((name) => /\.(?:csv|tsv)(?:\.gz)?$/i.test(name))
  const [only] = here.length === 1 ? here : []
  const answer = await asker.ask(
    'CSV file to begin from; "none" for a starter with comments',
    only ?? 'none',
  )
  return answer === 'none' ? undefined : answer
}

function requireNoFileOptions(options: InitOptions): void {
  const given = (['service', 'key', 'objectType', 'matchingProperty'] as const).find(
    (name) => options[name] !== undefined,
  )
  if (given === undefined) return
  const option = `--${given.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
  throw new ConfigError(option, 'expected a CSV file as well: records-sync init contacts.csv …')
}

function initStarter(context: CommandContext, umask: number): number {
  writeConfig(context.configFile, STARTER_CONFIG, umask)
  context.terminal.out(`Wrote ${context.configFile}. Next:
  1. edit it: service, key, columns. As it is, it reads contacts.csv with the columns id, first_name, last_name and email
  2. ${context.hint('check')}
  3. ${context.hint('run contacts --local')}
     or, to try it without a CRM: ${context.hint('dev -- run contacts')}`)
  return EXIT.done
}

/** A folder with the files of the first example. */
function initExample({ terminal }: CommandContext, name: string, umask: number): number {
  const folder = resolve(name)
  const example = exampleFolder('first')
  const files = readdirSync(example)
  for (const file of files) requireNew(join(folder, file))
  const isNew = !existsSync(folder)
  mkdirSync(folder, { recursive: true, mode: 0o777 & ~umask })
  for (const file of files)
    writeConfig(join(folder, file), readFileSync(join(example, file), 'utf8'), umask)
  const shown = relative(process.cwd(), folder) || '.'
  terminal.out(`${isNew ? 'Made' : 'Wrote into'} ${shown}: ${CONFIG_FILE}, companies.csv, contacts.csv and deals.csv.
Two of the 20 rows are wrong on purpose. Next:
  1. ${shown === '.' ? '' : `cd ${shown} && `}records-sync dev -- run --all
     with a Records Service of its own: two rows are set aside, and a link waits
  2. records-sync rejects 1
     a company to correct; then records-sync dev -- retry 1 --file rejects-1/*.csv
  3. records-sync dev -- run --all
     nothing is sent twice; the deal that waited for that company is linked
  4. records-sync dev -- check --save-schema && records-sync test
     the tests of the mapping, which stand in ${CONFIG_FILE}`)
  return EXIT.done
}
