// Values of a database that no property can take: each is read as a text that says what it was, and no mapping takes that text.

export const NOT_FINITE = '(NaN or infinite)'
export const INFINITE_TIME = '(an infinite time)'

/** Whether a cell stands for a value that no property can take. */
export const isNotACell = (cell: unknown): boolean => cell === NOT_FINITE || cell === INFINITE_TIME
