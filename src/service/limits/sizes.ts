// How large values, records, bodies and answers may be. The specification leaves these open; what is stored stays readable when a
// limit is lowered: it binds what is written from then on.

/** Characters of a text; of all texts of a record together. */
export const TEXT_CHARS_MAX = 1_000_000
export const RECORD_CHARS_MAX = 2_000_000
/** Values of one property. */
export const VALUES_MAX = 1_000
/** Members and list items of a body, all together: 50 items with a thousand properties each pass. */
export const PARTS_MAX = 100_000
/** Violations that one refusal lists. */
export const VIOLATIONS_MAX = 100
/** Bytes of JSON after which a page ends, whatever its `limit`; it has one record at least. */
export const PAGE_BYTES_MAX = 4 * 1_024 * 1_024
/** Bytes of JSON after which the other items of a batch are not stored. */
export const BATCH_ANSWER_BYTES_MAX = 8 * 1_024 * 1_024
/** Bytes of answers of one org that its clients have not read yet: beyond them it gets no further one. */
export const UNREAD_BYTES_MAX = 64 * 1_024 * 1_024

/** `4 MiB` */
export const inMiB = (bytes: number): string => `${bytes / 1_024 / 1_024} MiB`
