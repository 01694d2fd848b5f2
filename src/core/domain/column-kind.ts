// What the cells of a column are, where its source says so.

/** `local_time`: a time without a zone; `instant`: one with its zone. Texts are read as the mapping says, the others say themselves. */
export type ColumnKind = 'text' | 'number' | 'boolean' | 'date' | 'local_time' | 'instant' | 'list'

/** What a column of each kind holds, in words. */
export const KIND_TEXT: Readonly<Record<ColumnKind, string>> = {
  text: 'texts',
  number: 'numbers',
  boolean: 'true and false',
  date: 'days without a time',
  local_time: 'times without a zone',
  instant: 'times with their zone',
  list: 'lists',
}
