// The names of a configuration as it is written, without its checks: for completion, which is asked at each press of a key, also
// while the file holds mistakes. Promise kept here: values of settings stay in here, but for the path of a ledger that is a file.

import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parseDocument } from 'yaml'

const FILE_BYTES_MAX = 1_000_000
const NAMES_MAX = 500
const ALIASES_MAX = 1_000
/** A name of the configuration, and what every shell takes as it is. */
const PLAIN = /^[a-z]\w{0,62}$/

export type NamedSection = 'syncs' | 'groups' | 'connections' | 'warehouses' | 'notifications'

export interface WrittenNames {
  namesOf(section: NamedSection): readonly string[]
  /** `import`, `mirror`, or null where it is neither yet. */
  kindOf(sync: string): string | null
  /** Where the ledger is a file: its path; null where it is a server, or a variable decides. */
  readonly ledgerFile: string | null
}

type Data = Readonly<Record<string, unknown>>

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null

/** @throws an error of the system, or of the YAML library, whose message may quote the file */
export async function readWrittenNames(configFile: string): Promise<WrittenNames> {
  const data = await readData(configFile)
  const sectionOf = (name: NamedSection): Data => {
    const section = data[name]
    return isData(section) ? section : {}
  }
  const { ledger = '.records-sync/ledger.db' } = data
  const path = isData(ledger) ? ledger['sqlite'] : ledger
  const isPath = typeof path === 'string' && !path.includes('${')
  return {
    namesOf: (section) =>
      Object.keys(sectionOf(section))
        .filter((name) => PLAIN.test(name))
        .slice(0, NAMES_MAX),
    kindOf(sync) {
      const settings = sectionOf('syncs')[sync]
      const kinds = isData(settings) ? Object.keys(settings) : []
      return ['import', 'mirror'].find((kind) => kinds.includes(kind)) ?? null
    },
    ledgerFile: isPath ? resolve(dirname(configFile), path) : null,
  }
}

async function readData(configFile: string): Promise<Data> {
  const file = await open(configFile)
  try {
    if ((await file.stat()).size > FILE_BYTES_MAX) return {}
    const document = parseDocument(await file.readFile('utf8'), { logLevel: 'silent' })
    const data: unknown = document.toJS({ maxAliasCount: ALIASES_MAX })
    return isData(data) ? data : {}
  } finally {
    await file.close()
  }
}
