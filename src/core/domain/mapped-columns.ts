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

/** What of an import names columns of its source. */
export interface NamesColumns {
  readonly properties?: Readonly<
    Record<
      string,
      Parameters<typeof mappedColumns>[0] & {
        readonly unit_column?: string | undefined
        readonly zone?: string | undefined
      }
    >
  >
  readonly delete_when?: { readonly column: string } | undefined
  readonly links?: readonly { readonly column: string }[] | undefined
}

/** All columns that an import names. */
export const namedColumns = ({
  properties = {},
  delete_when: when,
  links = [],
}: NamesColumns): readonly string[] => [
  ...Object.values(properties).flatMap((mapping) => [
    ...mappedColumns(mapping),
    ...(mapping.unit_column === undefined ? [] : [mapping.unit_column]),
  ]),
  ...(when === undefined ? [] : [when.column]),
  ...links.map(({ column }) => column),
]
