// What the story and the tour of the demo share: its folder, the corrections of a person, and the work of people in the CRM.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { RecordsClient } from '../../client/index.ts'
import type { RunningService } from '../../service/index.ts'
import type { CommandContext } from '../shared/context.ts'
import type { ReconcileOptions } from './reconcile.ts'

/** What the steps of the demo share. */
export interface Demo {
  readonly context: CommandContext
  readonly folder: string
  readonly service: RunningService
  readonly temporalUi: string | null
  title(text: string): void
  /** Does what a command does. @throws DemoEnd if its exit code is above `codeMax`, or a person has ended the demo */
  step(work: () => Promise<number>, codeMax?: number): Promise<void>
}

/** The demo goes no further. */
export class DemoEnd extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super('the demo has ended')
    this.exitCode = exitCode
  }
}

export const rejectsFolder = (folder: string): string => join(folder, 'rejects')

export const ONLY_COMPARE: ReconcileOptions = {
  repair: false,
  deleteExtra: false,
  full: false,
  detach: false,
}

/** The file of rejects whose e-mail address is none. */
export function emailRejects(directory: string): string {
  const name = readdirSync(directory).find((file) => file.includes('not_an_email'))!
  return join(directory, name)
}

/** Removes these texts from the cells that hold them, as a person does in a spreadsheet. */
export function correct(file: string, texts: readonly string[]): void {
  const cells = readFileSync(file, 'utf8')
  writeFileSync(
    file,
    texts.reduce((all, text) => all.replaceAll(`${text}"`, '"'), cells),
  )
}

interface WorkInCrm {
  /** When the first record was changed, by the service's clock. */
  readonly since: string
  /** Ids of records. */
  readonly changed: readonly string[]
  readonly deleted: readonly string[]
}

/** Changes three contacts and deletes two. */
export async function workInCrm({ url, key }: RunningService): Promise<WorkInCrm> {
  const client = new RecordsClient({ baseUrl: url, key })
  try {
    const ids = [1, 5, 6, 8, 9].map((number) => `C-0000${number}`)
    const filter = { property: 'svc_external_id', op: 'in', value: ids } as const
    const { data } = await client.queryRecords('svc_contact', { filter })
    const changed = data.slice(0, 3)
    const deleted = data.slice(3)
    let since: string | null = null
    for (const { id } of changed) {
      const properties = { svc_job_title: 'Head of Everything' }
      const record = await client.updateRecord('svc_contact', id, properties)
      since ??= String(record.properties['svc_updated_at'])
    }
    for (const { id } of deleted) await client.deleteRecord('svc_contact', id)
    return {
      since: since!,
      changed: changed.map(({ id }) => id),
      deleted: deleted.map(({ id }) => id),
    }
  } finally {
    await client.close()
  }
}
