// The configuration of a project: records-sync.yaml.

export { serviceProblem } from './connections.ts'
export { reachProblem } from './console.ts'
export { draftConfig, draftConnection, draftSync, type DraftImport } from './draft.ts'
export { placeOfEntry, withEntries, writtenService } from './extend.ts'
export { CONFIG_FILE, loadConfig } from './load.ts'
export { placedMapping, placedService, placeOfKey } from './places.ts'
export { readLedgerPlace, readSigningKey, type LedgerConfig } from './ledger.ts'
export { readWarehousePlace } from './warehouse.ts'
export type {
  Config,
  ConnectionConfig,
  NotificationConfig,
  TemporalConfig,
  WarehouseConfig,
} from './load.ts'
export { nameEnvironment, type Environment } from './environment.ts'
export type { NotificationKind } from './operating.ts'
export { readSecret, secretOrigin, secretRemedy } from './secret.ts'
export type { SecretSource } from '../src/settings/parts.ts'
export { findSync } from './sync.ts'
export type {
  EmptyPolicy,
  GroupConfig,
  ImportConfig,
  ImportSync,
  LinkMapping,
  MirrorConfig,
  MirrorSync,
  PropertyMapping,
  SchemaChanges,
  SyncConfig,
} from './sync.ts'
export { CLEARED, NOT_SENT } from './tests.ts'
export {
  readTests,
  type Place,
  type TestFile,
  type WrittenTest,
  type WrittenText,
  type WrittenValue,
} from './written-tests.ts'
export { STARTER_CONFIG } from './starter.ts'
