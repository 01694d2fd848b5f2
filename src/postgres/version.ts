// The oldest major version of PostgreSQL that ledgers and warehouses work with.

export const POSTGRES_MIN = 13
