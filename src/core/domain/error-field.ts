// The field of a row's error: the name of a property, or a pointer to it in the request (RFC 6901).

const POINTER = /^(?:\/data\/\d+)?\/properties\/([^/]+)/

/** The property that the error is about; null if it is about the whole record. `isMapped`: of the import. */
export function propertyOfField(
  field: string | null,
  isMapped: (property: string) => boolean,
): string | null {
  if (field === null || isMapped(field)) return field
  const name = POINTER.exec(field)?.[1]
  return name === undefined ? null : name.replaceAll('~1', '/').replaceAll('~0', '~')
}
