// Work that is done slice by slice tells its caller so.

/** Called after each slice; what it throws ends the work. */
export type OnSlice = () => void | Promise<void>
