// Names in the databases of histories, and the address under which the world knows their server.

export const TEMPLATE = 'records_sync_simulated'
export const LEDGER_SCHEMA = 'records_sync'
export const DATABASE_URL = 'postgres://sync@database.example:5432/records'
