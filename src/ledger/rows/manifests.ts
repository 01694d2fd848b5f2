// Rows of `manifests`.

import type { StoredManifest } from '../roles/archive.ts'
import { text, type Row } from './values.ts'

export const manifestOfRow = (row: Row): StoredManifest => ({
  run: Number(row['run']),
  sync: String(row['sync']),
  body: String(row['body']),
  digest: String(row['digest']),
  signature: text(row['signature']),
})
