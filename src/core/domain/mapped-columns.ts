// The columns of a source that a mapping reads its value from.

/** In the order in which they are put together; none for a constant. */
export const mappedColumns = ({
  column,
  columns,
}: {
  readonly column?: string | undefined
  readonly columns?: readonly string[] | undefined
}): readonly string[] => columns ?? (column === undefined ? [] : [column])

/** The columns that share a name, which are called by their order: `name#1`, `name#2`; none if no name is shared. */
export const sharing = (name: string, columns: readonly string[]): readonly string[] =>
  columns.includes(`${name}#2`) ? columns.filter((one) => isNumbered(one, name)) : []

const isNumbered = (column: string, name: string): boolean =>
  column.startsWith(`${name}#`) && /^\d+$/.test(column.slice(name.length + 1))
