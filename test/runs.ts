// How much a test does: `npm test` a short sample of kills, of chance and of long tables, `npm run test:soak` all of it.
// RECORDS_SYNC_SOAK=3 does three times as much, RECORDS_SYNC_SEED=17 plays a sequence again. A file NAME.soak.test.ts is of
// `npm run test:soak` alone.

import { test } from 'vitest'

const soak = Number(process.env['RECORDS_SYNC_SOAK'] ?? 0)
export const isSoak = soak > 0

/** How often: kills, rounds, histories. */
export const rounds = (few: number, full: number): number => (isSoak ? full * soak : few)

/** How many cases a property test makes up. Every run makes up others. */
export const runs = (full: number): number => rounds(Math.ceil(full / 4), full)

/** What is done where: the rest of a table, which `npm test` leaves out. */
export const sampled = <const Case>(few: readonly Case[], rest: readonly Case[]): readonly Case[] =>
  isSoak ? [...few, ...rest] : few

/** Of a long table each nth case, from the first one on. */
export const part = <Case>(cases: readonly Case[], nth: number): readonly Case[] =>
  isSoak ? cases : cases.filter((_, index) => index % nth === 0)

/** What chance draws. */
export const seed = Number(process.env['RECORDS_SYNC_SEED'] ?? Date.now() % 100_000)

const leftOut = Object.assign(() => {}, { each: () => () => {} })
/** A test of `npm run test:soak` alone: elsewhere there is none. */
export const soakTest = isSoak ? test : (leftOut as unknown as typeof test)
