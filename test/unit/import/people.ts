// People as a source of an import has them, each with a key and an e-mail of its own.

export const NAMES = {
  svc_external_id: { column: 'id' },
  svc_first_name: { column: 'name' },
  svc_email: { column: 'email' },
} as const

export const HEAD = ['id', 'name', 'email']

export const people = (...ids: string[]) => ids.map((id) => [id, 'Ann', `${id}@x.example`])

/** A reconciliation that deletes the records that the source has no row of. */
export const DELETES = { repair: true, deleteExtra: true } as const
