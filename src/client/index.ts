// The public face of the client, a library of its own: `import { createClient } from 'records-sync/client'`.

export { createClient } from './client.ts'
export type { BodyOf, ClientOptions, RecordsClient } from './client.ts'
export type { CallParts, RequestOptions } from './call.ts'
export type { Success } from './answers.ts'
export type { BatchAnswer, BatchInput } from './batch.ts'
export { itemDisposition, requestDisposition } from './disposition.ts'
export type { Verdict } from './disposition.ts'
export { parseLimit, parseRetryAfter } from './pacer/headers.ts'
export { SimplePacer } from './pacer/simple-pacer.ts'
export { eachPage } from './pages.ts'
export { QuotaWait, ServiceFailure, SyncError } from '../core/errors.ts'
