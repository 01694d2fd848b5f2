// Rounds of one move while the CRM is mirrored: records are changed, added and removed, a run brings that into the table, and the move is made
// at a random moment of it. What a run calls complete is in the table, and a full run brings in everything.

import { join } from 'node:path'
import type { WorkflowHandle } from '@temporalio/client'
import { expect, vi } from 'vitest'
import type { RecordsClient } from '../../src/client/index.ts'
import { mirrorSync } from '../../workflows/names.ts'
import { HANG_MS, orHung, untilHung } from '../hang.ts'
import { rowsOf, type MirrorPlace } from '../mirror-oracle.ts'
import type { Postgres } from '../postgres.ts'
import type { Move, Round } from './moves.ts'
import { auditAll, endOf, HEARTBEAT_MS } from './rounds.ts'
import { CONTACT, createTwinWorld, type TwinWorld } from './world.ts'

const RECORDS = 800
const BATCH = 50

const tuning = {
  readers: 2,
  rows_per_range: 200,
  rows_per_merge: 200,
  merge_ms: 200,
  heartbeat_timeout_ms: HEARTBEAT_MS,
  service_probe_ms: 200,
  blocked_probe_ms: 200,
}

const configOf = (warehouse: string) => `
ledger: ./ledger.db
connections:
  crm: { service: "\${RECORDS_URL}", key: { file: ./key } }
warehouses:
  dwh: ${warehouse}
syncs:
  copy:
    mirror: { from: crm, to: dwh, object_types: [${CONTACT}], deletions_max_percent: 100 }
`

const startMirror = async (
  { project }: TwinWorld,
  id: string,
  full: boolean,
): Promise<WorkflowHandle> =>
  await vi.waitFor(
    async () =>
      await project.client.workflow.start(mirrorSync, {
        taskQueue: await project.queue(),
        workflowId: project.workflowId(id),
        args: [{ sync: 'copy', full, tuning }],
      }),
    untilHung,
  )

/** The live rows of the table, as `held` has the records. */
async function tableOf(place: MirrorPlace): Promise<Map<string, string>> {
  const query = `SELECT svc_external_id, svc_first_name, svc_score FROM copy."${CONTACT}" WHERE _deleted_at IS NULL`
  // A worker that closes its file may hold it for a moment.
  const rows = await vi.waitFor(async () => await rowsOf(place, query), {
    ...untilHung,
    timeout: HANG_MS,
  })
  const found = new Map(rows.map(([key, name, score]) => [String(key), `${name} ${Number(score)}`]))
  expect(found.size).toBe(rows.length)
  return found
}

async function upsert(client: RecordsClient, keys: readonly number[], version: number) {
  for (let from = 0; from < keys.length; from += BATCH) {
    const items = keys.slice(from, from + BATCH).map((key) => ({
      properties: {
        svc_external_id: `c-${key}`,
        svc_first_name: `Name ${version}`,
        svc_score: key,
      },
    }))
    await client.batchUpsert(CONTACT, 'svc_external_id', { items })
  }
}

/** What other people do at the service before a round. */
async function change(client: RecordsClient, round: number, random: () => number) {
  const keys = Array.from({ length: RECORDS }, (_, key) => key).filter(() => random() < 0.2)
  await upsert(client, [...keys, RECORDS + round], round)
  const { data } = await client.queryRecords(CONTACT, { limit: 5 })
  await client.batchDelete(CONTACT, { items: data.map(({ id }) => ({ id })) })
}

/** Plays the rounds of a move. @throws where something is not true */
export async function playMirrorRounds(
  move: Move,
  { rounds, random, postgres }: { rounds: number; random: () => number; postgres: Postgres },
): Promise<ReadonlyMap<string, number>> {
  const isDuckdb = move.warehouse === 'duckdb'
  const world = await createTwinWorld({
    config: configOf(isDuckdb ? '{ duckdb: ./dwh.duckdb }' : '{ postgres: { file: ./dwh-url } }'),
  })
  const { project } = world
  const folder = project.dir
  const place: MirrorPlace = isDuckdb
    ? { duckdb: join(folder, 'dwh.duckdb'), folder }
    : { postgres: await postgres.newDatabase(), folder }
  if ('postgres' in place) project.write('dwh-url', place.postgres)
  const ends = new Map<string, number>()
  try {
    world.spawnWorker()
    const all = Array.from({ length: RECORDS }, (_, key) => key)
    await world.withService((client) => upsert(client, all, 0))
    expect(await endOf(await startMirror(world, 'first', true))).toMatchObject({
      state: 'complete',
    })
    for (let number = 1; number <= rounds; number++) {
      const state = await playRound({ world, move, place, number, random, postgres })
      ends.set(state, (ends.get(state) ?? 0) + 1)
    }
    await auditAll(world)
    return ends
  } finally {
    await world.stop()
  }
}

async function playRound({
  world,
  move,
  place,
  number,
  random,
  postgres,
}: Pick<Round, 'world' | 'random' | 'postgres'> & {
  readonly move: Move
  readonly place: MirrorPlace
  readonly number: number
}): Promise<string> {
  let isOver = false
  let wasOver = false
  const none = async () => {
    throw new Error('No move of a mirror does this')
  }
  const round: Round = {
    world,
    random,
    postgres,
    file: '',
    newVersion: () => '',
    isOver: () => isOver,
    moves: () => void (wasOver = isOver),
    startAgain: none,
    leave: none,
  }
  await move.prepare?.(round)
  await world.withService((client) => change(client, number, random))
  const isFull = random() < 0.5
  const handle = await startMirror(world, `round-${number}`, isFull)
  const ending = Promise.race([endOf(handle), world.lost]).finally(() => (isOver = true))
  ending.catch(() => {})
  await move.act(round)
  const asked = world.toService.pieces()
  const end = await orHung(`the end of a mirror (${move.name})`, ending)
  expect(move.ends ?? ['complete'], end.message).toContain(end.state)
  // What happened after its end, or after the last request of it, the run cannot know.
  const isUnseen = wasOver || world.toService.pieces() === asked
  const isTrue = end.state === 'complete' && !(isUnseen && move.mends !== undefined)
  if (isTrue) expect(await tableOf(place)).toEqual(await world.held())
  const full = await orHung('a full run', endOf(await startMirror(world, `full-${number}`, true)))
  expect(full, world.said().slice(-2_000)).toMatchObject({ state: 'complete' })
  expect(await tableOf(place)).toEqual(await world.held())
  return end.state
}
