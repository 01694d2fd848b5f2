// What the thread of a ledger and its callers tell each other. Everything crosses as a structured clone.

import { FenceLost, LedgerError, SyncError } from '../../core/errors.ts'

/** What the thread is started with. */
export interface ThreadOptions {
  readonly path: string
  readonly readOnly: boolean
  readonly signingKey: string | null
}

/** The first message of the thread. */
export type ThreadOpened =
  | { readonly place: string; readonly methods: readonly string[] }
  | { readonly failure: SentError }

export type ToThread =
  | {
      readonly call: number
      readonly method: string
      readonly values: readonly unknown[]
      /** Which of the values are functions of the caller: without values of their own, and without a result. */
      readonly callbacks: readonly number[]
    }
  /** A callback of the call returned, or threw: then the call ends. */
  | { readonly returned: number; readonly threw: boolean }

export type FromThread =
  | { readonly answered: number; readonly result: unknown }
  | { readonly answered: number; readonly failure: SentError }
  | { readonly called: number; readonly value: number }

/** An error without its class. */
export interface SentError {
  readonly kind: 'fence' | 'ledger' | 'sync' | 'other'
  readonly code: string
  readonly message: string
  readonly details: SyncError['details']
  readonly reason: LedgerError['reason']
}

export function sentError(error: unknown): SentError {
  const message = error instanceof Error ? error.message : String(error)
  const blank = { code: '', message, details: {}, reason: 'ledger' } as const
  if (!(error instanceof SyncError)) return { ...blank, kind: 'other' }
  const { code, details } = error
  if (error instanceof LedgerError)
    return { kind: 'ledger', code, message, details, reason: error.reason }
  return { ...blank, kind: error instanceof FenceLost ? 'fence' : 'sync', code, details }
}

/** The same error on the other side. */
export function receivedError({ kind, code, message, details, reason }: SentError): Error {
  if (kind === 'fence')
    return new FenceLost(
      details['run'] as number | null,
      (details['segment'] ?? details['stream']) as number | string,
    )
  if (kind === 'ledger') return new LedgerError(code, message, reason)
  if (kind === 'sync') return new SyncError(code, message, details)
  return new Error(message)
}
