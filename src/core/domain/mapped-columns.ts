// The columns of a source that a mapping reads its value from.

/** In the order in which they are put together; none for a constant. */
export const mappedColumns = ({
  column,
  columns,
}: {
  readonly column?: string | undefined
  readonly columns?: readonly string[] | undefined
}): readonly string[] => columns ?? (column === undefined ? [] : [column])
